"""Storing records: the same message again is counted, a new one is put and marked to be digested, in one change."""

from __future__ import annotations

from collections.abc import Sequence

from memos.memory.model import Memory, Status
from memos.reading.traces import Record
from memos.results import Added
from memos.storage.ports import DIGEST, READ, WriteTx


def store_records(
    tx: WriteTx, records: Sequence[Record], *, derive: bool, named: bool, fine: bool = False
) -> list[Added]:
    """Store each record once. `derive`: mark the new ones to be read, and (`fine`) to be read by a model after that. `named`: the
    caller gave an idempotency key.
    """
    out = []
    tasks = (DIGEST, READ) if derive and fine else (DIGEST,) if derive else ()
    for record in records:
        known = tx.find_key(record.key) if record.key is not None else None
        if known is not None:
            memory = tx.get(known)
            assert memory is not None
            if not _said_anew(memory, record, named):
                out.append(Added(known, memory.text, False, tx.touch(known)))
                continue
        memory = tx.put_new(record.memory, terms=record.terms, key=record.key, tasks=tasks)
        out.append(Added(memory.id, memory.text, True, 1))
    return out


def _said_anew(known: Memory, record: Record, named: bool) -> bool:
    """Whether the same words are a new record: the one there was taken back or edited, and nothing says that this is a
    repetition of that very message.
    """
    same_message = named or record.message.message_id is not None or record.message.time_given
    return not same_message and (known.status is Status.RETRACTED or known.text != record.memory.text)
