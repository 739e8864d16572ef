from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from memos.errors import Busy, InvalidInput, ModelError, StorageBusy
from memos.memory.time import utcnow
from memos.scheduler import worker as workers
from memos.scheduler.job import Done, Job, NotNow
from memos.scheduler.kinds import DIGEST, EXPORT, PLANS, KindPlan
from memos.scheduler.middleware import TaskMetrics, logged, time_limit
from memos.scheduler.tasks import Tasks
from memos.scheduler.worker import Worker, backoff
from memos.storage.sqlite.queue import SqliteTaskQueue
from memos.storage.tasks import Lease, NewTask, TaskQuery, TaskState


@pytest.fixture
async def queue(tmp_path: Path) -> AsyncIterator[SqliteTaskQueue]:
    queue = SqliteTaskQueue(tmp_path)
    yield queue
    await queue.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.01)
    monkeypatch.setattr(workers, "IDLE_SECONDS", 0.2)


def task(n: int, *, kind: str = EXPORT, lane: str = "lane", user: str = "u", **more: object) -> NewTask:
    return NewTask(kind, user, lane, payload={"n": n}, **more)  # type: ignore[arg-type]


async def settled(queue: SqliteTaskQueue, seconds: float = 10) -> bool:
    return await Tasks(lambda: queue).wait(TaskQuery(), seconds)


async def test_tasks_of_a_lane_run_in_order_and_one_at_a_time(queue: SqliteTaskQueue) -> None:
    order: list[int] = []
    inside = 0

    async def handle(job: Job) -> Done:
        nonlocal inside
        assert inside == 0
        inside += 1
        await asyncio.sleep(0.002)
        order.append(job.tasks[0].payload["n"])
        inside -= 1
        return Done(results={job.tasks[0].id: {"square": order[-1] ** 2}})

    made = await queue.enqueue([task(n) for n in range(20)])
    worker = Worker(queue, {EXPORT: handle}, slots=4)
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert order == list(range(20))
    assert (await queue.get([made[7].id]))[0].result == {"square": 49}


async def test_a_failing_task_is_tried_again_and_ends_in_the_dead_letters(queue: SqliteTaskQueue) -> None:
    tries: list[int] = []

    async def handle(job: Job) -> Done:
        n = job.tasks[0].payload["n"]
        tries.append(n)
        if n == 1 or (n == 2 and tries.count(2) < 3):
            raise ModelError("the model answered 500")
        return Done()

    one, two, three = await queue.enqueue([task(n, lane=str(n)) for n in (1, 2, 3)])
    worker = Worker(queue, {EXPORT: handle})
    worker.start()
    assert await settled(queue)
    await worker.stop()
    bad, good, other = await queue.get([one.id, two.id, three.id])
    assert (bad.state, bad.attempts, bad.error) == (TaskState.FAILED, 5, "model: the model answered 500")
    assert (good.state, good.attempts, other.attempts) == (TaskState.COMPLETED, 3, 1)
    assert (tries.count(1), tries.count(2), tries.count(3)) == (5, 3, 1)


async def test_what_cannot_succeed_is_not_tried_again(queue: SqliteTaskQueue) -> None:
    async def handle(job: Job) -> Done:
        raise InvalidInput("no such thing")

    (made,) = await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle})
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert [(t.state, t.attempts) for t in await queue.get([made.id])] == [(TaskState.FAILED, 1)]


async def test_in_a_batch_only_the_tasks_that_failed_are_tried_again(queue: SqliteTaskQueue) -> None:
    seen: list[int] = []

    async def handle(job: Job) -> Done:
        seen.extend(t.payload["n"] for t in job.tasks)
        return Done(
            failed={t.id: ValueError("odd") for t in job.tasks if t.payload["n"] % 2 and seen.count(t.payload["n"]) < 2}
        )

    await queue.enqueue([task(n, kind=DIGEST) for n in range(6)])
    worker = Worker(queue, {DIGEST: handle})
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert sorted(seen) == [0, 1, 1, 2, 3, 3, 4, 5, 5]


