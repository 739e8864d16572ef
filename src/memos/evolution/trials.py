"""What came of what was handed out in an episode. What its own steps show comes first: a fix that was applied and after which the
call failed again did not work, however the task ended; one after which it worked did. Beyond that a trial passed when the episode
succeeded, failed when it failed, and says nothing when the outcome is not clear or the agent did not do what it was told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memos.evolution.case import Case
from memos.evolution.reward import FAILURE, SUCCESS, ended
from memos.memory.episode import Step
from memos.memory.learned import Action, Form, PolicyBody, SkillBody, Trial
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import lived
from memos.text.calls import calls_in
from memos.text.template import match

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"
DONE = 0.6  # share of a procedure's actions, in order, that must have been taken for it to have been followed
_MOST_CHARS = 20_000  # of an input that are compared


def resolve(tx: Any, case: Case) -> set[str]:
    """Say what came of all trials of an episode; returns the ids of what was tried, as far as it is of this cube.

    Those of other cubes are resolved too, here: `lived.uncarried` tells what is to be told there.
    """
    tried: set[str] = set()
    for trial in case.trials:
        memory = tx.get(trial.memory)
        if memory is not None:
            tried.add(memory.id)
        after = lived.handed_after(tx.db, trial.memory, trial.episode)
        later = [s for s in case.steps if s.number > after]
        followed = was_followed(memory, later) if memory is not None else None
        outcome = outcome_of(case.reward.value, followed)
        if memory is not None and followed:
            outcome = _seen(memory, later, outcome)
        if followed is None and memory is not None and memory.body.get("form") == Form.DIRECTIVE.value:
            outcome = UNKNOWN  # how somebody wants to be spoken to is not judged by how tasks go
        if followed is not False and lived.disproved(tx.db, trial.episode, trial.memory):
            outcome = FAIL  # a hint said so, and it failed again: that the task went well came of something else
        if memory is not None and memory.kind is Kind.POLICY:
            outcome = _of_policy(PolicyBody.of(memory), later, case, outcome)
        if lived.resolve_trial(tx, trial.memory, trial.episode, outcome, case.reward.value, followed, tx.now):
            _tell(tx, trial, memory, outcome, case.reward.value)
    return tried


def _of_policy(body: PolicyBody, steps: Sequence[Step], case: Case, outcome: str) -> str:
    """The outcome of a policy's trial, where it is not the task's: of what is to be avoided, whether it was done and worked after
    all; and where a policy was never seen to work, that it fails says nothing of it elsewhere.
    """
    if body.form is Form.AVOID:
        done = [s for s in steps if any(_is(a, s) for a in body.procedure)]
        return UNKNOWN if not done else FAIL if any(ended(s) for s in done) else PASS
    strange = bool(body.environments) and case.episode.environment not in body.environments
    return UNKNOWN if strange and outcome == FAIL else outcome


def outcome_of(reward: float | None, followed: bool | None) -> str:
    """`pass` for a reward of .5 or more, `fail` for -.5 or less, else `unknown`; also when it was not followed."""
    if reward is None or followed is False or FAILURE < reward < SUCCESS:
        return UNKNOWN
    return PASS if reward >= SUCCESS else FAIL


def _seen(memory: Memory, steps: Sequence[Step], outcome: str) -> str:
    """What the steps themselves show of something that was followed, or else what the episode says."""
    instead = (
        False  # another call was made instead of the one that failed: whether that served the task, only the task tells
    )
    if memory.kind is Kind.POLICY:
        body = PolicyBody.of(memory)
        actions, form, instead = body.procedure, body.form, bool(body.avoid)
    else:
        actions, form = SkillBody.of(memory).procedure, Form.PATH
    worked = None if form in (Form.AVOID, Form.DIRECTIVE) else all_worked([a for a in actions if a.tool], steps)
    if worked is False:
        return FAIL
    if worked and form is Form.FIX and not instead:
        return UNKNOWN if outcome == FAIL else PASS  # what had failed works now: that the task failed has another cause
    return outcome


def all_worked(actions: Sequence[Action], steps: Sequence[Step]) -> bool | None:
    """Whether all actions were taken in this order and each worked at the first attempt; False as soon as one failed; None where
    they were not all taken, or nobody said how they went.
    """
    at = 0
    known = True
    for step in steps:
        if at < len(actions) and _is(actions[at], step):
            if (went := ended(step)) is False:
                return False
            known, at = known and went is not None, at + 1
    return True if actions and at == len(actions) and known else None


def was_followed(memory: Memory, steps: Sequence[Step]) -> bool | None:
    """Whether the steps after something was handed out are what it says; None where that cannot be told (it names no actions).

    What says what *not* to do was disregarded when just that was done; that it was not done says nothing.
    """
    if memory.kind is Kind.POLICY:
        body = PolicyBody.of(memory)
        actions, form = body.procedure, body.form
    elif memory.kind is Kind.SKILL:
        actions, form = SkillBody.of(memory).procedure, Form.PATH
    else:
        return None
    if form is Form.DIRECTIVE:
        return True if memory.kind is Kind.POLICY and _ordered(PolicyBody.of(memory), steps) else None
    wanted = [a for a in actions if a.tool]
    if not wanted:
        return None
    if form is Form.AVOID:
        return False if any(_is(a, s) for a in wanted for s in steps) else None
    return taken(wanted, steps) >= DONE * len(wanted)


def _ordered(directive: PolicyBody, steps: Sequence[Step]) -> bool:
    """Whether a call was made that a directive orders in so many words (`in backticks`)."""
    said = " ".join((directive.prefer, *(a.input for a in directive.procedure)))
    orders = {" ".join(c.split()) for c in calls_in(said)}
    return any(
        order and s.use is not None and order in " ".join(s.use.input.split()) for order in orders for s in steps
    )


def taken(actions: Sequence[Action], steps: Sequence[Step]) -> int:
    """How many of the actions were taken in this order, other steps between them or not: the longest such run."""
    best = [0] * (len(actions) + 1)  # of the first n actions, among the steps seen so far
    for step in steps:
        for n in range(len(actions), 0, -1):
            if best[n - 1] + 1 > best[n] and _is(actions[n - 1], step):
                best[n] = best[n - 1] + 1
        for n in range(1, len(actions) + 1):
            best[n] = max(best[n], best[n - 1])
    return best[-1]


def _is(action: Action, step: Step) -> bool:
    use = step.use
    if use is None or use.tool != action.tool:
        return False
    return not action.input.strip() or match(action.input, use.input[:_MOST_CHARS]) is not None


def _tell(tx: Any, trial: Trial, memory: Memory | None, outcome: str, reward: float | None) -> None:
    if memory is None or memory.kind not in (Kind.POLICY, Kind.SKILL) or (outcome == UNKNOWN and reward is None):
        return
    numbers = {"outcome": outcome, "reward": reward}
    lived.tell(tx, f"{memory.kind.value}.trial", memory=memory.id, episode=trial.episode, numbers=numbers)
