"""`SqliteTaskQueue`: the embedded home of the task queue, in the control file beside users and cubes. Changes go through a
group-committing writer, questions through a few reading connections, all off the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import apsw

from memos.errors import InvalidInput, MemosError
from memos.memory.time import to_micros, utcnow
from memos.storage.ports import Durability
from memos.storage.sqlite import queue_sql
from memos.storage.sqlite.bridge import bridge
from memos.storage.sqlite.connect import connect, file_id, migrate, typed_errors
from memos.storage.sqlite.control import clear_log
from memos.storage.sqlite.forks import gate
from memos.storage.sqlite.queue_tx import BATCH, QueueSession, QueueTx, check_room, outcomes_of
from memos.storage.sqlite.queue_watch import Bell, Look
from memos.storage.sqlite.readers import Readers, at_once
from memos.storage.sqlite.schema import CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS
from memos.storage.sqlite.writer import Writer
from memos.storage.tasks import (
    KEPT_SECONDS,
    KindStats,
    Lease,
    Limits,
    NewTask,
    Outcome,
    Task,
    TaskPage,
    TaskQuery,
    TaskState,
    Verdict,
)
from memos.storage.threads import ThreadPool, aside

T = TypeVar("T")

COUNTS_SECONDS = 0.25  # how long counts are kept that `check_room` answers from
_MOST_COUNTS = 10_000
_readers = ThreadPool(2, "memos-queue-read")
_writers = ThreadPool(
    2, "memos-queue-write"
)  # of its own: tasks do not stand in line behind the writes of a thousand cubes


class SqliteTaskQueue:
    """A `TaskQueue` in `folder/control.db`, which is created or upgraded where needed.

    A change survives the death of the process; of a `durable` task also a power cut (unless `durability` is "normal").
    """

    def __init__(
        self,
        folder: Path,
        *,
        limits: Limits = Limits(),
        durability: Durability = "full",
        clock: Callable[[], datetime] = utcnow,
    ) -> None:
        self._path = folder / "control.db"
        self._limits, self._clock = limits, clock
        with typed_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        with gate, contextlib.closing(connect(self._path, durability=durability)) as db:
            migrate(db, self._path, CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS)
            opened = file_id(self._path)
        self._writer = Writer(self._path, "normal", opened, lambda db: QueueSession(db, clock, durability), _writers)
        self._readers = Readers(self._path, opened)
        self._look = Look(self._path, opened, lambda: to_micros(clock()))
        self._bell = Bell(self._look)
        self._counts: dict[str, tuple[float, int, int]] = {}  # by user: when, how many live, how many altogether
        gate.register(self)

    # -- what workers and those with work for them call ----------------------------------------------------------

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        """Enqueue all or none. See `TaskQueue.enqueue`."""
        rows = [queue_sql.to_row(task) for task in tasks]
        if not rows:
            return []
        durable = any(task.durable for task in tasks)
        answers, new = await self._write(lambda tx: tx.enqueue(rows, self._limits), durable=durable)
        if new and any(task.delay <= 0 for task in tasks):  # for what is due later the bell looks at its clock
            self._bell.ring()
        return answers

    async def check_room(self, user: str, count: int = 1) -> None:
        """Raises Busy when `enqueue` of so many tasks would; as of at most 0.25 s ago."""
        if not queue_sql.is_text(user):
            raise InvalidInput(f"a user's name must be a text without half characters, got {user!r}")
        now = time.monotonic()
        at, mine, everybodys = self._counts.get(user, (-1.0, 0, 0))
        if not 0 <= now - at < COUNTS_SECONDS:
            mine, everybodys = await self._read(lambda db: queue_sql.live(db, user))
            if len(self._counts) >= _MOST_COUNTS:
                self._counts.clear()
            self._counts[user] = (now, mine, everybodys)
        check_room(mine, everybodys, count, count, self._limits)

    async def lease(
        self, worker: str, kinds: Collection[str], *, limit: int = 64, seconds: float = 30.0
    ) -> Lease | None:
        """The next tasks of one lane, or None when none is ready."""
        if limit < 1:
            raise InvalidInput(f"limit must be at least 1, got {limit}")
        lasts = queue_sql.micros(seconds, "seconds")
        known = {kind for kind in kinds if queue_sql.is_text(kind)}
        self._bell.listen()
        return await self._write(lambda tx: tx.lease(queue_sql.cut(worker) or "", known, limit, lasts))

    async def extend(self, lease: Lease, seconds: float = 30.0) -> Lease:
        """The same lease, longer. Raises LeaseLost."""
        lasts = queue_sql.micros(seconds, "seconds")
        return replace(lease, until=await self._write(lambda tx: tx.extend(lease, lasts)))

    async def report(self, lease: Lease, id: str, progress: float) -> None:
        """Note how far a leased task is, 0 to 1. Raises LeaseLost."""
        if not 0 <= progress <= 1:
            raise InvalidInput(f"progress is between 0 and 1, got {progress!r}")
        outcomes_of(lease, (Outcome(id, Verdict.RELEASED),))
        await self._write(lambda tx: tx.report(lease, id, progress))

    async def settle(self, lease: Lease, outcomes: Sequence[Outcome]) -> None:
        """End a lease: what became of its tasks. Raises LeaseLost."""
        by_id = outcomes_of(lease, outcomes)
        await self._write(lambda tx: tx.settle(lease, by_id))
        self._bell.ring()

    async def wait(self, seconds: float) -> None:
        """Return when a task may have become ready, or after so many seconds."""
        await self._bell.wait(seconds)

    # -- questions -----------------------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str]) -> list[Task]:
        """The tasks of these ids that exist, in the order asked."""
        return await self._read(lambda db: queue_sql.get(db, ids))

    async def find(self, query: TaskQuery, *, limit: int = 100, cursor: str | None = None) -> TaskPage:
        """Tasks that match, newest first. Raises InvalidInput for a cursor that is none."""
        if limit < 1:
            raise InvalidInput(f"limit must be at least 1, got {limit}")
        return await self._read(lambda db: queue_sql.find(db, query, limit, cursor))

    async def counts(self, query: TaskQuery) -> Mapping[TaskState, int]:
        """How many tasks match, by state; every state is there."""
        return await self._read(lambda db: queue_sql.counts(db, query))

    async def stats(self) -> Mapping[str, KindStats]:
        """Depth, age, throughput and latency by kind."""
        return await self._read(lambda db: queue_sql.stats(db, to_micros(self._clock())))

    # -- care ----------------------------------------------------------------------------------------------------

    async def retry(self, query: TaskQuery, ids: Collection[str] | None = None) -> int:
        """Have failed tasks tried again from attempt 0, at the end of their lanes; returns how many."""
        return await self._care(lambda tx: tx.retry(query, ids))

    async def cancel(self, query: TaskQuery, ids: Collection[str] | None = None) -> int:
        """Take waiting and failed tasks out (they become `cancelled`); returns how many."""
        return await self._care(lambda tx: tx.cancel(query, ids))

    async def forget(self, cube: str) -> int:
        """Delete every trace of the tasks of a cube, in progress or not, from the file and its log; returns how many."""
        gone = await self._batches(lambda tx: tx.forget(cube)) if queue_sql.is_text(cube) else 0
        if gone:
            await bridge().wait(self._writer.submit_bare(clear_log))
        return gone

    async def prune(self, older_than: float = KEPT_SECONDS) -> int:
        """Delete tasks that were completed or cancelled so many seconds ago."""
        age = queue_sql.micros(older_than, "older_than")
        return await self._batches(lambda tx: tx.prune(age))

    async def _batches(self, delete: Callable[[QueueTx], int]) -> int:
        gone = 0
        while True:
            batch = await self._care(delete)
            gone += batch
            if batch < BATCH:
                return gone

    async def _care(self, fn: Callable[[QueueTx], int]) -> int:
        changed = await self._write(fn)
        if changed:
            self._bell.ring()
        return changed

    async def advice(self) -> str | None:
        """See `TaskQueue.advice`."""
        return None

    async def close(self) -> None:
        """Finish queued writes and let go of the file."""
        self._bell.close()
        await aside(self._close_now)

    def _close_now(self) -> None:
        with typed_errors(self._path):
            self._writer.close()
        self._look.close()
        self._readers.close()

    # -- how -----------------------------------------------------------------------------------------------------

    async def _write(self, fn: Callable[[QueueTx], T], *, durable: bool = False) -> T:
        """Run `fn` in one atomic change."""
        answer = await bridge().wait(self._writer.submit(lambda tx: _refusable(tx, fn), durable))
        if isinstance(answer, MemosError):
            raise answer
        return answer  # type: ignore[no-any-return]

    async def _read(self, fn: Callable[[apsw.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(_readers, self._readers.read, at_once(fn))

    def let_go(self) -> None:
        """Close every connection; the next call opens one again."""
        self._writer.let_go()
        self._look.let_go()
        self._readers.release()


def _refusable(tx: QueueTx, fn: Callable[[QueueTx], Any]) -> Any:
    """What `fn` answers, or its refusal (Busy, LeaseLost): when nothing was written, the changes beside it need not run again."""
    before = tx.db.total_changes()
    try:
        return fn(tx)
    except MemosError as e:
        if tx.db.total_changes() != before:
            raise
        return e
