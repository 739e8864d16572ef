"""How far behind the background work of a server is, from its own statistics."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from dataclasses import dataclass

from memos.client import AsyncClient
from memos.errors import MemosError
from memos.storage.tasks import TaskState

EVERY = 0.5
PATIENCE = 900.0  # seconds to wait for the work to end


@dataclass(frozen=True, slots=True)
class Behind:
    """Tasks that wait or are worked on, and the age of the oldest in seconds."""

    waiting: int = 0
    oldest: float = 0.0


@dataclass(frozen=True, slots=True)
class Digesting:
    """Seconds until every message was digested, and until nothing was left to do."""

    digested: float
    idle: float

    @classmethod
    async def wait(cls, client: AsyncClient) -> Digesting:
        """Wait until no task waits, at most `PATIENCE`."""
        start = time.perf_counter()
        digested: float | None = None
        while True:
            kinds = (await client.task_stats()).kinds
            live = {name: k.waiting + k.in_progress for name, k in kinds.items()}
            now = time.perf_counter() - start
            if digested is None and not live.get("digest"):
                digested = now
            if not any(live.values()) or now > PATIENCE:
                return cls(now if digested is None else digested, now)
            await asyncio.sleep(min(EVERY, 0.02 + now / 20))


class Watch:
    """Looks at a server's work every half second, from its making until `stop`."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self.last = Behind()
        self._task = asyncio.create_task(self._look())

    async def stop(self) -> Behind:
        """How it stands now."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        return await behind(self._client)

    async def _look(self) -> None:
        while True:
            with contextlib.suppress(MemosError):
                self.last = await behind(self._client)
            await asyncio.sleep(EVERY)


async def behind(client: AsyncClient) -> Behind:
    """How far behind a server is now."""
    stats = await client.task_stats()
    live = sum(stats.counts.get(state, 0) for state in (TaskState.WAITING, TaskState.IN_PROGRESS))
    return Behind(live, max((k.oldest_seconds for k in stats.kinds.values()), default=0.0))


def say(text: str) -> None:
    """Tell how far a measurement is."""
    print(text, file=sys.stderr, flush=True)
