"""`Tasks`: what a caller can see and do of the background work: look up, wait, follow, retry and cancel."""

from __future__ import annotations

import asyncio
import builtins
import math
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import replace

from memos.errors import InvalidInput, NotFound
from memos.memory.time import utcnow
from memos.scheduler.kinds import EVOLVE
from memos.storage.tasks import LIVE, KindStats, Task, TaskPage, TaskQuery, TaskQueue, TaskState

POLL, POLL_CAP = 0.02, 0.25
_ALARMS = frozenset({EVOLVE})  # enqueued for a time, perhaps hours away: until then they are no work that waits
_PAGE = 1000


class Tasks:
    """The tasks of a system. `queue` gives the queue of the running system."""

    def __init__(self, queue: Callable[[], TaskQueue]) -> None:
        self._queue = queue

    async def get(self, id: str) -> Task:
        """A task by its id. Raises NotFound; finished ones are kept for seven days."""
        found = await self._queue().get([id])
        if not found:
            raise NotFound(f"task {id} does not exist; finished tasks are kept for seven days")
        return found[0]

    async def find(self, query: TaskQuery = TaskQuery(), *, limit: int = 100, cursor: str | None = None) -> TaskPage:
        """Tasks, newest first, a page at a time."""
        return await self._queue().find(query, limit=limit, cursor=cursor)

    async def counts(self, query: TaskQuery = TaskQuery()) -> Mapping[TaskState, int]:
        """How many tasks there are in each state."""
        return await self._queue().counts(query)

    async def stats(self) -> Mapping[str, KindStats]:
        """Depth, age of the oldest, throughput and latency, by kind."""
        return await self._queue().stats()

    async def retry(self, query: TaskQuery = TaskQuery(), ids: Collection[str] | None = None) -> int:
        """Have failed tasks tried again; returns how many."""
        return await self._queue().retry(query, ids)

    async def cancel(self, query: TaskQuery = TaskQuery(), ids: Collection[str] | None = None) -> int:
        """Take tasks out that wait or failed; returns how many. What was stored stays stored."""
        return await self._queue().cancel(query, ids)

    async def wait(self, which: TaskQuery | str | Sequence[str], timeout: float = 120.0) -> bool:  # noqa: ASYNC109
        """Wait until none of the tasks is live; False when that took longer than `timeout` seconds. `which`: a query, or ids. A
        query does not mean learning that is put off until its time.
        """
        if not timeout < math.inf and timeout != math.inf:
            raise InvalidInput(f"timeout is a number of seconds, got {timeout!r}")
        until, pause = time.monotonic() + timeout, POLL
        while await self._live(which):
            left = until - time.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(pause, left))
            pause = min(pause * 1.5, POLL_CAP)
        return True

    async def follow(
        self, which: TaskQuery | str | Sequence[str], pause: float = POLL_CAP
    ) -> AsyncGenerator[Task, None]:
        """Tasks as they change, beginning with how they are; ends when none is live. By a query, learning that is put off until
        its time does not count.
        """
        known: dict[str, Task] = {}
        while True:
            tasks = await self._tasks(which, known)
            for task in tasks:
                if known.get(task.id) != task:
                    known[task.id] = task
                    yield task
            waited_for = (t for t in tasks if t.state in LIVE and not (isinstance(which, TaskQuery) and _is_put_off(t)))
            if next(waited_for, None) is None:
                return
            await asyncio.sleep(pause)

    async def busy(self, kinds: Collection[str] | None = None) -> bool:
        """Whether any task (of these kinds) is live: waits, also for its next attempt, or is in progress. Learning that is put
        off until its time is not.
        """
        return await self._live(TaskQuery(kinds=kinds))

    async def _live(self, which: TaskQuery | str | Sequence[str]) -> bool:
        if isinstance(which, TaskQuery):
            counts = await self._queue().counts(which if which.states is not None else replace(which, states=LIVE))
            live = sum(counts[state] for state in LIVE)
            return live > 0 and live > await self._put_off(which)
        return any(task.state in LIVE for task in await self._queue().get(_ids(which)))

    async def _put_off(self, which: TaskQuery) -> int:
        """How many of the tasks are put off until their time."""
        kinds = _ALARMS if which.kinds is None else _ALARMS & {*which.kinds}
        if not kinds or (which.states is not None and TaskState.WAITING not in which.states):
            return 0
        query, cursor, found = replace(which, kinds=kinds, states=(TaskState.WAITING,)), None, 0
        while True:
            page = await self._queue().find(query, limit=_PAGE, cursor=cursor)
            found += sum(map(_is_put_off, page.items))
            if (cursor := page.cursor) is None:
                return found

    async def _tasks(self, which: TaskQuery | str | Sequence[str], known: Mapping[str, Task]) -> builtins.list[Task]:
        if not isinstance(which, TaskQuery):
            return await self._queue().get(_ids(which))
        page = await self._queue().find(which, limit=1000)
        listed = {task.id for task in page.items}
        left = [id for id, task in known.items() if task.state in LIVE and id not in listed]  # no longer matching
        return [*page.items, *(await self._queue().get(left) if left else [])]


def _is_put_off(task: Task) -> bool:
    """Whether it waits for its time, and was never tried."""
    return (
        task.kind in _ALARMS and task.state is TaskState.WAITING and task.attempts == 0 and task.available_at > utcnow()
    )


def _ids(which: str | Sequence[str]) -> Sequence[str]:
    """A single id counts as a list of one."""
    return [which] if isinstance(which, str) else which
