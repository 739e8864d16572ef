"""On a cluster every step of a queue is in one slot, and the node that has it is found."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

import pytest
from queue_making import done, drain, end, ids, new, put, take
from redis_server import Server

from memos.storage.redis.queue import RedisTaskQueue
from memos.storage.tasks import TaskQuery, TaskState, Verdict

redis = pytest.importorskip("redis.asyncio")
SLOTS = 16_384


async def make_cluster(servers: list[Server]) -> None:
    clients = [redis.Redis.from_url(server.url, protocol=2) for server in servers]
    share = SLOTS // len(servers) + 1
    for i, client in enumerate(clients):
        await client.execute_command("CLUSTER", "ADDSLOTSRANGE", i * share, min(SLOTS, (i + 1) * share) - 1)
        await client.execute_command("CLUSTER", "MEET", "127.0.0.1", servers[0].port)
    for client in clients:
        for _ in range(500):
            info = " ".join(re.findall(r"\w+", str(await client.execute_command("CLUSTER INFO"))))
            if "cluster_state ok" in info and f"cluster_known_nodes {len(servers)} " in info:
                break
            await asyncio.sleep(0.02)
        else:
            raise RuntimeError(f"the cluster did not come about: {info}")
        await client.aclose()


async def test_a_queue_works_from_every_node_of_a_cluster(own_server: Callable[..., Server]) -> None:
    servers = [own_server(cluster_enabled="yes", appendonly="yes") for _ in range(2)]
    await make_cluster(servers)
    for namespace in ("one", "two", "three"):  # in slots of different nodes
        queue, other = (RedisTaskQueue(server.url, namespace=namespace) for server in servers)
        made = await queue.enqueue([new(f"{{l{i}}}", user=f"u{i}", key=f"k{i}", durable=True) for i in range(9)])
        waiting = asyncio.create_task(queue.wait(10))
        await end(other, await take(other), Verdict.RETRY)
        assert sorted(ids(await drain(other))) == sorted(ids(made))
        await waiting
        assert (await other.counts(TaskQuery()))[TaskState.COMPLETED] == 9
        sleeping = asyncio.create_task(queue.wait(10))
        await asyncio.sleep(0.1)
        assert not sleeping.done()
        await put(other)
        await asyncio.wait_for(sleeping, 5)
        await done(queue, await take(queue))
        await queue.prune(older_than=0)
        for one in (queue, other):
            await one.close()
