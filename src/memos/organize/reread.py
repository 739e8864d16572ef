"""Bringing what a model read in a run of records into a cube, in one change: what an earlier reading by a model derived from
these records, and this one does not say again, is taken back; what rules, other records or somebody's hand say stays.

The records themselves are never touched (law 1); the whole of it is undone as one change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memos.memory.forgotten import readable
from memos.memory.model import Edge, EdgeType, Kind, Layer, Memory, Source, Status
from memos.memory.statement import Reading, SegmentReading, Statement
from memos.organize.forget import retract, take_back
from memos.organize.known import SAID_AS, as_known
from memos.organize.naming import learn_names
from memos.organize.reconcile import Outcome, lean, mention, reconcile, stamp
from memos.organize.relate import relate, unrelate
from memos.organize.similar import Likeness, Said, alike
from memos.organize.subjects import resolved
from memos.storage.ports import ANY_STATUS, CURRENT, LEANS, READ, READER, WAS_TRUE, CubeStore, View, WriteTx
from memos.text.analysis import analyze

_NOTHING = Reading()
# What is done to a memory by reading and by time. Anything else in its history is somebody's hand.
_BY_ITSELF = frozenset(
    {
        *(
            "derive",
            "evidence",
            "merge",
            "supersede",
            "contradict",
            "restore",
            "end",
            "split",
            "join",
            "retract",
            "reread",
            "rate",
        ),
        *("subject", "type", "summarize"),
    }
)
_TOLD = (Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT, Kind.EVENT)
_NOBODY = frozenset(("read", "digest", "describe", "upkeep", "system"))  # actors of changes that are nobody's decision


@dataclass(frozen=True, slots=True)
class Noted:
    """What was derived from some records before they are read: all of it by id, the ids that somebody has touched, and, by their
    record, the memories that somebody had taken back: they are not derived from it again.
    """

    derived: Mapping[str, Memory] = field(default_factory=dict)
    by_hand: frozenset[str] = frozenset()
    refused: Mapping[str, Sequence[Memory]] = field(default_factory=dict)

    def by_rules(self, traces: Collection[str]) -> list[Memory]:
        """What rules alone derived from nothing but these records, and is current: what a reading may call wrong."""
        return [
            m
            for m in self.derived.values()
            if READER not in m.body
            and m.kind in _TOLD
            and m.status in CURRENT
            and m.id not in self.by_hand
            and {s.memory_id for s in m.sources} <= set(traces)
        ]


@dataclass(slots=True)
class Reread:
    """What a reading changed: records read, and memories added, said again, taken back and called wrong."""

    records: int = 0
    taken_back: int = 0
    wrong: int = 0
    outcome: Outcome = field(default_factory=Outcome)


async def noted(store: CubeStore, traces: Collection[str]) -> Noted:
    """What is derived from records now."""
    every = View(statuses=ANY_STATUS)
    links = await store.neighbors(list(traces), types=(EdgeType.DERIVED_FROM,), direction="in", view=every)
    found = await store.get(list(dict.fromkeys(link.edge.src for link in links)), every)
    said = [m for m in found if m.layer is not Layer.TRACE and m.kind is not Kind.SUMMARY]
    said = [m for m in said if "image" not in m.body]  # what an image shows, words do not tell
    derived = {m.id: m for m in said if m.status in WAS_TRUE}
    touched = set()
    for m in derived.values():
        if m.version > 1 and any(v.op not in _BY_ITSELF for v in await store.history(m.id)):
            touched.add(m.id)
    gone = {m.id: m for m in said if m.status is Status.RETRACTED and await _taken_back_by_hand(store, m)}
    refused: dict[str, list[Memory]] = {}
    for link in links:
        if link.edge.src in gone:
            refused.setdefault(link.edge.dst, []).append(gone[link.edge.src])
    return Noted(derived, frozenset(touched), refused)


async def _taken_back_by_hand(store: CubeStore, memory: Memory) -> bool:
    """Whether somebody took a memory back; not where it went with words of another record, whose loss is read anew."""
    if memory.body.get(LEANS):
        return False
    last = (await store.history(memory.id))[-1]
    return last.op == "retract" and last.actor not in _NOBODY


def apply_reading(
    tx: WriteTx, traces: Sequence[Memory], found: SegmentReading, before: Noted, context: Sequence[Memory] = ()
) -> Reread:
    """Bring a reading of `traces`, as they were read, into the cube. `context`: the records that were shown with them.

    A record that was changed or taken back meanwhile keeps its mark, and what was found in it is dropped, also where another
    record was told in its words: that one is read again. One whose mark is gone was read by somebody else.
    """
    done = Reread()
    as_read = [t for t in traces if _as_it_was(tx, t)]
    live = {t.id: t for t in as_read if tx.unmark(t.id, READ)}
    if not live:
        return done
    done.records = len(live)
    readings = {id: _kept(found.readings.get(id, _NOTHING), live, found.reader) for id in live}
    if gone := [t for t in (*traces, *context) if not _as_it_was(tx, t)]:
        for id in _without_words_of(gone, as_read, readings):
            tx.mark(id, READ)
    said = [(s, resolved(tx, live[id], s).key) for id, reading in readings.items() for s in reading.statements]
    done.wrong = retract(tx, _wrong(tx, found.wrong, live, before))
    lost = _not_said_again(tx, live, said, before)
    done.taken_back = take_back(tx, lost)
    unrelate(tx, live, read_by_models=True)  # before the mentions go, by which it finds them
    _forget_mentions(tx, live, readings)
    for id, trace in live.items():
        for statement in readings[id].statements:
            _bring(tx, trace, statement, live, before, done)
        for name in readings[id].mentions:
            mention(tx, trace, name, done.outcome, found.reader)
        learn_names(tx, trace, readings[id].statements)
        for relation in readings[id].relations:
            relate(tx, trace, relation, done.outcome, found.reader)
    _name_readers(tx, {*lost, *(e.src for id in live for e in tx.edges(id, "in", (EdgeType.DERIVED_FROM,)))})
    return done


def _bring(
    tx: WriteTx, trace: Memory, statement: Statement, live: Mapping[str, Memory], before: Noted, done: Reread
) -> None:
    """Bring in a statement, with all that says it: where it is not told so already, and nobody took that back."""
    told = [(trace, statement)]
    told += [(live[str(s.memory_id)], _by(statement, s)) for s in (() if statement.ended else statement.also)]
    for n, (record, piece) in enumerate(told):
        as_brought = resolved(tx, record, piece)
        if any(_is_same(as_brought, m) for m in before.refused.get(record.id, ())):
            continue
        if not n:
            done.wrong += retract(tx, _misread(tx, trace, statement, live, before))
        if not _is_told(tx, record, piece, as_brought.key):
            reconcile(tx, record, [piece], done.outcome)


def _is_same(statement: Statement, memory: Memory) -> bool:
    return statement.key == memory.body.get("key") or alike(Said.by(statement), Said.of(memory)) is Likeness.SAME


def _is_told(tx: WriteTx, record: Memory, statement: Statement, key: str) -> bool:
    """Whether a memory, current or not any more, says this already by this record, and it ends nothing beside."""
    if statement.ends:
        return False
    for edge in tx.edges(record.id, "in", (EdgeType.DERIVED_FROM,)):
        memory = tx.get(edge.src)
        if memory is not None and memory.status in WAS_TRUE and _says(statement, key, memory, edge):
            return True
    return False


def _as_it_was(tx: WriteTx, trace: Memory) -> bool:
    now = tx.get(trace.id)
    return now is not None and readable(now).text == trace.text and now.status is not Status.RETRACTED


def _without_words_of(gone: Sequence[Memory], as_read: Sequence[Memory], readings: dict[str, Reading]) -> list[str]:
    """Take out of readings what is told in words that only records have which are gone, or say something else now: they were
    deleted or edited before it was stored. Returns the ids of the records whose readings lost something.
    """
    lost = _terms(*(t.text for t in gone)) - _terms(*(t.text for t in as_read))
    out = []
    for id, reading in readings.items():
        kept = replace(
            reading,
            statements=tuple(s for s in reading.statements if not lost & _terms(s.text, s.slot, s.value, str(s.body))),
            mentions=tuple(m for m in reading.mentions if not lost & _terms(m.name)),
            relations=tuple(r for r in reading.relations if not lost & _terms(r.subject.name, r.object.name)),
        )
        if kept != reading:
            readings[id] = kept
            out.append(id)
    return out


def _terms(*texts: str) -> frozenset[str]:
    return frozenset(term for text in texts for term in analyze(text).content_terms())


def _kept(reading: Reading, live: Mapping[str, Memory], reader: str) -> Reading:
    """A reading with the reader's name on it, and no evidence but records that are read now."""
    statements = [
        replace(
            s,
            body={**s.body, READER: reader},
            also=tuple(e for e in s.also if e.memory_id in live and e.memory_id != s.source.memory_id),
        )
        for s in reading.statements
        if s.source.memory_id in live
    ]
    return replace(reading, statements=tuple(statements))


