"""What becomes of a superseded memory when that which superseded it goes away, by hard deletion or retraction.

Works over a `WriteTx`, so every home and the soft delete share the one rule. Guards law 5.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime

from memos.memory.model import Edge, EdgeType, Kind, Memory, Status
from memos.storage.ports import WAS_TRUE, WriteTx

_START = datetime(1, 1, 1, tzinfo=UTC)


def reinstate(tx: WriteTx, id: str, gone: Memory, without: Collection[str]) -> Memory | None:
    """Make memory `id`, which `gone` had superseded, current again; None when it stays superseded.

    It stays so when another memory supersedes it too, when a later value of its slot exists (that one then takes the
    place of `gone`), and when it had ended on its own. `without`: ids that do not count, because they go away as
    well.
    """
    former = tx.get(id)
    if former is None or former.status is not Status.SUPERSEDED:
        return None
    if any(e.src not in without for e in tx.edges(id, "in", (EdgeType.SUPERSEDES,))):
        return None
    if former.version == 1 and gone.kind is not Kind.TRACE and former.valid_to != gone.valid_from:
        return None  # stored as a thing of the past from the start
    after = _next_of_slot(tx, former, without) if former.body.get("single") else _next_of_chain(tx, gone, without)
    if after is None:
        return tx.put(replace(former, status=Status.ACTIVE, valid_to=None), "restore")
    until = after.valid_from or after.recorded_at
    if former.valid_to != until:
        tx.put(replace(former, valid_to=until), "restore")
    tx.link(Edge(after.id, former.id, EdgeType.SUPERSEDES))
    return None


def _next_of_slot(tx: WriteTx, former: Memory, without: Collection[str]) -> Memory | None:
    """The value that followed `former` in its slot."""
    if former.slot is None:
        return None
    later = [m for m in tx.find_slot(former.slot, WAS_TRUE) if m.id not in without and _start(m) > _start(former)]
    return min(later, key=_start, default=None)


def _next_of_chain(tx: WriteTx, gone: Memory, without: Collection[str]) -> Memory | None:
    """What superseded `gone`, or superseded that, and stays."""
    waiting, seen = [gone.id], {gone.id}
    while waiting:
        for edge in tx.edges(waiting.pop(0), "in", (EdgeType.SUPERSEDES,)):
            if edge.src in seen:
                continue
            seen.add(edge.src)
            if edge.src in without:
                waiting.append(edge.src)
            elif (memory := tx.get(edge.src)) is not None and memory.kind is not Kind.TRACE:
                return memory
    return None


def _start(memory: Memory) -> datetime:
    return memory.valid_from or memory.recorded_at or _START
