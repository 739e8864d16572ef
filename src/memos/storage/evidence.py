"""What a derived memory is without some of its evidence: what only the lost evidence told of it, it does not tell any
more. Soft and hard deletion, and the cutting of a run in two, share the one rule (law 1).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from memos.memory.model import Edge, Memory, Source


def without(
    read: Callable[[str], Memory | None], memory: Memory, gone: Collection[str], edges: Mapping[str, Edge]
) -> Memory:
    """`memory` as it is without the evidence `gone`; the same when it did not rest on any of it.

    `read`: gives the evidence. `edges`: those that lead, or led, to it, by its id; their `valid_from` is the beginning each told
    of. Session, owner and origin become those of the earliest evidence left, where none that is left shares them.
    """
    lost = [s for s in memory.sources if s.memory_id in gone]
    if not lost:
        return memory
    kept = tuple(s for s in memory.sources if s.memory_id not in gone)
    start = _start(memory, kept, lost, edges)
    until = memory.valid_to
    weights = (edge.weight for s in kept if (edge := edges.get(s.memory_id or "")) is not None)
    return replace(
        memory,
        sources=kept,
        seen=max(1, len(kept), memory.seen - len(lost)),
        valid_from=start,
        valid_to=max(until, start) if until is not None and start is not None and until != memory.valid_from else until,
        confidence=min(memory.confidence, max(weights, default=1.0)),
        **_provenance(memory, [s.memory_id for s in kept if s.memory_id], read),
    )


def told(source: Source, edges: Mapping[str, Edge]) -> datetime | None:
    """From when a memory holds by this evidence alone. `edges`: those that lead from it to its evidence, by the id of that."""
    edge = edges.get(source.memory_id or "")
    return edge.valid_from if edge is not None and edge.valid_from is not None else source.time


def _start(
    memory: Memory, kept: Iterable[Source], lost: Iterable[Source], edges: Mapping[str, Edge]
) -> datetime | None:
    """Where a memory began with what is lost, it begins with what is left; never earlier than it did."""
    if memory.valid_from is None or all(told(s, edges) != memory.valid_from for s in lost):
        return memory.valid_from
    left = [t for s in kept if (t := told(s, edges)) is not None]
    return max(min(left), memory.valid_from) if left else memory.valid_from


def _provenance(memory: Memory, kept: Sequence[str], read: Callable[[str], Memory | None]) -> dict[str, Any]:
    def rest() -> Iterator[Memory]:  # a long list is read only as far as it takes to find one that shares
        return (m for id in kept if (m := read(id)) is not None)

    session = memory.session is not None and all(m.session != memory.session for m in rest())
    owner = memory.owner is not None and all(m.owner != memory.owner for m in rest())
    origin = all(m.origin is not memory.origin for m in rest())
    if not (session or owner or origin):
        return {}
    first = min(rest(), key=lambda m: (m.happened_at is None, m.happened_at, m.id), default=None)
    if first is None:
        return {}
    changes: dict[str, Any] = {}
    if session:
        changes["session"] = first.session
    if owner:
        changes["owner"] = first.owner
    if origin:
        changes |= {"origin": first.origin, "trust": first.trust}
    return changes
