"""Workers sleep until there is something for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable

from queue_making import KINDS, Clock, Make, done, end, new, nothing_ready, put, take

from memos.storage.tasks import TaskQuery, TaskQueue, Verdict

LONG = 20.0


async def woken_by(queue: TaskQueue, what: Awaitable[object]) -> float:
    """How long after something happened a `wait` that was under way returned, seconds. Nothing is ready before."""
    assert await nothing_ready(queue)
    waiting = asyncio.create_task(queue.wait(LONG))
    await asyncio.sleep(0.15)
    assert not waiting.done(), "nothing had happened"
    await what  # which may have to wait for a disk
    started = time.monotonic()
    await waiting
    return time.monotonic() - started


class Waiting:
    """`wait`."""

    async def test_waiting_ends_after_the_time_given(self, queue: TaskQueue) -> None:
        started = time.monotonic()
        await queue.wait(0.2)
        assert 0.15 < time.monotonic() - started < 2

    async def test_a_new_task_wakes_who_waits_at_once(self, queue: TaskQueue) -> None:
        assert await woken_by(queue, put(queue)) < 1

    async def test_a_task_from_another_process_wakes_who_waits_soon(self, queue: TaskQueue, other: TaskQueue) -> None:
        assert await woken_by(queue, put(other)) < 2

    async def test_a_lane_that_becomes_free_wakes_who_waits(self, queue: TaskQueue, other: TaskQueue) -> None:
        await queue.enqueue([new(), new()])
        assert await woken_by(queue, done(queue, await take(queue, limit=1))) < 1
        lease = await take(queue, limit=1)
        await put(queue)
        assert await woken_by(queue, done(other, lease)) < 2

    async def test_a_task_that_is_tried_again_wakes_who_waits(self, queue: TaskQueue) -> None:
        await put(queue)
        await end(queue, await take(queue), Verdict.DEAD)
        assert await woken_by(queue, queue.retry(TaskQuery())) < 1

    async def test_a_delayed_task_wakes_who_waits_when_its_time_has_come(self, make: Make) -> None:
        queue = await make()
        await put(queue, delay=0.4)
        started = time.monotonic()
        while (lease := await queue.lease("w", KINDS)) is None:
            await queue.wait(LONG)
        assert 0.3 < time.monotonic() - started < 3
        assert len(lease.tasks) == 1

    async def test_a_lost_lease_wakes_who_waits_when_it_runs_out(self, make: Make) -> None:
        queue = await make()
        await put(queue)
        await take(queue, seconds=0.4)
        started = time.monotonic()
        while await queue.lease("w", KINDS) is None:
            await queue.wait(LONG)
        assert time.monotonic() - started < 3

    async def test_time_that_passes_by_the_clock_wakes_who_waits(self, queue: TaskQueue, clock: Clock) -> None:
        await put(queue, delay=1_000)

        async def pass_by() -> None:
            clock.forward(1_000)

        assert await woken_by(queue, pass_by()) < 2

    async def test_nothing_is_missed_between_looking_and_waiting(self, queue: TaskQueue, other: TaskQueue) -> None:
        left = 40
        took = time.monotonic()

        async def produce() -> None:
            for i in range(left):
                await put(queue if i % 2 else other, f"l{i}")
                await asyncio.sleep(0.001 * (i % 4))

        async def consume() -> None:
            nonlocal left
            while left:
                if (lease := await queue.lease("w", KINDS)) is None:
                    await asyncio.create_task(queue.wait(LONG))  # as a worker that can be stopped meanwhile does
                else:
                    left -= len(lease.tasks)
                    await done(queue, lease)

        await asyncio.wait_for(asyncio.gather(produce(), consume()), 60)
        assert time.monotonic() - took < LONG

    async def test_several_wait_at_once_and_a_cancelled_one_does_no_harm(self, queue: TaskQueue) -> None:
        waits = [asyncio.create_task(queue.wait(LONG)) for _ in range(5)]
        await asyncio.sleep(0.1)
        waits[2].cancel()
        await put(queue)
        ended = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 5)
        assert [type(e) for e in ended].count(asyncio.CancelledError) == 1

    async def test_waiting_costs_next_to_nothing(self, queue: TaskQueue) -> None:
        used = time.process_time()
        await asyncio.gather(*(queue.wait(1.0) for _ in range(8)))
        assert time.process_time() - used < 0.2
