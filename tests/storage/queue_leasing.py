"""What becomes of leased tasks: settled, given back, lost with their worker."""

from __future__ import annotations

from datetime import timedelta

import pytest
from queue_making import KINDS, Clock, done, drain, end, ids, new, nothing_ready, one, put, state, take

from memos.errors import InvalidInput, LeaseLost
from memos.memory.ids import new_id
from memos.storage.tasks import Lease, Outcome, TaskQuery, TaskQueue, TaskState, Verdict


class Leasing:
    """Leases, attempts, verdicts, progress."""

    async def test_a_leased_task_is_in_progress_with_the_attempt_counted(self, queue: TaskQueue, clock: Clock) -> None:
        task = await put(queue)
        clock.forward(3)
        lease = await take(queue, worker="w7", seconds=20)
        (leased,) = lease.tasks
        assert lease.until == clock.now + timedelta(seconds=20)
        assert (leased.id, leased.state, leased.attempts) == (task.id, TaskState.IN_PROGRESS, 1)
        assert (leased.worker, leased.started_at, leased.finished_at) == ("w7", clock.now, None)
        assert await one(queue, task.id) == leased

    async def test_done_is_completed_with_its_result(self, queue: TaskQueue, other: TaskQueue, clock: Clock) -> None:
        task = await put(queue)
        lease = await take(queue)
        clock.forward(2)
        await end(queue, lease, Verdict.DONE, result={"facts": 3, "é": ["🦊"]})
        found = await one(other, task.id)
        assert (found.state, found.attempts, found.progress) == (TaskState.COMPLETED, 1, 1.0)
        assert (found.finished_at, dict(found.result)) == (clock.now, {"facts": 3, "é": ["🦊"]})
        assert await nothing_ready(queue)

    async def test_retry_waits_again_until_the_attempts_are_used_up(self, queue: TaskQueue, clock: Clock) -> None:
        task = await put(queue, max_attempts=3)
        for attempt in (1, 2):
            await end(queue, await take(queue), Verdict.RETRY, error=f"failed {attempt}", delay=10)
            found = await one(queue, task.id)
            assert (found.state, found.attempts, found.error) == (TaskState.WAITING, attempt, f"failed {attempt}")
            assert found.available_at == clock.now + timedelta(seconds=10)
            assert found.finished_at is None
            assert await nothing_ready(queue)
            clock.forward(10)
        await end(queue, await take(queue), Verdict.RETRY, error="failed 3", delay=10)
        found = await one(queue, task.id)
        assert (found.state, found.attempts, found.error) == (TaskState.FAILED, 3, "failed 3")
        assert found.finished_at == clock.now
        clock.forward(1_000)
        assert await nothing_ready(queue)

    async def test_a_clock_that_is_put_back_keeps_nothing_waiting(
        self, queue: TaskQueue, other: TaskQueue, clock: Clock
    ) -> None:
        delayed = await put(queue, "delayed", delay=10)
        lost = await put(queue, "lost", delay=1)
        clock.forward(1)
        assert (await take(other, seconds=30)).tasks[0].id == lost.id  # by a worker that is gone
        first, second = await queue.enqueue([new("two"), new("two")])
        lease = await take(queue, limit=1)
        retried = await put(queue, "retried")
        await end(queue, await take(queue), Verdict.RETRY, delay=20)
        clock.forward(-86_400)
        assert ids(lease.tasks) == [first.id]
        await done(queue, lease)
        assert ids(await drain(queue)) == [second.id]
        assert await nothing_ready(other)
        clock.forward(10)
        assert ids(await drain(other)) == [delayed.id]
        clock.forward(10)
        assert ids(await drain(queue)) == [retried.id]
        clock.forward(10)
        assert ids(await drain(queue)) == [lost.id]
        clock.forward(86_400)  # and forth again
        assert await nothing_ready(queue)

    async def test_a_clock_that_runs_a_little_back_shortens_no_delay(self, queue: TaskQueue, clock: Clock) -> None:
        await put(queue, delay=10)
        for _ in range(9):
            clock.forward(-0.9)
            await put(queue, "other")
            await drain(queue)
            clock.forward(0.9)
        clock.forward(9)
        assert await nothing_ready(queue)
        clock.forward(2)
        assert not await nothing_ready(queue)

    async def test_dead_is_failed_at_once_and_the_lane_goes_on(self, queue: TaskQueue) -> None:
        bad, good = await queue.enqueue([new(), new()])
        lease = await take(queue)
        await queue.settle(lease, [Outcome(good.id, Verdict.DONE), Outcome(bad.id, Verdict.DEAD, error="no such cube")])
        found = await one(queue, bad.id)
        assert (found.state, found.attempts, found.error) == (TaskState.FAILED, 1, "no such cube")
        assert await state(queue, good.id) == TaskState.COMPLETED

    async def test_long_reasons_are_cut(self, queue: TaskQueue) -> None:
        task = await put(queue)
        await end(queue, await take(queue), Verdict.RETRY, error="é\ud800" * 5_000)
        error = (await one(queue, task.id)).error
        assert error is not None
        assert error.startswith("é")
        assert len(error) <= 500

    async def test_released_tasks_wait_as_if_they_had_not_been_leased(self, queue: TaskQueue, clock: Clock) -> None:
        made = await queue.enqueue([new(), new()])
        lease = await take(queue)
        clock.forward(1)
        await end(queue, lease, Verdict.RELEASED)
        for task in await queue.get(ids(made)):
            assert (task.state, task.attempts, task.worker, task.progress) == (TaskState.WAITING, 0, None, 0.0)
        assert ids((await take(queue)).tasks) == ids(made)

    async def test_a_released_task_can_be_put_off(self, queue: TaskQueue, clock: Clock) -> None:
        task = await put(queue)
        await end(queue, await take(queue), Verdict.RELEASED, delay=30)
        assert await nothing_ready(queue)
        clock.forward(30)
        (leased,) = (await take(queue)).tasks
        assert (leased.id, leased.attempts) == (task.id, 1)

    async def test_a_task_that_is_put_off_keeps_the_reason_and_its_attempts(
        self, queue: TaskQueue, other: TaskQueue, clock: Clock
    ) -> None:
        task = await put(queue)
        await end(queue, await take(queue), Verdict.RETRY, error="it said no")
        await end(queue, await take(queue), Verdict.RELEASED, error="it is not asked", delay=30)
        found = await one(other, task.id)
        assert (found.state, found.attempts, found.error) == (TaskState.WAITING, 1, "it is not asked")
        clock.forward(30)
        await end(queue, await take(queue), Verdict.RELEASED)  # nothing new to say
        assert (await one(other, task.id)).error == "it is not asked"

    async def test_a_task_that_is_done_in_the_end_has_no_error(
        self, queue: TaskQueue, other: TaskQueue, clock: Clock
    ) -> None:
        task = await put(queue)
        await end(queue, await take(queue), Verdict.RETRY, error="failed")
        assert (await one(other, task.id)).error == "failed"
        await end(queue, await take(queue), Verdict.DONE, error="of no use")
        found = await one(other, task.id)
        assert (found.state, found.attempts, found.error) == (TaskState.COMPLETED, 2, None)

    async def test_a_task_to_be_tried_again_has_no_error(self, queue: TaskQueue) -> None:
        task = await put(queue)
        await end(queue, await take(queue), Verdict.DEAD, error="no")
        assert await queue.retry(TaskQuery()) == 1
        found = await one(queue, task.id)
        assert (found.state, found.attempts, found.error) == (TaskState.WAITING, 0, None)

    async def test_what_is_not_settled_is_released(self, queue: TaskQueue) -> None:
        made = await queue.enqueue([new(), new(), new()])
        lease = await take(queue)
        await queue.settle(lease, [Outcome(made[0].id, Verdict.DONE)])
        assert [(t.state, t.attempts) for t in await queue.get(ids(made))] == [
            (TaskState.COMPLETED, 1),
            (TaskState.WAITING, 0),
            (TaskState.WAITING, 0),
        ]
        assert ids((await take(queue)).tasks) == ids(made[1:])

    async def test_a_released_task_keeps_the_attempts_it_had(self, queue: TaskQueue) -> None:
        task = await put(queue, max_attempts=2)
        await end(queue, await take(queue), Verdict.RETRY, error="once")
        for _ in range(5):
            await queue.settle(await take(queue), [])
        assert [t.attempts for t in await queue.get([task.id])] == [1]
        assert (await take(queue)).tasks[0].attempts == 2

    async def test_tasks_of_a_lost_worker_wait_again_with_their_attempts(
        self, queue: TaskQueue, other: TaskQueue, clock: Clock
    ) -> None:
        made = await queue.enqueue([new(), new()])
        await take(queue, seconds=30)
        clock.forward(29.9)
        assert await nothing_ready(other)
        clock.forward(0.1)
        lease = await take(other)
        assert [(t.id, t.attempts) for t in lease.tasks] == [(made[0].id, 2)]
        await done(other, lease)
        assert [(t.id, t.attempts) for t in (await take(other)).tasks] == [(made[1].id, 2)]

    async def test_a_task_that_kills_its_workers_ends_alone_and_its_neighbours_are_done(
        self, queue: TaskQueue, clock: Clock
    ) -> None:
        made = await queue.enqueue([new(max_attempts=3, payload={"poison": i == 2}) for i in range(5)])
        await put(queue, "else")
        for _ in range(20):
            while (lease := await queue.lease("w", KINDS)) is not None:
                if any(t.payload.get("poison") for t in lease.tasks):
                    break  # the worker dies
                await done(queue, lease)
            clock.forward(31)
        found = await queue.get(ids(made))
        assert [t.state for t in found] == [TaskState.COMPLETED] * 2 + [TaskState.FAILED] + [TaskState.COMPLETED] * 2
        assert found[2].attempts == 3
        assert found[2].error
        assert found[2].finished_at is not None
        assert max(t.attempts for t in found if t is not found[2]) == 2

    async def test_a_lease_that_ran_out_is_worth_nothing(self, queue: TaskQueue, clock: Clock) -> None:
        task = await put(queue)
        lease = await take(queue, seconds=10)
        clock.forward(10)
        await self.assert_lost(queue, lease)
        (leased,) = (await take(queue, worker="second")).tasks
        await self.assert_lost(queue, lease)
        found = await one(queue, task.id)
        assert (found.state, found.worker, found.attempts, found.progress) == (TaskState.IN_PROGRESS, "second", 2, 0.0)
        assert leased == found

    async def test_a_lease_ends_once(self, queue: TaskQueue) -> None:
        task = await put(queue)
        lease = await take(queue)
        await done(queue, lease)
        await self.assert_lost(queue, lease)
        assert await state(queue, task.id) == TaskState.COMPLETED
        await put(queue)
        await take(queue)
        await self.assert_lost(queue, lease)

    async def assert_lost(self, queue: TaskQueue, lease: Lease) -> None:
        with pytest.raises(LeaseLost):
            await queue.extend(lease)
        with pytest.raises(LeaseLost):
            await queue.report(lease, lease.tasks[0].id, 0.9)
        with pytest.raises(LeaseLost):
            await end(queue, lease, Verdict.DEAD)

    async def test_an_extended_lease_holds_longer(self, queue: TaskQueue, other: TaskQueue, clock: Clock) -> None:
        task = await put(queue)
        lease = await take(queue, seconds=10)
        for _ in range(5):
            clock.forward(9)
            lease = await queue.extend(lease, 10)
            assert lease.until == clock.now + timedelta(seconds=10)
            assert await nothing_ready(other)
        assert ids(lease.tasks) == [task.id]
        await done(queue, lease)
        assert (await one(queue, task.id)).attempts == 1

    async def test_an_outcome_of_another_task_settles_nothing(self, queue: TaskQueue) -> None:
        a, b = await queue.enqueue([new("a"), new("b")])
        lease = await take(queue)
        for id in (b.id, new_id(), "no id at all"):
            with pytest.raises(InvalidInput):
                await queue.settle(lease, [Outcome(a.id, Verdict.DONE), Outcome(id, Verdict.DONE)])
        assert await state(queue, a.id) == TaskState.IN_PROGRESS
        assert await state(queue, b.id) == TaskState.WAITING
        await done(queue, lease)
        assert await state(queue, a.id) == TaskState.COMPLETED

    async def test_progress_is_seen_while_the_task_runs(self, queue: TaskQueue, other: TaskQueue) -> None:
        a, b = await queue.enqueue([new(), new()])
        lease = await take(queue)
        await queue.report(lease, b.id, 0.25)
        assert [t.progress for t in await other.get([a.id, b.id])] == [0.0, 0.25]
        await queue.report(lease, b.id, 0.75)
        assert (await one(other, b.id)).progress == 0.75
        await end(queue, lease, Verdict.RETRY)
        assert (await take(queue)).tasks[0].progress == 0.0

    async def test_any_process_may_end_a_lease_it_was_told_of(self, queue: TaskQueue, other: TaskQueue) -> None:
        task = await put(queue)
        await done(other, await other.extend(await take(queue)))
        assert await state(queue, task.id) == TaskState.COMPLETED

    async def test_a_lost_lease_leaves_others_alone(self, queue: TaskQueue, clock: Clock) -> None:
        await queue.enqueue([new("a"), new("b")])
        short, long = await take(queue, seconds=5), await take(queue, seconds=50)
        clock.forward(6)
        again = await take(queue)
        assert again.lane == short.lane
        await done(queue, long)
        await done(queue, again)
        counts = await queue.counts(TaskQuery())
        assert counts[TaskState.COMPLETED] == 2
