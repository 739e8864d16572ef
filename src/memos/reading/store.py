"""Storing records: the same message again is counted, a new one is put and marked to be digested, in one change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memos.memory.image import DESCRIBABLE, Image, images_in
from memos.memory.message import Message, PartType
from memos.memory.model import EMPTY, Memory, Status
from memos.reading.traces import Record
from memos.results import Added
from memos.storage.ports import DESCRIBE, DIGEST, READ, WriteTx


def images_of(messages: Sequence[Message], most: int) -> tuple[dict[str, Image], tuple[str, ...]]:
    """The images that came with messages, by their references, and a notice for each of more than `most` bytes, which is left
    out.
    """
    kept: dict[str, Image] = {}
    notices: dict[str, None] = {}
    for message in messages:
        for part in message.parts:
            if part.type is not PartType.IMAGE or part.data is None or part.uri is None:
                continue
            if len(part.data) > most:
                size = f"{len(part.data) / (1 << 20):.1f} MB"
                told = f"an image of {size} was not stored, only its reference {part.uri} (image_mb is {most >> 20})"
                notices[told] = None
            else:
                kept[part.uri] = Image.of(part.data, part.media_type)
    return kept, tuple(notices)


def store_records(
    tx: WriteTx,
    records: Sequence[Record],
    *,
    derive: bool,
    named: bool,
    fine: bool = False,
    images: Mapping[str, Image] = EMPTY,
    see: bool = False,
) -> list[Added]:
    """Store each record once. `derive`: mark the new ones to be read, and (`fine`) to be read by a model after that. `named`: the
    caller gave an idempotency key. `images`: the bytes of images, by the references that records have to them; `see`: mark those
    records to have them described.
    """
    out = []
    tasks = (DIGEST, READ) if derive and fine else (DIGEST,) if derive else ()
    for record in records:
        known = tx.find_key(record.key) if record.key is not None else None
        if known is not None:
            memory = tx.get(known)
            assert memory is not None
            if not _said_anew(memory, record, named):
                _keep(tx, memory, images)
                out.append(Added(known, memory.text, False, tx.touch(known)))
                continue
        memory = tx.put_new(record.memory, terms=record.terms, key=record.key, tasks=tasks)
        if _keep(tx, memory, images) and see and not memory.body.get("part"):  # of a message in parts, by the first
            tx.mark(memory.id, DESCRIBE)
        out.append(Added(memory.id, memory.text, True, 1))
    return out


def _keep(tx: WriteTx, memory: Memory, images: Mapping[str, Image]) -> bool:
    """Keep the bytes of a record's images; whether any of them can be described."""
    shows = False
    for reference in images_in(memory.body) if images else ():
        if reference in images:
            tx.keep_image(memory.id, reference, images[reference])
            shows = shows or images[reference].media_type in DESCRIBABLE
    return shows


def _said_anew(known: Memory, record: Record, named: bool) -> bool:
    """Whether the same words are a new record: the one there was taken back or edited, and nothing says that this is a
    repetition of that very message.
    """
    same_message = named or record.message.message_id is not None or record.message.time_given
    return not same_message and (known.status is Status.RETRACTED or known.text != record.memory.text)
