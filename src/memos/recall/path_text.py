"""Paths in words: each hop a clause, the whole one sentence, every memory with its id."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC

from memos.memory.acting import PathStep
from memos.memory.model import EdgeType, Kind, Memory
from memos.recall.path_graph import ASKED_IN, KNOWN_OF, SAID, SAID_BY, SAID_SO, Hop, person_of

QUOTED = 160  # characters of a memory that are shown
_AHEAD = {
    EdgeType.DERIVED_FROM: "rests on",
    EdgeType.MENTIONS: "mentions",
    EdgeType.PART_OF: "is part of",
    EdgeType.FOLLOWS: "came after",
    EdgeType.SUPERSEDES: "took the place of",
    EdgeType.CONTRADICTS: "contradicts",
    EdgeType.SUPPORTS: "supports",
    EdgeType.USES: "uses",
}
_BACK = {
    EdgeType.DERIVED_FROM: "is the source of",
    EdgeType.MENTIONS: "is mentioned in",
    EdgeType.PART_OF: "includes",
    EdgeType.FOLLOWS: "came before",
    EdgeType.SUPERSEDES: "was replaced by",
    EdgeType.CONTRADICTS: "is contradicted by",
    EdgeType.SUPPORTS: "is supported by",
    EdgeType.USES: "is used by",
}


def step_of(hop: Hop, start: Memory, end: Memory, *, earlier: bool) -> PathStep:
    """A hop in words. `earlier`: its end was before the beginning of the path."""
    return PathStep(hop.edge, hop.forward, f"{shown(start)} {_clause(hop, end, earlier=earlier)}")


def sentence(memories: Sequence[Memory], hops: Sequence[Hop], earlier: Sequence[bool], *, asked: bool) -> str:
    """A path as one sentence. `asked`: its first memory is the message that asked for a task."""
    first = memories[0]
    said = first.layer.value == "trace" and first.kind is Kind.TRACE
    opening = f"{person_of(first)} {'asked' if asked else 'said'}: {shown(first)}" if said else shown(first)
    if not hops:
        return f"{opening}."
    clauses = [_clause(h, m, earlier=e) for h, m, e in zip(hops, memories[1:], earlier, strict=True)]
    return f"{opening}; it {'; that '.join(clauses)}." if said else f"{opening} {'; that '.join(clauses)}."


def _clause(hop: Hop, end: Memory, *, earlier: bool) -> str:
    if hop.implied:
        return _implied(hop, end, earlier=earlier)
    if hop.edge.type is EdgeType.RELATES_TO:
        verb = (hop.edge.predicate or "relates to").replace("_", " ")
        return f"{verb} {shown(end)}" if hop.forward else f"is what {shown(end)} {verb}"
    return f"{(_AHEAD if hop.forward else _BACK)[hop.edge.type]} {shown(end)}"


def _implied(hop: Hop, end: Memory, *, earlier: bool) -> str:
    what = hop.edge.predicate
    if what == SAID_BY:
        return f"was said by {shown(end)}"
    if what == SAID:
        return f"said{' before that' if earlier else ''}: {shown(end)}"
    if what == ASKED_IN:
        return f"was done because {person_of(end)} asked: {shown(end)}"
    said = "said" if end.kind is Kind.TRACE else "is known for"
    verb = "agreed to" if end.kind is Kind.COMMITMENT else said
    before = " before that" if earlier else ""
    if what == SAID_SO:
        return f"is by {hop.who}, who{before} {verb}: {shown(end)}"
    return f"is told of{before}: {shown(end)}" if what == KNOWN_OF else f"{what} {shown(end)}"


def shown(memory: Memory) -> str:
    """A memory in a few words, with the day it is of and its id."""
    words = " ".join(memory.text.split())
    words = words if len(words) <= QUOTED else f"{words[: QUOTED - 1].rstrip()}…"
    if memory.kind is Kind.ENTITY:
        return f"{words} [{memory.id}]"
    at = memory.happened_at
    return f"“{words}” ({at.astimezone(UTC):%Y-%m-%d}) [{memory.id}]" if at is not None else f"“{words}” [{memory.id}]"