def _by(statement: Statement, source: Source) -> Statement:
    """The same, as another record says it: a repetition, which ends nothing."""
    return replace(statement, source=source, also=(), ends=())


def _may_go(tx: WriteTx, id: str, before: Noted) -> Memory | None:
    """The memory, where it is as it was when the records were given to the model, and nobody's hand was on it."""
    now, was = tx.get(id), before.derived.get(id)
    if now is None or was is None or now.version != was.version or id in before.by_hand or now.status not in WAS_TRUE:
        return None
    return now


def _records_of(tx: WriteTx, id: str) -> set[str]:
    return {e.dst for e in tx.edges(id, "out", (EdgeType.DERIVED_FROM,))}


def _wrong(tx: WriteTx, ids: Iterable[str], live: Collection[str], before: Noted) -> list[str]:
    """Those of the memories called wrong that only rules read, and only in these records."""
    out = []
    for id in dict.fromkeys(ids):
        memory = _may_go(tx, id, before)
        if memory is not None and READER not in memory.body and _records_of(tx, id) <= set(live):
            out.append(id)
    return out


def _misread(tx: WriteTx, trace: Memory, statement: Statement, live: Collection[str], before: Noted) -> list[str]:
    """What rules read in the same words as the one value of a slot, where the model read another that holds since then."""
    statement = resolved(tx, trace, statement)
    if not statement.single or statement.ended or statement.valid_to is not None:
        return []
    there = tx.find_slot(statement.slot, WAS_TRUE)
    same = any(m.body.get("key") == statement.key for m in there)
    if same or as_known(tx, statement, there) is not statement:  # the same in other words
        return []
    out = []
    for known in tx.find_slot(statement.slot):
        memory = _may_go(tx, known.id, before)
        if (
            memory is not None
            and READER not in memory.body
            and not memory.body.get("past")
            and _records_of(tx, memory.id) == {statement.source.memory_id}
            and memory.valid_from in (None, statement.valid_from, statement.source.time)
        ):
            out.append(memory.id)
    return out


