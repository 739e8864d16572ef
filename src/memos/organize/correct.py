"""Corrections: a message said to correct something is matched to the fact it means, and becomes a statement that takes its
place, over the whole time that the wrong one was thought to hold: what was wrong never was true (law 5).

Where nothing was derived from what was wrong, the sentence of the raw record itself becomes the fact that is replaced. The
record stays as it is (law 1). What fits nothing corrects nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memos.memory.clock import ZONE
from memos.memory.filter import And, Compare, Field, Filter, Op
from memos.memory.model import Kind, Layer, Memory, Source
from memos.memory.statement import Correction, Ending, Reading, Statement
from memos.organize.exchange import Exchange, certain, dated, exchanged, found, like
from memos.organize.targets import tells
from memos.storage.ports import CubeStore
from memos.storage.timeline import last_said
from memos.text.analysis import analyze
from memos.text.spans import sentences

LOOKED_AT = 500  # memories among which what is meant is looked for
_TOLD = (Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT, Kind.EVENT)
_I = re.compile(r"\bI\b|我(?!的)")
_WE = re.compile(r"\b(?:I|we)\b|我(?=[住在叫是喜爱想要会去有买养从来做对])")
_SURE_ENOUGH = 0.8  # confidence of a fact that is a sentence of a record


@dataclass(frozen=True, slots=True)
class Corrected:
    """A reading, and what its corrections state, with the record that says it, which is to be brought in first."""

    reading: Reading
    first: tuple[tuple[Memory, Statement], ...] = ()


async def corrected(store: CubeStore, trace: Memory, reading: Reading) -> Corrected:
    """The reading of a trace, its corrections turned into statements about the facts they surely mean."""
    first: list[tuple[Memory, Statement]] = []
    if reading.answer:
        trace = replace(trace, body={**trace.body, "context": [{"role": "assistant", "text": reading.answer}]})
    for correction in reading.corrections:
        told: Filter = Compare(Field("kind"), Op.IN, tuple(k.value for k in _TOLD))
        if correction.old is not None:
            told = And((told, Compare(Field("text"), Op.LIKE, correction.old)))
        known = await store.list(told, limit=LOOKED_AT)
        facts = [m for m in known.items if all(s.memory_id != trace.id for s in m.sources)]
        if reading.answer:
            facts = [m for m in facts if tells(reading.answer, m)]
        meant = await _facts_meant(store, facts, trace, correction)
        for fact, wrong in meant or ():
            exchange = await _certain(store, fact, replace(correction, old=wrong), trace)
            by = not_before(trace, last_said(fact))
            if exchange is not None and (right := _instead(fact, exchange, by)) is not None:
                first.append((by, right))
        if meant is None and correction.old is not None and not reading.answer:
            first += await _of_record(store, facts, trace, correction)
    return Corrected(reading, tuple(first))


async def _certain(store: CubeStore, fact: Memory, correction: Correction, trace: Memory) -> Exchange | None:
    """What is to be exchanged in a fact, where that is certain by the sentence it was read from: "7" of "7 apples" may stand
    there twice.
    """
    told = await _sentences_of(store, fact)
    if not _is_of(correction.about, " ".join([fact.text, *told.values()]), fact, trace):
        return None
    if "corrects" in fact.body:
        return certain(fact.text, correction)
    if fact.valid_from not in (None, *(s.time for s in fact.sources)) and dated(correction.old or ""):
        return None  # when it was or began was read from words, maybe these
    return next(
        (e for text in told.values() or (fact.text,) if (e := certain(text, correction, fact.text)) is not None), None
    )


async def _sentences_of(store: CubeStore, fact: Memory) -> dict[tuple[str, int], str]:
    """The sentences that a fact was read from, by their record and where they begin in it."""
    records = {m.id: m for m in await store.get([s.memory_id for s in fact.sources if s.memory_id])}
    told: dict[tuple[str, int], str] = {}
    for source in fact.sources:
        record = records.get(source.memory_id or "")
        if record is not None and source.start is not None and source.end is not None:
            over = [(a, b) for a, b in sentences(record.text) if a < source.end and b > source.start]
            told |= {(record.id, a): record.text[a:b].strip() for a, b in over}
    return told


def not_before(trace: Memory, when: datetime | None) -> Memory:
    """The correction as said after what it corrects, whatever date it carries: who corrects something knows of it."""
    if trace.valid_from is None or when is None or trace.valid_from > when:
        return trace
    return replace(trace, valid_from=when + timedelta(microseconds=1))


async def _facts_meant(
    store: CubeStore, facts: Sequence[Memory], trace: Memory, correction: Correction
) -> list[tuple[Memory, str]] | None:
    """The current facts that say what is wrong, each with the wrong words: those of the one sentence that is talked about.
    None where no fact says it; nothing where several do, and it is not known which of them is meant.
    """
    if correction.old is None:
        return _talked_about(facts, trace, correction.new)
    there = _aimed_at([m for m in facts if found(str(m.body.get("value", "")), correction.old)], trace)
    if not there:
        return None
    worth = {m.id: (_nearness(m, trace), _of_me(m, trace)) for m in there}
    best = max(there, key=lambda m: worth[m.id])
    sentence = await _sentences_of(store, best)
    together = {best.id}
    for other in there:
        if other is not best and sentence.keys() & (await _sentences_of(store, other)).keys():
            together.add(other.id)
        elif other is not best and worth[other.id] == worth[best.id]:
            return []
    return [(m, correction.old) for m in there if m.id in together]


def _talked_about(facts: Sequence[Memory], trace: Memory, new: str) -> list[tuple[Memory, str]]:
    """The one fact whose value the last message before the correction told; nothing when there are several or none."""
    said = [str(m.get("text", "")) for m in trace.body.get("context", ())]
    for text in reversed(said):
        told = [m for m in facts if (value := str(m.body.get("value", ""))) and found(text, value)]
        told = _aimed_at(told, trace)
        if told:
            values = {str(m.body["value"]).casefold() for m in told}
            same = (
                len(values) == 1 and new.casefold() not in values and all(like(str(m.body["value"]), new) for m in told)
            )
            return [(m, str(m.body["value"])) for m in told] if same else []
    return []


def _aimed_at(memories: Sequence[Memory], trace: Memory) -> list[Memory]:
    """Those that the caller named, or that rest on what the caller named; all where none of them was."""
    named = {str(id) for id in trace.body.get("corrects", ())}
    aimed = [m for m in memories if m.id in named or any(s.memory_id in named for s in m.sources)]
    return aimed or list(memories)


def _nearness(memory: Memory, trace: Memory) -> int:
    """How many words a memory shares with the correction and what was said before it."""
    said = " ".join([trace.text, *(str(m.get("text", "")) for m in trace.body.get("context", ()))])
    return len(_terms(memory.text) & _terms(said))


def _of_me(memory: Memory, trace: Memory) -> bool:
    """Whether the correction is of its speaker ("I like coffee, not tea"), and so is the memory."""
    return _I.search(trace.text) is not None and memory.body.get("subject") == (trace.speaker or "user")


def _is_of(about: str, text: str, memory: Memory, trace: Memory) -> bool:
    """Whether a text may be of what the correction says it is about: "my sister lives in Bergen, not Oslo" is not of me, nor is
    what another user of the cube said of himself.
    """
    if about in ("I", "我"):
        subject = memory.body.get("subject")
        if memory.owner not in (None, trace.owner):
            return subject is not None and subject == trace.speaker
        return subject == (trace.speaker or "user") or _WE.search(text) is not None
    return not about or about in text or bool(_terms(about) & _terms(text))


def _terms(text: str) -> frozenset[str]:
    return frozenset(analyze(text).content_terms())


def _instead(fact: Memory, exchange: Exchange, trace: Memory) -> Statement | None:
    """The statement that takes the place of a fact: the same with the right words, from when the wrong one was thought to
    hold. None where the fact does not have just these words.
    """
    slot, key, value = fact.slot or "", str(fact.body.get("key", "")), str(fact.body.get("value", ""))
    text, right = exchanged(fact.text, exchange), exchanged(value, exchange)
    if text is None or right is None:
        return None
    about = {name: fact.body[name] for name in ("subject", "attribute") if name in fact.body}
    head, _, normal = key.rpartition("|")
    return Statement(
        kind=fact.kind,
        text=text,
        slot=slot,
        key=f"{head}|{(exchanged(normal, exchange) or right).casefold()}",
        value=right,
        single=bool(fact.body.get("single")),
        confidence=fact.confidence,
        source=said_in(trace, 0, len(trace.text)),
        valid_from=fact.valid_from,
        ends=(Ending(slot, key),),
        body={**about, ZONE: fact.body.get(ZONE, "UTC"), "said_by": trace.speaker, "corrects": fact.id},
        tags=fact.tags,
    )


async def _of_record(
    store: CubeStore, facts: Sequence[Memory], trace: Memory, correction: Correction
) -> list[tuple[Memory, Statement]]:
    """The sentence of a record that is wrong, and the right one, as two values of one thing; nothing where none is surely
    meant.
    """
    assert correction.old is not None
    record = await _record_meant(store, trace, correction.old)
    if record is None:
        return []
    spans = [(a, b) for a, b in sentences(record.text) if found(record.text[a:b], correction.old)]
    sure = [(a, b) for a, b in spans if certain(record.text[a:b], correction) is not None]
    if len(spans) != 1 or sure != spans or not _is_of(correction.about, record.text, record, trace):
        return []
    by, slot = not_before(trace, record.valid_from), f"said|{record.id}|{spans[0][0]}"
    before = next((m for m in facts if m.slot == slot), None)
    if before is not None:  # other words of the sentence were corrected already
        by = not_before(trace, last_said(before))
    wrong = sentence_as_fact(record, spans[0], slot, correction.old)
    right = _right(replace(wrong, text=before.text) if before is not None else wrong, record, correction, by)
    if right is None:
        return []
    return [(by, right)] if before is not None else [(record, wrong), (by, right)]


async def _record_meant(store: CubeStore, trace: Memory, old: str) -> Memory | None:
    """The raw record that says what is wrong: one the caller named, else the one nearest to what was talked about."""
    where = And((Compare(Field("layer"), Op.EQ, Layer.TRACE.value), Compare(Field("text"), Op.LIKE, old)))
    page = await store.list(where, limit=LOOKED_AT)
    there = [m for m in page.items if m.id != trace.id and "corrects" not in m.body and found(m.text, old)]
    if not there:
        return None
    aimed = _aimed_at(there, trace)
    worth = {m.id: _nearness(m, trace) + (m.session == trace.session) for m in aimed}
    best = max(aimed, key=lambda m: worth[m.id])
    if sum(1 for w in worth.values() if w == worth[best.id]) > 1:
        return None
    named = len(aimed) < len(there) or len(there) == 1
    return best if named or _nearness(best, trace) > len(_terms(old)) else None


def sentence_as_fact(record: Memory, span: tuple[int, int], slot: str, old: str) -> Statement:
    """A sentence of a record as a fact."""
    return Statement(
        kind=Kind.FACT,
        text=record.text[slice(*span)].strip(),
        slot=slot,
        key=f"{slot}|{old.casefold()}",
        value=old,
        single=True,
        confidence=_SURE_ENOUGH,
        source=said_in(record, *span),
        body={"subject": record.speaker or "user", "attribute": "said", "said_by": record.speaker},
    )


def _right(wrong: Statement, record: Memory, correction: Correction, trace: Memory) -> Statement | None:
    """The sentence with the right words, since when it was said."""
    exchange = certain(wrong.text, correction)
    text = exchanged(wrong.text, exchange) if exchange is not None else None
    if text is None:
        return None
    return replace(
        wrong,
        text=text,
        key=f"{wrong.slot}|{correction.new.casefold()}",
        value=correction.new,
        source=said_in(trace, 0, len(trace.text)),
        valid_from=record.valid_from,
        body={**wrong.body, ZONE: record.body.get(ZONE, "UTC"), "corrects": record.id, "said_by": trace.speaker},
    )


def said_in(record: Memory, start: int, end: int) -> Source:
    """These characters of a record, as evidence."""
    return Source(record.id, record.message_id, record.role, record.speaker, record.valid_from, start, end)
