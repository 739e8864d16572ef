"""The port of the task queue, and the plain values that cross it.

A task belongs to a *lane* (usually: one cube). Lanes are what workers lease: at most one worker at a time has a lane, and gets
its tasks in the order they were enqueued, so order is kept per lane. Delivery is at least once; handlers are idempotent
(law 2). A task carries ids and options, never the text of a memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from memos.memory.ids import new_id
from memos.memory.model import EMPTY

MAX_ATTEMPTS = 5
MERGE_AMONG = 100
WORKER_STOPPED = "worker stopped"  # in the error of a task whose lease ran out
KEPT_SECONDS = 7 * 86_400.0  # how long a finished task can be asked for


class TaskState(StrEnum):
    """Where a task is. A task that waits for its next attempt is `waiting`; `failed` is the dead letter."""

    WAITING = "waiting"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE = frozenset({TaskState.WAITING, TaskState.IN_PROGRESS})


@dataclass(frozen=True, slots=True)
class NewTask:
    """Work to be done. `lane`: order is kept within it. `cube`: the cube's name, None for work on none.

    `key`: enqueued once per kind and key, as long as the first one is kept. `merge`: not enqueued while a task of the same kind,
    lane and payload waits (among the last 100 of them). `admitted`: enqueued whatever waits already: for what is bounded
    otherwise, or belongs to something that is stored. `caller_id`: the caller's own `task_id`; several tasks may share it.
    `priority`: higher first, between lanes. `delay`: seconds before it may start. `durable`: on disk when `enqueue` returns
    (without it a power cut, but no crash, may lose the task; right where a mark in the cube says the same).
    """

    kind: str
    user: str
    lane: str
    cube: str | None = None
    payload: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    key: str | None = None
    merge: bool = False
    caller_id: str | None = None
    priority: int = 0
    delay: float = 0.0
    max_attempts: int = MAX_ATTEMPTS
    durable: bool = False
    admitted: bool = False
    id: str = field(default_factory=new_id)


@dataclass(frozen=True, slots=True)
class Task:
    """A task as the queue knows it. Times are aware UTC. `attempts` counts those begun, also by workers that died.

    `progress` is in [0, 1]. `error` is why the last attempt failed or was put off; a completed task has
    none. `result` is what the handler answered.
    """

    id: str
    kind: str
    user: str
    lane: str
    cube: str | None
    payload: Mapping[str, Any]
    caller_id: str | None
    priority: int
    state: TaskState
    attempts: int
    max_attempts: int
    enqueued_at: datetime
    available_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    progress: float = 0.0
    error: str | None = None
    worker: str | None = None
    result: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Lease:
    """The tasks a worker has, all of one lane and one kind, until `until` unless it is extended. `token` proves it."""

    token: str
    lane: str
    tasks: tuple[Task, ...]
    until: datetime


class Verdict(StrEnum):
    """What became of a leased task. `RELEASED` gives it back as if it had not been leased: its attempt does not count."""

    DONE = "done"
    RETRY = "retry"
    DEAD = "dead"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of one attempt at a task. A `RETRY` after the last attempt is `DEAD`. `delay`: seconds until the next attempt
    (of `RETRY` and `RELEASED`). `error`: kept with the task (of `RELEASED` only where there is one), but `DONE` clears it.
    """

    id: str
    verdict: Verdict
    error: str | None = None
    delay: float = 0.0
    result: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class TaskQuery:
    """Which tasks are meant; what is None does not restrict."""

    user: str | None = None
    cube: str | None = None
    caller_id: str | None = None
    kinds: Collection[str] | None = None
    states: Collection[TaskState] | None = None


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Tasks, newest first. `cursor` continues; None when there is no more."""

    items: tuple[Task, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class KindStats:
    """How one kind of task is doing. Seconds; `oldest_seconds` is the age of the oldest waiting one; `latency_*` is from
    enqueued to completed, over the last completed ones (at most 1,000, of the last hour); `per_minute` is what was completed
    in the last 60 seconds.
    """

    waiting: int = 0
    in_progress: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    oldest_seconds: float = 0.0
    per_minute: int = 0
    latency_p50: float = 0.0
    latency_p95: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How many live tasks (waiting or in progress) there may be before `enqueue` refuses with Busy: per user, and altogether."""

    per_user: int = 20_000
    total: int = 500_000


