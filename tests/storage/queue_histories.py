"""Random histories of several workers, their crashes and jumps of the clock, held against a small model of the port."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from queue_making import KINDS, Clock, Make, ids, new

from memos.errors import LeaseLost
from memos.storage.tasks import LIVE, Lease, Outcome, Task, TaskQuery, TaskQueue, TaskState, Verdict

LEASE_SECONDS = 30
NOTHING = ("nothing of this kind",)  # asking for it takes back what ran out, as any asking does


@dataclass
class Known:
    """A task as the model knows it."""

    task: Task
    available: float
    attempts: int = 0
    state: TaskState = TaskState.WAITING


@dataclass
class Held:
    """A lease somebody has, or had."""

    lease: Lease
    until: float


@dataclass
class Model:
    """What the port says, in the plainest way: lists, and looking through all of them."""

    now: float = 0.0
    known: list[Known] = field(default_factory=list)  # in order of the lanes: retried ones go to the end
    held: dict[str, Held] = field(default_factory=dict)  # by lane
    served: list[str] = field(default_factory=list)  # users, the last one served last

    def live(self, lane: str) -> list[Known]:
        return [k for k in self.known if k.task.lane == lane and k.state in LIVE]

    def expire(self) -> None:
        for lane, held in list(self.held.items()):
            if held.until <= self.now:
                del self.held[lane]
                for k in self.known:
                    if k.task.lane == lane and k.state == TaskState.IN_PROGRESS:
                        k.state = TaskState.FAILED if k.attempts >= k.task.max_attempts else TaskState.WAITING

    def next(self, kinds: tuple[str, ...], limit: int) -> list[Known]:
        self.expire()
        heads = [self.live(lane)[0] for lane in {k.task.lane for k in self.known} if self.live(lane)]
        ready = [h for h in heads if h.task.lane not in self.held and h.task.kind in kinds and h.available <= self.now]
        if not ready:
            return []
        first = min(ready, key=lambda h: (-h.task.priority, self._turn(h.task.user), self.known.index(h)))
        batch = [first]
        for k in self.live(first.task.lane)[1:limit]:
            if first.attempts or k.attempts or k.task.kind != first.task.kind or k.available > self.now:
                break
            batch.append(k)
        return batch

    def _turn(self, user: str) -> int:
        return self.served.index(user) if user in self.served else -1

    def leased(self, batch: list[Known], lease: Lease) -> None:
        for k in batch:
            k.state, k.attempts = TaskState.IN_PROGRESS, k.attempts + 1
        user = batch[0].task.user
        self.served = [u for u in self.served if u != user] + [user]
        self.held[lease.lane] = Held(lease, self.now + LEASE_SECONDS)

    def holds(self, lease: Lease) -> bool:
        held = self.held.get(lease.lane)
        return held is not None and held.lease.token == lease.token and held.until > self.now

    def settle(self, lease: Lease, outcomes: list[Outcome]) -> None:
        del self.held[lease.lane]
        given = {o.id: o for o in outcomes}
        for k in self.known:
            if k.task.id in ids(lease.tasks):
                outcome = given.get(k.task.id, Outcome(k.task.id, Verdict.RELEASED))
                last = k.attempts >= k.task.max_attempts
                if outcome.verdict is Verdict.DONE:
                    k.state = TaskState.COMPLETED
                elif outcome.verdict is Verdict.DEAD or (outcome.verdict is Verdict.RETRY and last):
                    k.state = TaskState.FAILED
                elif outcome.verdict is Verdict.RETRY:
                    k.state, k.available = TaskState.WAITING, self.now + outcome.delay
                else:
                    k.state, k.attempts = TaskState.WAITING, k.attempts - 1

    def retry(self) -> int:
        failed = [k for k in self.known if k.state == TaskState.FAILED]
        for k in failed:
            k.state, k.attempts, k.available = TaskState.WAITING, 0, self.now
        self.known = [k for k in self.known if k not in failed] + failed
        return len(failed)

    def cancel(self, lane: str) -> int:
        found = [k for k in self.known if k.task.lane == lane and k.state in {TaskState.WAITING, TaskState.FAILED}]
        for k in found:
            k.state = TaskState.CANCELLED
        return len(found)


_lane = st.sampled_from("abc")
_verdicts = st.lists(st.tuples(st.sampled_from(Verdict), st.sampled_from([0, 0, 20])), max_size=4)
_enqueue = st.tuples(
    st.just("enqueue"),
    st.lists(
        st.fixed_dictionaries(
            {
                "lane": _lane,
                "user": st.sampled_from(["ann", "bob"]),
                "kind": st.sampled_from(KINDS[:1] * 3 + KINDS),
                "priority": st.sampled_from([0, 0, 0, 1]),
                "delay": st.sampled_from([0, 0, 0, 15]),
                "max_attempts": st.integers(1, 3),
            }
        ),
        min_size=1,
        max_size=4,
    ),
)
_lease = st.tuples(st.just("lease"), st.sampled_from([KINDS, KINDS, KINDS[:1], KINDS[1:]]), st.integers(1, 4))
_settle = st.tuples(st.just("settle"), st.integers(0, 9), _verdicts)
_extend = st.tuples(st.just("extend"), st.integers(0, 9))
_forward = st.tuples(st.just("forward"), st.sampled_from([1, 10, 29, 31, 100]))
_care = st.one_of(st.tuples(st.just("retry")), st.tuples(st.just("cancel"), _lane))
_step = st.tuples(st.integers(0, 1), st.one_of(_enqueue, _lease, _lease, _settle, _settle, _extend, _forward, _care))


class _History:
    """One history: every step is done by one of two processes, and by the model."""

    def __init__(self, queues: list[TaskQueue], clock: Clock) -> None:
        self.queues, self.clock = queues, clock
        self.model = Model()
        self.leases: list[Lease] = []  # all that were ever given, so that old ones are used as well

    async def step(self, process: int, what: tuple[Any, ...]) -> None:
        await getattr(self, what[0])(self.queues[process], *what[1:])

    async def enqueue(self, queue: TaskQueue, tasks: list[dict[str, Any]]) -> None:
        for task in await queue.enqueue([new(**fields) for fields in tasks]):
            delay = (task.available_at - task.enqueued_at).total_seconds()
            self.model.known.append(Known(task, self.model.now + delay))

    async def lease(self, queue: TaskQueue, kinds: tuple[str, ...], limit: int) -> None:
        expected = self.model.next(kinds, limit)
        lease = await queue.lease("w", kinds, limit=limit, seconds=LEASE_SECONDS)
        assert ([] if lease is None else ids(lease.tasks)) == [k.task.id for k in expected]
        if lease is not None:
            self.model.leased(expected, lease)
            self.leases.append(lease)
            assert [t.attempts for t in lease.tasks] == [k.attempts for k in expected]

    async def settle(self, queue: TaskQueue, which: int, verdicts: list[tuple[Verdict, int]]) -> None:
        if not self.leases:
            return
        lease = self.leases[which % len(self.leases)]
        outcomes = [Outcome(t.id, v, delay=d) for t, (v, d) in zip(lease.tasks, verdicts, strict=False)]
        outcomes = [o if o.verdict is Verdict.RETRY else Outcome(o.id, o.verdict) for o in outcomes]
        if self.model.holds(lease):
            await queue.settle(lease, outcomes)
            self.model.settle(lease, outcomes)
        else:
            with pytest.raises(LeaseLost):
                await queue.settle(lease, outcomes)

    async def extend(self, queue: TaskQueue, which: int) -> None:
        if not self.leases:
            return
        lease = self.leases[which % len(self.leases)]
        if self.model.holds(lease):
            await queue.extend(lease, LEASE_SECONDS)
            self.model.held[lease.lane].until = self.model.now + LEASE_SECONDS
        else:
            with pytest.raises(LeaseLost):
                await queue.extend(lease, LEASE_SECONDS)

    async def forward(self, queue: TaskQueue, seconds: int) -> None:
        self.clock.forward(seconds)
        self.model.now += seconds

    async def retry(self, queue: TaskQueue) -> None:
        await self.lease(queue, NOTHING, 1)
        assert await queue.retry(TaskQuery()) == self.model.retry()

    async def cancel(self, queue: TaskQueue, lane: str) -> None:
        await self.lease(queue, NOTHING, 1)
        assert await queue.cancel(TaskQuery(cube=lane)) == self.model.cancel(lane)

    async def finish(self) -> None:
        """Let every lease run out and every delay pass, and do what is left: then nothing lives, and nothing was lost."""
        await self.lease(self.queues[0], NOTHING, 1)
        await self.check()
        while any(k.state in LIVE for k in self.model.known):
            await self.forward(self.queues[0], 100)
            while self.model.next(KINDS, 4):
                await self.lease(self.queues[1], KINDS, 4)
                await self.settle(self.queues[1], -1, [(Verdict.DONE, 0)] * 4)
            await self.lease(self.queues[0], NOTHING, 1)
        await self.check()

    async def check(self) -> None:
        expected = {k.task.id: (k.state, k.attempts) for k in self.model.known}
        found = await self.queues[1].get(list(expected))
        assert {t.id: (t.state, t.attempts) for t in found} == expected
        counts = await self.queues[0].counts(TaskQuery())
        for state in TaskState:
            assert counts[state] == sum(k.state == state for k in self.model.known)


class Histories:
    """Anything may happen in any order."""

    # One test for every home is meant; an example that one home fails is tried on the others as well.
    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(steps=st.lists(_step, max_size=40))
    async def test_any_history_goes_as_the_port_says(
        self, home: Callable[[], Make], steps: list[tuple[int, tuple[Any, ...]]]
    ) -> None:
        make, clock = home(), Clock()
        history = _History([await make(clock=clock), await make(clock=clock)], clock)
        for process, what in steps:
            await history.step(process, what)
        await history.finish()
        for queue in history.queues:
            await queue.close()
