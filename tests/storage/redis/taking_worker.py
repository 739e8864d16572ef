"""A worker that leases tasks, says so, and then hangs until it is killed: `taking_worker.py URL NAMESPACE`."""

from __future__ import annotations

import asyncio
import sys

from memos.storage.redis.queue import RedisTaskQueue


async def main(url: str, namespace: str) -> None:
    queue = RedisTaskQueue(url, namespace=namespace)
    lease = await queue.lease("doomed", ["digest"], limit=2, seconds=2.5)  # it is looked at while it holds
    assert lease is not None
    print("taken", *(task.id for task in lease.tasks), flush=True)
    await asyncio.sleep(60)


asyncio.run(main(*sys.argv[1:]))
