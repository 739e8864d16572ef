"""Forgetting: what a delete selects, soft deletion (retraction) with everything that rests only on what is retracted,
and undo. Whatever is taken back or brought back, the slots it was in are settled again (law 5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from memos.errors import Conflict, InvalidInput, NotFound
from memos.memory.filter import And, Compare, Field, Filter, Not, Op, Or, asks_for
from memos.memory.model import Edge, EdgeType, Kind, Layer, Memory, Status
from memos.organize.entities import repoint
from memos.organize.relate import unrelate
from memos.storage.evidence import without
from memos.storage.ports import ANY_STATUS, DIGEST, LEANS, READ, READER, WAS_TRUE, CubeStore, View, WriteTx
from memos.storage.timeline import reinstate, settle, slot_of

PAGE = 1_000

# A derived memory has these from its evidence: a filter on them means the records that were said then, there, by whom.
_OF_RECORDS = (
    *("session", "role", "speaker", "message_id", "owner", "origin", "trust"),
    *("happened_at", "valid_from", "recorded_at", "known_from"),
)
_OF_DERIVED = ("kind", "layer", "slot", "id")  # a filter on these means what it names, derived or not
_EVIDENCE = (EdgeType.DERIVED_FROM, EdgeType.PART_OF)


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
    """The ids a selection means, whatever their status. A session, or a filter on where, when or by whom something was
    said, means records: what is derived goes with the last of its evidence. Raises NotFound for ids that do not exist.
    """
    view = View(statuses=ANY_STATUS)
    if selection.ids:
        found = {m.id for m in await store.get(selection.ids, view)}
        missing = [i for i in selection.ids if i not in found]
        if missing:
            raise NotFound(f"memory {missing[0]} does not exist in this cube; nothing was deleted")
        return list(selection.ids)
    chosen: list[Memory] = []
    cursor: str | None = None
    while True:
        page = await store.list(selection.where, view=view, limit=PAGE, cursor=cursor)
        chosen += page.items
        cursor = page.cursor
        if cursor is None:
            break
    if not _means_records(selection.where):
        return [m.id for m in chosen]
    supported = await _supported(store, chosen)
    return [m.id for m in chosen if m.id not in supported]


def _means_records(where: Filter | None) -> bool:
    return any(asks_for(where, name) for name in _OF_RECORDS) and not any(asks_for(where, n) for n in _OF_DERIVED)


async def _supported(store: CubeStore, chosen: Sequence[Memory]) -> set[str]:
    """The derived memories among the chosen that rest on something which is not chosen, and stands."""
    ids = {m.id for m in chosen}
    evidence = {m.id: {s.memory_id for s in m.sources if s.memory_id} - ids for m in chosen if m.layer is Layer.DERIVED}
    wanted = sorted(set().union(*evidence.values()))
    standing: set[str] = set()
    for at in range(0, len(wanted), PAGE):
        found = await store.get(wanted[at : at + PAGE], View(statuses=ANY_STATUS))
        standing |= {m.id for m in found if m.status is not Status.RETRACTED}
    return {id for id, others in evidence.items() if others & standing}


def retract(tx: WriteTx, ids: Iterable[str]) -> int:
    """Take memories back: hidden from reads, kept in history. What rests only on them goes too, and facts that only
    they had superseded are current again. Returns how many memories were retracted.
    """
    slots: set[str] = set()
    count = _retract(tx, ids, slots)
    _settle(tx, slots)
    return count


def retract_derived(tx: WriteTx, trace: Memory) -> None:
    """Take back what was read from this trace: its text has changed and it will be read again."""
    slots: set[str] = set()
    _unread(tx, trace, slots)
    _settle(tx, slots)


def take_back(tx: WriteTx, evidence: Mapping[str, Collection[str]]) -> int:
    """Take pieces of evidence (ids of records) from derived memories (by their id): one that has no other is retracted, another
    loses what only these told of it. Returns how many were retracted.
    """
    slots: set[str] = set()
    count = 0
    for id, gone in evidence.items():
        if all(e.dst in gone for e in tx.edges(id, "out", (EdgeType.DERIVED_FROM,))):
            count += _retract(tx, [id], slots)
            continue
        for record in gone:
            _withdraw(tx, id, record, slots)
    _settle(tx, slots)
    return count


def undo(tx: WriteTx, id: str) -> list[Memory]:
    """Revert the last change of a memory. What was read meanwhile from a text that is not there any more goes too, and
    the slots it touches are settled again.

    Raises Conflict when it would bring back what rests on nothing any more.
    """
    before = {i: memory for i in tx.changed_with(id) if (memory := tx.get(i)) is not None}
    restored = tx.undo(id)
    slots: set[str] = set()
    for now in restored:
        was = before.get(now.id, now)
        slots.update(slot for m in (was, now) if (slot := slot_of(m)) is not None)
        gone = now.status is Status.RETRACTED and was.status is not Status.RETRACTED
        if was.body.get("unread") and now.status is Status.ACTIVE:  # a piece of a document, left out before it was read
            tx.mark(now.id, READ)
        if now.layer is Layer.TRACE and (now.text != was.text or gone):
            _unread(tx, now, slots, before=tx.now)
            if (
                not gone
                and now.is_read
                and not any(
                    not _retells(tx, e) and not _shows(tx, e) for e in tx.edges(now.id, "in", (EdgeType.DERIVED_FROM,))
                )
            ):
                tx.mark(now.id, DIGEST)  # what its text was read for was deleted since
    for now in restored:
        if before.get(now.id, now).status is Status.RETRACTED and now.status in WAS_TRUE and _unsupported(tx, now):
            raise Conflict(f"what memory {now.id} was read from is gone or changed since; undo that change first")
        repoint(tx, now)
    _settle(tx, slots)
    return [tx.get(m.id) or m for m in restored]


def _unsupported(tx: WriteTx, memory: Memory) -> bool:
    return memory.layer is Layer.DERIVED and any(s.memory_id for s in memory.sources) and _alone(tx, memory.id)


def _retract(tx: WriteTx, ids: Iterable[str], slots: set[str]) -> int:
    """`retract`, which notes the slots to be settled."""
    waiting = list(ids)
    count = 0
    while waiting:
        memory = tx.get(waiting.pop(0))
        if memory is None or memory.status is Status.RETRACTED:
            continue
        tx.put(replace(memory, status=Status.RETRACTED, retracted_at=tx.now), "retract")
        count += 1
        _note(slots, memory)
        if memory.layer is Layer.TRACE:
            unrelate(tx, (memory.id,))
        for edge in tx.edges(memory.id, "in", _EVIDENCE):
            if _alone(tx, edge.src) or _retells(tx, edge):
                waiting.append(edge.src)
            elif edge.type is EdgeType.DERIVED_FROM:
                _withdraw(tx, edge.src, memory.id, slots)
        waiting += _leaning(tx, memory.id)
        _reinstate(tx, memory, slots)
    return count


def _unread(tx: WriteTx, trace: Memory, slots: set[str], before: datetime | None = None) -> None:
    """Take back what a trace was read for; with `before`, only what it was read for earlier than then."""

    def read(edge: Edge) -> bool:
        return before is None or edge.known_from is None or edge.known_from < before

    for edge in filter(read, tx.edges(trace.id, "in", (EdgeType.DERIVED_FROM,))):
        if _retells(tx, edge):  # stale from now on, until it is written anew
            continue
        if trace.status is not Status.RETRACTED and _shows(tx, edge):  # an image shows what it did, whatever the words
            continue
        others = [e for e in tx.edges(edge.src, "out", (EdgeType.DERIVED_FROM,)) if e.dst != trace.id]
        if others:
            _withdraw(tx, edge.src, trace.id, slots)
        else:
            tx.unlink(edge.src, trace.id, EdgeType.DERIVED_FROM)
            _retract(tx, [edge.src], slots)
    _retract(tx, _leaning(tx, trace.id, before), slots)
    if before is None:
        unrelate(tx, (trace.id,))
    for edge in filter(read, tx.edges(trace.id, "out", (EdgeType.MENTIONS,))):
        tx.unlink(trace.id, edge.dst, EdgeType.MENTIONS)
    _reinstate(tx, trace, slots, [e for e in tx.edges(trace.id, "out", (EdgeType.SUPERSEDES,)) if read(e)])


def _withdraw(tx: WriteTx, id: str, evidence: str, slots: set[str]) -> None:
    """Take one of several pieces of evidence away from a fact, and what only that one told of it."""
    edges = {edge.dst: edge for edge in tx.edges(id, "out", (EdgeType.DERIVED_FROM,))}
    tx.unlink(id, evidence, EdgeType.DERIVED_FROM)
    fact = tx.get(id)
    if fact is None:
        return
    left = without(tx.get, fact, (evidence,), edges)
    if left != fact:
        tx.put(left, "evidence")
        _note(slots, left)


def _leaning(tx: WriteTx, record: str, before: datetime | None = None) -> list[str]:
    """The facts that have words of a record which is no evidence of theirs; what is their evidence is to be read anew."""
    out = []
    for edge in tx.edges(record, "out", (EdgeType.SUPPORTS,)):
        fact = tx.get(edge.dst) if edge.info.get(LEANS) else None
        if fact is None or record not in fact.body.get(LEANS, ()) or fact.status is Status.RETRACTED:
            continue
        if before is not None and edge.known_from is not None and edge.known_from >= before:
            continue
        out.append(fact.id)
        for source in tx.edges(fact.id, "out", (EdgeType.DERIVED_FROM,)):
            tx.mark(source.dst, READ if READER in source.info else DIGEST)
    return out


def _retells(tx: WriteTx, edge: Edge) -> bool:
    """Whether the edge leads from a summary, whose words are those of all its evidence: it goes when any of that goes."""
    found = tx.get(edge.src)
    return found is not None and found.kind is Kind.SUMMARY


def _shows(tx: WriteTx, edge: Edge) -> bool:
    """Whether the edge leads from what an image of the record shows."""
    found = tx.get(edge.src)
    return found is not None and "image" in found.body


def _alone(tx: WriteTx, id: str) -> bool:
    """Whether nothing that still stands supports a memory."""
    for edge in tx.edges(id, "out", _EVIDENCE):
        evidence = tx.get(edge.dst)
        if evidence is not None and evidence.status is not Status.RETRACTED:
            return False
    return True


def _reinstate(tx: WriteTx, gone: Memory, slots: set[str], edges: Sequence[Edge] | None = None) -> None:
    """What `gone` had superseded is current again, or gets its place when its slot is settled."""
    for edge in tx.edges(gone.id, "out", (EdgeType.SUPERSEDES,)) if edges is None else edges:
        former = tx.get(edge.dst)
        tx.unlink(edge.src, edge.dst, EdgeType.SUPERSEDES)
        if former is not None and slot_of(former) is not None:
            _note(slots, former)
        else:
            reinstate(tx, edge.dst, gone, (gone.id,))


def _note(slots: set[str], memory: Memory) -> None:
    slot = slot_of(memory)
    if slot is not None:
        slots.add(slot)


def _settle(tx: WriteTx, slots: Iterable[str]) -> None:
    for slot in sorted(slots):
        settle(tx, slot)
