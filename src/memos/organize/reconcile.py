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
        known = sorted(tx.find_slot(statement.slot, WAS_TRUE), key=_said)
        same = [m for m in known if m.body.get("key") == statement.key]
        since = statement.valid_from or trace.valid_from or _START
        if statement.ended:
            _end(tx, trace, [m for m in same if m.status is Status.ACTIVE], statement.valid_to or since, outcome)
            if not statement.single:
                continue
        elif (again := _holding(same, since, statement)) is not None:
            _repeat(tx, trace, again, statement, outcome)
            continue
        if statement.kind is Kind.EVENT or (statement.valid_to is not None and not statement.ended):
            _add(tx, trace, statement, None if statement.valid_to and not statement.valid_from else since, outcome)
        else:
            _place(tx, trace, statement, since, known if statement.single else [], outcome)


def _holding(same: Sequence[Memory], since: datetime, statement: Statement) -> Memory | None:
    """The memory that already says this: the one that is current, or was true at that time."""
    for m in reversed(same):
        if m.valid_to is None or m.valid_to == statement.valid_to or (m.valid_from or _START) <= since < m.valid_to:
            return m
    return None


def _repeat(tx: WriteTx, trace: Memory, known: Memory, s: Statement, outcome: Outcome) -> None:
    """The same fact once more: one more piece of evidence, and perhaps an earlier start."""
    outcome.repeated += 1
    if any(src.memory_id == trace.id for src in known.sources):
        return
    earlier = s.valid_from is not None and known.valid_from is not None and s.valid_from < known.valid_from
    tx.put(
        replace(
            known,
            sources=(*known.sources, s.source),
            confidence=max(known.confidence, s.confidence),
            valid_from=s.valid_from if earlier else known.valid_from,
            seen=known.seen + 1,
        ),
        "evidence",
    )
    tx.link(Edge(known.id, trace.id, EdgeType.DERIVED_FROM, weight=s.confidence))


def _end(tx: WriteTx, trace: Memory, current: Sequence[Memory], at: datetime, outcome: Outcome) -> None:
    """What was true is not any more, unless the message is older than what we know."""
    for m in current:
        if _said(m) <= (trace.valid_from or _START):
            tx.put(replace(m, status=Status.SUPERSEDED, valid_to=max(at, m.valid_from or at)), "end")
            tx.link(Edge(trace.id, m.id, EdgeType.SUPERSEDES))
            outcome.superseded += 1


def _place(
    tx: WriteTx, trace: Memory, s: Statement, since: datetime, timeline: Sequence[Memory], outcome: Outcome
) -> None:
    """Add a fact at its place on the timeline of its slot, which is ordered by when things were said: it ends the fact that was
    current before, and is ended by the one that was said after it (late-arriving old news)."""
    said = trace.valid_from or _START
    stated = [m for m in timeline if not m.body.get("past")]
    after = next((m for m in stated if _said(m) > said), None)
    before = next((m for m in reversed(stated) if _said(m) <= said), None)
    until = s.valid_to if after is None else max(since, after.valid_from or since)
    fact = _add(tx, trace, s, since, outcome, until)
    if after is not None:
        outcome.late += 1
        tx.link(Edge(after.id, fact.id, EdgeType.SUPERSEDES))
    if before is not None and (before.valid_to is None or before.valid_to > since):
        ended = max(since, before.valid_from or since)
        tx.put(replace(before, status=Status.SUPERSEDED, valid_to=ended), "supersede")
        tx.link(Edge(fact.id, before.id, EdgeType.SUPERSEDES))
        outcome.superseded += 1


def _add(
    tx: WriteTx, trace: Memory, s: Statement, since: datetime | None, outcome: Outcome, until: datetime | None = None
) -> Memory:
    """A new derived memory. What is stated as past ("until 2019") is marked so: it is over, but what was said still holds."""
    until = until or s.valid_to
    past = {"past": True} if s.valid_to is not None and s.kind is not Kind.EVENT else {}
    current = until is None or s.kind is Kind.EVENT
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
            body={**s.body, **past, "key": s.key, "value": s.value, "single": s.single},
        ),
        "derive",
    )
    outcome.added += 1
    tx.link(Edge(fact.id, trace.id, EdgeType.DERIVED_FROM, weight=s.confidence))
    return fact


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


def _said(m: Memory) -> datetime:
    """When a fact was last said."""
    return max((s.time for s in m.sources if s.time is not None), default=m.recorded_at or _START)
