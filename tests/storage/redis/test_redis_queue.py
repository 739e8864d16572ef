"""The task queue on Redis passes the suite of the port."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from queue_conformance import QueueConformance
from queue_making import Make

from memos.memory.ids import new_id
from memos.storage.redis.queue import Clock, RedisTaskQueue
from memos.storage.tasks import Limits


class TestRedisTaskQueue(QueueConformance):
    @pytest.fixture
    async def home(self, redis_url: str) -> AsyncIterator[Callable[[], Make]]:
        opened: list[RedisTaskQueue] = []

        def home() -> Make:
            namespace = f"test {new_id()}"

            async def make(*, clock: Clock | None = None, limits: Limits = Limits()) -> RedisTaskQueue:
                opened.append(RedisTaskQueue(redis_url, limits=limits, namespace=namespace, clock=clock))
                return opened[-1]

            return make

        yield home
        for queue in opened:
            await queue.close()
