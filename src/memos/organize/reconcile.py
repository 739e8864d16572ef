"""What rules found in a message, brought together with what the cube already knows: dedup, supersede, add.

Runs inside one change (`WriteTx`), so two digests can never both add the same fact. Guards law 5: newer facts
supersede older ones by the time they were *true*, so late-arriving old news never beats what is newer. One limit: that a
value of a slot where values add up is over counts only for what arrived before, and was not said again later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memos.memory.clock import ZONE, written_in
from memos.memory.entity import entity_key
from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory, Status
from memos.memory.statement import Ending, Mention, Statement
from memos.organize.contradict import confirms, contested, oppose, resolve
from memos.organize.entities import aliased, link_by_name
from memos.organize.known import SAID_AS, as_known, own_words, without_note
from memos.organize.referred import called_as_known, referred
from memos.organize.similar import Said, sense_key
from memos.organize.subjects import resolved
from memos.storage.ports import LEANS, READER, WAS_TRUE, WriteTx
from memos.storage.timeline import CONTESTED, RIVAL, first_said, last_said, settle, split, strangers, told_over

_START = datetime(1, 1, 1, tzinfo=UTC)
_END = datetime(9999, 12, 31, tzinfo=UTC)
_GUESSED = ("person", "product", "other")  # types that are often only guessed
# "I quit last month" is about the job told of last week: what is said to hold was only then told of.
_RECENT = timedelta(days=62)


@dataclass(slots=True)
class Outcome:
    """Counts of what a digest did."""

    added: int = 0
    repeated: int = 0
    superseded: int = 0
    late: int = 0
    entities: int = 0
    contradicted: int = 0


def reconcile(tx: WriteTx, trace: Memory, statements: Iterable[Statement], outcome: Outcome) -> None:
    """Bring the statements of one trace into the cube."""
    for told in statements:
        statement = resolved(tx, trace, told)
        changes = referred(tx, trace, statement)
        if statement.person or (statement.of is not None and statement.of.known and not changes):
            continue
        statement = called_as_known(statement, changes)
        before = outcome.superseded
        _bring(tx, trace, statement, outcome)
        still = [now for m in changes if (now := tx.get(m.id)) is not None and now.slot != statement.slot]
        _end(tx, trace, still, trace.valid_from or _START, outcome)
        changed = outcome.superseded > before
        for ending in statement.ends:
            if changed or not ending.if_changed:
                _end_others(tx, trace, ending, _until(trace, statement, ending), outcome)


def _bring(tx: WriteTx, trace: Memory, statement: Statement, outcome: Outcome) -> None:
    known = sorted(tx.find_slot(statement.slot, WAS_TRUE), key=last_said)
    same = [m for m in known if m.body.get("key") == statement.key]
    if not same and (told := as_known(tx, statement, known)) is not statement:
        _bring(tx, trace, told, outcome)
        return
    since = statement.valid_from or trace.valid_from or _START
    if statement.ended:
        at = statement.valid_to or since
        known = [m for m in known if not strangers(m, trace)]
        is_it = _begins_with if statement.single else _is_kind_of
        held = [m for m in known if is_it(m, statement.key) and _lasts(m, at)]
        later = all(last_said(m) > (trace.valid_from or _START) for m in held)  # said again after this
        if not _end(tx, trace, held, at, outcome) and statement.single and later:
            _add_past(tx, trace, statement, [m for m in same if m.body.get("past")], outcome)
            settle(tx, statement.slot)
    elif statement.single and statement.valid_to is None and statement.kind is not Kind.EVENT:
        _place(tx, trace, statement, since, known, outcome)
    elif (again := _holding(same, since, statement, trace)) is not None:
        _repeat(tx, trace, again, statement, outcome, since if _began(again, statement) else None)
    elif statement.valid_to is not None and statement.kind is not Kind.EVENT:
        _add_past(tx, trace, statement, same, outcome)
    else:
        _add(tx, trace, statement, since, outcome)


def _end_others(tx: WriteTx, trace: Memory, ending: Ending, at: datetime, outcome: Outcome) -> None:
    """End what a statement says is over beside its own value; never what the same trace says."""
    over = [
        m
        for m in sorted(tx.find_slot(ending.slot, WAS_TRUE), key=last_said)
        if _lasts(m, at)
        and not strangers(m, trace)
        and (not ending.key or _is_kind_of(m, ending.key))
        and not (ending.unless and holds(str(m.body.get("value", "")), ending.unless))
        and (not ending.only or holds(m.text, ending.only))
        and not _rests_on(m, trace)
    ]
    _end(tx, trace, over, at, outcome)


def holds(text: str, words: str) -> bool:
    """Whether `text` has `words`, from one end of a word to another where they are written apart."""
    edge = r"\b" if words.isascii() else ""
    return re.search(rf"{edge}{re.escape(words)}{edge}", text, re.IGNORECASE) is not None


def _until(trace: Memory, s: Statement, ending: Ending) -> datetime:
    """When what a statement ends was over."""
    told = s.valid_to if s.ended else s.valid_from
    return (None if ending.now else told) or trace.valid_from or _START


def _lasts(m: Memory, at: datetime) -> bool:
    return m.valid_to is None or (m.valid_to > at and not m.body.get("past"))


def _begins_with(m: Memory, key: str) -> bool:
    """Whether a fact has this key, or says it with more words: "Oslo, Norway" of "Oslo"."""
    held = str(m.body.get("key", ""))
    return held.startswith(key) and (
        len(held) == len(key) or not held[len(key)].isascii() or not held[len(key)].isalnum()
    )


def _is_kind_of(m: Memory, key: str) -> bool:
    """Whether a fact has this key, or says it of a kind: "black coffee" of "coffee". A denial has no kinds."""
    slot, _, value = key.rpartition("|")
    held_slot, _, held = str(m.body.get("key", "")).rpartition("|")
    if held_slot != slot or not held.endswith(value):
        return False
    lead = held.removesuffix(value)
    return not lead or (not lead.startswith("not ") and (lead.endswith(" ") or not value.isascii()))


def _holding(same: Sequence[Memory], since: datetime, statement: Statement, trace: Memory) -> Memory | None:
    """The memory that already says this: the one that was true at that time, the next that began after it, or the current; or
    the one that this record told of, though it was corrected from its beginning.
    """
    for m in sorted(same, key=lambda m: m.valid_to or _END):
        begun = _began(m, statement)
        held = (m.valid_from or _START) <= since or begun
        if m.valid_to is None or m.valid_to == statement.valid_to or (held and since < m.valid_to):
            return m
        if begun and _rests_on(m, trace):
            return m
    return None


def _began(known: Memory, s: Statement) -> bool:
    """Whether an earlier message that says the same tells that it began earlier, though it does not say since when."""
    return known.kind is not Kind.EVENT and not known.body.get("past") and s.valid_to is None


def _repeat(
    tx: WriteTx, trace: Memory, known: Memory, s: Statement, outcome: Outcome, since: datetime | None = None
) -> bool:
    """The same fact once more: one more piece of evidence, and perhaps an earlier start (told, or `since`). Returns whether it
    begins earlier now.
    """
    outcome.repeated += 1
    if _rests_on(known, trace):
        return False
    start = s.valid_from or since
    earlier = start is not None and known.valid_from is not None and start < known.valid_from
    tx.put(
        replace(
            known,
            sources=(*known.sources, s.source),
            confidence=max(known.confidence, s.confidence),
            valid_from=start if earlier else known.valid_from,
            seen=known.seen + 1,
            body=_rezoned(known, trace) if earlier else known.body,
        ),
        "merge" if SAID_AS in s.body else "evidence",
    )
    tx.link(_evidence(known.id, trace, s))
    return earlier


def _rezoned(known: Memory, trace: Memory) -> Mapping[str, Any]:
    """The body of a fact whose beginning another message told: the day is that of where this one was written."""
    return {k: v for k, v in known.body.items() if k != ZONE} | written_in(trace.body)


def _end(tx: WriteTx, trace: Memory, current: Sequence[Memory], at: datetime, outcome: Outcome) -> bool:
    """What was true is not any more, unless the message is older than what we know, or tells of an end before its
    beginning. Returns whether anything ended.
    """
    ended, told = False, trace.valid_from or _START
    for m in current:
        recent = m.valid_from is None or at >= m.valid_from or (told >= m.valid_from and m.valid_from - at <= _RECENT)
        if last_said(m) <= told and recent:
            until = max(at, m.valid_from or at)
            tx.put(replace(m, status=Status.SUPERSEDED, valid_to=until), "end")
            tx.link(Edge(trace.id, m.id, EdgeType.SUPERSEDES, valid_from=until))
            outcome.superseded += 1
            ended = True
    return ended


def _add_past(tx: WriteTx, trace: Memory, s: Statement, same: Sequence[Memory], outcome: Outcome) -> None:
    """Add what was over when it was told ("I lived in Paris until 2019"). "No longer" tells of no time at which it held."""
    again = next((m for m in same if m.valid_to == s.valid_to), None)
    if again is not None:
        _repeat(tx, trace, again, s, outcome)
        return
    over = s.ended and s.valid_from is None and (s.valid_to is None or s.valid_to >= (trace.valid_from or _START))
    until = s.valid_to or trace.valid_from or _START
    _add(tx, trace, s, until if over else s.valid_from, outcome, until)


def _place(
    tx: WriteTx, trace: Memory, s: Statement, since: datetime, known: Sequence[Memory], outcome: Outcome
) -> None:
    """Tell the timeline of a slot that has one value at a time. It is ordered by when things were said: a run of the
    same value is one fact, ended by what was said next, whenever each of them arrived.
    """
    said = trace.valid_from or _START
    rivals = [m for m in known if m.body.get(RIVAL) and m.status is Status.ACTIVE]
    if rivals and _decided(tx, trace, s, [m for m in known if m.status is Status.ACTIVE], outcome):
        return
    stays = sorted(
        (m for m in known if not m.body.get("past") and m.body.get("single", True) and not m.body.get(RIVAL)),
        key=lambda m: (first_said(m), m.valid_to or _END, m.id),
    )
    before = next((m for m in reversed(stays) if first_said(m) <= said), None)
    after = next((m for m in stays if first_said(m) > said), None)
    if before is not None and before.body.get("key") == s.key and _goes_on(before, trace, said):
        if _repeat(tx, trace, before, s, outcome):
            settle(tx, s.slot)
        return
    beside = before if after is None else after if before is None else None
    if beside is not None and beside.body.get("key") != s.key and contested(beside, s, trace):
        outcome.contradicted += 1
        rival = replace(s, body={**s.body, RIVAL: True, CONTESTED: True})
        fact = _add(tx, trace, rival, since, outcome)
        own = [m for m in rivals if strangers(beside, trace) and not strangers(m, trace)]
        for over in own:  # "the user" of two users: each has values of her own
            _supersede(tx, fact.id, tx.get(over.id) or over, since, outcome)
        oppose(tx, fact, [beside, *(m for m in rivals if m not in own)])
        return
    if before is not None and last_said(before) > said:
        after = split(tx, before, said)
        before = tx.get(before.id)
    if after is not None and after.body.get("key") == s.key:
        _repeat(tx, trace, after, s, outcome, since)
        if before is not None:
            _supersede(tx, after.id, before, since, outcome)
        settle(tx, s.slot)
        return
    ends = [m.valid_to for m in known if _tells_end(m, s, said) and m.valid_to is not None and m.valid_to >= since]
    former = [m for m in stays if first_said(m) <= said]
    ends += [end for _, end in told_over(tx, former, s.key, said) if end >= since]
    if after is not None:
        ends.append(max(since, after.valid_from or since))
    fact = _add(tx, trace, s, since, outcome, min(ends, default=None))
    for over in (m for m in (before, *rivals) if m is not None and not strangers(m, trace)):
        _supersede(tx, fact.id, tx.get(over.id) or over, since, outcome)
    if after is not None:
        outcome.late += 1
    if after is not None or (before is not None and since < (before.valid_from or since)):
        settle(tx, s.slot)  # more than the last value is to be placed


def _goes_on(run: Memory, trace: Memory, said: datetime) -> bool:
    """Whether a run of a value holds when it is said once more; what corrected it took its place from the beginning."""
    return run.valid_to is None or said < run.valid_to or _rests_on(run, trace)


def _rests_on(memory: Memory, trace: Memory) -> bool:
    return any(source.memory_id == trace.id for source in memory.sources)


def _decided(tx: WriteTx, trace: Memory, s: Statement, current: Sequence[Memory], outcome: Outcome) -> bool:
    """Whether a statement says what one of several values says that contradict each other: that one has more evidence, and is
    the right one where this decides.
    """
    said = next((m for m in current if m.body.get("key") == s.key), None)
    if said is None:
        return False
    asked = bool({"corrects", "feedback"} & {*s.body, *trace.body})  # who is asked, or corrects, means to decide
    decides = asked or confirms(said, [m for m in current if m.id != said.id], trace)
    _repeat(tx, trace, said, s, outcome)
    if decides:
        outcome.superseded += resolve(tx, said.id, trace.valid_from or _START)
    return True


def _tells_end(m: Memory, s: Statement, said: datetime) -> bool:
    """Whether a fact says that this, said before it, is over."""
    return bool(m.body.get("past")) and m.body.get("key") == s.key and first_said(m) > said


def _supersede(tx: WriteTx, by: str, before: Memory, since: datetime, outcome: Outcome) -> None:
    if before.valid_to is None or before.valid_to > since:
        ended = max(since, before.valid_from or since)
        tx.put(replace(before, status=Status.SUPERSEDED, valid_to=ended), "supersede")
        tx.link(Edge(by, before.id, EdgeType.SUPERSEDES))
        outcome.superseded += 1


def _add(
    tx: WriteTx, trace: Memory, s: Statement, since: datetime | None, outcome: Outcome, until: datetime | None = None
) -> Memory:
    """A new derived memory. What is stated as past ("until 2019") is marked so: it is over, but what was said still holds."""
    until = until or s.valid_to
    past = {"past": True} if (s.ended or s.valid_to is not None) and s.kind is not Kind.EVENT else {}
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
            body={
                **written_in(trace.body),
                **without_note(s.body),
                **past,
                "key": s.key,
                "value": s.value,
                "single": s.single,
            },
        ),
        "derive",
        key=sense_key(Said.by(s)),
    )
    outcome.added += 1
    tx.link(_evidence(fact.id, trace, s))
    lean(tx, fact)
    return fact


def lean(tx: WriteTx, fact: Memory) -> None:
    """Link a fact with the records whose words it has beside those of its evidence: with one of them it goes."""
    for id in fact.body.get(LEANS, ()):
        if tx.get(str(id)) is not None:
            tx.link(Edge(str(id), fact.id, EdgeType.SUPPORTS, info={LEANS: True}))


def _evidence(id: str, trace: Memory, s: Statement) -> Edge:
    """The edge from a fact to the trace that says it. Where a model read that there, the edge names it."""
    by = stamp(s.body.get(READER))
    return Edge(
        id, trace.id, EdgeType.DERIVED_FROM, weight=s.confidence, valid_from=s.valid_from, info={**by, **own_words(s)}
    )


def stamp(reader: object) -> Mapping[str, Any]:
    """What an edge carries of the model that read what it tells; nothing where rules did."""
    return {READER: reader} if reader else {}


def mention(tx: WriteTx, trace: Memory, found: Mention, outcome: Outcome, reader: str | None = None) -> str:
    """The entity of this name, created when it is new, linked from the trace that mentions it; returns its id. `reader`: the
    model that found it.
    """
    known = aliased(tx, found.name)
    if known is not None and (found.type == known.body.get("type") or found.type in _GUESSED):
        edge = Edge(trace.id, known.id, EdgeType.MENTIONS, weight=found.confidence, info=stamp(reader))
        link_by_name(tx, edge, known, found.name)
        return known.id
    key = entity_key(found.type, found.name)
    entity = tx.find_key(key) or _by_other_type(tx, found, key)
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
    tx.link(Edge(trace.id, entity, EdgeType.MENTIONS, weight=found.confidence, info=stamp(reader)))
    return entity


def _by_other_type(tx: WriteTx, found: Mention, key: bytes) -> str | None:
    """The entity of this name where its type was only guessed: a dog called Pixel is no product. Once known to be
    somebody, it stays so.
    """
    others = {"person": ("product", "other"), "product": ("person",), "other": ("person",)}.get(found.type, ())
    for other in others:
        known = tx.find_key(entity_key(other, found.name))
        entity = tx.get(known) if known is not None else None
        if entity is None or entity.status is not Status.ACTIVE:
            continue
        if found.type == "person":
            tx.put(replace(entity, tags=(found.type,), body={**entity.body, "type": found.type}), "retype", key=key)
        return entity.id
    return None
