"""Background work: the handlers of the scheduler's tasks, and what reads need of them at once.

Marks in a cube say which records are not digested and which texts have no vector, so a crash loses nothing: a task only says
that somebody should look, and whose call it came from. What is done already is not done again (law 2).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memos.cubes.pool import CubePool
from memos.errors import (
    InvalidInput,
    MemosError,
    SchemaTooNew,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    StorageReadOnly,
    Unavailable,
)
from memos.logs import get_logger
from memos.memory.ids import is_id
from memos.memory.model import EMPTY
from memos.models.resilience import NotAsked
from memos.organize.digest import BATCH, digest
from memos.reading.read import read_trace
from memos.scheduler.cube_tasks import SYSTEM, cube_of, cube_task
from memos.scheduler.job import Done, Handler, Job, NotNow
from memos.scheduler.kinds import DESCRIBE, DIGEST, EMBED, READ, SWEEP, plan_of
from memos.scheduler.locks import Locks
from memos.scheduler.middleware import TaskMetrics, logged, named, time_limit, traced
from memos.scheduler.worker import Worker
from memos.storage.ports import Change, CubeInfo, WriteTx
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.probe import marked, touched_since
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import LIVE, MAX_ATTEMPTS, WORKER_STOPPED, NewTask, Task, TaskQuery, TaskQueue, TaskState
from memos.vectors import Vectors

log = get_logger(__name__)

LINGER_SECONDS = 0.1  # what arrives within one such span is read together, when those who added it were answered
DIGEST_SECONDS = 5.0  # how long one task reads what is marked before others of the cube have their turn
EMBED_SECONDS = 5.0  # how long one embed task works before other cubes have their turn
CATCH_UP_SECONDS = 0.25  # how long a read waits for facts of what was added just before it
SWEEP_SECONDS = 300.0
SWEEP_OVERLAP = 60.0
OWING_SECONDS = 10.0  # after which it is looked for what could not be enqueued
PASSING = tuple(e.code for e in (StorageBusy, StorageError, StorageFull, StorageReadOnly, Unavailable))
READ_LINGER_SECONDS = 3.0  # what arrives within such a time goes to a model together: a conversation, not its messages

Look = Callable[[CubeInfo], Awaitable[None]]
After = Callable[[CubeInfo, SqliteCube, Collection[str] | None], Awaitable[None]]


class DigestFailed(MemosError):
    """Some messages could not be read for facts; they are stored and searchable, and are tried again."""

    code = "digest_failed"


@dataclass(frozen=True, slots=True)
class Handed:
    """What became of work that was handed over: the `task` that does it, or a `notice` of why there is none."""

    task: str | None = None
    notice: str | None = None


class Background:
    """The background work of one system. Used within one event loop."""

    def __init__(
        self,
        cubes: CubePool,
        registry: SqliteRegistry,
        queue: TaskQueue,
        vectors: Vectors,
        *,
        more: Mapping[str, Handler] = EMPTY,
        looks: Sequence[Look] = (),
        after: Sequence[After] = (),
        slots: int = 2,
        enabled: bool = True,
    ) -> None:
        """`more`: handlers of other kinds of tasks. `looks`: what else is asked whether something waits in a cube. `after`: what
        is told which records a task digested (None: whatever was marked).
        """
        self._looks, self._after = tuple(looks), tuple(after)
        self._cubes, self._registry, self._queue = cubes, registry, queue
        self.vectors, self._enabled = vectors, enabled
        self._locks = Locks()
        self._owing = asyncio.Event()  # set when a task could not be enqueued
        self._begun = asyncio.Event()  # set when the first sweep is enqueued
        self._greeted: set[str] = set()
        self._asides: set[asyncio.Task[None]] = set()
        self.metrics = TaskMetrics()
        self.worker: Worker | None = None
        self._waiting: Worker | None = None  # for what mostly waits for a server
        self.kinds: frozenset[str] = frozenset()  # of tasks that are done here
        if enabled and slots:
            handlers: dict[str, Handler] = {
                DIGEST: self._digest_task,
                EMBED: self._embed_task,
                SWEEP: self._sweep_task,
                **more,
            }
            middleware = (self.metrics, traced, logged, time_limit)
            self.kinds = frozenset(handlers)
            waits = {kind: handler for kind, handler in handlers.items() if plan_of(kind).waits}
            works = {kind: handler for kind, handler in handlers.items() if kind not in waits}
            self.worker = Worker(queue, works, slots=slots, middleware=middleware)
            if waits:
                self._waiting = Worker(queue, waits, slots=max(2, slots), middleware=middleware)

    def start(self) -> None:
        """Begin to work, with a look for what an earlier process left undone."""
        if self._waiting is not None:
            self._waiting.start()
        if self.worker is not None:
            self.worker.start()
        else:
            self._begun.set()
        if self._enabled:
            self._aside(self._sweep_now_and_then())
            self._aside(self._tell_advice())

    async def begun(self) -> None:
        """Return when what an earlier process left undone is going to be looked for."""
        await self._begun.wait()

    # -- what writes say ---------------------------------------------------------------------------------------

    async def check_room(self, user: str) -> None:
        """Raises Busy when so much of a user's waits that no more is taken."""
        if self._enabled:
            with contextlib.suppress(Unavailable):  # nobody can tell how much waits; the write itself needs no queue
                await self._queue.check_room(user)

    async def added(
        self,
        info: CubeInfo,
        ids: Sequence[str],
        user: str,
        caller_id: str | None,
        *,
        fine: bool = False,
        see: Sequence[str] = (),
    ) -> Handed:
        """Have new records digested, the images of some (`see`) described, and (`fine`) all read by a model after that; the task
        told is the last of them. Nobody waits for the queue's disk: the marks in the cube are the truth.
        """
        if not self._enabled or not ids:
            return Handed()
        delay = LINGER_SECONDS - time.time() % LINGER_SECONDS
        named: dict[str, Any] = {"caller_id": caller_id, "payload": {"ids": list(ids)}, "merge": False}
        tasks = [cube_task(DIGEST, info, user, delay=delay, **named)]
        if see:
            tasks.append(cube_task(DESCRIBE, info, user, **{**named, "payload": {"ids": list(see)}}))
        if fine:
            tasks.append(cube_task(READ, info, user, delay=READ_LINGER_SECONDS, **named))
        try:
            await self._queue.enqueue(tasks)
        except MemosError as e:  # the records and their marks are on disk: the sweep finds them
            self._owes(DIGEST, e)
            away = "cannot be reached" if isinstance(e, Unavailable) else f"took no task ({e.code})"
            unknown = "" if caller_id is None else f"; it cannot tell the state of task_id {caller_id!r}"
            return Handed(
                notice=f"stored; the task queue {away}, the work is taken up by the next sweep{unknown}",
            )
        return Handed(tasks[-1].id)

    async def begin(self, kind: str, info: CubeInfo, user: str, caller_id: str | None = None) -> Handed:
        """Have what is marked for this kind of work done, by a task of its own."""
        if not self._enabled:
            return Handed(notice="marked; no background work runs here, `flush` does it")
        task = cube_task(kind, info, user, caller_id=caller_id, merge=False)
        try:
            await self._queue.enqueue([task])
        except MemosError as e:
            self._owes(kind, e)
            return Handed(notice="marked; the task queue cannot be reached, the next sweep takes it up")
        return Handed(task.id)

    def wake(self, info: CubeInfo, user: str = SYSTEM, *, fine: bool = False) -> None:
        """Have everything that is marked in a cube done soon, also (`fine`) what a model is to read."""
        if self._enabled:
            self._aside(self._enqueue(cube_task(DIGEST, info, user)))
            if fine:
                self._aside(self._enqueue(cube_task(READ, info, user)))

    def greet(self, info: CubeInfo) -> None:
        """Take up, once, what an earlier process left undone in a cube that is opened."""
        if self._enabled and info.location not in self._greeted:
            self._greeted.add(info.location)
            self._aside(self._look(info, opened=time.time()))

    async def leave(self, info: CubeInfo) -> None:
        """Forget all work on a cube that is deleted: before, so that none begins, and after, for what came in between."""
        await self._queue.forget(info.name)
        self._greeted.discard(info.location)
        self.vectors.forget(str(self._registry.path(info)))

    async def stop(self) -> None:
        """Stop working: what runs ends within a moment or is given back."""
        await asyncio.gather(*(worker.stop() for worker in (self.worker, self._waiting) if worker is not None))
        for task in self._asides:
            task.cancel()
        await asyncio.gather(*self._asides, return_exceptions=True)

    # -- what reads need at once -------------------------------------------------------------------------------

    async def catch_up(self, store: SqliteCube, seconds: float = CATCH_UP_SECONDS) -> int:
        """Digest what is marked for at most `seconds`, if it can be written; returns how many messages are still waiting."""
        if store.read_only:
            return 0
        until, lock = time.monotonic() + seconds, self._locks.of(str(store.path))
        try:
            async with asyncio.timeout(seconds):
                await lock.acquire()
        except TimeoutError:  # others are at it: of many readers of a busy cube none waits for all the others
            return await _marks(store)
        try:
            while True:
                done = await digest(store, read_trace)
                if not done.more:
                    return 0
                if time.monotonic() >= until:
                    return await _marks(store)
        except StorageError as e:  # a disk that is full must not keep anybody from reading
            log.warning("not_caught_up", error=e.code)
            return await _marks(store)
        finally:
            lock.release()

    async def finish(self, store: SqliteCube) -> None:
        """Digest and embed everything that is marked now, however much comes in meanwhile. Raises ModelError when the embedder
        fails.
        """
        if store.read_only:
            return
        await self.digest_all(store)
        await self.vectors.make_all(store)

    async def digest_all(self, store: SqliteCube) -> None:
        """Digest everything that is marked now, however much comes in meanwhile."""
        async with self._locks.of(str(store.path)):
            more = (await digest(store, read_trace)).more
            left = await _marks(store) if more else 0
            while more and left > 0:
                more = (await digest(store, read_trace)).more
                left -= BATCH

    # -- handlers ----------------------------------------------------------------------------------------------

    async def _digest_task(self, job: Job) -> Done:
        """Read what the tasks name, or, for one that names nothing, everything that is marked."""
        wanted, failed = _wanted(job.tasks)
        info = await self._cube_of(job.tasks[0])
        if info is None:
            return Done(failed=failed)
        async with self._cubes.use(info) as store:
            beware = job.tasks[0].attempts > 1 and WORKER_STOPPED in (job.tasks[0].error or "")
            if ids := [id for named in wanted.values() for id in named]:
                if beware:
                    await _suspect(store, ids)
                async with self._locks.of(str(store.path)):
                    await digest(store, read_trace, limit=len(ids), ids=ids)
                left = {mark.id: mark.error for mark in await store.todo(DIGEST, len(ids), ids=ids)}
                for task, named in wanted.items():
                    if bad := [id for id in named if id in left]:
                        failed[task] = DigestFailed(f"{len(bad)} of {len(named)} messages: {left[bad[0]]}")
            if any(not named for named in wanted.values()) and await (
                self._one_by_one(store) if beware else self.catch_up(store, DIGEST_SECONDS)
            ):
                rest = cube_task(DIGEST, info, job.tasks[0].user)
                await self._queue.enqueue([rest])  # behind those who stand in line: in a flood it would never end
            if self.vectors.embedder is not None:
                await self._queue.enqueue([cube_task(EMBED, info, job.tasks[0].user)])
            for tell in self._after:
                await tell(info, store, ids if all(wanted.values()) else None)
        return Done(failed=failed)

    async def _one_by_one(self, store: SqliteCube) -> int:
        """Digest some of what is marked so that a message which ends the process is known by it; returns how many are left."""
        async with self._locks.of(str(store.path)):
            for mark in await store.todo(DIGEST, BATCH, attempts_below=MAX_ATTEMPTS):
                await _suspect(store, [mark.id])
                await digest(store, read_trace, limit=1, ids=[mark.id])
        return len(await store.todo(DIGEST, BATCH, attempts_below=MAX_ATTEMPTS))

    async def _embed_task(self, job: Job) -> Done:
        info = await self._cube_of(job.tasks[0])
        if info is not None:
            async with self._cubes.use(info) as store:
                try:
                    more = not store.read_only and await self.vectors.make(store, seconds=EMBED_SECONDS)
                except NotAsked as e:
                    raise NotNow(str(e), e.retry_after) from e
                if more:
                    await self._queue.enqueue([cube_task(EMBED, info, job.tasks[0].user)])
        return Done()

    async def _sweep_task(self, job: Job) -> Done:
        """Look into every cube that changed since the last sweep, or could not be looked into then."""
        last = await self._queue.find(TaskQuery(kinds=[SWEEP], states=[TaskState.COMPLETED]), limit=1)
        begun = last.items[0].started_at if last.items else None
        since = begun.timestamp() - SWEEP_OVERLAP if begun else 0.0
        if since > time.time():  # the clock was put back
            since = 0.0
        again = set(last.items[0].result.get("again", ())) if last.items else set()
        missed: list[str] = []
        for info in await asyncio.to_thread(self._registry.list):
            if info.location in again or await asyncio.to_thread(touched_since, self._registry.path(info), since):
                try:
                    await self._look(info)
                except (StorageDamaged, SchemaTooNew):  # whoever opens the cube is told
                    continue
                except StorageError as e:
                    log.warning("cube_not_swept", cube=info.location, error=e.code)
                    missed.append(info.location)
        await self._queue.prune()
        await self._queue.retry(TaskQuery(kinds=[EMBED]))  # models come back
        await self._retry_what_passes()
        return Done(results={job.tasks[0].id: {"again": missed}} if missed else {})

    async def _retry_what_passes(self) -> None:
        """Read again what could not be read for want of a disk or a lock: nothing is wrong with the messages."""
        page = await self._queue.find(TaskQuery(kinds=[DIGEST], states=[TaskState.FAILED]), limit=1000)
        ids = [task.id for task in page.items if (task.error or "").partition(":")[0] in PASSING]
        if ids:
            await self._queue.retry(TaskQuery(kinds=[DIGEST]), ids)

    async def _sweep_now_and_then(self) -> None:
        while True:
            if self.worker is not None or self._owing.is_set():
                self._owing.clear()
                await self._enqueue(cube_task(SWEEP))
            self._begun.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._owing.wait()
                    await asyncio.sleep(OWING_SECONDS)

    async def _tell_advice(self) -> None:
        """Say once what should be changed about the queue, when it can be reached."""
        while True:
            try:
                advice = await self._queue.advice()
            except Unavailable:
                await asyncio.sleep(OWING_SECONDS)
                continue
            if advice is not None:
                log.warning("queue_not_on_disk", advice=advice)
            return

    async def _look(self, info: CubeInfo, *, opened: float | None = None) -> None:
        """Enqueue what is marked in a cube (`opened`: what was marked before then, if no task is there). Raises StorageError."""
        for look in self._looks:
            await look(info)
        if await asyncio.to_thread(marked, self._registry.path(info), DIGEST, MAX_ATTEMPTS, opened):
            there = TaskQuery(cube=info.name, kinds=[DIGEST], states=LIVE)
            if opened is not None and (await self._queue.find(there, limit=1)).items:
                return
            await self._queue.enqueue([cube_task(DIGEST, info)])
        elif self.vectors.embedder is not None:
            await self._queue.enqueue([cube_task(EMBED, info)])

    # -- inside ------------------------------------------------------------------------------------------------

    async def _cube_of(self, task: Task) -> CubeInfo | None:
        return await cube_of(task, self._registry, self._queue)

    async def _enqueue(self, task: NewTask) -> None:
        try:
            await self._queue.enqueue([task])
        except Exception as e:  # the marks stay; the next write, opening or sweep asks again
            self._owes(task.kind, e)

    def _owes(self, kind: str, error: Exception) -> None:
        """Note that a task could not be enqueued. That a queue is away, it says itself, once."""
        if not isinstance(error, Unavailable):
            log.warning("task_not_enqueued", kind=kind, error=named(error))
        self._owing.set()

    def _aside(self, work: Awaitable[None]) -> None:
        """Do something that nobody waits for, and whose failure the next sweep makes good."""

        async def run() -> None:
            try:
                await work
            except Unavailable:  # said already, by what is not there
                self._owing.set()
            except Exception as e:
                log.warning("background_failed", error=named(e))

        task = asyncio.create_task(run())
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)


async def _suspect(store: SqliteCube, ids: Sequence[str]) -> None:
    """Note, before messages are read again whose reading may have ended a worker, that it failed; being read clears it. Noted a
    few times, they are left alone by reads and sweeps, which would take their processes along.
    """

    def apply(tx: WriteTx) -> None:
        for id in [*ids, *ids]:
            tx.fail(id, DIGEST, f"{WORKER_STOPPED} while it was read")

    await store.write(apply, Change(actor="digest", cause="read again after a crash"))


async def _marks(store: SqliteCube) -> int:
    """How many messages of a cube are not digested."""
    return (await store.stats()).pending.get(DIGEST, 0)


def _wanted(tasks: Collection[Task]) -> tuple[dict[str, list[str]], dict[str, BaseException]]:
    """The ids each task names (none: everything), and the tasks whose payload cannot be understood."""
    wanted: dict[str, list[str]] = {}
    failed: dict[str, BaseException] = {}
    for task in tasks:
        ids = task.payload.get("ids", [])
        if isinstance(ids, list) and all(isinstance(id, str) and is_id(id) for id in ids):
            wanted[task.id] = ids
        else:
            failed[task.id] = InvalidInput("the task's ids are no list of memory ids")
    return wanted, failed
