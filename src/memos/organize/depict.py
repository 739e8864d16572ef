"""Bringing what an image shows into a cube: one memory for each image, resting on every record that it came with."""

from __future__ import annotations

from dataclasses import replace

from memos.memory.ids import new_id, unique_key
from memos.memory.image import digits_of
from memos.memory.model import Edge, EdgeType, Kind, Memory, Source, Status
from memos.memory.statement import Mention
from memos.organize.reconcile import Outcome, mention, stamp
from memos.storage.ports import READER, WAS_TRUE, WriteTx

IMAGE = "image"  # in the body of a description: the digits of the image's SHA-256
SURE = 0.7  # a model saw it; nobody said it


def depicted(tx: WriteTx, reference: str) -> Memory | None:
    """What is known of an image, if anything."""
    known = tx.find_key(_key(reference))
    memory = tx.get(known) if known is not None else None
    return memory if memory is not None and memory.status in WAS_TRUE else None


def depict(
    tx: WriteTx,
    trace: Memory,
    reference: str,
    description: str,
    text: str,
    names: tuple[Mention, ...],
    reader: str,
) -> None:
    """Say what an image of a record shows. What another model said of it before gives place, under the same id."""
    said = f"{description}\nText in it: {text}" if text else description
    body = {
        "subject": IMAGE,
        "attribute": "shows",
        IMAGE: digits_of(reference),
        "description": description,
        **({"text": text} if text else {}),
        "names": [{"name": m.name, "type": m.type} for m in names],
        READER: reader,
    }
    known = depicted(tx, reference)
    if known is None:
        new = Memory(
            new_id(),
            Kind.FACT,
            f"Image: {said}",
            tags=(IMAGE,),
            valid_from=trace.valid_from,
            confidence=SURE,
            origin=trace.origin,
            trust=trace.trust,
            owner=trace.owner,
            session=trace.session,
            body=body,
        )
        known = tx.put(replace(new, sources=(_source(trace),)), "derive", key=_key(reference))
    else:
        stale = known.body.get(READER) != reader
        there = any(source.memory_id == trace.id for source in known.sources)
        if stale:
            known = replace(known, text=f"Image: {said}", body=body)
        if stale or not there:
            sources = known.sources if there else (*known.sources, _source(trace))
            known = tx.put(replace(known, sources=sources), "reread" if stale else "evidence")
    tx.link(Edge(known.id, trace.id, EdgeType.DERIVED_FROM, weight=SURE, info=stamp(reader)))
    for name in names:
        mention(tx, trace, name, Outcome())


def link_again(tx: WriteTx, trace: Memory, known: Memory) -> None:
    """The same image came with another record: one more piece of evidence for what is known of it."""
    named = [m for m in known.body.get("names", ()) if isinstance(m, dict)]
    names = tuple(Mention(str(m.get("name", "")), str(m.get("type", "other")), SURE) for m in named)
    told = known.body
    depict(
        tx,
        trace,
        f"sha256:{told[IMAGE]}",
        str(told.get("description", "")),
        str(told.get("text", "")),
        names,
        str(told.get(READER, "")),
    )


def stands(tx: WriteTx, trace: Memory) -> bool:
    """Whether a record is there, and was not taken back."""
    now = tx.get(trace.id)
    return now is not None and now.status is not Status.RETRACTED


def _source(trace: Memory) -> Source:
    return Source(
        memory_id=trace.id,
        message_id=trace.message_id,
        role=trace.role,
        speaker=trace.speaker,
        time=trace.valid_from,
    )


def _key(reference: str) -> bytes:
    return unique_key("image", digits_of(reference))
