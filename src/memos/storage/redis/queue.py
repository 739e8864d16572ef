"""The task queue on a Redis server: the home for several machines (extra `redis`, Redis 6.2 or newer).

Every lane is a stream with a consumer group. A task leaves its stream only when it was acknowledged, so nothing that is not
done can be trimmed away; what was done leaves at once, so a stream is as long as the work that is left. Every step is one Lua
script (`scripts`), so it happens as a whole or not at all, and costs O(log n).

Law 2 rests on the server: what was acknowledged survives its restart when it has `appendonly yes`. With `appendfsync everysec`
(its default) a power cut may cost the last second; with `always` nothing. `NewTask.durable` waits until the task is on disk
(WAITAOF) where the server can tell, from Redis 7.2 on; older ones need `appendfsync always` for that. The server must not evict
keys: `maxmemory-policy noeviction`; when it is full, enqueueing is refused and work that is there goes on.

All keys have one hash tag, `{namespace}`, so on a cluster (which is recognised) a queue lives whole in one slot; several queues
are several namespaces. There `durable` rests on `appendfsync` alone.
Times are the server's, so that machines whose clocks differ agree.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from time import monotonic
from typing import Any

from memos.errors import Busy, InvalidInput, LeaseLost, StorageError
from memos.memory.ids import is_id
from memos.memory.time import from_micros, to_micros
from memos.storage.redis import scripts, scripts_care
from memos.storage.redis.link import PATIENCE, Link
from memos.storage.redis.rows import (
    asked,
    micros,
    outcomes_argument,
    query_arguments,
    tasks_argument,
    tasks_of,
    to_bytes,
)
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

Clock = Callable[[], datetime]

LARGEST_LEASE = 1_000
CHUNK = 500  # tasks that one script changes, so that others are not kept waiting
NEWEST = 2**53
RETRY_AFTER = 2.0  # seconds; what waits is as a rule done in less
LOOK_AGAIN = 1.0  # seconds after which a clock that is not the server's is read again

# What the wake stream said when a worker last found nothing: from there on it waits, and misses nothing in between. Kept with
# the worker's context (a worker may wait in a task of its own), by the queue it is of.
_seen: ContextVar[tuple[object, bytes] | None] = ContextVar("_seen", default=None)


class RedisTaskQueue:
    """A `TaskQueue` on one Redis server. Connects at the first call; belongs to one event loop."""

    def __init__(
        self,
        url: str,
        *,
        limits: Limits = Limits(),
        namespace: str | None = None,
        clock: Clock | None = None,
        patience: float = PATIENCE,
    ) -> None:
        """`url`: redis://, rediss:// or unix://. `namespace`: what stands behind `#` in the URL, or `memos`, when not given;
        installations that do not share their cubes need different ones. `clock` replaces the server's clock, for tests.
        `patience`: seconds that a call waits for a server that went away.

        Raises Unavailable when the package is missing, InvalidInput for what is no URL or namespace.
        """
        url, _, named = url.partition("#")
        namespace = (named or "memos") if namespace is None else namespace
        if not namespace or set(namespace) & set("{}"):
            raise InvalidInput(f"{namespace!r} cannot be a namespace; it is not empty and has no braces")
        self._prefix = f"{{{namespace}}}:"
        self._link = Link(url, self._prefix, patience)
        self._limits = limits
        self._clock = clock
        self._self = object()  # stands for this queue where it must not be kept alive
        self._last_seen: bytes | None = None
        self._closed = False

    # --- putting in --------------------------------------------------------------------------------------------

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        """See `TaskQueue.enqueue`."""
        if not tasks:
            return []
        given = tasks_argument(tasks)
        durable = any(task.durable for task in tasks)
        per_user, total = self._limits.per_user, self._limits.total
        refused, found = await self._run(scripts.ENQUEUE, per_user, total, given, disk=durable, brief=not durable)
        if refused:
            raise self._busy(refused == b"user", found)
        return tasks_of(found)

    async def check_room(self, user: str, count: int = 1) -> None:
        """See `TaskQueue.check_room`."""
        mine, total = await self._run(scripts.ROOM, asked(user), brief=True)
        if mine + count > self._limits.per_user:
            raise self._busy(True, mine)
        if total + count > self._limits.total:
            raise self._busy(False, total)

    def _busy(self, of_user: bool, live: int) -> Busy:
        who, limit = ("of this user", self._limits.per_user) if of_user else ("altogether", self._limits.total)
        return Busy(f"{live} tasks {who} wait already, {limit} may; try again later", RETRY_AFTER)

    # --- leases ------------------------------------------------------------------------------------------------

    async def lease(
        self, worker: str, kinds: Collection[str], *, limit: int = 64, seconds: float = 30.0
    ) -> Lease | None:
        """See `TaskQueue.lease`. At most 1,000 tasks."""
        token = secrets.token_urlsafe(12)
        lane, second, tasks = await self._run(
            scripts.LEASE,
            token,
            to_bytes(worker),
            max(1, min(limit, LARGEST_LEASE)),
            micros(seconds),
            *(asked(kind) for kind in kinds),
        )
        if lane is None:
            self._last_seen = second
            _seen.set((self._self, second))
            return None
        return Lease(token, lane.decode(), tuple(tasks_of(tasks)), from_micros(int(second)))

    async def extend(self, lease: Lease, seconds: float = 30.0) -> Lease:
        """See `TaskQueue.extend`."""
        until = await self._run(scripts.EXTEND, to_bytes(lease.lane), lease.token, micros(seconds))
        if until is None:
            raise _lost(lease)
        return replace(lease, until=from_micros(int(until)))

    async def report(self, lease: Lease, id: str, progress: float) -> None:
        """See `TaskQueue.report`."""
        share = min(1.0, max(0.0, progress))
        if not await self._run(scripts.REPORT, to_bytes(lease.lane), lease.token, asked(id.lower()), repr(share)):
            raise _lost(lease)

    async def settle(self, lease: Lease, outcomes: Sequence[Outcome]) -> None:
        """See `TaskQueue.settle`. Raises InvalidInput for the outcome of a task that is not of this lease."""
        ends = {outcome.id: outcome for outcome in outcomes}
        if strange := ends.keys() - {task.id for task in lease.tasks}:
            raise InvalidInput(f"task {min(strange)!r} is not of the lease that is settled")
        given = outcomes_argument(ends.get(task.id, Outcome(task.id, Verdict.RELEASED)) for task in lease.tasks)

        def arguments(again: bool) -> list[Any]:
            return [self._now(), to_bytes(lease.lane), lease.token, int(again), given]

        self._open()
        if not await self._link.run_again(scripts.SETTLE, arguments):
            raise _lost(lease)

    async def wait(self, seconds: float) -> None:
        """See `TaskQueue.wait`. Sleeps on the server's side; also while the server is away."""
        self._open()
        until = monotonic() + seconds
        known = self._known()
        while not self._closed and (left := until - monotonic()) > 0:
            last, due, ready = await self._run(scripts.LOOK)
            if due == 0 or (ready if known is None else last != known):
                return
            known = last
            pause = left if due < 0 else min(left, due / 1e6)
            if self._clock is not None and due > 0:
                pause = min(left, LOOK_AGAIN)
            await self._link.next_entry(f"{self._prefix}wake", last, pause)

    def _known(self) -> bytes | None:
        seen = _seen.get()
        return seen[1] if seen is not None and seen[0] is self._self else self._last_seen

    # --- looking -----------------------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str]) -> list[Task]:
        """See `TaskQueue.get`."""
        return tasks_of(await self._run(scripts.GET, *(id.lower() for id in ids if is_id(id))))

    async def find(self, query: TaskQuery, *, limit: int = 100, cursor: str | None = None) -> TaskPage:
        """See `TaskQueue.find`."""
        limit, before = max(1, limit), NEWEST if cursor is None else _number(cursor)
        found: list[Task] = []
        places: list[bytes] = []
        async for tasks, numbers in self._pages(query, limit + 1, before):
            found += tasks
            places += numbers
            if len(found) > limit:
                break
        return TaskPage(tuple(found[:limit]), places[limit - 1].decode() if len(found) > limit else None)

    async def counts(self, query: TaskQuery) -> Mapping[TaskState, int]:
        """See `TaskQueue.counts`."""
        counts = dict.fromkeys(TaskState, 0)
        before: Any = NEWEST
        while before is not None:
            before, *found = await self._run(scripts_care.COUNTS, before, *query_arguments(query))
            for state, count in zip(found[::2], found[1::2], strict=True):
                counts[TaskState(state.decode())] += count
        return counts

    async def stats(self) -> Mapping[str, KindStats]:
        """See `TaskQueue.stats`."""
        found: dict[str, KindStats] = {}
        for kind, *states, oldest, minute, took in await self._run(scripts_care.STATS):
            waiting, running, completed, failed, cancelled = states
            took = sorted(int(one) / 1e6 for one in took)
            p50, p95 = _quantile(took, 0.5), _quantile(took, 0.95)
            age = int(oldest) / 1e6
            found[kind.decode()] = KindStats(waiting, running, completed, failed, cancelled, age, minute, p50, p95)
        return found

    # --- care --------------------------------------------------------------------------------------------------

    async def retry(self, query: TaskQuery, ids: Collection[str] | None = None) -> int:
        """See `TaskQueue.retry`."""
        return await self._change(scripts_care.RETRY, query, {TaskState.FAILED}, ids)

    async def cancel(self, query: TaskQuery, ids: Collection[str] | None = None) -> int:
        """See `TaskQueue.cancel`."""
        return await self._change(scripts_care.CANCEL, query, {TaskState.WAITING, TaskState.FAILED}, ids)

    async def forget(self, cube: str) -> int:
        """See `TaskQueue.forget`."""
        return await self._until_none(scripts_care.FORGET, asked(cube), CHUNK)

    async def prune(self, older_than: float = KEPT_SECONDS) -> int:
        """See `TaskQueue.prune`."""
        return await self._until_none(scripts_care.PRUNE, micros(older_than), CHUNK)

    async def close(self) -> None:
        """See `TaskQueue.close`."""
        if not self._closed:
            self._closed = True
            await self._link.close()

    async def _change(
        self, script: str, query: TaskQuery, states: Collection[TaskState], ids: Collection[str] | None
    ) -> int:
        """Change what is in one of these states and meant, from the oldest on."""
        meant = set(states) & set(query.states if query.states is not None else states)
        query = replace(query, states=meant)
        if ids is None:
            chosen = [task.id async for tasks, _ in self._pages(query, CHUNK) for task in tasks]
            chosen.reverse()
        else:
            chosen = sorted({id.lower() for id in ids if is_id(id)})
        return sum(
            [
                await self._run(script, *query_arguments(query), *chosen[at : at + CHUNK])
                for at in range(0, len(chosen), CHUNK)
            ]
        )

    async def _pages(
        self, query: TaskQuery, limit: int, before: int = NEWEST
    ) -> AsyncIterator[tuple[list[Task], list[bytes]]]:
        """Tasks that match, newest first, with their numbers."""
        at: Any = before
        while at is not None:
            at, tasks, numbers = await self._run(scripts_care.FIND, at, limit, *query_arguments(query))
            yield tasks_of(tasks), numbers

    async def _until_none(self, script: str, *arguments: Any) -> int:
        total = 0
        while changed := await self._run(script, *arguments):
            total += changed
        return total

    # --- the server --------------------------------------------------------------------------------------------

    async def advice(self) -> str | None:
        """See `TaskQueue.advice`."""
        self._open()
        return await self._link.advice()

    async def _run(self, script: str, *arguments: Any, disk: bool = False, brief: bool = False) -> Any:
        self._open()
        return await self._link.run(script, self._now(), *arguments, disk=disk, brief=brief)

    def _open(self) -> None:
        if self._closed:
            raise StorageError("the task queue is closed; open another one")

    def _now(self) -> int | bytes:
        return b"" if self._clock is None else to_micros(self._clock())


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(f"the lease of {len(lease.tasks)} tasks has run out or ended; another worker has them, or will")


def _number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and int(cursor) <= NEWEST):
        raise InvalidInput(f"{cursor!r} is not a cursor; give the one of the page before, or none for the first page")
    return int(cursor)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The nearest rank; 0 of nothing."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