def _not_said_again(
    tx: WriteTx, live: Collection[str], said: Sequence[tuple[Statement, str]], before: Noted
) -> dict[str, set[str]]:
    """The evidence in these records that an earlier reading by a model saw, and this one does not. What is said again stays,
    under its id, in the words and with the name of this reading. `said`: statements, with the keys they are brought in under.
    """
    read: dict[str, list[Edge]] = {}
    for id in live:
        for edge in tx.edges(id, "in", (EdgeType.DERIVED_FROM,)):
            if READER in edge.info:
                read.setdefault(edge.src, []).append(edge)
    gone: dict[str, set[str]] = {}
    for id, edges in read.items():
        memory = _may_go(tx, id, before)
        if memory is None:
            continue
        again = [next((s for s, key in said if _says(s, key, memory, edge)), None) for edge in edges]
        if lost := {edge.dst for edge, s in zip(edges, again, strict=True) if s is None}:
            gone[id] = lost
        for edge, s in zip(edges, again, strict=True):
            if s is not None and edge.info[READER] != s.body[READER]:
                tx.unlink(edge.src, edge.dst, edge.type)
                tx.link(replace(edge, weight=s.confidence, info={**edge.info, READER: s.body[READER]}))
        first = next((s for s in again if s is not None and s.key == memory.body.get("key")), None)
        if first is not None and READER in memory.body:
            restated = replace(
                memory,
                text=first.text,
                tags=first.tags,
                confidence=first.confidence,
                body={**{k: v for k, v in memory.body.items() if k != LEANS}, **first.body},
            )
            if restated != memory:
                lean(tx, tx.put(restated, "reread"))
    return gone


def _name_readers(tx: WriteTx, ids: Iterable[str]) -> None:
    """What has none of the evidence that its reader saw any more, and stands by that of others, has the name of one of them."""
    for id in sorted(ids):
        memory = tx.get(id)
        names = [e.info.get(READER) for e in tx.edges(id, "out", (EdgeType.DERIVED_FROM,))]
        if memory is None or memory.status not in WAS_TRUE or memory.body.get(READER) in (None, *names):
            continue
        rest = {k: v for k, v in memory.body.items() if k != READER}
        tx.put(replace(memory, body={**rest, **stamp(next(filter(None, names), None))}), "reread")


def _says(statement: Statement, key: str, memory: Memory, edge: Edge) -> bool:
    """Whether a statement, brought in under `key`, says in the record of an edge what the edge says it does: the same memory, of
    the same time.
    """
    s, held = statement, memory.body.get("key")
    if s.ended or s.kind is not memory.kind or edge.dst not in {e.memory_id for e in (s.source, *s.also)}:
        return False
    if not {s.key, key} & {held, (edge.info.get(SAID_AS) or {}).get("key")}:
        return False
    until = memory.valid_to == s.valid_to if s.valid_to is not None else not memory.body.get("past")
    return until and edge.valid_from == s.valid_from


def _forget_mentions(tx: WriteTx, live: Mapping[str, Memory], readings: Mapping[str, Reading]) -> None:
    """Take away what an earlier reading by a model saw named in the records, and this one does not."""
    for id in live:
        names = {m.name.casefold() for m in readings[id].mentions}
        names |= {m.name.casefold() for r in readings[id].relations for m in (r.subject, r.object)}
        for edge in tx.edges(id, "out", (EdgeType.MENTIONS,)):
            entity = tx.get(edge.dst)
            if READER in edge.info and entity is not None and entity.text.casefold() not in names:
                tx.unlink(id, edge.dst, EdgeType.MENTIONS)
