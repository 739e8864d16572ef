"""The state of a policy: it follows from what is counted of it, but where a person chose it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from memos.evolution.by_hand import is_by_hand
from memos.evolution.policies.against import why_against
from memos.evolution.policies.induce import (
    PLACES,
)
from memos.evolution.policies.lessons import kind_of
from memos.evolution.policies.text import policy_text
from memos.evolution.policies.works import works_key
from memos.evolution.value import gain, reliability
from memos.memory.episode import FAILURE
from memos.memory.learned import Form, PolicyBody, State
from memos.memory.model import Kind, Status
from memos.storage.sqlite import lived

_IN = "in "  # how a boundary that was counted begins


def settle(tx: Any, ids: Collection[str]) -> set[str]:
    """Give policies the state that follows from what is counted of them, but where a person chose it; returns those changed."""
    changed = set()
    for id in sorted(ids):
        memory = tx.get(id)
        if memory is None or memory.kind is not Kind.POLICY or memory.status in (Status.RETRACTED, Status.QUARANTINED):
            continue
        body = PolicyBody.of(memory)
        if is_by_hand(body):
            continue
        state, why = _state(tx, id, body, bool(memory.body.get("shared_from")))
        if (forbidden := why_against(tx, memory)) is not None:
            state, why = State.RETIRED, forbidden
        where = _boundary(tx, id, body)
        if state is body.state and where == body.boundary:
            continue
        status = Status.ARCHIVED if state is State.RETIRED else Status.ACTIVE
        why = body.why if state is body.state else why
        text = memory.text if where == body.boundary else policy_text(replace(body, boundary=where))
        stored = {**memory.body, "state": state.value, "why": why, "boundary": where}
        tx.put(replace(memory, text=text, status=status, body=stored), "state")
        if state is body.state:
            continue
        lived.tell(tx, f"policy.{state.value}", memory=id, numbers={"support": lived.counted(tx.db, id).support})
        changed.add(id)
    return changed


def _boundary(tx: Any, id: str, body: PolicyBody) -> str:
    """Where a policy was followed and did not help, in other environments than those it was learned in; as it was where somebody
    or a model has put it into words.
    """
    if body.edited or body.author != "rules" or (body.boundary and not body.boundary.startswith(_IN)):
        return body.boundary
    places = sorted(set(lived.failed_in(tx.db, id)) - {"", *body.environments})
    return _IN + ", ".join(places[:PLACES]) if places and body.environments else ""


def _state(tx: Any, id: str, body: PolicyBody, is_copy: bool = False) -> tuple[State, str]:
    if body.form is Form.DIRECTIVE or is_copy:
        # it holds because somebody said so, or taught it elsewhere, until what it orders goes wrong again and again
        outcomes = lived.outcomes(tx.db, id)[body.forgiven :]
        state, why = reliability.policy_state(reliability.FEWEST_EPISODES, 1.0, outcomes)
        if state is State.RETIRED and not is_copy:
            state = state if reliability.worse_than_usual(outcomes, lived.usual_success(tx.db, id)) else body.state
        return (state, why) if state is State.RETIRED else (body.state, body.why)
    tool, _, avoided = body.avoid.partition(": ")
    if body.form is Form.AVOID and tx.find_key(works_key(tool, kind_of(tool, avoided))) is not None:
        return State.RETIRED, "such a call worked"
    counted = lived.counted(tx.db, id)
    if not counted.values and (not counted.handed or body.state is State.RETIRED):
        return State.RETIRED, "nothing teaches it any more"
    badly = sum(v <= FAILURE for v in counted.values)
    if badly and counted.support < reliability.FEWEST_EPISODES:
        return State.RETIRED, "the tasks that taught it went badly"
    state, why = reliability.policy_state(counted.support, gain.gain_of(tx.db, id), lived.outcomes(tx.db, id))
    if state is State.ACTIVE and badly >= counted.support:
        return State.CANDIDATE, "as many tasks went badly with it as well"
    return state, why
