"""Forgetting: what a delete selects, and soft deletion (retraction) with everything that rests only on what is
retracted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from memos.errors import InvalidInput, NotFound
from memos.memory.filter import And, Compare, Field, Filter, Not, Op, Or
from memos.memory.model import EdgeType, Layer, Memory, Status
from memos.storage.ports import ANY_STATUS, CubeStore, View, WriteTx
from memos.storage.timeline import reinstate

PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Selection:
    """What to delete: exactly one of ids, a filter, a session, or everything."""

    ids: tuple[str, ...] = ()
    where: Filter | None = None
    how: str = "ids"

    @classmethod
    def of(
        cls, ids: str | Sequence[str] | None, where: Filter | None, session: str | None, everything: bool
    ) -> Selection:
        """Check that exactly one way to select was given. Raises InvalidInput."""
        if not isinstance(everything, bool):
            raise InvalidInput(f"everything is True or False, got {everything!r}; nothing was deleted")
        given = [
            name
            for name, there in (
                ("ids", ids is not None),
                ("filter", where is not None),
                ("session", session is not None),
                ("everything", everything),
            )
            if there
        ]
        if len(given) != 1:
            got = f"got {' and '.join(given)}" if given else "got none"
            raise InvalidInput(f"delete by exactly one of ids, filter, session, everything=True ({got})")
        if ids is not None:
            listed = (ids,) if isinstance(ids, str) else tuple(ids)
            if not listed:
                raise InvalidInput("ids is empty; nothing was deleted")
            return cls(ids=tuple(dict.fromkeys(listed)))
        if where is not None and _holds_of_any_text(where):
            raise InvalidInput("the filter asks for '' in a text, which every text holds; nothing was deleted")
        if session is not None:
            if session == "":
                raise InvalidInput("session is empty; nothing was deleted")
            return cls(where=Compare(Field("session"), Op.EQ, session), how="session")
        return cls(where=where, how=given[0])


def _holds_of_any_text(where: Filter) -> bool:
    match where:
        case And(items) | Or(items):
            return any(_holds_of_any_text(item) for item in items)
        case Not(item):
            return _holds_of_any_text(item)
        case Compare(_, op, value):
            return value == "" and op in (Op.LIKE, Op.CONTAINS)


async def select(store: CubeStore, selection: Selection) -> list[str]:
    """The ids a selection means, whatever their status. Raises NotFound for ids that do not exist."""
    view = View(statuses=ANY_STATUS)
    if selection.ids:
        found = {m.id for m in await store.get(selection.ids, view)}
        missing = [i for i in selection.ids if i not in found]
        if missing:
            raise NotFound(f"memory {missing[0]} does not exist in this cube; nothing was deleted")
        return list(selection.ids)
    out: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list(selection.where, view=view, limit=PAGE, cursor=cursor)
        out += [m.id for m in page.items]
        cursor = page.cursor
        if cursor is None:
            return out


def retract(tx: WriteTx, ids: Iterable[str]) -> int:
    """Take memories back: hidden from reads, kept in history. What rests only on them goes too, and facts that only
    they had superseded are current again. Returns how many memories were retracted.
    """
    waiting = list(ids)
    count = 0
    while waiting:
        memory = tx.get(waiting.pop(0))
        if memory is None or memory.status is Status.RETRACTED:
            continue
        tx.put(replace(memory, status=Status.RETRACTED, retracted_at=tx.now), "retract")
        count += 1
        for edge in tx.edges(memory.id, "in", (EdgeType.DERIVED_FROM, EdgeType.PART_OF)):
            if _alone(tx, edge.src):
                waiting.append(edge.src)
            elif edge.type is EdgeType.DERIVED_FROM:
                _withdraw(tx, edge.src, memory.id)
        _reinstate(tx, memory)
    return count


def retract_derived(tx: WriteTx, trace: Memory, keep: Collection[str] = ()) -> None:
    """Take back what was derived from this trace alone: its text has changed and it will be read again. `keep`: ids
    that stay.
    """
    for edge in tx.edges(trace.id, "in", (EdgeType.DERIVED_FROM,)):
        if edge.src in keep:
            continue
        others = [e for e in tx.edges(edge.src, "out", (EdgeType.DERIVED_FROM,)) if e.dst != trace.id]
        if others:
            _withdraw(tx, edge.src, trace.id)
        else:
            tx.unlink(edge.src, trace.id, EdgeType.DERIVED_FROM)
            retract(tx, [edge.src])
    for edge in tx.edges(trace.id, "out", (EdgeType.MENTIONS,)):
        tx.unlink(trace.id, edge.dst, EdgeType.MENTIONS)


def undo(tx: WriteTx, id: str) -> list[Memory]:
    """Revert the last change of a memory; what was read meanwhile from a text that is not there any more goes too."""
    before = tx.get(id)
    restored = tx.undo(id)
    now = tx.get(id)
    if before is None or now is None or before.layer is not Layer.TRACE:
        return restored
    if before.text != now.text or (now.status is Status.RETRACTED and before.status is not Status.RETRACTED):
        retract_derived(tx, now, keep={m.id for m in restored})
    return restored


def _withdraw(tx: WriteTx, id: str, evidence: str) -> None:
    """Take one of several pieces of evidence away from a fact; where the fact began with it, it begins with the next."""
    tx.unlink(id, evidence, EdgeType.DERIVED_FROM)
    fact = tx.get(id)
    if fact is None:
        return
    gone = {s.time for s in fact.sources if s.memory_id == evidence}
    sources = tuple(s for s in fact.sources if s.memory_id != evidence)
    times = [s.time for s in sources if s.time is not None]
    began = fact.valid_from is not None and fact.valid_from in gone
    start = max(min(times), fact.valid_from) if began and times and fact.valid_from is not None else fact.valid_from
    tx.put(replace(fact, sources=sources, valid_from=start, seen=max(1, fact.seen - 1)), "evidence")
    if start == fact.valid_from:
        return
    for edge in tx.edges(id, "out", (EdgeType.SUPERSEDES,)):
        former = tx.get(edge.dst)
        if former is not None and former.valid_to == fact.valid_from:
            tx.put(replace(former, valid_to=start), "evidence")


def _alone(tx: WriteTx, id: str) -> bool:
    """Whether nothing that still stands supports a memory."""
    for edge in tx.edges(id, "out", (EdgeType.DERIVED_FROM, EdgeType.PART_OF)):
        evidence = tx.get(edge.dst)
        if evidence is not None and evidence.status is not Status.RETRACTED:
            return False
    return True


def _reinstate(tx: WriteTx, gone: Memory) -> None:
    for edge in tx.edges(gone.id, "out", (EdgeType.SUPERSEDES,)):
        tx.unlink(edge.src, edge.dst, EdgeType.SUPERSEDES)
        reinstate(tx, edge.dst, gone, (gone.id,))
