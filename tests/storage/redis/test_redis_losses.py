"""What was acknowledged outlives the server, the worker and the connection; nothing is left of what was pruned."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from proxy import Proxy
from queue_making import KINDS, Clock, done, drain, end, ids, new, one, put, state, take
from redis_server import Server

from memos.errors import LeaseLost, StorageError
from memos.memory.ids import new_id
from memos.storage.redis.queue import RedisTaskQueue
from memos.storage.tasks import Outcome, TaskQuery, TaskState, Verdict

Open = Callable[..., RedisTaskQueue]
redis = pytest.importorskip("redis.asyncio")


@pytest.fixture
async def open_queue() -> AsyncIterator[Open]:
    opened: list[RedisTaskQueue] = []

    def open_queue(url: str, **given: Any) -> RedisTaskQueue:
        opened.append(RedisTaskQueue(url, **given))
        return opened[-1]

    yield open_queue
    for queue in opened:
        await queue.close()


@pytest.fixture
def namespace() -> str:
    return f"test {new_id()}"


@pytest.fixture
async def client(redis_url: str) -> AsyncIterator[Any]:
    client = redis.Redis.from_url(redis_url, protocol=2)
    yield client
    await client.aclose()


async def keys_of(client: Any, namespace: str) -> set[str]:
    return {key.decode() async for key in client.scan_iter(match="{" + namespace + "}*", count=1000)}


async def test_a_server_that_is_killed_and_started_again_has_lost_nothing(
    own_server: Callable[..., Server], open_queue: Open
) -> None:
    server = own_server(appendonly="yes")
    queue, other = open_queue(server.url, patience=20.0), open_queue(server.url, patience=20.0)
    made = await queue.enqueue([new(f"l{i % 5}", key=f"k{i}") for i in range(50)])
    leased = await take(queue, limit=3, seconds=60)
    finished = await take(other, limit=2)
    await done(other, finished)
    server.kill()
    waiting = asyncio.create_task(queue.enqueue([new(f"l{i}", key=f"later{i}") for i in range(5)]))
    asking = asyncio.create_task(other.counts(TaskQuery()))
    await asyncio.sleep(0.3)
    server.start()
    later = await waiting
    assert sum((await asking).values()) in {50, 55}
    assert ids(await queue.get(ids(made))) == ids(made)
    assert [await state(other, t.id) for t in finished.tasks] == [TaskState.COMPLETED] * 2
    await done(queue, await queue.extend(leased))
    handed = ids(await drain(other))
    assert sorted(handed) == sorted(set(ids(made + later)) - set(ids(leased.tasks)) - set(ids(finished.tasks)))


async def test_who_waits_while_the_server_is_away_is_woken_when_it_is_back(
    own_server: Callable[..., Server], open_queue: Open
) -> None:
    server = own_server(appendonly="yes")
    queue, other = open_queue(server.url, patience=20.0), open_queue(server.url, patience=20.0)
    assert await queue.lease("w", KINDS) is None
    waiting = asyncio.create_task(queue.wait(20))
    await asyncio.sleep(0.1)
    server.kill()
    await asyncio.sleep(0.2)
    assert not waiting.done()
    server.start()
    await put(other)
    await asyncio.wait_for(waiting, 5)
    assert await queue.lease("w", KINDS) is not None


async def test_the_tasks_of_a_killed_worker_are_taken_over(redis_url: str, open_queue: Open, namespace: str) -> None:
    queue = open_queue(redis_url, namespace=namespace)
    made = await queue.enqueue([new(), new(), new()])
    worker = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("taking_worker.py")), redis_url, namespace],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert worker.stdout is not None
    while not (said := await asyncio.to_thread(worker.stdout.readline)).startswith("taken"):
        assert said, "the worker ended"
    worker.kill()
    worker.wait()
    assert said.split()[1:] == ids(made[:2])
    assert await queue.lease("heir", KINDS) is None
    started = time.monotonic()
    while (lease := await queue.lease("heir", KINDS)) is None:
        await queue.wait(10)
    assert time.monotonic() - started < 5
    assert [(t.id, t.attempts, t.worker) for t in lease.tasks] == [(made[0].id, 2, "heir")]
    await done(queue, lease)
    assert ids(await drain(queue)) == ids(made[1:])


async def test_streams_are_as_long_as_the_work_left_and_nothing_stays_of_what_is_pruned(
    redis_url: str, open_queue: Open, namespace: str, client: Any
) -> None:
    clock = Clock()
    queue = open_queue(redis_url, namespace=namespace, clock=clock)
    total, left, longest = 5_000, 5_000, 0
    for i in range(0, total, 250):
        await queue.enqueue(
            [new(f"lane {j % 7}", f"user {j % 3}", key=f"k{j}", caller_id=f"c{j % 5}") for j in range(i, i + 250)]
        )
        for _ in range(4):
            lease = await take(queue)
            verdicts = [Verdict.DEAD if t.id.endswith("0") else Verdict.DONE for t in lease.tasks]
            await queue.settle(lease, [Outcome(t.id, v) for t, v in zip(lease.tasks, verdicts, strict=True)])
            left -= len(lease.tasks)
        live = (await queue.counts(TaskQuery()))[TaskState.WAITING]
        lengths = [await client.xlen(key) for key in await keys_of(client, namespace) if ":q:" in key]
        assert sum(lengths) == live
        longest = max(longest, sum(lengths))
    await drain(queue)
    keys = await keys_of(client, namespace)
    assert longest < 2_500
    assert not [key for key in keys if ":q:" in key or ":lane:" in key]
    await queue.cancel(TaskQuery())  # what failed
    clock.forward(10)
    assert await queue.prune(older_than=5) == total
    assert await keys_of(client, namespace) == set()


async def test_nothing_stays_of_forgotten_cubes_also_when_leased(
    redis_url: str, open_queue: Open, namespace: str, client: Any
) -> None:
    queue = open_queue(redis_url, namespace=namespace, clock=Clock())
    await queue.enqueue([new(f"{{l}}:{i % 3}", key=f"k{i}", delay=i % 2, caller_id="c") for i in range(30)])
    await take(queue)
    await end(queue, await take(queue), Verdict.RETRY, error="later", delay=9)
    for lane in range(3):
        await queue.forget(f"{{l}}:{lane}")
    assert await keys_of(client, namespace) == set()


async def test_names_with_every_sign_are_kept_apart(
    redis_url: str, open_queue: Open, namespace: str, client: Any
) -> None:
    queue = open_queue(redis_url, namespace=namespace)
    names = [
        "a:b",
        "a",
        "b",
        ":",
        "1:a",
        "{",
        "}",
        "{}",
        "{a}",
        "}{",
        "🦊:{🦊}",
        "a b",
        "*",
        "returned",
        "worker:",
        "0",
    ]
    made = await queue.enqueue([new(lane, user, kind) for lane in names for user, kind in [("a:b", "c"), ("a", "b:c")]])
    got = 0
    for name in names:
        leases = [await take(queue, ["c"], worker=name, limit=1) for _ in range(1)]
        assert {t.worker for lease in leases for t in lease.tasks} == {name}
        got += sum(len(lease.tasks) for lease in leases)
        await end(queue, leases[0], Verdict.RELEASED)
    assert got == len(names)
    for user, kind in [("a:b", "c"), ("a", "b:c")]:
        assert (await queue.counts(TaskQuery(user=user, kinds=[kind])))[TaskState.WAITING] == len(names)
        assert (await queue.counts(TaskQuery(user=user, kinds=["c" if kind != "c" else "b:c"])))[TaskState.WAITING] == 0
    assert sorted(ids(await drain(queue, ["c", "b:c"]))) == sorted(ids(made))
    assert all(key.startswith("{" + namespace + "}:") for key in await keys_of(client, namespace))


async def test_the_url_may_name_the_namespace(redis_url: str, open_queue: Open, namespace: str) -> None:
    named = f"{redis_url}#{namespace}"
    task = await put(open_queue(named))
    assert await open_queue(redis_url, namespace=namespace).get([task.id]) == [task]
    assert await open_queue(f"{named}2").get([task.id]) == []


async def test_forgotten_scripts_are_loaded_again(
    redis_url: str, open_queue: Open, namespace: str, client: Any
) -> None:
    queue = open_queue(redis_url, namespace=namespace)
    await put(queue)
    await client.script_flush()
    lease = await take(queue)
    await client.script_flush()
    await done(queue, lease)
    await client.script_flush()
    assert (await queue.counts(TaskQuery()))[TaskState.COMPLETED] == 1


async def test_a_lost_answer_is_asked_for_again_and_counts_once(
    own_server: Callable[..., Server], open_queue: Open
) -> None:
    server = own_server(appendonly="yes")
    async with Proxy(server.port) as proxy:
        queue = open_queue(proxy.url)
        await queue.counts(TaskQuery())
        await put(queue, "other")

        proxy.lose = 1
        made = await queue.enqueue([new(), new(), new(merge=True)])
        assert made[2] == made[0]
        assert (await queue.counts(TaskQuery()))[TaskState.WAITING] == 3

        proxy.lose = 1
        lease = await take(queue, limit=1)
        assert [t.attempts for t in lease.tasks] == [1]
        assert (await queue.counts(TaskQuery()))[TaskState.IN_PROGRESS] == 1

        proxy.lose = 1
        await done(queue, lease)
        assert proxy.lost == 3
        with pytest.raises(LeaseLost):
            await done(queue, lease)
        lease = await take(queue, limit=2)
        proxy.lose = 1
        await end(queue, lease, Verdict.RETRY, error="once")
        assert proxy.lost == 4
        assert {t.attempts for t in await queue.get(ids(lease.tasks))} == {1}


async def test_a_lease_that_ran_out_is_not_settled_by_a_second_try(
    own_server: Callable[..., Server], open_queue: Open
) -> None:
    server = own_server(appendonly="yes")
    async with Proxy(server.port) as proxy:
        clock = Clock()
        queue = open_queue(proxy.url, clock=clock)
        task = await put(queue)
        lease = await take(queue, seconds=10)
        clock.forward(11)
        proxy.lose = 1
        with pytest.raises(LeaseLost):
            await done(queue, lease)
        assert (await one(queue, task.id)).state == TaskState.WAITING


async def test_a_durable_task_waits_for_the_disk_by_the_connection_that_wrote_it(
    own_server: Callable[..., Server], open_queue: Open
) -> None:
    server = own_server(appendonly="yes")
    async with Proxy(server.port, disk=1) as proxy:
        queue = open_queue(proxy.url)
        await put(queue)
        assert proxy.asked == []
        task = await put(queue, durable=True)
        assert [task.id.encode() in before for before in proxy.asked] == [True]
        assert await put(queue, key="k", durable=True) == await put(queue, key="k", durable=True)
        assert len(proxy.asked) == 3
    async with Proxy(server.port, disk=0) as proxy:
        queue = open_queue(proxy.url)
        with pytest.raises(StorageError, match="disk"):
            await put(queue, durable=True)


async def test_closing_ends_the_waiting(
    redis_url: str, open_queue: Open, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, asleep = open_queue(redis_url, namespace=namespace), asyncio.Semaphore(0)
    next_entry = queue._link.next_entry

    async def sleeps(stream: str, after: bytes, seconds: float) -> None:
        asleep.release()
        await next_entry(stream, after, seconds)

    monkeypatch.setattr(queue._link, "next_entry", sleeps)
    waiting = [asyncio.create_task(queue.wait(30)) for _ in range(3)]
    for _ in waiting:
        await asyncio.wait_for(asleep.acquire(), 10)
    await queue.close()
    await asyncio.wait_for(asyncio.gather(*waiting), 2)


async def test_many_calls_at_once_use_few_connections(
    redis_url: str, open_queue: Open, namespace: str, client: Any
) -> None:
    queue = open_queue(redis_url, namespace=namespace)
    before = (await client.info("clients"))["connected_clients"]
    made = await asyncio.gather(*(put(queue, f"l{i}", key=f"k{i % 100}") for i in range(500)))
    assert len({task.id for task in made}) == 100
    assert (await client.info("clients"))["connected_clients"] - before <= 40


async def test_a_lane_goes_on_when_somebody_deleted_its_tasks(
    redis_url: str, open_queue: Open, namespace: str, client: Any
) -> None:
    clock = Clock()
    queue = open_queue(redis_url, namespace=namespace, clock=clock)
    made = await queue.enqueue([new(cube=f"c{i % 2}") for i in range(8)])

    async def delete(*which: int) -> None:
        await client.delete(*("{" + namespace + "}:task:" + made[i].id for i in which))

    await delete(0, 2)
    first = await take(queue)
    assert ids(first.tasks) == [made[1].id]
    await done(queue, first)
    lease = await take(queue, seconds=5)
    assert ids(lease.tasks) == ids(made[3:])
    await delete(3, 5)
    clock.forward(6)
    assert ids(await drain(queue)) == [made[4].id, made[6].id, made[7].id]
    assert ids((await queue.find(TaskQuery())).items) == [made[i].id for i in (7, 6, 4, 1)]
    assert await queue.forget("c0") + await queue.forget("c1") == 8
    assert (await queue.find(TaskQuery())).items == ()
