"""Run as a process of its own: works on a queue until it is told to stop or killed. Every line it says is one effect.

`python queue_child.py FOLDER NAME [durable]`; prints `ok` once it is ready, then `id attempts` of each task it did.
With `fill COUNT` instead of a name it enqueues so many durable tasks, one by one, and says each id once it is acknowledged.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from queue_making import KINDS, new

from memos.storage.sqlite.queue import SqliteTaskQueue
from memos.storage.tasks import LIVE, Outcome, TaskQuery, Verdict


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def work(queue: SqliteTaskQueue, name: str) -> None:
    """Lease, do, settle, until nothing lives any more."""
    while True:
        lease = await queue.lease(name, KINDS, limit=4, seconds=1.0)
        if lease is None:
            counts = await queue.counts(TaskQuery())
            if not any(counts[state] for state in LIVE):
                return
            await queue.wait(1.0)
            continue
        for task in lease.tasks:
            time.sleep(0.002)
            say(f"{task.id} {task.attempts}")
        await queue.settle(lease, [Outcome(t.id, Verdict.DONE) for t in lease.tasks])


async def fill(queue: SqliteTaskQueue, amount: int) -> None:
    """Enqueue one by one."""
    for i in range(amount):
        (task,) = await queue.enqueue([new(f"lane{i % 7}", durable=True)])
        say(task.id)


async def main() -> None:
    """See the module."""
    queue = SqliteTaskQueue(Path(sys.argv[1]))
    say("ok")
    await (fill(queue, int(sys.argv[3])) if sys.argv[2] == "fill" else work(queue, sys.argv[2]))
    await queue.close()


if __name__ == "__main__":
    asyncio.run(main())
