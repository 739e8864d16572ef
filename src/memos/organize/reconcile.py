"""What rules found in a message, brought together with what the cube already knows: dedup, supersede, add.

Runs inside one change (`WriteTx`), so two digests can never both add the same fact. Guards law 5: newer facts
supersede older ones by the time they were *true*, so late-arriving old news never beats what is newer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Status
from memos.memory.statement import Mention, Statement
from memos.storage.ports import WAS_TRUE, WriteTx

_START = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Outcome:
    """Counts of what a digest did."""

    added: int = 0
    repeated: int = 0
    superseded: int = 0
    late: int = 0
    entities: int = 0


def reconcile(tx: WriteTx, trace: Memory, statements: Iterable[Statement], outcome: Outcome) -> None:
    """Bring the statements of one trace into the cube."""
    for statement in statements:
        since = statement.valid_from or trace.valid_from or _START
        known = sorted(tx.find_slot(statement.slot, WAS_TRUE), key=_start)
        same = [m for m in known if m.body.get("key") == statement.key]
        if statement.ended:
            _end(tx, trace, [m for m in same if m.status is Status.ACTIVE], since, outcome)
            if not statement.single:
                continue
        elif (again := _holding(same, since)) is not None:
            _repeat(tx, trace, again, statement, since, outcome)
            continue
        _place(tx, trace, statement, since, known if statement.single else [], outcome)


def _holding(same: Sequence[Memory], since: datetime) -> Memory | None:
    """The memory that already says this: the one that is current, or was true at that time."""
    for m in reversed(same):
        if m.valid_to is None or (_start(m) <= since < m.valid_to):
            return m
    return None


def _repeat(tx: WriteTx, trace: Memory, known: Memory, s: Statement, since: datetime, outcome: Outcome) -> None:
    """The same fact once more: one more piece of evidence, and perhaps an earlier start."""
    outcome.repeated += 1
    if any(src.memory_id == trace.id for src in known.sources):
        return
    earlier = s.valid_from is not None and s.valid_from < _start(known)
    tx.put(
        replace(
            known,
            sources=(*known.sources, s.source),
            confidence=max(known.confidence, s.confidence),
            valid_from=since if earlier else known.valid_from,
            seen=known.seen + 1,
        ),
        "evidence",
    )
    tx.link(Edge(known.id, trace.id, EdgeType.DERIVED_FROM, weight=s.confidence))


def _end(tx: WriteTx, trace: Memory, current: Sequence[Memory], at: datetime, outcome: Outcome) -> None:
    """What was true is not any more."""
    for m in current:
        if _start(m) <= at:
            tx.put(replace(m, status=Status.SUPERSEDED, valid_to=at), "end")
            tx.link(Edge(trace.id, m.id, EdgeType.SUPERSEDES))
            outcome.superseded += 1


def _place(
    tx: WriteTx, trace: Memory, s: Statement, since: datetime, timeline: Sequence[Memory], outcome: Outcome
) -> None:
    """Add a fact at its place on the timeline of its slot: it ends what was before it, and is ended by what came
    after.
    """
    after = next((m for m in timeline if _start(m) > since), None)
    before = next((m for m in reversed(timeline) if _start(m) <= since), None)
    until = s.valid_to
    if after is not None and (until is None or _start(after) < until):
        until = _start(after)
    current = until is None
    fact = tx.put(
        Memory(
            id=new_id(),
            kind=s.kind,
            text=s.text,
            tags=s.tags,
            sources=(s.source,),
            status=Status.ACTIVE if current else Status.SUPERSEDED,
            valid_from=since,
            valid_to=until,
            confidence=s.confidence,
            origin=trace.origin,
            trust=trace.trust,
            owner=trace.owner,
            session=trace.session,
            slot=s.slot,
            body={**s.body, "key": s.key, "value": s.value, "single": s.single},
        ),
        "derive",
    )
    outcome.added += 1
    outcome.late += after is not None
    tx.link(Edge(fact.id, trace.id, EdgeType.DERIVED_FROM, weight=s.confidence))
    if after is not None:
        tx.link(Edge(after.id, fact.id, EdgeType.SUPERSEDES))
    if before is not None and s.valid_to is None and (before.valid_to is None or before.valid_to > since):
        tx.put(replace(before, status=Status.SUPERSEDED, valid_to=since), "supersede")
        tx.link(Edge(fact.id, before.id, EdgeType.SUPERSEDES))
        outcome.superseded += 1


def mention(tx: WriteTx, trace: Memory, found: Mention, outcome: Outcome) -> str:
    """The entity of this name, created when it is new, linked from the trace that mentions it; returns its id."""
    about = f"entity\x1f{found.type}\x1f{found.name.casefold()}"
    key = hashlib.blake2b(about.encode("utf-8", "replace"), digest_size=16).digest()
    entity = tx.find_key(key)
    if entity is None:
        node = Memory(
            id=new_id(),
            kind=Kind.ENTITY,
            text=found.name,
            tags=(found.type,),
            confidence=found.confidence,
            origin=trace.origin,
            trust=trace.trust,
            owner=trace.owner,
            body={"type": found.type},
        )
        entity = tx.put(node, "derive", key=key).id
        outcome.entities += 1
    tx.link(Edge(trace.id, entity, EdgeType.MENTIONS, weight=found.confidence))
    return entity


def _start(m: Memory) -> datetime:
    return m.valid_from or m.recorded_at or _START
