"""Describing images: those of records that are marked for it are shown to a model that sees, one call for each image, and what it
says becomes a memory that rests on the record.

Marks in the cube say what is to be described, so nothing is lost whatever fails (law 2). Apart from reading (`understanding`): a
model that cannot see, or is away, holds up no words.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from memos.memory.image import DESCRIBABLE, images_in
from memos.memory.model import Memory
from memos.memory.reading import ReadingConfig
from memos.models.llm.port import ChatModel
from memos.models.llm.purposes import Llms
from memos.models.resilience import NotAsked
from memos.organize.depict import depict, depicted, link_again, stands
from memos.reading.vision import describe, reader_name
from memos.scheduler.cube_tasks import cube_of, cube_task, ids_of
from memos.scheduler.job import Done, GaveUp, Handler, Job, NotNow
from memos.scheduler.kinds import DESCRIBE, EMBED
from memos.scheduler.locks import Locks
from memos.scheduler.middleware import named
from memos.scheduler.worker import backoff
from memos.settings import Settings
from memos.storage.ports import ANY_STATUS, READER, Change, CubeInfo, Todo, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.probe import marked
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import MAX_ATTEMPTS, Task, TaskQueue

log = get_logger(__name__)

AT_ONCE = 100  # records of one go of a task, before other cubes have their turn
AWAY_IN_A_ROW = 3
OVER_SECONDS = 900.0  # at most, until it is looked again whether a user may have more described
_AWAY = (ModelBusy, ModelTimeout, ModelUnavailable)


class NotSeen(ModelError):
    """A model could not describe some images yet; they are stored, and are tried again."""

    code = "not_seen"


@dataclass(slots=True)
class _Run:
    """What became of one go at the marks of a cube."""

    done: int = 0
    failed: int = 0  # attempts that count
    away: int = 0  # failures in a row of the model itself
    wait: float = 0.0
    error: ModelError | None = None
    tried: set[str] = field(default_factory=set)

    @property
    def stopped(self) -> bool:
        return self.away >= AWAY_IN_A_ROW or isinstance(self.error, NotAsked)


class Seeing:
    """The describing of images of one system. Used within one event loop."""

    def __init__(
        self, cubes: CubePool, registry: SqliteRegistry, queue: TaskQueue, llms: Llms, settings: Settings
    ) -> None:
        self._cubes, self._registry, self._queue = cubes, registry, queue
        self._llms, self._settings = llms, settings
        self._locks = Locks()
        self._strikes: Counter[str] = Counter()  # goes in a row, by cube, in which a model answered nothing

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """Who does the tasks; nobody without a model: they wait for a process that has one."""
        return {DESCRIBE: self._task} if self.has_model else {}

    @property
    def has_model(self) -> bool:
        """Whether a model is configured that sees."""
        return self._llms.of("vision") is not None

    def is_wanted(self, asked: str | None, info: CubeInfo) -> bool:
        """Whether images of what is added to a cube are described: where a model sees, and rules are not asked to do alone."""
        mode = asked or ReadingConfig.of(info.info).mode
        return self.has_model and (self._settings.reading if mode == "auto" else mode) != "fast"

    async def look(self, info: CubeInfo) -> None:
        """Have described what is marked in a cube and no task may stand for. Raises StorageError."""
        if self.has_model and await asyncio.to_thread(marked, self._registry.path(info), DESCRIBE, MAX_ATTEMPTS):
            await self._queue.enqueue([cube_task(DESCRIBE, info)])

    async def finish(self, info: CubeInfo, store: SqliteCube) -> None:
        """Describe everything that is marked now. Raises NotSeen when a model could not."""
        if store.read_only or not self.has_model:
            return
        run = _Run()
        while not run.stopped and (marks := await self._marks(store, run)):
            await self._go(info, store, marks, run)
        if run.error is not None:
            raise NotSeen(f"images are not described by the model yet: {run.error}") from run.error

    async def _task(self, job: Job) -> Done:
        info = await cube_of(job.tasks[0], self._registry, self._queue)
        if info is None:
            return Done()
        ids = {task.id: ids_of(task) for task in job.tasks}
        async with self._cubes.use(info) as store:
            if store.read_only:
                return Done()
            run = _Run()
            wanted = [id for listed in ids.values() for id in listed]
            resting = [m for m in await store.todo(DESCRIBE, AT_ONCE, ids=wanted) if m.attempts >= MAX_ATTEMPTS]
            await self._go(info, store, [*resting, *await self._marks(store, run)], run)
            key = str(store.path)
            self._strikes[key] = self._strikes[key] + 1 if run.away and not run.done else 0
            if run.done and self._settings.embedder != "none":
                await self._queue.enqueue([cube_task(EMBED, info, job.tasks[0].user)])
            failed = {task.id: why for task in job.tasks if (why := await self._left(store, task, ids[task.id], run))}
        return Done(failed=failed)

    async def _left(self, store: SqliteCube, task: Task, ids: Sequence[str], run: _Run) -> MemosError | None:
        """Why a task is not done yet, if it is not."""
        left = await store.todo(DESCRIBE, max(1, len(ids)), ids=ids) if ids else await self._marks(store, _Run())
        rest = [m for m in left if m.attempts < MAX_ATTEMPTS and (ids or m.since <= task.enqueued_at)]
        if rest:
            pause = max(run.wait, backoff(self._strikes[str(store.path)] + 2) if run.away else 0.0)
            pause = max(pause, backoff(max(m.attempts for m in rest)) if run.failed else 0.0)
            return NotNow(str(run.error or "more is to be described"), pause)
        if ids and left:
            why = left[0].error or ""
            return GaveUp(f"the images of {len(left)} messages could not be described and rest until `reread`: {why}")
        return None

    async def _marks(self, store: SqliteCube, run: _Run) -> list[Todo]:
        """The next marks, none that was tried in this go."""
        found = await store.todo(DESCRIBE, AT_ONCE + len(run.tried), attempts_below=MAX_ATTEMPTS)
        return [m for m in found if m.id not in run.tried][:AT_ONCE]

    async def _go(self, info: CubeInfo, store: SqliteCube, marks: Sequence[Todo], run: _Run) -> None:
        """Describe the images of marked records, several at once."""
        slots = asyncio.Semaphore(self._settings.llm_concurrency)
        traces = await store.get([m.id for m in marks], View(statuses=ANY_STATUS))
        run.tried |= {m.id for m in marks}

        async def one(trace: Memory) -> None:
            async with slots:
                if not run.stopped:
                    await self._one(info, store, trace, run)

        async with self._locks.of(str(store.path)):
            ended = await asyncio.gather(*(one(trace) for trace in traces), return_exceptions=True)
        for end in ended:
            if isinstance(end, BaseException):  # a disk that is full, a lease that is lost: after the others are safe
                raise end

    async def _one(self, info: CubeInfo, store: SqliteCube, trace: Memory, run: _Run) -> None:
        """Describe the images of one record, each in a change of its own; then its mark goes. Or note that it failed."""
        model = self._llms.of("vision", trace.owner or info.owner)
        assert model is not None
        try:
            for reference in images_in(trace.body):
                await _describe(store, trace, reference, model)
            await store.write(lambda tx: tx.unmark(trace.id, DESCRIBE), Change(actor="describe"))
            run.done, run.away = run.done + 1, 0
        except StorageError:
            raise
        except OverBudget as e:
            run.error, run.wait = e, max(run.wait, min(e.retry_after, OVER_SECONDS))
            log.info("describing_put_off", error=e.code)
        except _AWAY as e:
            run.error, run.away = e, run.away + 1
            run.wait = max(run.wait, float(getattr(e, "retry_after", 0.0)))
            log.info("describing_put_off", error=e.code)
        except UNFORESEEN as e:
            error = e if isinstance(e, ModelError) else NotSeen(type(e).__name__)
            run.error, run.away, run.failed = error, 0, run.failed + 1
            log.warning("describing_failed", memory=trace.id, error=named(e))
            reason = f"{error.code}: {error}"
            await store.write(lambda tx: tx.fail(trace.id, DESCRIBE, reason), Change(actor="describe"))


async def _describe(store: SqliteCube, trace: Memory, reference: str, model: ChatModel) -> None:
    """Have one image described, unless this model did that before: then it is only linked once more."""
    image, reader = await store.image(reference), reader_name(model)
    if image is None or image.media_type not in DESCRIBABLE:
        return
    change = Change(actor="describe", cause=f"described by {reader}")

    def again(tx: WriteTx) -> bool:
        known = depicted(tx, reference)
        if known is None or known.body.get(READER) != reader:
            return False
        if stands(tx, trace):
            link_again(tx, trace, known)
        return True

    if await store.write(again, change):
        return
    seen = await describe(model, image, trace.text)

    def bring(tx: WriteTx) -> None:
        if stands(tx, trace):
            depict(tx, trace, reference, seen.description, seen.text, seen.names, reader)

    await store.write(bring, change)
