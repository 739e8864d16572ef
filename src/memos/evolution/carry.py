"""A trial that was made in another cube counts where that lives which was tried: the outcome, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memos.evolution.case import Case
from memos.evolution.policies import settling
from memos.evolution.skills import skills
from memos.evolution.value import trials
from memos.memory.episode import Step
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import lived
from memos.storage.sqlite.lived import Uncarried


@dataclass(frozen=True, slots=True)
class Copied:
    """Where a copy is from: the cube, the id there, and who made the copy."""

    home: str
    source: str
    owner: str


def carried_home(
    tx: Any, trial: Uncarried, cube: str, case: Case | None = None, steps: Sequence[Step] = ()
) -> Copied | None:
    """Count a trial that was made in the cube `cube` for the memory it is a trial of, which is of this one. Answers where that is
    from, if it is a copy in its turn. `case`, `steps`: the episode, and what was done in it afterwards: whether something was
    followed can be told only where it is known what it says.
    """
    memory = tx.get(trial.source)
    if memory is None or memory.kind not in (Kind.POLICY, Kind.SKILL):
        return None
    lived.hand_out(tx, memory.id, trial.episode, trial.handed_at, cube=cube)
    told = (trial.outcome, trial.reward, trial.followed)
    if case is not None and trial.followed is None:
        followed, outcome = trials.judged(memory, steps, case)
        told = (outcome, trial.reward, followed)
    if lived.resolve_trial(tx, memory.id, trial.episode, *told, tx.now, cube=cube):
        numbers = {"outcome": told[0], "reward": trial.reward, "elsewhere": True}
        lived.tell(tx, f"{memory.kind.value}.trial", memory=memory.id, numbers=numbers)
        settling.settle(tx, {memory.id})
        skills.settle(tx, {memory.id})  # of a policy, the skill that it leads
    return _copied(memory)


def _copied(memory: Memory) -> Copied | None:
    back = memory.body.get("shared_from")  # of a policy too
    if not isinstance(back, str) or not memory.owner:
        return None
    home, _, source = back.rpartition("/")
    return Copied(home, source, memory.owner) if home and source else None
