"""The graph as paths walk it: stored edges, and hops that follow from what records are (who said it, which task it was done for).

Everything is read under one view from one state of the file; at most `FAN` hops leave a memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

import apsw

from memos.memory.entity import ENTITY_TYPES, alias_key, entity_key
from memos.memory.forgotten import readable
from memos.memory.model import Edge, EdgeType, Kind, Layer, Memory
from memos.recall.understand import ROLES
from memos.storage.ports import View
from memos.storage.sqlite import reads, walk

FAN = 16  # hops that leave a memory
WALKED = (
    EdgeType.DERIVED_FROM,
    EdgeType.RELATES_TO,
    EdgeType.MENTIONS,
    EdgeType.PART_OF,
    EdgeType.FOLLOWS,
    EdgeType.SUPERSEDES,
    EdgeType.CONTRADICTS,
    EdgeType.SUPPORTS,
    EdgeType.USES,
)
ASKED_IN, SAID_BY, SAID, SAID_SO, KNOWN_OF = "asked for it", "said by", "said", "same person", "is told of"
_NAMELESS = ROLES | {"agent", "subagent"}
_KNOWN = frozenset((Kind.COMMITMENT, Kind.FACT, Kind.EVENT, Kind.PREFERENCE, Kind.PROFILE))


@dataclass(frozen=True, slots=True)
class Hop:
    """One way on from a memory. `forward`: along the edge's own direction. `implied`: no such edge is stored; it follows from who
    said a record, or from the task it was done for. `who`: the person it goes through.
    """

    edge: Edge
    forward: bool
    to: str
    implied: bool = False
    who: str = ""


@dataclass(slots=True)
class Graph:
    """A cube's memories under a view, and the hops between them. `wanted`: memories that the
    question is about, best first; `agreements`: records in which somebody agrees to something, where it asks for that."""

    db: apsw.Connection
    view: View
    wanted: Mapping[str, float] = field(default_factory=dict)
    agreements: Collection[str] = ()
    _memories: dict[str, Memory | None] = field(default_factory=dict)
    _entities: dict[str, list[Memory]] = field(default_factory=dict)
    _known: dict[str, list[str]] = field(default_factory=dict)
    _listed: str = ""

    def __post_init__(self) -> None:
        self._listed = walk.listed(self.wanted)

    def memories(self, ids: Iterable[str]) -> list[Memory]:
        """Those of these memories that can be read, in the order asked."""
        ids = [*dict.fromkeys(ids)]
        new = [id for id in ids if id not in self._memories]
        found = {m.id: readable(m) for m in reads.get(self.db, new, self.view)}
        self._memories |= {id: found.get(id) for id in new}
        return [m for id in ids if (m := self._memories[id]) is not None]

    def named(self, names: Collection[str]) -> list[Memory]:
        """The entities of these names, own or other ones."""
        keys = {alias_key(n): n for n in names} | {entity_key(t, n): n for n in names for t in ENTITY_TYPES}
        found = walk.by_keys(self.db, keys)
        return [m for m in self.memories(found.values()) if m.kind is Kind.ENTITY]

    def hops(self, memory: Memory) -> list[Hop]:
        """The ways on from a memory, those to wanted memories first."""
        edges = walk.edges_at(self.db, memory.id, WALKED, self._listed, self.view, FAN)
        found = [Hop(e, e.src == memory.id, e.dst if e.src == memory.id else e.src) for e in edges if e.src != e.dst]
        found += self._implied(memory)
        there = {m.id for m in self.memories(h.to for h in found)}
        first = sorted(found, key=lambda h: (h.to not in self.wanted, not h.implied))
        return [h for h in first if h.to in there and h.to != memory.id][: 2 * FAN]

    def _implied(self, memory: Memory) -> list[Hop]:
        hop = partial(self._relation, memory)
        out: list[Hop] = []
        if memory.kind is Kind.ENTITY:
            subject = str(memory.body.get("subject") or memory.text.casefold())
            out += [hop(id, KNOWN_OF, memory.text) for id in self._said_of(subject)]
            name = memory.text.casefold()
            spoken = [m.id for m in self.memories([*self.wanted][: 2 * FAN]) if (m.speaker or "").casefold() == name]
            out += [hop(id, SAID, memory.text) for id in spoken]
        if memory.layer is Layer.TRACE and (name_of(memory) or memory.role in (None, "user")):
            who = person_of(memory)
            out += [hop(e.id, SAID_BY, who) for e in self._named(who)] if name_of(memory) else []
            out += [hop(id, SAID_SO, who) for id in self._said_of((name_of(memory) or "user").casefold())]
            out += [hop(m.id, SAID_SO, who) for m in self.memories(self.agreements) if person_of(m) == who]
        if memory.layer is Layer.TRACE:
            task = walk.task_of(self.db, memory.id)
            out += [hop(task[0], ASKED_IN, "")] if task is not None else []
        return out

    def _named(self, who: str) -> list[Memory]:
        if who not in self._entities:
            self._entities[who] = self.named([who])
        return self._entities[who]

    def _said_of(self, subject: str) -> list[str]:
        if subject not in self._known:
            self._known[subject] = walk.said_of(self.db, subject, _KNOWN, self.view, FAN)
        return self._known[subject]

    def _relation(self, memory: Memory, to: str, what: str, who: str) -> Hop:
        return Hop(Edge(memory.id, to, EdgeType.RELATES_TO, predicate=what), True, to, implied=True, who=who)


def name_of(memory: Memory) -> str:
    """The name of who said a record; empty where only a role is known."""
    return "" if (memory.speaker or "").casefold() in _NAMELESS else memory.speaker or ""


def person_of(memory: Memory) -> str:
    """Who said a record: its speaker, else whose it is."""
    return name_of(memory) or memory.owner or "the user"
