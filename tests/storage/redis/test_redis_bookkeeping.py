"""After any history every key holds what follows from the tasks, and no other key is there."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from bookkeeping import read, wanted
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_histories import _History, _step
from queue_making import Clock

from memos.memory.ids import new_id
from memos.memory.time import to_micros
from memos.storage.redis.queue import RedisTaskQueue

redis = pytest.importorskip("redis.asyncio")
OF_THEIR_OWN = {"served", "wake", "clock"}


async def replay(url: str, steps: list[tuple[int, tuple[Any, ...]]]) -> None:
    namespace, clock = f"test {new_id()}", Clock()
    queues = [RedisTaskQueue(url, namespace=namespace, clock=clock) for _ in range(2)]
    client = redis.Redis.from_url(url, protocol=2)
    history = _History(list(queues), clock)
    try:
        for process, what in steps:
            await history.step(process, what)
            held = await read(client, namespace)
            expected = wanted(held, to_micros(clock.now))
            assert {
                key: value for key, value in held.items() if key not in OF_THEIR_OWN and key[:5] != "task:"
            } == expected
        for cube in "abc":
            await queues[0].forget(cube)
        assert await read(client, namespace) == {}
    finally:
        for open_one in (*queues, client):
            await (open_one.aclose() if open_one is client else open_one.close())


@settings(max_examples=40)
@given(steps=st.lists(_step, max_size=25))
def test_every_key_follows_from_the_tasks(redis_url: str, steps: list[tuple[int, tuple[Any, ...]]]) -> None:
    asyncio.run(replay(redis_url, steps))
