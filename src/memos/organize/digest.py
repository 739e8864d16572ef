"""Digesting: traces that are marked are read and reconciled, each in one change that also takes its mark away.

A crash between the steps loses nothing: the mark is still there, and a change whose mark is gone does nothing (law 2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from memos.errors import UNFORESEEN, StorageError
from memos.logs import get_logger
from memos.memory.forgotten import readable
from memos.memory.model import Memory, Status
from memos.memory.statement import Reading
from memos.memory.time import plausible
from memos.organize.correct import Corrected, corrected
from memos.organize.naming import learn_names
from memos.organize.reconcile import Outcome, mention, reconcile
from memos.organize.relate import relate
from memos.storage.ports import ANY_STATUS, DIGEST, Change, CubeStore, View, WriteTx
from memos.storage.tasks import MAX_ATTEMPTS

log = get_logger(__name__)

BATCH = 64

Reader = Callable[[Memory, Sequence[Memory]], Reading]


@dataclass(frozen=True, slots=True)
class Digested:
    """How many traces were read, how many failed this time, and whether more are waiting."""

    done: int
    failed: int
    more: bool


async def digest(
    store: CubeStore, reader: Reader, *, limit: int = BATCH, ids: Collection[str] | None = None
) -> Digested:
    """Read and reconcile up to `limit` marked traces, oldest first. Readers that raise are counted and retried later.

    `ids`: these traces only, however often they failed before.
    """
    below = MAX_ATTEMPTS if ids is None else None
    marks = await store.todo(DIGEST, limit + 1, attempts_below=below, ids=ids)
    now = marks[:limit]
    if not now:
        return Digested(0, 0, False)
    traces = {m.id: as_said(m) for m in await store.get([t.id for t in now], View(statuses=ANY_STATUS))}
    before = {id: [*map(readable, said)] for id, said in (await store.preceding([t.id for t in now], 2)).items()}
    found = [traces[mark.id] for mark in now if mark.id in traces]
    readings = await asyncio.to_thread(_read, reader, found, before)  # beside the event loop: searches go on meanwhile
    done = list(await asyncio.gather(*(_one(store, *read) for read in readings if not _corrects(read[1]))))
    for trace, reading in readings:  # after what they may correct
        if not isinstance(reading, str) and _corrects(reading):
            done.append(await _one(store, trace, await _with_corrections(store, trace, reading)))
    return Digested(sum(done), len(done) - sum(done), len(marks) > limit)


def _read(
    reader: Reader, traces: Sequence[Memory], before: Mapping[str, Sequence[Memory]]
) -> list[tuple[Memory, Reading | str]]:
    """What the reader finds in each trace, or why it could not read it."""
    out: list[tuple[Memory, Reading | str]] = []
    for trace in traces:
        try:
            reading: object = reader(trace, before.get(trace.id, ()))
            if not isinstance(reading, Reading):  # a reader may be a model's, whose answers are not ours to trust
                raise TypeError(f"the reader answered {type(reading).__name__}")
            out.append((trace, reading))
        except UNFORESEEN as e:
            log.warning("read_failed", memory=trace.id, error=type(e).__name__)
            out.append((trace, f"{type(e).__name__}: {e}"))
    return out


async def _with_corrections(store: CubeStore, trace: Memory, reading: Reading) -> Corrected | str:
    """What a trace corrects, or why that could not be found out."""
    try:
        return await corrected(store, trace, reading)
    except StorageError:
        raise
    except UNFORESEEN as e:
        log.warning("correction_failed", memory=trace.id, error=type(e).__name__)
        return f"{type(e).__name__}: {e}"


def _corrects(reading: Reading | str) -> bool:
    return not isinstance(reading, str) and bool(reading.corrections)


def as_said(trace: Memory) -> Memory:
    """A record as it is to be read: without what is forgotten of it. A message dated long after it arrived was said when it
    arrived: otherwise it would hold its slots for ever.
    """
    trace = readable(trace)
    if trace.valid_from is None or trace.recorded_at is None:
        return trace
    return replace(trace, valid_from=plausible(trace.valid_from, trace.recorded_at))


def _bring_in(tx: WriteTx, trace: Memory, found: Corrected) -> None:
    outcome = Outcome()
    for record, statement in found.first:
        reconcile(tx, record, [statement], outcome)
    reconcile(tx, trace, found.reading.statements, outcome)
    for named in found.reading.mentions:
        mention(tx, trace, named, outcome)
    learn_names(tx, trace, found.reading.statements)
    for relation in found.reading.relations:
        relate(tx, trace, relation, outcome)


async def _one(store: CubeStore, trace: Memory, found: Reading | Corrected | str) -> bool:
    """Each trace is a change of its own, so that it can be undone alone; the writer commits them together.

    A trace that was edited while it was read keeps its mark; nothing is derived from one that was taken back
    (its mark waits, in case that is undone).
    """

    given = Corrected(found) if isinstance(found, Reading) else found

    def apply(tx: WriteTx) -> bool:
        if isinstance(given, str):
            tx.fail(trace.id, DIGEST, given)
            return False
        current = tx.get(trace.id)
        if current is None or readable(current).text != trace.text or current.status is Status.RETRACTED:
            return True
        if tx.unmark(trace.id, DIGEST):
            with tx.keeping():
                _bring_in(tx, trace, given)
        return True

    change = Change(actor="digest", cause=f"read {trace.id}")
    try:
        return await store.write(apply, change)
    except StorageError:
        raise
    except UNFORESEEN as e:  # whatever it is, the other messages go on
        log.error("digest_failed", memory=trace.id, error=f"{type(e).__name__}: {e}")
        error = f"{type(e).__name__}: {e}"
        await store.write(lambda tx: tx.fail(trace.id, DIGEST, error), change)
        return False