async def test_an_attempt_that_takes_too_long_is_ended(queue: SqliteTaskQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memos.scheduler.kinds.PLANS", {**PLANS, EXPORT: KindPlan(timeout=0.05)})

    async def handle(job: Job) -> Done:
        await asyncio.sleep(30)
        return Done()

    (made,) = await queue.enqueue([task(1, max_attempts=1)])
    worker = Worker(queue, {EXPORT: handle}, middleware=(time_limit,))
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert (await queue.get([made.id]))[0].error == "task_timeout: export took longer than 0.05 s"


async def test_a_long_job_keeps_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock of its own: a busy machine ends no lease."""
    now, runs, beats = utcnow(), 0, 0
    queue = SqliteTaskQueue(tmp_path, clock=lambda: now)
    real = queue.extend

    async def extend(lease: Lease, seconds: float) -> Lease:
        nonlocal beats
        extended = await real(lease, seconds)
        beats += 1
        return extended

    async def handle(job: Job) -> Done:
        nonlocal now, runs
        runs += 1
        for _ in range(5):  # each time most of a lease passes, and then a beat that began before, and one that did not
            now += timedelta(seconds=0.2)
            before = beats
            async with asyncio.timeout(10):
                while beats < before + 2:
                    await asyncio.sleep(0.01)
        return Done()

    monkeypatch.setattr(queue, "extend", extend)
    await queue.enqueue([task(1)])
    pair = [Worker(queue, {EXPORT: handle}, slots=1, lease_seconds=0.3) for _ in range(2)]
    for worker in pair:
        worker.start()
    assert await settled(queue)
    for worker in pair:
        await worker.stop()
    await queue.close()
    assert runs == 1


async def test_stopping_lets_a_short_job_end_and_gives_a_long_one_back(queue: SqliteTaskQueue) -> None:
    begun = asyncio.Event()

    async def handle(job: Job) -> Done:
        begun.set()
        await asyncio.sleep(job.tasks[0].payload["n"])
        return Done()

    for seconds, grace, state, attempts in ((0.2, 30.0, TaskState.COMPLETED, 1), (30, 1.0, TaskState.WAITING, 0)):
        begun.clear()
        (made,) = await queue.enqueue([NewTask(EXPORT, "u", str(seconds), payload={"n": seconds})])
        worker = Worker(queue, {EXPORT: handle}, slots=1, grace=grace)
        worker.start()
        await asyncio.wait_for(begun.wait(), 5)
        await worker.stop()
        found = (await queue.get([made.id]))[0]
        assert (found.state, found.attempts) == (state, attempts)


async def test_a_slot_is_kept_for_quick_work(queue: SqliteTaskQueue) -> None:
    begun, done = asyncio.Event(), asyncio.Event()

    async def slow(job: Job) -> Done:
        begun.set()
        await asyncio.wait_for(done.wait(), 20)
        return Done()

    async def quick(job: Job) -> Done:
        done.set()
        return Done()

    await queue.enqueue([task(n, lane=f"slow{n}") for n in range(8)])
    worker = Worker(queue, {EXPORT: slow, DIGEST: quick}, slots=2)
    worker.start()
    await asyncio.wait_for(begun.wait(), 5)
    await queue.enqueue([task(9, kind=DIGEST, lane="quick")])
    await asyncio.wait_for(done.wait(), 5)
    assert await settled(queue)
    await worker.stop()


async def test_the_worker_survives_a_queue_that_fails_for_a_while(
    queue: SqliteTaskQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memos.errors import StorageFull

    real, broken = queue.lease, 3

    async def lease(*args: object, **more: object) -> object:
        nonlocal broken
        if broken:
            broken -= 1
            raise StorageFull("no space left")
        return await real(*args, **more)  # type: ignore[arg-type]

    async def handle(job: Job) -> Done:
        return Done()

    monkeypatch.setattr(queue, "lease", lease)
    monkeypatch.setattr(workers, "QUEUE_PAUSE", 0.01)
    (made,) = await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle}, slots=1)
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert (await queue.get([made.id]))[0].state is TaskState.COMPLETED


async def test_metrics_count_what_was_done_and_what_failed(queue: SqliteTaskQueue) -> None:
    metrics = TaskMetrics()

    async def handle(job: Job) -> Done:
        if job.tasks[0].payload["n"] == 2:
            raise InvalidInput("no")
        return Done()

    await queue.enqueue([task(n, lane=str(n)) for n in range(4)])
    worker = Worker(queue, {EXPORT: handle}, middleware=(metrics, logged, time_limit))
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert (metrics.done[EXPORT], metrics.failed[EXPORT], len(metrics.seconds[EXPORT])) == (3, 1, 4)


async def test_progress_can_be_followed(queue: SqliteTaskQueue) -> None:
    seen: list[tuple[TaskState, float]] = []

    async def handle(job: Job) -> Done:
        for share in (0.25, 0.5):
            await job.progress(job.tasks[0].id, share)
            async with asyncio.timeout(10):
                while (TaskState.IN_PROGRESS, share) not in seen:
                    await asyncio.sleep(0.01)
        return Done()

    (made,) = await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle})
    worker.start()
    async for t in Tasks(lambda: queue).follow([made.id], pause=0.01):
        seen.append((t.state, t.progress))
    await worker.stop()
    assert (TaskState.IN_PROGRESS, 0.25) in seen and (TaskState.IN_PROGRESS, 0.5) in seen
    assert seen[-1] == (TaskState.COMPLETED, 1.0)


async def test_a_busy_model_is_left_alone_as_long_as_it_asked(queue: SqliteTaskQueue) -> None:
    at: list[float] = []

    async def handle(job: Job) -> Done:
        at.append(time.monotonic())
        if len(at) == 1:
            raise Busy("429", retry_after=0.6)
        return Done()

    await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle})
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert at[1] - at[0] >= 0.6


def test_backoff_doubles_and_is_spread_and_bounded() -> None:
    for attempts in (1, 2, 3, 20):
        middle = min(300.0, workers.BACKOFF_BASE * 2 ** (attempts - 1))
        delays = {backoff(attempts) for _ in range(50)}
        assert len(delays) > 40 and all(middle * 0.5 <= d <= middle * 1.5 for d in delays)


@pytest.mark.parametrize("raised", [asyncio.CancelledError, SystemExit, GeneratorExit, RecursionError])
async def test_whatever_a_handler_raises_the_slot_goes_on(queue: SqliteTaskQueue, raised: type[BaseException]) -> None:
    async def handle(job: Job) -> Done:
        if job.tasks[0].payload["n"] == 1:
            raise raised
        return Done()

    bad, good = await queue.enqueue([task(1, lane="a", max_attempts=2), task(2, lane="b")])
    worker = Worker(queue, {EXPORT: handle}, slots=1)
    worker.start()
    assert await settled(queue)
    await worker.stop()
    one, two = await queue.get([bad.id, good.id])
    assert (one.state, one.attempts, raised.__name__ in (one.error or "")) == (TaskState.FAILED, 2, True)
    assert two.state is TaskState.COMPLETED


async def test_a_result_that_cannot_be_kept_fails_its_task(queue: SqliteTaskQueue) -> None:
    async def handle(job: Job) -> Done:
        return Done(results={job.tasks[0].id: {"x": object()}})

    (made,) = await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle})
    worker.start()
    assert await settled(queue, 5)
    await worker.stop()
    assert (await queue.get([made.id]))[0].state is TaskState.FAILED


async def test_what_is_done_is_not_done_again_when_the_queue_fails_for_a_moment(
    queue: SqliteTaskQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, failures, runs = queue.settle, [StorageBusy("locked"), StorageBusy("locked")], 0

    async def moody(*args: object) -> None:
        if failures:
            raise failures.pop()
        await settle(*args)  # type: ignore[arg-type]

    async def handle(job: Job) -> Done:
        nonlocal runs
        runs += 1
        return Done()

    monkeypatch.setattr(queue, "settle", moody)
    await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle})
    worker.start()
    assert await settled(queue)
    await worker.stop()
    assert runs == 1


async def test_a_queue_that_breaks_in_an_unknown_way_ends_no_slot(
    queue: SqliteTaskQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, failures = queue.lease, [RuntimeError("can't start new thread")]

    async def moody(*args: object, **options: object) -> object:
        if failures:
            raise failures.pop()
        return await lease(*args, **options)  # type: ignore[arg-type]

    async def handle(job: Job) -> Done:
        return Done()

    monkeypatch.setattr(queue, "lease", moody)
    monkeypatch.setattr(workers, "QUEUE_PAUSE", 0.01)
    await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle}, slots=1)
    worker.start()
    assert await settled(queue)
    await worker.stop()


async def test_a_task_whose_means_are_away_is_put_off_without_using_up_its_attempts(
    queue: SqliteTaskQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "PUT_OFF_LEAST", 0.01)
    calls, metrics = 0, TaskMetrics()
    reasons: list[str | None] = []

    async def handle(job: Job) -> Done:
        nonlocal calls
        calls += 1
        reasons.append(job.tasks[0].error)
        if calls <= 8:
            raise NotNow("the model is not asked for a while", 0.02)
        return Done()

    (made,) = await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle}, middleware=(metrics, logged))
    worker.start()
    assert await settled(queue)
    await worker.stop()
    (found,) = await queue.get([made.id])
    assert (found.state, found.attempts, found.error) == (TaskState.COMPLETED, 1, None)
    assert reasons[1:] == ["the model is not asked for a while"] * 8
    assert (metrics.done[EXPORT], metrics.failed[EXPORT]) == (1, 0)


async def test_a_task_is_put_off_for_as_long_as_is_said(queue: SqliteTaskQueue) -> None:
    async def handle(job: Job) -> Done:
        raise NotNow("away", 60)

    (made,) = await queue.enqueue([task(1)])
    worker = Worker(queue, {EXPORT: handle})
    worker.start()
    async with asyncio.timeout(5):
        while (found := (await queue.get([made.id]))[0]).error is None:
            await asyncio.sleep(0.01)
    await worker.stop()
    assert (found.state, found.attempts, found.error) == (TaskState.WAITING, 0, "away")
    assert 55 < found.available_at.timestamp() - time.time() <= 60
