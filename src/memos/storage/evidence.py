"""What a derived memory is without some of its evidence: what only the lost evidence told of it, it does not tell any
more. Soft and hard deletion, and the cutting of a run in two, share the one rule (law 1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from memos.memory.model import Edge, Memory, Source
from memos.storage.ports import WriteTx


def without(tx: WriteTx, memory: Memory, gone: Collection[str], edges: Iterable[Edge]) -> Memory:
    """`memory` as it is without the evidence `gone`; the same when it did not rest on any of it.

    `edges`: those that lead, or led, to its evidence; their `valid_from` is the beginning each told of. Session, owner
    and origin become those of the earliest evidence left, where none that is left shares them.
    """
    kept = tuple(s for s in memory.sources if s.memory_id not in gone)
    lost = [s for s in memory.sources if s.memory_id in gone]
    if not lost:
        return memory
    by_id = {edge.dst: edge for edge in edges}
    start = _start(memory, [told(s, by_id) for s in kept], [told(s, by_id) for s in lost])
    until = memory.valid_to
    weights = [by_id[s.memory_id].weight for s in kept if s.memory_id in by_id]
    return replace(
        memory,
        sources=kept,
        seen=max(1, len(kept), memory.seen - len(lost)),
        valid_from=start,
        valid_to=max(until, start) if until is not None and start is not None and until != memory.valid_from else until,
        confidence=min(memory.confidence, max(weights, default=1.0)),
        **_provenance(memory, [m for s in kept if s.memory_id and (m := tx.get(s.memory_id)) is not None]),
    )


def told(source: Source, edges: Mapping[str, Edge]) -> datetime | None:
    """From when a memory holds by this evidence alone. `edges`: those that lead from it to its evidence, by the id of that."""
    edge = edges.get(source.memory_id or "")
    return edge.valid_from if edge is not None and edge.valid_from is not None else source.time


def _start(memory: Memory, kept: list[datetime | None], lost: list[datetime | None]) -> datetime | None:
    """Where a memory began with what is lost, it begins with what is left; never earlier than it did."""
    left = [t for t in kept if t is not None]
    if memory.valid_from is None or memory.valid_from not in lost or not left:
        return memory.valid_from
    return max(min(left), memory.valid_from)


def _provenance(memory: Memory, rest: list[Memory]) -> dict[str, Any]:
    if not rest:
        return {}
    first = min(rest, key=lambda m: (m.happened_at is None, m.happened_at, m.id))
    changes: dict[str, Any] = {}
    if memory.session is not None and all(m.session != memory.session for m in rest):
        changes["session"] = first.session
    if memory.owner is not None and all(m.owner != memory.owner for m in rest):
        changes["owner"] = first.owner
    if all(m.origin is not memory.origin for m in rest):
        changes |= {"origin": first.origin, "trust": first.trust}
    return changes
