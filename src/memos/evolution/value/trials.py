"""What came of what was handed out in an episode. A trial passed when the episode succeeded, failed when it failed, and says
nothing when the outcome is not clear or the agent did something else. What the steps themselves show comes before the outcome: a
procedure of which a call failed has failed, however the task ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memos.evolution.case import Case
from memos.evolution.value.reward import ended
from memos.memory.episode import FAILURE, SUCCESS, Step
from memos.memory.learned import Action, Form, PolicyBody, SkillBody, Trial
from memos.memory.model import Kind, Memory
from memos.storage.sqlite import lived
from memos.text.calls import calls_in
from memos.text.template import match

PASS, FAIL, UNKNOWN = "pass", "fail", "unknown"
DONE, FEWEST = 0.8, 3  # the share of a procedure that must have been taken, and from how many actions on
BEGUN = 0.6  # the share after which a call of it that failed shows that it does not work
_MOST_CHARS = 20_000  # of an input that are compared


def resolve(tx: Any, case: Case) -> set[str]:
    """Say what came of all trials of an episode; returns the ids of what was tried, as far as it is of this cube.

    Those of other cubes are resolved too, here: `lived.uncarried` tells what is to be told there.
    """
    tried: set[str] = set()
    for trial in case.trials:
        memory = tx.get(trial.memory)
        after = lived.handed_after(tx.db, trial.memory, trial.episode)
        steps = [s for s in case.steps if s.number > after]
        followed, outcome = judged(memory, steps, case, disproved=lived.disproved(tx.db, trial.episode, trial.memory))
        if memory is not None:
            tried.add(memory.id)
        if lived.resolve_trial(tx, trial.memory, trial.episode, outcome, case.reward.value, followed, tx.now):
            _tell(tx, trial, memory, outcome, case.reward.value)
    return tried


def judged(
    memory: Memory | None, steps: Sequence[Step], case: Case, *, disproved: bool = False
) -> tuple[bool | None, str]:
    """Whether something was followed (None: that cannot be told), and what came of its trial, by the steps after it was handed
    out. `memory` None: it is of another cube. `disproved`: a hint said so, and the same failed again.
    """
    reward = case.reward.value
    if memory is None or memory.kind not in (Kind.POLICY, Kind.SKILL):
        return None, outcome_of(reward, None)
    if memory.kind is Kind.SKILL:
        actions = _calls(SkillBody.of(memory).procedure)
        followed = was_followed(actions, steps)
        return followed, FAIL if followed and all_worked(actions, steps) is False else outcome_of(reward, followed)
    body = PolicyBody.of(memory)
    if body.form is Form.DIRECTIVE:
        return _of_directive(body, steps, reward)
    if body.form is Form.AVOID:
        return _of_warning(body, steps)
    followed = was_followed(_calls(body.procedure), steps)
    outcome = _of_procedure(body, steps, followed, reward)
    if disproved and followed is not False:
        outcome = FAIL  # that the task went well came of something else
    strange = bool(body.environments) and case.episode.environment not in body.environments
    if outcome == FAIL and strange:
        outcome = UNKNOWN  # where it was never seen to work: that says nothing of it elsewhere
    return followed, outcome


def outcome_of(reward: float | None, followed: bool | None) -> str:
    """`pass` for the reward of a success, `fail` for that of a failure, else `unknown`; also when it was not followed."""
    if reward is None or followed is False or FAILURE < reward < SUCCESS:
        return UNKNOWN
    return PASS if reward >= SUCCESS else FAIL


def was_followed(actions: Sequence[Action], steps: Sequence[Step]) -> bool | None:
    """Whether a procedure was carried out: each action, or, of three or more, nearly all with the last two, which decide; or
    most, up to one that failed. What was done in part says nothing. None where it names no action.
    """
    if not actions:
        return None
    count = taken(actions, steps)
    if count == len(actions):
        return True
    if len(actions) >= FEWEST and count >= DONE * len(actions) and taken(actions[-2:], steps) == 2:
        return True
    return count >= BEGUN * len(actions) and all_worked(actions, steps) is False


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


def all_worked(actions: Sequence[Action], steps: Sequence[Step]) -> bool | None:
    """Whether all actions were taken in this order and each worked at the first attempt; False as soon as one failed; None where
    they were not all taken, or nobody said how they went.
    """
    at, known = 0, True
    for step in steps:
        if at < len(actions) and _is(actions[at], step):
            if (went := ended(step)) is False:
                return False
            known, at = known and went is not None, at + 1
    return True if actions and at == len(actions) and known else None


def _of_procedure(body: PolicyBody, steps: Sequence[Step], followed: bool | None, reward: float | None) -> str:
    """Of a fix or a path."""
    outcome = outcome_of(reward, followed)
    worked = all_worked(_calls(body.procedure), steps) if followed else None
    if worked is False:
        return FAIL
    # What had failed works now: that the task failed has another cause. (Where another call was made instead of the one that
    # failed, only the task tells whether that served it.)
    if worked and body.form is Form.FIX and not body.avoid:
        return UNKNOWN if outcome == FAIL else PASS
    return outcome


def _of_warning(body: PolicyBody, steps: Sequence[Step]) -> tuple[bool | None, str]:
    """Of what is to be avoided: it is right when that was done all the same and failed, wrong when it worked."""
    done = [s for s in steps if any(_is(a, s) for a in body.procedure if a.tool)]
    if not done:
        return None, UNKNOWN
    return False, FAIL if any(ended(s) for s in done) else PASS


def _of_directive(body: PolicyBody, steps: Sequence[Step], reward: float | None) -> tuple[bool | None, str]:
    """Of what somebody wants: that is not judged by how tasks go, unless it orders a call (`in backticks`) that was made, and,
    where it says for which call that is (before `make`), that one too.
    """
    said = " ".join((body.prefer, *(a.input for a in body.procedure)))
    orders = {" ".join(call.split()) for call in calls_in(said)} - {""}
    made = [" ".join(s.use.input.split()) for s in steps if s.use is not None]
    if not any(order in call for order in orders for call in made):
        return None, UNKNOWN
    conditions = {" ".join(call.split()) for call in calls_in(body.trigger)} - {""}
    if conditions and not any(condition in call for condition in conditions for call in made):
        return None, UNKNOWN
    return True, outcome_of(reward, True)


def _calls(procedure: Sequence[Action]) -> list[Action]:
    return [action for action in procedure if action.tool]


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
