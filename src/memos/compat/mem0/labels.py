"""What was read from messages gets the labels of those messages: metadata, runs, an expiration date.

Reading goes on in the background and knows nothing of mem0, so labels follow: after an add, and before anything is listed or
found. A message that was `said` is evidence of what was read from it, or `kept` as a memory of its own when nothing was. How far
a cube was looked through is remembered while the process lives, which only saves looking again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from memos.compat.mem0.filters import OWN
from memos.compat.mem0.places import Place
from memos.compat.mem0.shapes import LABELS, READ, metadata, own
from memos.door import PAGE, Door
from memos.errors import Conflict, NotFound
from memos.memory.model import EdgeType, Memory, Status

STATE = f"info.{OWN}.state"
RAW, SAID, KEPT, HIDDEN = "raw", "said", "kept", "hidden"
LISTED = (RAW, KEPT)  # the messages that are memories themselves
_UNREAD: Mapping[str, Any] = {"and": [{STATE: SAID}, {"role": "user"}]}  # what others say is found, but is no memory
_READING = ("digest", "read")  # marks of reading that is not done yet
_AT_ONCE = 200


async def settle(door: Door, place: Place) -> None:
    """Give what was read its labels, and have messages from which nothing was read be memories themselves."""
    await _label(door, place)
    while unread := await _page(door, place, _UNREAD, ["trace"], place.settled.messages):
        if await _is_reading(door, place):
            return
        found = await evidence_of(door, place, [m.id for m in unread])
        told = {message for messages in found.values() for message in messages}
        for message in unread:
            if message.id not in told:
                await mark(door, place, message, KEPT)
        place.settled.messages = unread[-1].id


async def _label(door: Door, place: Place) -> None:
    bare: Mapping[str, Any] = {f"info.{OWN}": {"exists": False}}
    while facts := await _page(door, place, bare, sorted(READ), place.settled.facts):
        by_fact = await evidence_of(door, place, [fact.id for fact in facts])
        messages = {m.id: m for m in await _got(door, place, {id for ids in by_fact.values() for id in ids})}
        for fact in facts:
            evidence = sorted((messages[id] for id in by_fact.get(fact.id, ()) if id in messages), key=lambda m: m.id)
            if info := labels_of(evidence):
                await _changed(door, place, fact, partial(_unless_labelled, info))
        for message in messages.values():
            if own(message).get("state") == KEPT:  # a model found in it what rules had not
                await mark(door, place, message, SAID)
        place.settled.facts = facts[-1].id


def labels_of(evidence: Iterable[Memory]) -> dict[str, Any]:
    """The info of what was read from messages, the oldest first. It expires when the last of them does."""
    info: dict[str, Any] = {}
    runs: dict[str, None] = {}
    kept: list[dict[str, Any]] = []
    for message in evidence:
        info |= metadata(message)
        kept.append(own(message))
        runs |= dict.fromkeys(kept[-1].get("runs", ()))
    dates: list[Any] = [each.get("expires") for each in kept]
    labels: dict[str, Any] = {"runs": list(runs)} if runs else {}
    labels |= {"expires": max(dates)} if dates and all(dates) else {}
    labels |= {"immutable": True} if any(each.get("immutable") for each in kept) else {}
    return {**info, **({OWN: labels or {"read": True}} if labels or info else {})}


async def relabel(door: Door, place: Place, facts: Sequence[Memory], messages: Sequence[Memory]) -> None:
    """Known facts that messages said once more are known from these runs, too, and expire no earlier than these messages do."""
    for fact in facts:
        await _changed(door, place, fact, partial(_said_again, [own(message) for message in messages]))


def _said_again(said: Sequence[Mapping[str, Any]], fact: Memory) -> Mapping[str, Any]:
    kept = own(fact)
    runs = dict.fromkeys([*kept.get("runs", ()), *(run for each in said for run in each.get("runs", ()))])
    dates: list[Any] = [kept.get("expires"), *(each.get("expires") for each in said)]
    labels = {**kept, **({"runs": list(runs)} if runs else {})}
    labels.pop("expires", None)
    labels |= {"expires": max(dates)} if all(dates) else {}
    return {OWN: labels} if labels != kept else {}


def _unless_labelled(info: Mapping[str, Any], fact: Memory) -> Mapping[str, Any]:
    return {} if own(fact) else info


async def mark(door: Door, place: Place, memory: Memory, state: str) -> None:
    """Say what a message is."""
    await _changed(door, place, memory, lambda now: _in_state(now, state))


def _in_state(message: Memory, state: str) -> Mapping[str, Any]:
    kept = own(message)
    return {OWN: {**kept, "state": state}} if kept.get("state") != state else {}


async def evidence_of(door: Door, place: Place, ids: Sequence[str]) -> dict[str, list[str]]:
    """The messages that each fact among (or read from) these memories was read from."""
    found: dict[str, list[str]] = {}
    for start in range(0, len(ids), PAGE):
        part = list(ids[start : start + PAGE])
        graph = await door.ask("graph", part, cube=place.cube, types=[EdgeType.DERIVED_FROM], include_inactive=True)
        for edge in graph.edges:
            held = found.setdefault(edge.src, [])
            held += [edge.dst] if edge.dst not in held else []
    return found


async def facts_of(door: Door, place: Place, ids: Sequence[str]) -> list[Memory]:
    """What was read from messages, whatever has become of it."""
    found: dict[str, Memory] = {}
    for start in range(0, len(ids), PAGE):
        part = list(ids[start : start + PAGE])
        graph = await door.ask("graph", part, cube=place.cube, types=[EdgeType.DERIVED_FROM], include_inactive=True)
        found |= {m.id: m for m in graph.memories if m.kind in READ}
    return list(found.values())


async def _is_reading(door: Door, place: Place) -> bool:
    waiting = (await door.ask("stats", cube=place.cube)).waiting
    return any(waiting.get(mark) for mark in _READING)


async def _page(door: Door, place: Place, where: Mapping[str, Any], kinds: Sequence[str], after: str) -> list[Memory]:
    shown = {"and": [where, {"id": {"gt": after}}, {"status": {"in": [Status.ACTIVE.value, Status.SUPERSEDED.value]}}]}
    page = await door.ask(
        "list", cube=place.cube, filter=shown, kinds=kinds, limit=_AT_ONCE, newest_first=False, include_inactive=True
    )
    return list(page.items)


async def _got(door: Door, place: Place, ids: Iterable[str]) -> list[Memory]:
    wanted = sorted(ids)
    if not wanted:
        return []
    graph = await door.ask("graph", wanted, cube=place.cube, depth=1, types=[EdgeType.PART_OF], include_inactive=True)
    return [m for m in graph.memories if m.id in set(wanted)]


async def _changed(door: Door, place: Place, memory: Memory, change: Callable[[Memory], Mapping[str, Any]]) -> None:
    """Change the info of a memory as it is now, however often others change it meanwhile. One that is gone needs no change."""
    with contextlib.suppress(NotFound):
        while info := change(memory):
            try:
                await door.ask("update", memory.id, cube=place.cube, info=info, cause=LABELS, if_version=memory.version)
                return
            except Conflict:
                memory = await door.ask("get", memory.id, cube=place.cube)
