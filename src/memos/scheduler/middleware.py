"""What surrounds every handler: a time limit, counting, a span, and a log line. The worker knows nothing of these."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field

from memos.errors import MemosError
from memos.logs import get_logger
from memos.scheduler.job import Done, Handler, Job, NotNow
from memos.scheduler.kinds import plan_of
from memos.tracing import span

log = get_logger(__name__)


class TaskTimeout(MemosError):
    """One attempt took longer than its kind may."""

    code = "task_timeout"


async def time_limit(job: Job, handler: Handler) -> Done:
    """Ends an attempt that takes longer than its kind's `timeout`."""
    seconds = plan_of(job.kind).timeout
    try:
        async with asyncio.timeout(seconds) as limit:
            return await handler(job)
    except TimeoutError:
        if not limit.expired():
            raise
        raise TaskTimeout(f"{job.kind} took longer than {seconds:g} s") from None


async def traced(job: Job, handler: Handler) -> Done:
    """A span around each attempt, where there is tracing."""
    with span(f"task {job.kind}", {"memos.task.kind": job.kind, "memos.task.count": len(job.tasks)}) as made:
        done = await handler(job)
        if made is not None:
            made.set_attribute("memos.task.failed", len(done.failed))
        return done


async def logged(job: Job, handler: Handler) -> Done:
    """Logs what failed, without contents."""
    begun = time.monotonic()
    try:
        done = await handler(job)
    except NotNow as e:
        log.info("task_put_off", kind=job.kind, tasks=len(job.tasks), seconds=round(e.retry_after, 1))
        raise
    except Exception as e:
        log.warning("task_attempt_failed", kind=job.kind, tasks=len(job.tasks), error=named(e), seconds=_since(begun))
        raise
    for id, error in done.failed.items():
        if isinstance(error, NotNow):
            log.info("task_put_off", kind=job.kind, tasks=1, seconds=round(error.retry_after, 1))
        else:
            log.warning("task_attempt_failed", kind=job.kind, task=id, error=named(error))
    return done


@dataclass(slots=True)
class TaskMetrics:
    """Counts and durations of the attempts of this process, as middleware. `seconds` keeps the last 1,000 of each kind."""

    done: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    total_seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    seconds: defaultdict[str, deque[float]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=1000)))

    async def __call__(self, job: Job, handler: Handler) -> Done:
        """Measure one attempt."""
        begun = time.monotonic()
        failed = tasks = len(job.tasks)
        try:
            result = await handler(job)
            put_off = sum(isinstance(error, NotNow) for error in result.failed.values())
            failed, tasks = len(result.failed) - put_off, tasks - put_off
            return result
        except NotNow:  # no attempt was made
            failed = tasks = 0
            raise
        finally:
            took = time.monotonic() - begun
            self.total_seconds[job.kind] += took
            self.seconds[job.kind].append(took)
            self.failed[job.kind] += failed
            self.done[job.kind] += tasks - failed


def named(error: BaseException) -> str:
    """How an error is named in the log: without its text, which may hold contents."""
    return error.code if isinstance(error, MemosError) else type(error).__name__


def _since(begun: float) -> float:
    return round(time.monotonic() - begun, 4)
