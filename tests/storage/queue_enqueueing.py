"""What is enqueued is there once, whole, and only when there is room."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest
from queue_making import Clock, Make, done, end, ids, new, nothing_ready, put, take, until

from memos.errors import Busy, InvalidInput
from memos.storage.tasks import MAX_ATTEMPTS, Limits, NewTask, TaskQuery, TaskQueue, TaskState, Verdict

ODD = [
    "",
    " ",
    "a:b:c",
    "..",
    "../../etc",
    "🦊👩‍👩‍👧",
    "é" * 200,
    "日本語",
    "‏עברית",
    "\u2028",
    "\\u0000",
    "'\"--",
    "%s{}",
    "\ttab\n",
]


class Enqueueing:
    """Values, `key`, `merge`, limits."""

    async def test_a_task_is_kept_as_it_was_enqueued(self, queue: TaskQueue, other: TaskQueue, clock: Clock) -> None:
        task = NewTask(
            "embed",
            "ann",
            "lane",
            "work",
            {"ids": ["a", 1, 2.5, None, True], "deep": {"é": []}},
            "k",
            False,
            "mine",
            3,
            1.5,
            2,
        )
        (made,) = await queue.enqueue([task])
        assert await other.get([task.id]) == [made]
        assert (made.id, made.kind, made.user, made.lane, made.cube) == (task.id, "embed", "ann", "lane", "work")
        assert dict(made.payload) == task.payload
        assert (made.caller_id, made.priority, made.max_attempts, made.attempts) == ("mine", 3, 2, 0)
        assert (made.state, made.progress, made.error, made.worker) == (TaskState.WAITING, 0.0, None, None)
        assert (made.started_at, made.finished_at, dict(made.result)) == (None, None, {})
        assert made.enqueued_at == clock.now
        assert (made.available_at - made.enqueued_at).total_seconds() == 1.5
        assert made.enqueued_at.utcoffset() is not None

    async def test_a_task_of_no_cube_with_nothing_else_said_is_fine(self, queue: TaskQueue) -> None:
        (made,) = await queue.enqueue([NewTask("k", "u", "l")])
        assert (made.cube, dict(made.payload), made.caller_id, made.max_attempts) == (None, {}, None, MAX_ATTEMPTS)
        assert await queue.enqueue([]) == []

    async def test_odd_texts_come_back_unchanged(self, queue: TaskQueue) -> None:
        made = await queue.enqueue(
            [NewTask(odd, odd, odd, odd, {odd: [odd]}, f"{i}{odd}", caller_id=odd) for i, odd in enumerate(ODD)]
        )
        for odd, task in zip(ODD, await queue.get(ids(made)), strict=True):
            assert (task.kind, task.user, task.lane, task.cube, task.caller_id) == (odd,) * 5
            assert dict(task.payload) == {odd: [odd]}
            assert ids((await queue.find(TaskQuery(caller_id=odd))).items) == [task.id]
            assert ids((await queue.find(TaskQuery(user=odd, cube=odd, kinds=[odd]))).items) == [task.id]
            assert (await queue.counts(TaskQuery(user=odd)))[TaskState.WAITING] == 1

    @pytest.mark.parametrize(
        "fields",
        [
            {"payload": {"x": object()}},
            {"payload": {"x": math.nan}},
            {"lane": "half \ud800"},
            {"user": "half \ud800"},
            {"key": "half \ud800"},
            {"id": "not an id"},
            {"delay": math.nan},
            {"max_attempts": 0},
        ],
    )
    async def test_what_cannot_be_kept_is_refused_and_nothing_is_enqueued(
        self, queue: TaskQueue, fields: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidInput):
            await queue.enqueue([new(), NewTask(**{"kind": "digest", "user": "u", "lane": "l", **fields})])
        assert sum((await queue.counts(TaskQuery())).values()) == 0
        assert await nothing_ready(queue)

    async def test_a_key_is_enqueued_once_as_long_as_the_first_is_kept(
        self, queue: TaskQueue, other: TaskQueue, clock: Clock
    ) -> None:
        first = await put(queue, key="k", payload={"n": 1})
        assert await put(other, "elsewhere", "bob", key="k", payload={"n": 2}) == first
        assert (await put(queue, kind="embed", key="k")).id != first.id
        await done(queue, await take(queue, ["digest"]))
        again = await put(queue, key="k")
        assert (again.id, again.state) == (first.id, TaskState.COMPLETED)
        clock.forward(100)
        await queue.prune(older_than=50)
        assert (await put(queue, key="k")).id != first.id

    async def test_a_key_twice_in_one_call_is_enqueued_once(self, queue: TaskQueue) -> None:
        made = await queue.enqueue([new(key="k"), new(key="other"), new(key="k")])
        assert made[0] == made[2]
        assert len((await take(queue)).tasks) == 2

    async def test_of_many_who_enqueue_a_key_at_once_one_does(self, queue: TaskQueue, other: TaskQueue) -> None:
        made = await asyncio.gather(*(put(q, key="k") for q in [queue, other] * 20))
        assert len({t.id for t in made}) == 1
        assert len((await take(queue)).tasks) == 1

    async def test_a_merged_task_is_not_enqueued_while_one_waits(self, queue: TaskQueue, other: TaskQueue) -> None:
        first = await put(queue, merge=True)
        assert await put(other, merge=True) == first
        assert (await put(queue, kind="embed", merge=True)).id != first.id
        assert (await put(queue, "else", merge=True)).id != first.id
        assert (await put(queue)).id != first.id  # this one was not to be merged
        assert (await queue.counts(TaskQuery()))[TaskState.WAITING] == 4

    async def test_a_task_merges_with_one_that_was_not_to_be_merged(self, queue: TaskQueue) -> None:
        first = await put(queue)
        assert await put(queue, merge=True) == first

    async def test_a_merged_task_is_enqueued_while_the_other_is_in_progress(
        self, queue: TaskQueue, clock: Clock
    ) -> None:
        first = await put(queue, merge=True)
        lease = await take(queue)
        second = await put(queue, merge=True)
        assert second.id != first.id
        assert await put(queue, merge=True) == second
        await end(queue, lease, Verdict.RETRY, delay=60)  # now both wait, which is allowed
        merged = await put(queue, merge=True)
        assert merged.id in {first.id, second.id}
        clock.forward(60)
        for expected in (first.id, second.id):
            lease = await take(queue)
            assert ids(lease.tasks) == [expected]
            await done(queue, lease)
        assert (await put(queue, merge=True)).id not in {first.id, second.id}

    async def test_a_task_merges_only_with_one_of_the_same_payload(self, queue: TaskQueue, other: TaskQueue) -> None:
        named = await put(queue, payload={"ids": ["a"]})
        everything = await put(other, merge=True)
        assert everything.id != named.id  # the one that waits does less
        assert (await put(queue, merge=True)).id == everything.id
        assert (await put(queue, merge=True, payload={"ids": ["a"]})).id == named.id
        a, b, c = await queue.enqueue([new("x", merge=True, payload={"n": n}) for n in (1, 2, 1)])
        assert a == c and a.id != b.id

    async def test_two_of_one_call_merge(self, queue: TaskQueue) -> None:
        a, b, c = await queue.enqueue([new(merge=True), new("else", merge=True), new(merge=True)])
        assert a == c
        assert a.id != b.id

    async def test_a_merged_task_waits_for_its_next_attempt(self, queue: TaskQueue) -> None:
        first = await put(queue, merge=True)
        await end(queue, await take(queue), Verdict.RETRY, delay=60)
        assert (await put(queue, merge=True)).id == first.id

    async def test_a_user_with_too_much_waiting_is_told_to_come_back(self, make: Make, clock: Clock) -> None:
        queue = await make(clock=clock, limits=Limits(per_user=3, total=100))
        await queue.enqueue([new(), new()])
        with pytest.raises(Busy) as refused:
            await queue.enqueue([new("x"), new("y")])
        assert refused.value.retry_after > 0
        assert (await queue.counts(TaskQuery()))[TaskState.WAITING] == 2  # all or none
        await put(queue)
        await put(queue, user="bob")
        await done(queue, await take(queue, limit=1))
        await put(queue)
        with pytest.raises(Busy):
            await put(queue)

    async def test_too_much_altogether_is_refused_whoever_asks(self, make: Make, clock: Clock) -> None:
        queue = await make(clock=clock, limits=Limits(per_user=100, total=3))
        await queue.enqueue([new(user=u) for u in "abc"])
        with pytest.raises(Busy):
            await put(queue, user="d")
        lease = await take(queue)
        with pytest.raises(Busy):  # what is in progress counts
            await put(queue, user="d")
        await done(queue, lease)
        await put(queue, user="d")

    async def test_what_is_there_already_needs_no_room(self, make: Make, clock: Clock) -> None:
        queue = await make(clock=clock, limits=Limits(per_user=2, total=2))
        first, second = await queue.enqueue([new(key="k"), new("m", merge=True)])
        assert ids(await queue.enqueue([new(key="k"), new("m", merge=True)])) == [first.id, second.id]

    async def test_an_admitted_task_is_never_refused(self, make: Make, clock: Clock) -> None:
        queue = await make(clock=clock, limits=Limits(per_user=1, total=2))
        await queue.enqueue([new(admitted=True) for _ in range(3)])
        with pytest.raises(Busy):
            await put(queue)
        with pytest.raises(Busy):
            await queue.enqueue([new(admitted=True), new(user="bob")])
        assert (await queue.counts(TaskQuery()))[TaskState.WAITING] == 3  # all or none

    async def test_room_can_be_asked_for_before(self, make: Make, clock: Clock) -> None:
        queue = await make(clock=clock, limits=Limits(per_user=2, total=3))
        await queue.check_room("ann")
        await queue.check_room("ann", 2)
        with pytest.raises(Busy) as refused:
            await queue.check_room("ann", 3)
        assert refused.value.retry_after > 0
        await queue.enqueue([new(), new()])

        async def refuses(user: str, count: int) -> bool:
            try:
                await queue.check_room(user, count)
            except Busy:
                return True
            return False

        assert await until(lambda: refuses("ann", 1))
        assert await until(lambda: refuses("bob", 2))
        assert not await refuses("bob", 1)
        await done(queue, await take(queue))

        async def has_room() -> bool:
            return not await refuses("ann", 2)

        assert await until(has_room)

    async def test_a_durable_task_is_as_any_other(self, queue: TaskQueue) -> None:
        made = await queue.enqueue([new(durable=True), new()])
        assert ids((await take(queue)).tasks) == ids(made)
