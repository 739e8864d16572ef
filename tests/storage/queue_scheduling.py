"""Which task is handed out next: order in a lane, one worker a lane, kinds, priorities, fairness, delays."""

from __future__ import annotations

import asyncio
from collections import Counter

from queue_making import KINDS, Clock, done, end, ids, new, nothing_ready, put, take

from memos.storage.tasks import Outcome, TaskQueue, Verdict


class Scheduling:
    """Order, lanes, kinds, priority, fairness."""

    async def test_a_lane_gives_its_tasks_in_the_order_they_were_enqueued(self, queue: TaskQueue) -> None:
        made = await queue.enqueue([new(), new(), new()])
        made += [await put(queue), await put(queue)]
        seen = []
        for size in (2, 2, 1):
            lease = await take(queue, limit=2)
            assert (lease.lane, len(lease.tasks)) == ("lane", size)
            seen += ids(lease.tasks)
            await done(queue, lease)
        assert seen == ids(made)
        assert await nothing_ready(queue)

    async def test_one_worker_at_a_time_has_a_lane(self, queue: TaskQueue, other: TaskQueue) -> None:
        await queue.enqueue([new(), new()])
        lease = await take(queue, limit=1)
        assert await nothing_ready(queue)
        assert await nothing_ready(other)
        await done(other, lease)
        again = await take(other)
        assert again.token != lease.token
        assert len(again.tasks) == 1

    async def test_what_is_enqueued_into_a_leased_lane_waits_for_the_next_lease(self, queue: TaskQueue) -> None:
        await put(queue)
        lease = await take(queue)
        later = await put(queue)
        assert await nothing_ready(queue)
        await done(queue, lease)
        assert ids((await take(queue)).tasks) == [later.id]

    async def test_lanes_are_worked_on_in_parallel(self, queue: TaskQueue, other: TaskQueue) -> None:
        await queue.enqueue([new(lane) for lane in "abc" for _ in range(2)])
        leases = [await take(q, limit=9) for q in (queue, other, queue)]
        assert sorted(lease.lane for lease in leases) == ["a", "b", "c"]
        assert {len(lease.tasks) for lease in leases} == {2}
        assert await nothing_ready(other)

    async def test_of_many_asking_at_once_no_two_get_the_same(self, queue: TaskQueue, other: TaskQueue) -> None:
        made = await queue.enqueue([new(f"l{i % 7}", user=f"u{i % 3}") for i in range(35)])
        seen: list[str] = []

        async def work(q: TaskQueue, name: str) -> None:
            while (lease := await q.lease(name, KINDS, limit=2)) is not None:
                seen.extend(ids(lease.tasks))
                await done(q, lease)

        while len(seen) < 35:
            await asyncio.gather(*(work(q, f"w{i}") for i, q in enumerate([queue, other] * 3)))
        assert sorted(seen) == sorted(ids(made))
        for lane in range(7):
            mine = [t.id for t in made if t.lane == f"l{lane}"]
            assert [i for i in seen if i in mine] == mine

    async def test_a_lease_never_mixes_kinds(self, queue: TaskQueue) -> None:
        await queue.enqueue([new(kind=k) for k in ("digest", "digest", "embed", "digest")])
        got = []
        for _ in range(3):
            lease = await take(queue)
            got.append([t.kind for t in lease.tasks])
            await done(queue, lease)
        assert got == [["digest", "digest"], ["embed"], ["digest"]]

    async def test_only_the_kinds_asked_for_are_given_and_never_out_of_order(self, queue: TaskQueue) -> None:
        await queue.enqueue([new("a", kind="digest"), new("a", kind="embed"), new("b", kind="embed")])
        assert await nothing_ready(queue, ["export"])
        assert await nothing_ready(queue, [])
        lease = await take(queue, ["embed"])
        assert lease.lane == "b"
        assert await nothing_ready(queue, ["embed"])  # in lane a the other kind is first
        await done(queue, await take(queue, ["digest", "nothing of this kind"]))
        assert (await take(queue, ["embed"])).lane == "a"

    async def test_the_lane_with_the_highest_priority_of_a_first_task_is_next(self, queue: TaskQueue) -> None:
        await queue.enqueue([new("low", priority=-1), new("none"), new("high", priority=5), new("none", priority=99)])
        got = [(await take(queue)).lane for _ in range(3)]
        assert got == ["high", "none", "low"]

    async def test_priority_stands_above_fairness(self, queue: TaskQueue) -> None:
        await queue.enqueue([new(f"a{i}", "ann", priority=1) for i in range(3)] + [new("b", "bob")])
        assert [(await take(queue)).lane for _ in range(4)] == ["a0", "a1", "a2", "b"]

    async def test_priority_compares_across_kinds(self, queue: TaskQueue) -> None:
        await queue.enqueue([new("a", kind="digest"), new("b", "bob", kind="embed", priority=1)])
        assert [(await take(queue)).lane for _ in range(2)] == ["b", "a"]

    async def test_of_users_never_served_the_oldest_task_is_first(self, queue: TaskQueue) -> None:
        await queue.enqueue([new(lane, user=f"user of {lane}") for lane in ("z", "a", "m")])
        assert [(await take(queue)).lane for _ in range(3)] == ["z", "a", "m"]

    async def test_users_take_turns(self, queue: TaskQueue) -> None:
        await queue.enqueue([new(f"a{i}", "ann") for i in range(4)])
        await queue.enqueue([new(f"b{i}", "bob") for i in range(4)])
        await queue.enqueue([new("c0", "carl")])
        got = []
        for _ in range(9):
            lease = await take(queue)
            got.append(lease.lane)
            await done(queue, lease)
        assert got == ["a0", "b0", "c0", "a1", "b1", "a2", "b2", "a3", "b3"]

    async def test_who_was_served_is_known_to_every_process(self, queue: TaskQueue, other: TaskQueue) -> None:
        await queue.enqueue([new(f"a{i}", "ann") for i in range(2)] + [new(f"b{i}", "bob") for i in range(2)])
        assert [(await take(q)).lane for q in (queue, other, queue, other)] == ["a0", "b0", "a1", "b1"]

    async def test_a_user_who_floods_does_not_starve_others(self, queue: TaskQueue) -> None:
        await queue.enqueue([new(f"flood{i}", "flood") for i in range(1_000)])
        for _ in range(3):
            await done(queue, await take(queue))
        await queue.enqueue([new("deep", "deep") for _ in range(1_000)])
        await put(queue, "small", "small")
        served = Counter[str]()
        for _ in range(6):
            lease = await take(queue, limit=1)
            served[lease.tasks[0].user] += 1
            await done(queue, lease)
        assert served["small"] == 1
        assert served["flood"] >= 2
        assert served["deep"] >= 2

    async def test_a_delayed_task_starts_when_its_time_has_come(self, queue: TaskQueue, clock: Clock) -> None:
        task = await put(queue, delay=5)
        assert (task.available_at - task.enqueued_at).total_seconds() == 5
        assert await nothing_ready(queue)
        clock.forward(4.9)
        assert await nothing_ready(queue)
        clock.forward(0.1)
        assert ids((await take(queue)).tasks) == [task.id]

    async def test_a_delayed_task_keeps_its_place_and_stops_no_other_lane(self, queue: TaskQueue, clock: Clock) -> None:
        first, second, third = await queue.enqueue([new("a"), new("a", delay=5), new("a")])
        await put(queue, "b")
        lease = await take(queue)
        assert ids(lease.tasks) == [first.id]
        await done(queue, lease)
        assert (await take(queue)).lane == "b"
        assert await nothing_ready(queue)
        clock.forward(5)
        assert ids((await take(queue)).tasks) == [second.id, third.id]

    async def test_a_task_that_waits_for_its_next_attempt_stops_its_lane_only(
        self, queue: TaskQueue, clock: Clock
    ) -> None:
        made = await queue.enqueue([new("a"), new("a"), new("b")])
        lease = await take(queue, limit=1)
        await end(queue, lease, Verdict.RETRY, delay=60, error="try later")
        assert (await take(queue)).lane == "b"
        assert await nothing_ready(queue)
        clock.forward(60)
        again = await take(queue)
        assert ids(again.tasks) == [made[0].id]
        await done(queue, again)
        assert ids((await take(queue)).tasks) == [made[1].id]

    async def test_several_tasks_share_a_lease_only_when_none_was_begun_before(self, queue: TaskQueue) -> None:
        a, b, c, d = await queue.enqueue([new() for _ in range(4)])
        lease = await take(queue, limit=3)
        await queue.settle(lease, [Outcome(b.id, Verdict.RETRY)])  # a and c are released
        got = []
        while (next_lease := await queue.lease("w", KINDS)) is not None:
            got.append(ids(next_lease.tasks))
            await done(queue, next_lease)
        assert got == [[a.id], [b.id], [c.id, d.id]]

    async def test_lanes_of_any_name_are_kept_apart(self, queue: TaskQueue) -> None:
        names = [
            "a:b",
            "a",
            "a:b:c",
            "..",
            "../../x",
            "🦊 é ‏",
            "日本",
            " ",
            "",
            "*",
            "{a}",
            "%",
            "'; DROP TABLE tasks; --",
        ]
        made = await queue.enqueue(
            [new(name, user=name, kind=name, caller_id=name) for name in names for _ in range(2)]
        )
        leases = [await take(queue, names) for _ in names]
        assert [lease.lane for lease in leases] == names
        assert [i for lease in leases for i in ids(lease.tasks)] == ids(made)
        assert [{t.kind for t in lease.tasks} for lease in leases] == [{name} for name in names]
        for lease in leases:
            await done(queue, lease)
        assert await nothing_ready(queue, names)
