"""Looking tasks up, counting them, and what an operator does with them."""

from __future__ import annotations

import pytest
from queue_making import Clock, Make, done, drain, end, ids, new, nothing_ready, one, put, state, take

from memos.errors import InvalidInput, LeaseLost, MemosError
from memos.memory.ids import new_id
from memos.storage.tasks import TaskQuery, TaskQueue, TaskState, Verdict


async def counted(queue: TaskQueue, query: TaskQuery = TaskQuery()) -> dict[str, int]:
    """The counts that are not zero."""
    found = await queue.counts(query)
    assert set(found) == set(TaskState)
    return {str(s): n for s, n in found.items() if n}


class Asking:
    """get, find, counts, stats, retry, cancel, forget, prune, close."""

    async def test_tasks_are_got_in_the_order_asked(self, queue: TaskQueue) -> None:
        a, b, c = await queue.enqueue([new(), new("x"), new()])
        assert await queue.get([c.id, new_id(), a.id, "no id", b.id, ""]) == [c, a, b]
        assert await queue.get([]) == []

    async def test_pages_are_newest_first_and_go_through_everything_once(self, queue: TaskQueue) -> None:
        made = await queue.enqueue([new(f"l{i}") for i in range(25)])
        made += await queue.enqueue([new("more")])
        seen, cursor, pages = [], None, 0
        while True:
            page = await queue.find(TaskQuery(), limit=10, cursor=cursor)
            seen += ids(page.items)
            pages += 1
            if pages == 1:
                await put(queue, "meanwhile")
            if (cursor := page.cursor) is None:
                break
        assert seen == ids(made)[::-1]
        assert pages == 3

    async def test_a_full_last_page_has_nothing_after_it(self, queue: TaskQueue) -> None:
        await queue.enqueue([new() for _ in range(4)])
        page = await queue.find(TaskQuery(), limit=4)
        assert len(page.items) == 4
        if page.cursor is not None:
            rest = await queue.find(TaskQuery(), limit=4, cursor=page.cursor)
            assert (rest.items, rest.cursor) == ((), None)

    @pytest.mark.parametrize("cursor", ["x", "", "-1x", "9" * 40, "é"])
    async def test_a_cursor_that_is_none_is_refused(self, queue: TaskQueue, cursor: str) -> None:
        await put(queue)
        with pytest.raises(InvalidInput):
            await queue.find(TaskQuery(), cursor=cursor)

    async def test_filters_restrict_what_is_found_and_counted(self, queue: TaskQueue) -> None:
        a = await put(queue, "a", "ann", cube="c1", caller_id="t1")
        b = await put(queue, "b", "bob", cube="c1", caller_id="t1", kind="embed")
        c = await put(queue, "c", "bob", cube="c2", caller_id="t2")
        d = await put(queue, "d", "ann", cube=None)
        await done(queue, await take(queue))  # a
        for query, expected in [
            (TaskQuery(), [d, c, b, a]),
            (TaskQuery(user="ann"), [d, a]),
            (TaskQuery(user="nobody"), []),
            (TaskQuery(cube="c1"), [b, a]),
            (TaskQuery(cube="c1", user="bob"), [b]),
            (TaskQuery(caller_id="t1"), [b, a]),
            (TaskQuery(caller_id="t1", user="ann", cube="c1"), [a]),
            (TaskQuery(caller_id="t1", user="ann", cube="c2"), []),
            (TaskQuery(kinds=["embed", "export"]), [b]),
            (TaskQuery(kinds=[]), []),
            (TaskQuery(states=[TaskState.COMPLETED]), [a]),
            (TaskQuery(states=[]), []),
            (TaskQuery(user="ann", states={TaskState.WAITING, TaskState.IN_PROGRESS}), [d]),
            (TaskQuery(user="bob", kinds={"digest"}), [c]),
        ]:
            assert ids((await queue.find(query)).items) == ids(expected), query
            assert sum((await queue.counts(query)).values()) == len(expected), query
            assert ids((await queue.find(query, limit=1)).items) == ids(expected[:1]), query

    async def test_names_that_cannot_be_are_nobodys(self, queue: TaskQueue) -> None:
        await put(queue)
        half = "half \ud800"
        for query in (TaskQuery(user=half), TaskQuery(cube=half), TaskQuery(caller_id=half), TaskQuery(kinds=[half])):
            assert (await queue.find(query)).items == ()
            assert await counted(queue, query) == {}
            assert await queue.cancel(query) == 0
        assert await queue.get([half]) == []
        assert await queue.forget(half) == 0
        assert await nothing_ready(queue, [half])

    async def test_counts_follow_every_change(self, queue: TaskQueue, other: TaskQueue, clock: Clock) -> None:
        assert await counted(queue) == {}
        await queue.enqueue([new("a", "ann"), new("a", "ann"), new("b", "bob"), new("c", "bob", max_attempts=1)])
        assert await counted(other) == {"waiting": 4}
        lease = await take(queue, limit=1)
        assert await counted(other) == {"waiting": 3, "in_progress": 1}
        assert await counted(other, TaskQuery(cube="a")) == {"waiting": 1, "in_progress": 1}
        await done(queue, lease)
        await end(queue, await take(queue), Verdict.DEAD)  # b
        assert await counted(other) == {"waiting": 2, "completed": 1, "failed": 1}
        assert await counted(other, TaskQuery(user="bob")) == {"waiting": 1, "failed": 1}
        await queue.cancel(TaskQuery(cube="c"))
        assert await counted(other, TaskQuery(user="bob")) == {"cancelled": 1, "failed": 1}
        await queue.retry(TaskQuery())
        assert await counted(other) == {"waiting": 2, "completed": 1, "cancelled": 1}
        clock.forward(10)
        await queue.prune(older_than=5)
        assert await counted(other) == {"waiting": 2}
        await queue.forget("a")
        await queue.forget("b")
        assert await counted(other) == {}

    async def test_stats_tell_depth_age_and_speed_by_kind(self, queue: TaskQueue, clock: Clock) -> None:
        assert dict(await queue.stats()) == {}
        await queue.enqueue([new(f"l{i}") for i in range(10)])
        for i in range(10):
            clock.forward(1)
            await done(queue, await take(queue, limit=1)) if i < 8 else None
        await end(queue, await take(queue, limit=1), Verdict.DEAD)
        await put(queue, "m", kind="embed")
        await queue.cancel(TaskQuery(kinds=["embed"]))
        clock.forward(2)
        stats = await queue.stats()
        digest = stats["digest"]
        assert (digest.waiting, digest.in_progress, digest.completed, digest.failed) == (1, 0, 8, 1)
        assert (digest.oldest_seconds, digest.per_minute) == (12.0, 8)
        assert 4 <= digest.latency_p50 <= 5  # they took 1, 2, … 8 seconds
        assert 7 <= digest.latency_p95 <= 8
        assert (stats["embed"].cancelled, stats["embed"].oldest_seconds, stats["embed"].latency_p50) == (1, 0.0, 0.0)
        clock.forward(3_600)
        assert ((await queue.stats())["digest"].per_minute, (await queue.stats())["digest"].latency_p95) == (0, 0.0)

    async def test_failed_tasks_are_tried_again_at_the_end_of_their_lanes(self, queue: TaskQueue, clock: Clock) -> None:
        a, b, c = await queue.enqueue([new(max_attempts=2), new(max_attempts=2), new()])
        await end(queue, await take(queue, limit=2), Verdict.DEAD, error="broken")
        assert await queue.retry(TaskQuery(user="bob")) == 0
        assert await queue.retry(TaskQuery(), [c.id, new_id(), "no id"]) == 0
        assert await queue.retry(TaskQuery(), [b.id]) == 1
        found = await one(queue, b.id)
        assert (found.state, found.attempts, found.finished_at) == (TaskState.WAITING, 0, None)
        assert await state(queue, a.id) == TaskState.FAILED
        assert await queue.retry(TaskQuery(cube="lane", states=[TaskState.FAILED])) == 1
        assert ids(await drain(queue)) == [c.id, b.id, a.id]
        assert [t.attempts for t in await queue.get([a.id, b.id])] == [1, 1]
        assert await queue.retry(TaskQuery()) == 0

    async def test_a_task_that_failed_while_its_lane_was_delayed_is_tried_again(
        self, queue: TaskQueue, clock: Clock
    ) -> None:
        bad = await put(queue)
        await end(queue, await take(queue), Verdict.DEAD)
        await put(queue, delay=100)
        await queue.retry(TaskQuery())
        assert await nothing_ready(queue)  # at the end of its lane
        clock.forward(100)
        assert len(await drain(queue)) == 2
        assert await state(queue, bad.id) == TaskState.COMPLETED

    async def test_cancelling_takes_waiting_and_failed_tasks_out(self, queue: TaskQueue, clock: Clock) -> None:
        running, waiting, failed, finished = await queue.enqueue([new("a"), new("a"), new("b"), new("c")])
        lease = await take(queue, limit=1)
        await end(queue, await take(queue), Verdict.DEAD)
        await done(queue, await take(queue))
        assert await queue.cancel(TaskQuery(kinds=["embed"])) == 0
        assert await queue.cancel(TaskQuery(), [running.id, finished.id]) == 0
        assert await queue.cancel(TaskQuery()) == 2
        assert [await state(queue, t.id) for t in (running, waiting, failed, finished)] == [
            TaskState.IN_PROGRESS,
            TaskState.CANCELLED,
            TaskState.CANCELLED,
            TaskState.COMPLETED,
        ]
        assert (await one(queue, waiting.id)).finished_at == clock.now
        await done(queue, lease)
        assert await nothing_ready(queue)
        assert await queue.retry(TaskQuery()) == 0

    async def test_cancelling_the_first_of_a_lane_lets_the_next_come(self, queue: TaskQueue) -> None:
        first, second = await queue.enqueue([new(delay=100), new(kind="embed")])
        assert await nothing_ready(queue)
        assert await queue.cancel(TaskQuery(), {first.id}) == 1
        assert ids((await take(queue)).tasks) == [second.id]

    async def test_a_forgotten_cube_leaves_no_trace(self, queue: TaskQueue, other: TaskQueue) -> None:
        made = await queue.enqueue([new("a", key="k"), new("a"), new("a", kind="embed"), new("b")])
        await done(queue, await take(queue, limit=1))
        await done(queue, await take(queue, ["digest"], limit=1))  # of b or a, as it comes
        assert await other.forget("a") == 3
        assert await queue.get(ids(made)[:3]) == []
        assert ids((await queue.find(TaskQuery())).items) == [made[3].id]
        assert await counted(queue, TaskQuery(cube="a")) == {}
        assert (await put(queue, "a", key="k")).id != made[0].id
        assert await other.forget("nothing") == 0

    async def test_a_lease_on_a_forgotten_cube_is_lost(self, queue: TaskQueue, other: TaskQueue) -> None:
        await queue.enqueue([new("a"), new("a")])
        lease = await take(queue, limit=1)
        assert await other.forget("a") == 2
        with pytest.raises(LeaseLost):
            await queue.extend(lease)
        with pytest.raises(LeaseLost):
            await queue.report(lease, lease.tasks[0].id, 0.5)
        with pytest.raises(LeaseLost):
            await done(queue, lease)
        again = await put(queue, "a")
        assert ids((await take(queue)).tasks) == [again.id]

    async def test_forgetting_one_cube_of_a_lane_leaves_the_others_tasks(self, queue: TaskQueue) -> None:
        mine, kept = await queue.enqueue([new("lane", cube="a"), new("lane", cube="b")])
        lease = await take(queue, limit=1)
        assert ids(lease.tasks) == [mine.id]
        await queue.forget("a")
        assert ids(await drain(queue)) == [kept.id]

    async def test_pruning_takes_old_ends_but_never_what_failed_or_waits(self, queue: TaskQueue, clock: Clock) -> None:
        made = await queue.enqueue([new(lane) for lane in "abcde"])
        await done(queue, await take(queue))
        await end(queue, await take(queue), Verdict.DEAD)
        await queue.cancel(TaskQuery(cube="c"))
        clock.forward(100)
        await done(queue, await take(queue))  # d
        assert await queue.prune(older_than=101) == 0
        assert await queue.prune(older_than=50) == 2
        assert {t.lane for t in (await queue.find(TaskQuery())).items} == {"b", "d", "e"}
        clock.forward(8 * 86_400)
        assert await queue.prune() == 1
        assert [t.lane for t in await queue.get(ids(made))] == ["b", "e"]

    async def test_everything_is_there_after_closing_and_opening_again(self, make: Make, clock: Clock) -> None:
        queue = await make(clock=clock)
        made = await queue.enqueue([new("a", "ann", key="k"), new("a"), new("b", "bob", delay=5), new("c", "carl")])
        lease = await take(queue, limit=1)
        await end(queue, await take(queue), Verdict.DEAD, error="broken")  # c
        before = (await queue.find(TaskQuery())).items
        await queue.close()
        await queue.close()
        with pytest.raises(MemosError):
            await put(queue)
        with pytest.raises(MemosError):
            await queue.get(ids(made))
        queue = await make(clock=clock)
        assert (await queue.find(TaskQuery())).items == before
        assert await put(queue, key="k") == before[-1]
        assert await nothing_ready(queue)
        await done(queue, await queue.extend(lease))
        clock.forward(5)
        assert ids(await drain(queue)) == [made[2].id, made[1].id]  # bob was never served
        assert await counted(queue) == {"completed": 3, "failed": 1}
