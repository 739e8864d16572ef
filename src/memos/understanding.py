"""Fine reading: records that are marked for it are read by a model, a run of messages at a time, and what it understood is
brought into the cube, each run in one change.

Marks in the cube say what is to be read, so nothing is lost whatever fails (law 2): a model that is away or busy puts the work
off; an answer that cannot be used counts against the records, which rest after some attempts, visibly, until `reread`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from memos.cubes.pool import CubePool
from memos.errors import (
    UNFORESEEN,
    MemosError,
    ModelBusy,
    ModelError,
    ModelTimeout,
    ModelUnavailable,
    OverBudget,
    StorageError,
)
from memos.logs import get_logger
from memos.memory.forgotten import readable
from memos.memory.model import Memory
from memos.memory.reading import ReadingConfig
from memos.memory.statement import SegmentReading
from memos.models.embed import Embedder
from memos.models.llm.port import ChatModel
from memos.models.llm.purposes import Llms
from memos.models.resilience import NotAsked
from memos.organize.digest import as_said
from memos.organize.reread import apply_reading, noted
from memos.organize.ties import without_ties
from memos.scheduler.cube_tasks import cube_of, cube_task, ids_of
from memos.scheduler.job import Done, GaveUp, Handler, Job, NotNow
from memos.scheduler.kinds import EMBED, READ
from memos.scheduler.locks import Locks
from memos.scheduler.middleware import named
from memos.scheduler.worker import backoff
from memos.settings import Settings
from memos.storage.ports import ANY_STATUS, DIGEST, Change, CubeInfo, Todo, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.probe import marked
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import MAX_ATTEMPTS, Task, TaskQueue

log = get_logger(__name__)

WINDOW = 1_000  # marks looked at together
BEFORE = 2  # records before a run that it is understood by
READ_SECONDS = 30.0  # how long one task begins to read before other cubes have their turn
ALONE_AFTER = 2  # attempts after which a record is read alone: another of its run may be what no answer comes for
SOON = 1.0  # seconds until it is looked again for what was not ready
TOLD_SECONDS = 1.0  # between two words of how far a task is
OVER_SECONDS = 900.0  # at most, until it is looked again whether a user may have more read
AWAY_SECONDS = 3.0  # that somebody waits for a server that does not answer; it is asked again in the background
LOOK_SECONDS = 0.2  # between two looks whether it does
AWAY_IN_A_ROW = 3  # failures of a model, one after another, after which it is left alone for a while
NOT_YET = "not read by the model yet, only by rules"
NO_MODEL = "no language model is configured for reading (MEMOS_LLM); rules read it"


class NotRead(ModelError):
    """A model could not read some records yet; they are stored, were read by rules, and are tried again."""

    code = "not_read"


class Segment(Protocol):
    """A run of records that is read together."""

    @property
    def traces(self) -> Sequence[Memory]:
        """The records, in order."""

    @property
    def context(self) -> Sequence[Memory]:
        """Those before them, which were shown with them."""


class Reader(Protocol):
    """How records are put together and read: `FineReader`."""

    def segments(self, traces: Sequence[Memory], before: Mapping[str, Sequence[Memory]]) -> Sequence[Segment]:
        """Records as runs that belong together; one that teaches nothing may be in none. `before`: those before each."""

    async def read(
        self, model: ChatModel, segment: Any, rules: Sequence[Memory], instructions: str, tags: tuple[str, ...]
    ) -> SegmentReading:
        """What a model understands in a run, of which rules derived `rules`. Raises ModelError."""


class FineReader:
    """`memos.reading.fine`, whose libraries are loaded when it first reads."""

    def segments(self, traces: Sequence[Memory], before: Mapping[str, Sequence[Memory]]) -> Sequence[Segment]:
        """See `Reader.segments`."""
        from memos.reading.fine import segments

        return segments(traces, before=before)

    async def read(
        self, model: ChatModel, segment: Any, rules: Sequence[Memory], instructions: str, tags: tuple[str, ...]
    ) -> SegmentReading:
        """See `Reader.read`."""
        from memos.reading.fine import ReadingOptions, read_segment

        return await read_segment(model, segment, rules, ReadingOptions(instructions, tags))


@dataclass(slots=True)
class _Run:
    """What became of one go at the marks of a cube."""

    total: int = 0
    read: int = 0  # records
    failed: dict[str, int] = field(default_factory=dict)  # records by id, and attempts with this one
    error: ModelError | None = None  # the last
    away: int = 0  # failures in a row of the model itself
    wait: float = 0.0  # seconds the model asked for
    over: OverBudget | None = None  # a user may have nothing more read today; that of others goes on
    later: bool = False  # some records were not ready, or time was up

    @property
    def stopped(self) -> bool:
        return self.away >= AWAY_IN_A_ROW or isinstance(self.error, NotAsked)


class Understanding:
    """The fine reading of one system. Used within one event loop.

    `digested` sees to it that rules have read what is marked in a cube, for a few seconds or (True) to the end.
    """

    def __init__(
        self,
        cubes: CubePool,
        registry: SqliteRegistry,
        queue: TaskQueue,
        llms: Llms,
        settings: Settings,
        digested: Callable[[SqliteCube, bool], Awaitable[object]],
        *,
        reader: Reader | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        self._cubes, self._registry, self._queue = cubes, registry, queue
        self._llms, self._settings, self._digested = llms, settings, digested
        self._reader = reader or FineReader()
        self._embedder = embedder
        self._locks = Locks()
        self._strikes: Counter[str] = Counter()  # goes in a row, by cube, in which a model answered nothing

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Who does the tasks; nobody without a model: they wait for a process that has one."""
        return {READ: self._task} if self.has_model else {}

    @property
    def has_model(self) -> bool:
        """Whether a model is configured for reading."""
        return self._llms.of("reading") is not None

    def is_fine(self, asked: str | None, info: CubeInfo) -> tuple[bool, str | None]:
        """Whether a model reads what is added to a cube, and a notice where that was wanted but there is none."""
        mode = asked or ReadingConfig.of(info.info).mode
        if mode == "auto":
            mode = self._settings.reading
        if mode == "fast":
            return False, None
        if not self.has_model:
            return False, NO_MODEL if mode == "fine" else None
        return True, None

    async def look(self, info: CubeInfo) -> None:
        """Have read what is marked in a cube and no task may stand for. Raises StorageError."""
        if self.has_model and await asyncio.to_thread(marked, self._registry.path(info), READ, MAX_ATTEMPTS):
            await self._queue.enqueue([cube_task(READ, info)])

    async def finish(self, info: CubeInfo, store: SqliteCube) -> None:
        """Read everything that is marked now. Raises NotRead when a model could not."""
        if store.read_only or not self.has_model or not await store.todo(READ, 1, attempts_below=MAX_ATTEMPTS):
            return
        run = await self._waited_for(info, store)
        if run.error is not None:
            raise NotRead(f"{NOT_YET}: {run.error}") from run.error

    async def _waited_for(self, info: CubeInfo, store: SqliteCube) -> _Run:
        """Read to the end, for somebody who waits. Raises NotRead soon when the model's server does not answer."""
        share, since = 0.0, time.monotonic()

        async def progress(now: float) -> None:
            nonlocal share, since
            if now > share:
                share, since = now, time.monotonic()

        going = asyncio.create_task(self._go(info, store, to_the_end=True, progress=progress))
        try:
            while not (await asyncio.wait({going}, timeout=LOOK_SECONDS))[0]:
                why = getattr(self._llms.models.get("reading"), "failing", "")
                if why and time.monotonic() - since >= AWAY_SECONDS:
                    raise NotRead(f"{NOT_YET}: {why}")
            return going.result()
        finally:
            if not going.done():
                going.cancel()
                await asyncio.wait({going})

    # -- the task ----------------------------------------------------------------------------------------------

    async def _task(self, job: Job) -> Done:
        info = await cube_of(job.tasks[0], self._registry, self._queue)
        if info is None:
            return Done()
        wanted = {task.id: ids_of(task) for task in job.tasks}

        told = time.monotonic()

        async def progress(share: float) -> None:
            nonlocal told
            if time.monotonic() - told >= TOLD_SECONDS:
                told = time.monotonic()
                for task in job.tasks:
                    await job.progress(task.id, share)

        async with self._cubes.use(info) as store:
            if store.read_only:
                return Done()
            run = await self._go(info, store, again=[id for ids in wanted.values() for id in ids], progress=progress)
            if run.read and self._settings.embedder != "none":
                await self._queue.enqueue([cube_task(EMBED, info, job.tasks[0].user)])
            failed = {
                task.id: why for task in job.tasks if (why := await self._left(store, task, wanted[task.id], run))
            }
        return Done(failed=failed)

    async def _left(self, store: SqliteCube, task: Task, ids: Sequence[str], run: _Run) -> MemosError | None:
        """Why a task is not done yet, if it is not."""
        if ids:
            left = await store.todo(READ, len(ids), ids=ids)
            rest = [mark for mark in left if mark.attempts < MAX_ATTEMPTS]
            resting = [mark for mark in left if mark.attempts >= MAX_ATTEMPTS]
        else:
            oldest = await store.todo(READ, 1, attempts_below=MAX_ATTEMPTS)
            rest = [mark for mark in oldest if mark.since <= task.enqueued_at]
            resting = [Todo(id, READ, task.enqueued_at, n) for id, n in run.failed.items() if n >= MAX_ATTEMPTS]
        if rest:
            return NotNow(str(run.error or "more is to be read"), self._pause(store, run))
        if resting:
            reason = resting[0].error or str(run.error or "")
            return GaveUp(f"{len(resting)} messages could not be read by the model and rest until `reread`: {reason}")
        return None

    def _pause(self, store: SqliteCube, run: _Run) -> float:
        """Seconds until a model is asked again: as long as it wished, longer each time that it answers nothing."""
        if isinstance(run.error, NotAsked):
            return run.wait
        if run.over is not None and not run.away and not run.failed:  # others of the cube may have something to be read
            return min(run.over.retry_after, OVER_SECONDS)
        if run.away:
            return max(run.wait, backoff(self._strikes[str(store.path)] + 2))
        if run.failed:
            return max(run.wait, backoff(max(run.failed.values())))
        return max(run.wait, SOON if run.later else 0.0)

    # -- reading -----------------------------------------------------------------------------------------------

    async def _go(
        self,
        info: CubeInfo,
        store: SqliteCube,
        *,
        again: Collection[str] = (),
        to_the_end: bool = False,
        progress: Callable[[float], Awaitable[None]] | None = None,
    ) -> _Run:
        """Read what is marked, oldest first, for a while or to the end. `again`: also these, however often they failed."""
        run, key = _Run(), str(store.path)
        until = None if to_the_end else time.monotonic() + READ_SECONDS
        async with self._locks.of(key):
            await self._digested(store, to_the_end)
            run.total = max(1, (await store.stats()).pending.get(READ, 0))
            resting = (
                [m for m in await store.todo(READ, WINDOW, ids=again) if m.attempts >= MAX_ATTEMPTS] if again else []
            )
            missed: set[str] = set()
            while not run.stopped:
                marks, more = await self._marks(store, missed, run)
                marks, resting = [*resting, *marks], []
                if not marks:
                    break
                if until is not None and time.monotonic() >= until:
                    run.later = True
                    break
                tried = await self._window(info, store, marks, more, run, until, progress)
                missed |= tried
                if not tried:
                    break
                missed &= {m.id for m in await store.todo(READ, len(missed), ids=missed)}
            self._strikes[key] = 0 if run.read or not run.away else self._strikes[key] + 1
        return run

    async def _marks(self, store: SqliteCube, missed: Collection[str], run: _Run) -> tuple[list[Todo], bool]:
        """The next marks, and whether there are more behind them: none that failed in this go, or wait for the rules."""
        limit = WINDOW + len(missed)
        found = await store.todo(READ, limit, attempts_below=MAX_ATTEMPTS)
        marks = [m for m in found if m.id not in missed]
        waiting = {
            m.id for m in await store.todo(DIGEST, limit, attempts_below=MAX_ATTEMPTS, ids=[m.id for m in marks])
        }
        run.later = run.later or bool(waiting)
        return [m for m in marks if m.id not in waiting][:WINDOW], len(found) == limit

    async def _window(
        self,
        info: CubeInfo,
        store: SqliteCube,
        marks: Sequence[Todo],
        more: bool,
        run: _Run,
        until: float | None,
        progress: Callable[[float], Awaitable[None]] | None,
    ) -> set[str]:
        """Read some marked records, several runs at once; returns the ids of those that were tried."""
        attempts = {m.id: m.attempts for m in marks}
        found = [as_said(m) for m in await store.get(list(attempts), View(statuses=ANY_STATUS))]
        said = await store.preceding([m.id for m in found], BEFORE)
        preceding = {id: [*map(readable, before)] for id, before in said.items()}
        alone = [m for m in found if attempts[m.id] >= ALONE_AFTER]
        groups = [[m for m in found if attempts[m.id] < ALONE_AFTER], *([m] for m in alone)]
        together, *single = await asyncio.to_thread(
            lambda: [list(self._reader.segments(group, preceding)) if group else [] for group in groups]
        )
        if more and len(together) > 1:
            held = {m.id for m in together.pop().traces}  # it may go on behind the window
            found = [m for m in found if m.id not in held]
        runs = [*together, *(segment for one in single for segment in one)]
        told = {m.id for segment in runs for m in segment.traces}
        if nothing := [m.id for m in found if m.id not in told]:
            await store.write(lambda tx: _unmark(tx, nothing), Change(actor="read"))
        slots = asyncio.Semaphore(self._settings.llm_concurrency)

        async def one(segment: Segment) -> None:
            async with slots:
                if run.stopped or (until is not None and time.monotonic() >= until):
                    run.later = True
                    return
                await self._one(info, store, segment, attempts, run)
                if progress is not None:
                    await progress(min(1.0, run.read / run.total))

        ended = await asyncio.gather(*(one(segment) for segment in runs), return_exceptions=True)
        for end in ended:
            if isinstance(end, BaseException):  # a disk that is full, a lease that is lost: after the others are safe
                raise end
        return {m.id for m in found}

    async def _one(
        self, info: CubeInfo, store: SqliteCube, segment: Segment, attempts: Mapping[str, int], run: _Run
    ) -> None:
        """Read one run and bring what was found into the cube, in one change; or note that it could not be read."""
        traces = segment.traces
        model = self._llms.of("reading", traces[0].owner or info.owner)
        assert model is not None
        ids = [m.id for m in traces]
        config = ReadingConfig.of(info.info)
        tags = dict.fromkeys((*config.tags, *(tag for m in traces for tag in m.tags)))
        try:
            before = await noted(store, ids)
            found = await self._reader.read(model, segment, before.by_rules(ids), config.instructions, tuple(tags))
            found = await without_ties(store, found, model, self._embedder)
            change, context = Change(actor="read", cause=f"read by {found.reader}"), segment.context
            done = await store.write(lambda tx: apply_reading(tx, traces, found, before, context), change)
            run.read += done.records
            run.away = 0
        except StorageError:
            raise
        except OverBudget as e:
            run.error = run.over = e
            log.info("reading_put_off", error=e.code)
        except (ModelBusy, ModelTimeout, ModelUnavailable) as e:
            run.error, run.away = e, run.away + 1
            run.wait = max(run.wait, float(getattr(e, "retry_after", 0.0)))
            log.info("reading_put_off", error=e.code)
            if isinstance(e, ModelTimeout) and run.read:  # it answers others: what it was asked may be too much
                await self._count(store, ids, attempts, e, run)
        except UNFORESEEN as e:
            run.error, run.away = e if isinstance(e, ModelError) else NotRead(f"{type(e).__name__}"), 0
            log.warning("reading_failed", records=len(ids), error=named(e))
            await self._count(store, ids, attempts, run.error, run)

    async def _count(
        self, store: SqliteCube, ids: Sequence[str], attempts: Mapping[str, int], error: ModelError, run: _Run
    ) -> None:
        """Note with the marks that reading failed."""
        reason = f"{error.code}: {error}"
        run.failed |= {id: attempts[id] + 1 for id in ids}

        def apply(tx: WriteTx) -> None:
            for id in ids:
                tx.fail(id, READ, reason)

        await store.write(apply, Change(actor="read"))


def _unmark(tx: WriteTx, ids: Sequence[str]) -> None:
    for id in ids:
        tx.unmark(id, READ)
