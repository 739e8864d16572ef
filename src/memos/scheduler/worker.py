"""The worker: leases lanes, runs their tasks, keeps the lease alive meanwhile, and settles what became of them.

Guards law 2: a task leaves the queue only when its work is done; a crash, a lost lease or a shutdown gives it back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
from collections.abc import Mapping, Sequence

from memos.errors import AccessDenied, InvalidInput, LeaseLost, MemosError, NotFound, StorageError, Unavailable
from memos.logs import get_logger
from memos.scheduler.job import Done, GaveUp, Handler, Job, Middleware, NotNow, wrapped
from memos.scheduler.kinds import plan_of
from memos.scheduler.middleware import named
from memos.storage.tasks import Lease, Outcome, Task, TaskQueue, Verdict

log = get_logger(__name__)

LEASE_SECONDS = 30.0
IDLE_SECONDS = 5.0
BACKOFF_BASE, BACKOFF_CAP = 1.0, 300.0
PUT_OFF_LEAST = 0.5  # seconds before a task that was put off is tried again
QUEUE_PAUSE, QUEUE_PAUSE_CAP = 0.5, 5.0
SETTLE_PAUSES = (0.1, 0.5, 2.0)  # seconds between the tries to settle, well within a lease
HOPELESS = (InvalidInput, NotFound, AccessDenied, GaveUp)  # trying again changes nothing


def backoff(attempts: int) -> float:
    """Seconds before the attempt after `attempts` of them: 1, 2, 4 … up to 300, each times 0.5 to 1.5 (jitter)."""
    spread = random.uniform(0.5, 1.5)
    return float(min(BACKOFF_CAP, BACKOFF_BASE * 2.0 ** (max(1, attempts) - 1)) * spread)


class Worker:
    """Works on a queue with a few slots, within one event loop.

    `slots`: jobs at a time; with more than one, the first takes quick kinds only, so that long work never holds up short work.
    `grace`: seconds that `stop` lets running jobs go on before it gives them back.
    """

    def __init__(
        self,
        queue: TaskQueue,
        handlers: Mapping[str, Handler],
        *,
        slots: int = 2,
        middleware: Sequence[Middleware] = (),
        lease_seconds: float = LEASE_SECONDS,
        grace: float = 5.0,
    ) -> None:
        self.name = f"{socket.gethostname()}:{os.getpid()}:{random.getrandbits(32):08x}"
        self._queue = queue
        self._handlers = {kind: wrapped(handler, middleware) for kind, handler in handlers.items()}
        self._slots, self._seconds, self._grace = slots, lease_seconds, grace
        self._stopping = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []
        self._trouble: str | None = None  # with the queue, as it was told already
        self.running = 0

    def start(self) -> None:
        """Begin to work. A second call does nothing."""
        if self._loops or self._stopping.is_set():
            return
        quick = [kind for kind in self._handlers if plan_of(kind).quick]
        for i in range(self._slots):
            kinds = quick if i == 0 and self._slots > 1 and quick else list(self._handlers)
            self._loops.append(asyncio.create_task(self._loop(kinds), name=f"memos-worker-{i}"))

    async def stop(self) -> None:
        """Take no more; let what runs end within `grace`, then give it back."""
        self._stopping.set()
        if not self._loops:
            return
        _, late = await asyncio.wait(self._loops, timeout=self._grace)
        for task in late:
            task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._loops.clear()

    async def _loop(self, kinds: Sequence[str]) -> None:
        pause = QUEUE_PAUSE
        while not self._stopping.is_set():
            try:
                lease = await self._next(kinds)
                if lease is not None:
                    await self._work(lease)
                else:
                    await self._unless_stopped(self._queue.wait(IDLE_SECONDS))
                pause = QUEUE_PAUSE
                self._trouble = None
            except LeaseLost:
                log.warning("lease_lost", worker=self.name)
            except (
                Exception
            ) as e:  # the queue cannot be reached or written; what is leased comes back when its lease ends
                if not isinstance(e, Unavailable) and self._trouble != named(e):  # once; what is away says so itself
                    log.error("queue_failed", error=named(e))
                self._trouble = named(e)
                await self._unless_stopped(asyncio.sleep(pause))
                pause = min(pause * 2, QUEUE_PAUSE_CAP)

    async def _next(self, kinds: Sequence[str]) -> Lease | None:
        batch = max(plan_of(kind).batch for kind in kinds)
        return await self._queue.lease(self.name, kinds, limit=batch, seconds=self._seconds)

    async def _unless_stopped(self, waiting: object) -> None:
        """Wait for something, or for `stop`."""
        both = {asyncio.ensure_future(waiting), asyncio.ensure_future(self._stopping.wait())}  # type: ignore[call-overload]
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    async def _work(self, lease: Lease) -> None:
        """Run as many tasks of a lease as go together, and settle them; the others are released."""
        tasks = lease.tasks[: plan_of(lease.tasks[0].kind).batch]
        heart = _Heart(self._queue, lease, self._seconds)
        self.running += 1
        outcomes: list[Outcome] = []
        try:
            outcomes = await heart.beside(self._run(heart, tasks))
        except asyncio.CancelledError:
            with contextlib.suppress(MemosError):
                await self._queue.settle(heart.lease, ())
            raise
        finally:
            self.running -= 1
        await self._settle(heart.lease, outcomes)

    async def _settle(self, lease: Lease, outcomes: list[Outcome]) -> None:
        """Say what became of the tasks; a queue that fails is asked again, since otherwise the work is done again."""
        for pause in (*SETTLE_PAUSES, None):
            try:
                return await self._queue.settle(lease, outcomes)
            except InvalidInput as e:  # a result that cannot be kept
                dead = [Outcome(task.id, Verdict.DEAD, error=f"{e.code}: {e}") for task in lease.tasks]
                return await self._queue.settle(lease, [end for end in dead if end.id in {o.id for o in outcomes}])
            except (StorageError, Unavailable) as e:
                if pause is None or self._stopping.is_set():
                    raise
                if not isinstance(e, Unavailable):
                    log.warning("settle_failed", error=e.code, pause=pause)
                await asyncio.sleep(pause)
        return None

    async def _run(self, heart: _Heart, tasks: tuple[Task, ...]) -> list[Outcome]:
        handler = self._handlers[tasks[0].kind]

        async def progress(id: str, share: float) -> None:
            await self._queue.report(heart.lease, id, share)

        try:
            done = await handler(Job(tasks, progress))
        except LeaseLost:
            raise
        except asyncio.CancelledError as e:
            if _is_cancelled():
                raise
            done = Done(failed={task.id: e for task in tasks})
        except KeyboardInterrupt:
            raise
        except BaseException as e:  # whatever it is (a SystemExit too), it is kept with the task and tried again
            done = Done(failed={task.id: e for task in tasks})
        return [_outcome(task, done) for task in tasks]


class _Heart:
    """Keeps a lease alive beside the work done under it; when the lease is lost, the work is stopped."""

    def __init__(self, queue: TaskQueue, lease: Lease, seconds: float) -> None:
        self.lease = lease
        self._queue, self._seconds = queue, seconds

    async def beside(self, work: object) -> list[Outcome]:
        """The outcome of the work. Raises LeaseLost."""
        job: asyncio.Task[list[Outcome]] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        try:
            while True:
                done, _ = await asyncio.wait({job}, timeout=self._seconds / 3)
                if done:
                    return job.result()
                await self._beat()
        finally:
            if not job.done():
                job.cancel()
                await asyncio.gather(job, return_exceptions=True)

    async def _beat(self) -> None:
        try:
            self.lease = await self._queue.extend(self.lease, self._seconds)
        except LeaseLost:
            raise
        except MemosError as e:  # two more beats before the lease ends
            log.warning("lease_not_extended", error=e.code)


def _is_cancelled() -> bool:
    """Whether the running task was cancelled, and not only something that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _outcome(task: Task, done: Done) -> Outcome:
    error = done.failed.get(task.id)
    if error is None:
        return Outcome(task.id, Verdict.DONE, result=done.results.get(task.id, {}))
    reason = f"{error.code}: {error}" if isinstance(error, MemosError) else f"{type(error).__name__}: {error}"
    if isinstance(error, NotNow):
        return Outcome(task.id, Verdict.RELEASED, error=str(error), delay=max(PUT_OFF_LEAST, error.retry_after))
    if isinstance(error, HOPELESS):
        return Outcome(task.id, Verdict.DEAD, error=reason)
    wait = getattr(error, "retry_after", None)
    return Outcome(task.id, Verdict.RETRY, error=reason, delay=max(backoff(task.attempts), float(wait or 0.0)))
