"""Corrections: a message said to correct something is matched to the fact it means, and becomes a statement that takes its
place, over the whole time that the wrong one was thought to hold: what was wrong never was true (law 5).

Where nothing was derived from what was wrong, the sentence of the raw record itself becomes the fact that is replaced. The
record stays as it is (law 1). What fits nothing corrects nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memos.memory.filter import And, Compare, Field, Op
from memos.memory.model import Kind, Layer, Memory, Source
from memos.memory.statement import Correction, Ending, Reading, Statement
from memos.organize.reconcile import holds
from memos.storage.ports import CubeStore
from memos.storage.timeline import last_said
from memos.text.analysis import analyze
from memos.text.spans import sentences

LOOKED_AT = 500  # memories among which what is meant is looked for
_TOLD = (Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT, Kind.EVENT)
_I = re.compile(r"\bI\b|我(?!的)")
_SURE_ENOUGH = 0.8  # confidence of a fact that is a sentence of a record


@dataclass(frozen=True, slots=True)
class Corrected:
    """A reading, and what its corrections state, with the record that says it, which is to be brought in first."""

    reading: Reading
    first: tuple[tuple[Memory, Statement], ...] = ()


async def corrected(store: CubeStore, trace: Memory, reading: Reading) -> Corrected:
    """The reading of a trace, its corrections turned into statements about the facts they mean."""
    first: list[tuple[Memory, Statement]] = []
    for correction in reading.corrections:
        facts = await _facts_meant(store, trace, correction)
        for fact, old in facts:
            by = _not_before(trace, last_said(fact))
            first.append((by, _instead(fact, old, correction.new, by)))
        if not facts and correction.old is not None:
            record = await _record_meant(store, trace, correction.old)
            if record is not None:
                by = _not_before(trace, record.valid_from)
                wrong, right = _sentences(record, by, correction.old, correction.new)
                first += [(record, wrong), (by, right)]
    return Corrected(reading, tuple(first))


def _not_before(trace: Memory, when: datetime | None) -> Memory:
    """The correction as said after what it corrects, whatever date it carries: who corrects something knows of it."""
    if trace.valid_from is None or when is None or trace.valid_from > when:
        return trace
    return replace(trace, valid_from=when + timedelta(microseconds=1))


async def _facts_meant(store: CubeStore, trace: Memory, correction: Correction) -> list[tuple[Memory, str]]:
    """The current facts that say what is wrong, each with the wrong words: of one subject, the one talked about."""
    page = await store.list(Compare(Field("kind"), Op.IN, tuple(k.value for k in _TOLD)), limit=LOOKED_AT)
    facts = [m for m in page.items if all(s.memory_id != trace.id for s in m.sources)]
    if correction.old is None:
        return _talked_about(facts, trace, correction.new)
    there = [m for m in facts if holds(str(m.body.get("value", "")), correction.old)]
    there = _aimed_at(there, trace)
    if not there:
        return []
    best = max(there, key=lambda m: (_nearness(m, trace), _of_me(m, trace), m.recorded_at is not None, m.recorded_at))
    records = {s.memory_id for s in best.sources}
    together = [m for m in there if m is best or any(s.memory_id in records for s in m.sources)]
    return [(m, correction.old) for m in together]


def _talked_about(facts: Sequence[Memory], trace: Memory, new: str) -> list[tuple[Memory, str]]:
    """The one fact whose value the last message before the correction told; nothing when there are several or none."""
    said = [str(m.get("text", "")) for m in trace.body.get("context", ())]
    for text in reversed(said):
        told = [m for m in facts if (value := str(m.body.get("value", ""))) and holds(text, value)]
        told = _aimed_at(told, trace)
        if told:
            values = {str(m.body["value"]).casefold() for m in told}
            same = len(values) == 1 and new.casefold() not in values
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


def _terms(text: str) -> frozenset[str]:
    return frozenset(analyze(text).content_terms())


def _instead(fact: Memory, old: str, new: str, trace: Memory) -> Statement:
    """The statement that takes the place of a fact: the same with the right words, from when the wrong one was thought to
    hold."""
    key, value = str(fact.body.get("key", "")), str(fact.body.get("value", ""))
    about = {name: fact.body[name] for name in ("subject", "attribute") if name in fact.body}
    return Statement(
        kind=fact.kind,
        text=_exchanged(fact.text, old, new),
        slot=fact.slot or "",
        key=_exchanged(key, old, new.casefold()),
        value=_exchanged(value, old, new),
        single=bool(fact.body.get("single")),
        confidence=fact.confidence,
        source=_said(trace, 0, len(trace.text)),
        valid_from=fact.valid_from,
        ends=(Ending(fact.slot or "", key),),
        body={**about, "said_by": trace.speaker, "corrects": fact.id},
        tags=fact.tags,
    )


async def _record_meant(store: CubeStore, trace: Memory, old: str) -> Memory | None:
    """The raw record that says what is wrong: one the caller named, else the one nearest to what was talked about."""
    where = And((Compare(Field("layer"), Op.EQ, Layer.TRACE.value), Compare(Field("text"), Op.LIKE, old)))
    page = await store.list(where, limit=LOOKED_AT)
    there = [m for m in page.items if m.id != trace.id and "corrects" not in m.body and holds(m.text, old)]
    if not there:
        return None
    aimed = _aimed_at(there, trace)
    best = max(aimed, key=lambda m: _nearness(m, trace) + (m.session == trace.session))
    named = len(aimed) < len(there) or len(there) == 1
    return best if named or _nearness(best, trace) > len(_terms(old)) else None


def _sentences(record: Memory, trace: Memory, old: str, new: str) -> tuple[Statement, Statement]:
    """The sentence of a record that is wrong, and the right one, as two values of one thing."""
    spans: Iterable[tuple[int, int]] = sentences(record.text)
    start, end = next((a, b) for a, b in spans if holds(record.text[a:b], old) or b == len(record.text))
    said = record.text[start:end].strip()
    slot = f"said|{record.id}|{start}"
    wrong = Statement(
        kind=Kind.FACT,
        text=said,
        slot=slot,
        key=f"{slot}|{old.casefold()}",
        value=old,
        single=True,
        confidence=_SURE_ENOUGH,
        source=_said(record, start, end),
        body={"subject": record.speaker or "user", "attribute": "said", "said_by": record.speaker},
    )
    right = replace(
        wrong,
        text=_exchanged(said, old, new),
        key=f"{slot}|{new.casefold()}",
        value=new,
        source=_said(trace, 0, len(trace.text)),
        valid_from=record.valid_from,
        body={**wrong.body, "corrects": record.id, "said_by": trace.speaker},
    )
    return wrong, right


def _exchanged(text: str, old: str, new: str) -> str:
    edge = r"\b" if old.isascii() else ""
    return re.sub(rf"{edge}{re.escape(old)}{edge}", lambda _: new, text, flags=re.IGNORECASE)


def _said(record: Memory, start: int, end: int) -> Source:
    return Source(record.id, record.message_id, record.role, record.speaker, record.valid_from, start, end)
