"""Decisions of people about what was learned: retired by hand, or brought back. Learning does not undo them (`is_by_hand`)."""

from __future__ import annotations

from dataclasses import replace

from memos.errors import InvalidInput, NotFound
from memos.memory.learned import BY_HAND, PolicyBody, SkillBody, State
from memos.memory.model import Kind, Memory, Status
from memos.storage.ports import WriteTx
from memos.storage.sqlite import lived

_STATES = {
    Kind.POLICY: (State.CANDIDATE, State.ACTIVE, State.RETIRED),
    Kind.SKILL: (State.PROBATION, State.ACTIVE, State.RETIRED),
    Kind.WORLD_MODEL: (State.ACTIVE, State.RETIRED),
}


def is_by_hand(body: PolicyBody | SkillBody) -> bool:
    """Whether a person chose the state of this."""
    return body.why.startswith(BY_HAND)


def set_state(tx: WriteTx, id: str, state: State, reason: str) -> Memory:
    """Give something learned another state. Raises NotFound, and InvalidInput for a state that its kind does not have."""
    memory = tx.get(id)
    if memory is None or memory.kind not in _STATES:
        raise NotFound(f"{id} is no policy, skill or statement of this cube")
    allowed = _STATES[memory.kind]
    if state not in allowed:
        raise InvalidInput(f"a {memory.kind} can be {', '.join(allowed)}, not {state}")
    why = f"{BY_HAND}: {reason}" if reason else BY_HAND
    status = Status.ARCHIVED if state is State.RETIRED else Status.ACTIVE
    if memory.kind is Kind.POLICY:
        body = replace(PolicyBody.of(memory), state=state, why=why).to_body()
    elif memory.kind is Kind.SKILL:
        body = replace(SkillBody.of(memory), state=state, why=why).to_body()
    else:
        body = {**memory.body, "why": why}
    changed = tx.put(replace(memory, status=status, body={**memory.body, **body}), "state")
    kind = "world" if memory.kind is Kind.WORLD_MODEL else memory.kind.value
    lived.tell(tx, f"{kind}.{state.value}", memory=id, numbers={"by_hand": True})
    return changed
