"""One word put for another wherever it is: derived memories get a new version, raw records stay as they are (law 1).

A sentence of a record of which no derived memory holds the word becomes a fact with the new one, so that the old is shown as
what it is. That the one is to be read as the other is itself noted as a fact.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memos.memory.feedback import Made
from memos.memory.model import Edge, EdgeType, Kind, Memory
from memos.memory.statement import Statement
from memos.organize.correct import said_in, sentence_as_fact
from memos.organize.exchange import found
from memos.organize.reconcile import Outcome, reconcile
from memos.organize.targets import holding
from memos.storage.ports import ANY_STATUS, CubeStore, WriteTx
from memos.storage.timeline import settle, slot_of
from memos.text.spans import sentences

MOST = 500  # memories that are renamed in one change
_HAN = re.compile("[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Renaming:
    """Words for words, in these derived memories, and in these sentences of raw records (from where to where)."""

    old: str
    new: str
    derived: tuple[Memory, ...]
    said: tuple[tuple[Memory, tuple[int, int]], ...]


async def renaming(store: CubeStore, trace: Memory, old: str, new: str) -> Renaming | None:
    """Where the old words are; None where they are nowhere, or in more than can be changed at once."""
    if len(old) < 2 and not _HAN.match(old):
        return None
    derived, records = await holding(store, old)
    derived = [m for m in derived if m.kind is not Kind.ENTITY and not (m.slot or "").startswith("replaced|")]
    covered = {
        (s.memory_id, s.start, s.end) for m in derived for s in m.sources if s.start is not None and s.end is not None
    }
    said = [
        (record, span)
        for record in records
        if record.id != trace.id
        for span in sentences(record.text)
        if found(record.text[slice(*span)], old)
        and not any(
            id == record.id and a < span[1] and b > span[0] for id, a, b in covered if a is not None and b is not None
        )
    ]
    if not (derived or said) or len(derived) + len(said) > MOST:
        return None
    return Renaming(old, new, tuple(derived), tuple(said))


def rename(tx: WriteTx, trace: Memory, name: Renaming) -> tuple[list[Memory], list[Made]]:
    """Put the new words for the old; returns the memories as they were, and what they are now."""
    targets: list[Memory] = []
    made: list[Made] = []
    for memory in name.derived:
        now = tx.get(memory.id)
        if now is None or not found(now.text, name.old):
            continue
        changed = tx.put(_renamed(now, name), "replace")
        for slot in {slot for m in (now, changed) if (slot := slot_of(m)) is not None}:
            settle(tx, slot)
        tx.link(Edge(trace.id, memory.id, EdgeType.SUPPORTS))
        targets.append(now)
        made.append(Made(changed.id, changed.text, changed.id))
    for record, span in name.said:
        if (pair := _as_facts(tx, trace, record, span, name)) is not None:
            targets.append(pair[0])
            made.append(Made(pair[1].id, pair[1].text, pair[0].id))
    if targets:
        reconcile(tx, trace, [_note(trace, name)], Outcome())
    return targets, made


def _renamed(memory: Memory, name: Renaming) -> Memory:
    body: dict[str, Any] = dict(memory.body)
    for field in ("subject", "attribute", "value"):
        if isinstance(body.get(field), str):
            body[field] = put(body[field], name.old, name.new)
    if isinstance(body.get("key"), str):
        body["key"] = put(body["key"], name.old.casefold(), name.new.casefold())
    slot = put(memory.slot, name.old.casefold(), name.new.casefold()) if memory.slot is not None else None
    title = put(memory.title, name.old, name.new) if memory.title is not None else None
    return replace(memory, text=put(memory.text, name.old, name.new), title=title, slot=slot, body=body)


def put(text: str, old: str, new: str) -> str:
    """A text with the new words wherever the old ones stand."""
    for start, end in reversed(found(text, old)):
        text = f"{text[:start]}{new}{text[end:]}"
    return text


def _as_facts(
    tx: WriteTx, trace: Memory, record: Memory, span: tuple[int, int], name: Renaming
) -> tuple[Memory, Memory] | None:
    """A sentence of a record as a fact that is replaced, and the fact that takes its place."""
    slot = f"said|{record.id}|{span[0]}"
    if tx.find_slot(slot):  # said otherwise already
        return None
    wrong = sentence_as_fact(record, span, slot, name.old)
    right = replace(
        wrong,
        text=put(wrong.text, name.old, name.new),
        key=f"{slot}|{name.new.casefold()}",
        value=name.new,
        source=said_in(trace, 0, len(trace.text)),
        valid_from=record.valid_from,
        body={**wrong.body, "corrects": record.id, "said_by": trace.speaker},
    )
    reconcile(tx, record, [wrong], Outcome())
    reconcile(tx, trace, [right], Outcome())
    both: Mapping[object, Memory] = {m.body.get("key"): m for m in _slot(tx, slot)}
    return (both[wrong.key], both[right.key]) if wrong.key in both and right.key in both else None


def _slot(tx: WriteTx, slot: str) -> Sequence[Memory]:
    return tx.find_slot(slot, ANY_STATUS)


def _note(trace: Memory, name: Renaming) -> Statement:
    """That the old words are to be read as the new ones."""
    slot = f"replaced|{name.old.casefold()}"
    chinese = _HAN.search(name.old + name.new) is not None
    return Statement(
        kind=Kind.FACT,
        text=f"“{name.old}”现在改称“{name.new}”。" if chinese else f"“{name.old}” is now called “{name.new}”.",
        slot=slot,
        key=f"{slot}|{name.new.casefold()}",
        value=name.new,
        single=True,
        confidence=0.95,
        source=said_in(trace, 0, len(trace.text)),
        body={"subject": name.old, "attribute": "replaced by", "said_by": trace.speaker},
        tags=("replacement",),
    )
