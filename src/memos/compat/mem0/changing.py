"""What mem0 changes and deletes. What was deleted or corrected is not found again in the message it was read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memos.compat.mem0.filters import OWN
from memos.compat.mem0.labels import HIDDEN, evidence_of, mark
from memos.compat.mem0.places import Place
from memos.compat.mem0.shapes import READ, own
from memos.door import PAGE, Door
from memos.errors import InvalidInput, NotFound
from memos.memory.model import EdgeType, Kind, Memory, Status

UNCHANGED: Any = object()  # what is not named in a request; None takes a value away


async def update(
    door: Door,
    place: Place,
    id: str,
    *,
    text: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    expires: Any = UNCHANGED,
    at: object = None,
) -> Memory:
    """Change a memory; its former version stays in its history. Metadata is added to what there is."""
    memory: Memory = await visible(door, place, id)
    kept = own(memory)
    if kept.get("immutable"):
        raise InvalidInput(f"memory {id} is immutable; delete it and add another")
    info: dict[str, Any] = dict(metadata or {})
    if expires is not UNCHANGED:
        info[OWN] = {key: value for key, value in {**kept, "expires": expires}.items() if value is not None}
    changed: Memory = await door.ask(
        "update", id, cube=place.cube, text=text, info=info or None, **({"valid_from": at} if at is not None else {})
    )
    if text is not None and text != memory.text and memory.kind in READ:
        await _hide_evidence(door, place, [memory])
    return changed


async def visible(door: Door, place: Place, id: str) -> Memory:
    """A memory that mem0 shows. Raises NotFound also for what was taken back, and for what is not a memory there."""
    memory: Memory = await door.ask("get", id, cube=place.cube)
    if memory.status not in (Status.ACTIVE, Status.SUPERSEDED) or memory.kind not in READ | {Kind.TRACE}:
        raise NotFound(f"memory {id} does not exist")
    if own(memory).get("state") == HIDDEN:
        raise NotFound(f"memory {id} does not exist")
    return memory


async def delete(door: Door, place: Place, ids: Sequence[str], *, linked: bool = False) -> None:
    """Delete memories for good, with the messages that told nothing else. `linked`: and what they had superseded, all the way."""
    wanted = {id: await visible(door, place, id) for id in dict.fromkeys(ids)}
    if linked:
        graph = await door.ask(
            "graph", list(wanted), cube=place.cube, depth=32, types=[EdgeType.SUPERSEDES], include_inactive=True
        )
        later: dict[str, list[str]] = {}
        for edge in graph.edges:
            later.setdefault(edge.src, []).append(edge.dst)
        nodes, todo = {m.id: m for m in graph.memories}, list(wanted)
        while todo:
            for older in later.get(todo.pop(), ()):
                if older not in wanted and older in nodes:
                    wanted[older] = nodes[older]
                    todo.append(older)
    alone = await _hide_evidence(door, place, [m for m in wanted.values() if m.kind in READ])
    await _erase(door, place, [*wanted, *(id for id in alone if id not in wanted)])


async def _erase(door: Door, place: Place, ids: Sequence[str]) -> None:
    for start in range(0, len(ids), PAGE):
        await door.ask("delete", list(ids[start : start + PAGE]), cube=place.cube)


async def _hide_evidence(door: Door, place: Place, facts: Sequence[Memory]) -> list[str]:
    """Have the messages of facts found no more; returns those that told nothing else, which may go as a whole."""
    if not facts:
        return []
    gone = {fact.id for fact in facts}
    mine = await evidence_of(door, place, sorted(gone))
    messages = sorted({message for id in gone for message in mine.get(id, ())})
    if not messages:
        return []
    told = await evidence_of(door, place, messages)
    alone = [m for m in messages if all(fact in gone for fact, sources in told.items() if m in sources)]
    for id in messages:
        message = await door.ask("get", id, cube=place.cube)
        if message.kind is Kind.TRACE and own(message).get("state") != HIDDEN:
            await mark(door, place, message, HIDDEN)
    return alone


async def delete_matching(door: Door, place: Place, left: Mapping[str, Any] | None, run: str | None) -> int:
    """Delete what matches: the whole cube where nothing is left to be asked, else the records, with all that was read from them
    alone. What other runs told as well stays, without the name of this one. Returns how many memories went.
    """
    if left is None:
        count = int(await door.ask("count", cube=place.cube, kinds=[Kind.TRACE.value, *sorted(READ)]))
        await door.ask("delete_cube", place.cube)
        return count
    records = {"and": [left, {"kind": Kind.TRACE.value}]}
    result = await door.ask("delete", cube=place.cube, filter=records)
    count = int(result.memories + result.cascaded)
    asked: dict[str, Any] = {"filter": left, "kinds": sorted(READ), "limit": PAGE, "include_inactive": True}
    while (rest := await door.ask("list", cube=place.cube, **asked)).items:
        bare = []
        for fact in rest.items:
            kept = own(fact)
            others = [each for each in kept.get("runs", ()) if run not in ("*", each)]
            if others:
                await door.ask("update", fact.id, cube=place.cube, info={OWN: {**kept, "runs": others}})
            else:
                bare.append(fact.id)
        if bare:
            await _erase(door, place, bare)
            count += len(bare)
    return count
