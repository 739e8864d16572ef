"""How often memories are shown: counted in memory as searches answer, and written in one change now and then.

A search never waits for it. A crash may lose counts, never a record.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from memos.cubes.pool import CubePool
from memos.errors import MemosError
from memos.logs import get_logger
from memos.memory.hit import Hit
from memos.memory.time import utcnow
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.upkept import Shown

log = get_logger(__name__)

FLUSH_SECONDS = 60.0
COUNTED = 20  # hits of one search that count as shown
MOST = 100_000  # memories whose counts wait; more are not counted until these are written


@dataclass(slots=True)
class _Waiting:
    info: CubeInfo
    times: dict[str, int] = field(default_factory=dict)
    last: dict[str, datetime] = field(default_factory=dict)


class Uses:
    """The counts of one system that are not written yet. Used within one event loop."""

    def __init__(self, cubes: CubePool) -> None:
        self._cubes = cubes
        self._waiting: dict[str, _Waiting] = {}  # by location
        self._timer: asyncio.Task[None] | None = None

    def shown(self, info: CubeInfo, hits: Iterable[Hit]) -> None:
        """Count what a search showed of a cube: the hits, and the facts shown with them."""
        ids = [id for hit in hits for id in (hit.id, *(fact.id for fact in hit.facts))]
        if not ids or sum(len(w.times) for w in self._waiting.values()) >= MOST:
            return
        waiting = self._waiting.setdefault(info.location, _Waiting(info))
        now = utcnow()
        for id in dict.fromkeys(ids):
            waiting.times[id] = waiting.times.get(id, 0) + 1
            waiting.last[id] = now
        if self._timer is None or self._timer.done():
            self._timer = asyncio.get_running_loop().create_task(self._later())

    async def flush(self, info: CubeInfo | None = None) -> None:
        """Write what was counted, of one cube or of all. What cannot be written is given up: these are only counts."""
        locations = [*self._waiting] if info is None else [info.location]
        for location in locations:
            waiting = self._waiting.pop(location, None)
            if waiting is None:
                continue
            try:
                async with self._cubes.use(waiting.info) as store:
                    if not store.read_only:
                        await store.count_uses({i: Shown(n, waiting.last[i]) for i, n in waiting.times.items()})
            except MemosError as e:
                log.info("uses_not_counted", error=e.code, memories=len(waiting.times))

    def forget(self, info: CubeInfo) -> None:
        """Drop the counts of a cube that is deleted."""
        self._waiting.pop(info.location, None)

    async def stop(self) -> None:
        """Write what is counted, and count no more."""
        if self._timer is not None:
            self._timer.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._timer
        await self.flush()

    async def _later(self) -> None:
        await asyncio.sleep(FLUSH_SECONDS)
        await self.flush()
