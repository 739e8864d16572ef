"""Short ways to make tasks and to move time, shared by the suites of the task queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from memos.storage.tasks import Lease, Limits, NewTask, Outcome, Task, TaskQueue, TaskState, Verdict

KINDS = ("digest", "embed")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2030, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Make(Protocol):
    """Opens one more queue over one home: as another process would."""

    def __call__(self, *, clock: Callable[[], datetime] = ..., limits: Limits = ...) -> Awaitable[TaskQueue]: ...


def new(lane: str = "lane", user: str = "ann", kind: str = "digest", **fields: Any) -> NewTask:
    """A task that is not enqueued yet."""
    return NewTask(**{"kind": kind, "user": user, "lane": lane, "cube": lane, **fields})


async def put(queue: TaskQueue, lane: str = "lane", user: str = "ann", kind: str = "digest", **fields: Any) -> Task:
    """Enqueue one task."""
    return (await queue.enqueue([new(lane, user, kind, **fields)]))[0]


async def take(
    queue: TaskQueue, kinds: Collection[str] = KINDS, *, worker: str = "w", limit: int = 64, seconds: float = 30.0
) -> Lease:
    """A lease, which must be there."""
    lease = await queue.lease(worker, kinds, limit=limit, seconds=seconds)
    assert lease is not None, "no task is ready"
    return lease


async def nothing_ready(queue: TaskQueue, kinds: Collection[str] = KINDS) -> bool:
    """Whether no task can be leased."""
    return await queue.lease("w", kinds) is None


async def done(queue: TaskQueue, lease: Lease) -> None:
    """Every task of a lease is done."""
    await end(queue, lease, Verdict.DONE)


async def end(queue: TaskQueue, lease: Lease, verdict: Verdict, **fields: Any) -> None:
    """Every task of a lease ends in the same way."""
    await queue.settle(lease, [Outcome(t.id, verdict, **fields) for t in lease.tasks])


async def drain(queue: TaskQueue, kinds: Collection[str] = KINDS) -> list[Task]:
    """Do everything that is ready; the tasks in the order they were handed out."""
    seen: list[Task] = []
    while (lease := await queue.lease("w", kinds)) is not None:
        seen += lease.tasks
        await done(queue, lease)
    return seen


async def one(queue: TaskQueue, id: str) -> Task:
    """A task as it is now."""
    (task,) = await queue.get([id])
    return task


async def state(queue: TaskQueue, id: str) -> TaskState:
    """Where a task is now."""
    return (await one(queue, id)).state


def ids(tasks: Sequence[Task]) -> list[str]:
    """The ids of tasks, in order."""
    return [t.id for t in tasks]


async def until(check: Callable[[], Awaitable[bool]], seconds: float = 5.0) -> bool:
    """Whether something becomes true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if await check():
            return True
        await asyncio.sleep(0.02)
    return False