class TaskQueue(Protocol):
    """A durable queue. Implementations must pass `tests/storage/queue_conformance.py` unchanged. Safe from several processes.

    Scheduling, between lanes that have a task ready and that nobody leases: the lane with the highest priority of a ready
    head task; among equals the lane of the user (of the head task) who was served least recently, never served before all; then
    the oldest head task. Within a lane: in order of enqueueing, whatever the priority, and while the first task may not start
    yet (`delay`, its next attempt), those behind it wait too. A lease never mixes kinds, and holds several tasks only when
    none of them was begun before (attempts > 0), so that a task which kills its worker takes no others with it. Leasing counts
    an attempt at once; when a lease runs out, nothing can be done with it any more, and its tasks wait again, or are `failed`
    when that was the last attempt.
    """

    async def enqueue(self, tasks: Sequence[NewTask]) -> list[Task]:
        """Enqueue all or none; for one that was there already (`key`, `merge`) the one there is answered. Raises Busy."""
        ...

    async def check_room(self, user: str, count: int = 1) -> None:
        """Raises Busy when `enqueue` of so many tasks for this user would. May be a moment behind."""
        ...

    async def lease(
        self, worker: str, kinds: Collection[str], *, limit: int = 64, seconds: float = 30.0
    ) -> Lease | None:
        """The next tasks of one lane, or None when none is ready."""
        ...

    async def extend(self, lease: Lease, seconds: float = 30.0) -> Lease:
        """The same lease, longer. Raises LeaseLost."""
        ...

    async def report(self, lease: Lease, id: str, progress: float) -> None:
        """Note how far a leased task is, 0 to 1. Raises LeaseLost."""
        ...

    async def settle(self, lease: Lease, outcomes: Sequence[Outcome]) -> None:
        """End a lease: what became of its tasks; those without an outcome are released. Raises LeaseLost, and InvalidInput for
        an outcome of a task that is not in the lease (nothing is settled then).
        """
        ...

    async def wait(self, seconds: float) -> None:
        """Return when a task may have become ready, or after so many seconds."""
        ...

    async def get(self, ids: Sequence[str]) -> list[Task]:
        """The tasks of these ids that exist, in the order asked."""
        ...

    async def find(self, query: TaskQuery, *, limit: int = 100, cursor: str | None = None) -> TaskPage:
        """Tasks that match, newest first. Raises InvalidInput for a cursor that is none."""
        ...

    async def counts(self, query: TaskQuery) -> Mapping[TaskState, int]:
        """How many tasks match, by state; every state is there."""
        ...

    async def stats(self) -> Mapping[str, KindStats]:
        """Depth, age, throughput and latency by kind."""
        ...

    async def retry(self, query: TaskQuery, ids: Collection[str] | None = None) -> int:
        """Have failed tasks tried again from attempt 0, without their `error`, at the end of their lanes; returns how many."""
        ...

    async def cancel(self, query: TaskQuery, ids: Collection[str] | None = None) -> int:
        """Take waiting and failed tasks out (they become `cancelled`); returns how many. One in progress is not touched."""
        ...

    async def forget(self, cube: str) -> int:
        """Delete every trace of the tasks of a cube, in progress or not; returns how many."""
        ...

    async def prune(self, older_than: float = KEPT_SECONDS) -> int:
        """Delete tasks that were completed or cancelled so many seconds ago. Failed ones stay until retried or cancelled."""
        ...

    async def advice(self) -> str | None:
        """What whoever runs the queue should change about it, in a sentence; None when all is well."""
        ...

    async def close(self) -> None:
        """Finish queued writes and let go of every file and connection."""
        ...
