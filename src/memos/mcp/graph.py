"""A knowledge graph of entities, relations and observations, kept in a cube: each is a record of it, so that it is found by
search, read for facts, exported and deleted like any other.

A record's `info` tells what it is (`graph`: entity, observation, relation) and of what; its text is a sentence. Its message id is
made of what it says, so that the same thing told twice, by whomever, is there once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from memos.memory.model import Memory
from memos.moving.graph_file import SESSION, TAG, Tie
from memos.tools.door import Door

_PAGE = 1_000
_BATCH = 500  # messages of one add
_OF = {"contains": TAG}


@dataclass(slots=True)
class Node:
    """An entity with its observations, in the order in which they came."""

    name: str
    type: str
    observations: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Held:
    """A graph as it is in a cube, with the ids of the records that say so."""

    nodes: dict[str, Node] = field(default_factory=dict)
    ties: list[Tie] = field(default_factory=list)
    ids: dict[tuple[str, ...], list[str]] = field(default_factory=dict)

    def about(self, name: str) -> list[str]:
        """The records of an entity: itself, its observations, its relations."""
        return [
            id
            for key, held in self.ids.items()
            if (key[0] in ("entity", "observation") and key[1] == name) or (key[0] == "relation" and name in key[1:3])
            for id in held
        ]

    def part(self, names: Iterable[str]) -> Held:
        """These entities, and the relations they stand in."""
        chosen = {name: self.nodes[name] for name in dict.fromkeys(names) if name in self.nodes}
        return Held(chosen, [tie for tie in self.ties if tie.src in chosen or tie.dst in chosen])


async def held(door: Door) -> Held:
    """The whole graph, in the order in which it was told."""
    out = Held()
    said: list[tuple[str, str]] = []
    cursor: str | None = None
    while True:
        page = await door.system.list(
            filter={"tags": _OF}, limit=_PAGE, cursor=cursor, newest_first=False, **door.where()
        )
        for memory in page.items:
            _take(out, said, memory)
        cursor = page.cursor
        if cursor is None:
            break
    for name, text in said:  # an observation may have come before its entity, from another process
        if name in out.nodes and text not in out.nodes[name].observations:
            out.nodes[name].observations.append(text)
    return out


async def known(door: Door, names: Iterable[str]) -> set[str]:
    """Those of these names that entities have."""
    wanted = list(dict.fromkeys(names))
    found: set[str] = set()
    cursor: str | None = None
    while wanted:
        where = {"tags": _OF, "info.graph": "entity", "info.name": {"in": wanted}}
        page = await door.system.list(filter=where, limit=_PAGE, cursor=cursor, **door.where())
        found |= {str(memory.info["name"]) for memory in page.items}
        cursor = page.cursor
        if cursor is None:
            break
    return found


def _take(out: Held, said: list[tuple[str, str]], memory: Memory) -> None:
    info = memory.info
    match info.get("graph"):
        case "entity":
            name = str(info.get("name"))
            out.nodes.setdefault(name, Node(name, str(info.get("entityType", ""))))
            key: tuple[str, ...] = ("entity", name)
        case "observation":
            name = str(info.get("name"))
            content = memory.text.removeprefix(f"{name}: ")  # one that was changed by hand is read as it is now
            said.append((name, content))
            key = ("observation", name, content)
        case "relation":
            tie = Tie(str(info.get("from")), str(info.get("to")), str(info.get("relationType")))
            if tie not in out.ties:
                out.ties.append(tie)
            key = ("relation", tie.src, tie.dst, tie.type)
        case _:
            return  # somebody else's tag
    out.ids.setdefault(key, []).append(memory.id)


async def store(door: Door, messages: Sequence[dict[str, Any]]) -> list[bool]:
    """Store records; tells of each whether it is new."""
    new: list[bool] = []
    for start in range(0, len(messages), _BATCH):
        batch = list(messages[start : start + _BATCH])
        done = await door.system.add(batch, session=SESSION, tags=[TAG], **door.where())
        fresh = {record.id for record in done.records if record.new}
        for record in done.records:
            new.append(record.id in fresh)
            fresh.discard(record.id)  # told twice in one call: the first is new
    return new


async def remove(door: Door, ids: Sequence[str]) -> None:
    """Delete records for good, as the file of the reference server forgets them."""
    if ids:
        await door.system.delete(list(dict.fromkeys(ids)), hard=True, **door.where())
