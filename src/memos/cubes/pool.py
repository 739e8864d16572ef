"""Open cubes: one handle per cube and process, counted while used, closed or slimmed when there are too many."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable

import apsw

from memos.errors import InvalidInput, MemosError, NotFound
from memos.logs import get_logger
from memos.memory.time import utcnow
from memos.settings import Settings
from memos.storage.files import cubes_at_once
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.threads import aside

log = get_logger(__name__)

WEIGH_SHARE = 50  # weighing what is open takes at most 2 % of the time
_EMPTY = "../empty.cube"  # beside the cubes: it belongs to nobody, and nothing is ever written into it


class CubePool:
    """Hands out open cubes. Used within one event loop.

    Every choice of what to open, close or slim is made between two awaits; the work itself is done in tasks of its own,
    whose failures are logged and never meet a caller.
    """

    def __init__(self, registry: SqliteRegistry, settings: Settings) -> None:
        self._registry, self._settings = registry, settings
        self._open: OrderedDict[str, SqliteCube] = OrderedDict()  # the least recently used first
        self._users: Counter[str] = Counter()  # of each cube, those who wait for its opening included
        self._idle: dict[str, asyncio.Event] = {}  # set when the last user of a cube that is to go has left it
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._cleaning: dict[asyncio.Task[None], str] = {}
        self._most = min(settings.open_cubes, cubes_at_once() or settings.open_cubes)
        self._weigh_at = 0.0
        self._closed = False

    @contextlib.asynccontextmanager
    async def use(self, info: CubeInfo) -> AsyncIterator[SqliteCube]:
        """The open cube, kept open for the length of the block."""
        location = info.location
        if self._closed:
            raise InvalidInput("this MemOS is closed; make a new one")
        if location in self._idle:
            raise NotFound(f"cube {info.name!r} is being deleted")
        self._users[location] += 1
        try:
            while location not in self._open:
                await self._opened(location)
            self._open.move_to_end(location)
            yield self._open[location]
        finally:
            self._users[location] -= 1
            if not self._users[location]:
                del self._users[location]
                if location in self._idle:
                    self._idle[location].set()
            self._trim()

    @contextlib.asynccontextmanager
    async def nothing(self, user: str) -> AsyncIterator[tuple[CubeInfo, SqliteCube]]:
        """An empty cube for reading, standing in for the one that a user has not made yet."""
        info = CubeInfo(user, user, utcnow(), location=_EMPTY)
        async with self.use(info) as cube:
            yield info, cube

    async def remove(self, info: CubeInfo) -> int:
        """Close a cube for good and delete its files; waits for who still uses it. Returns the bytes freed."""
        location = info.location
        if location in self._idle:
            raise NotFound(f"cube {info.name!r} is being deleted")
        idle = self._idle[location] = asyncio.Event()
        try:
            if self._users[location]:
                await idle.wait()
            self._close_cube(location)
            await self._cleaned(location)
            file = self._registry.delete(info.name)
            return await asyncio.to_thread(self._registry.removed, file.name)
        finally:
            del self._idle[location]

    @property
    def open_count(self) -> int:
        """How many cubes are open."""
        return len(self._open)

    @property
    def resident_bytes(self) -> int:
        """Memory of the indexes of all open cubes."""
        return sum(cube.resident_bytes for cube in self._open.values())

    async def close(self) -> None:
        """Close every cube."""
        self._closed = True
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        cubes = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(cube.close() for cube in cubes))
        await self._cleaned()

    def _opened(self, location: str) -> asyncio.Future[None]:
        """Waits until a cube is open; whoever is cancelled meanwhile does not take it from the others."""
        task = self._opening.get(location)
        if task is None:
            task = self._opening[location] = asyncio.create_task(self._open_cube(location))
            task.add_done_callback(
                lambda done: done.cancelled() or done.exception()
            )  # had by who waits, if anybody does
        return asyncio.shield(task)

    async def _open_cube(self, location: str) -> None:
        path = self._registry.folder / "cubes" / location
        try:
            self._open[location] = await asyncio.to_thread(
                SqliteCube.open, path, durability=self._settings.durability, create=location == _EMPTY
            )
        finally:
            del self._opening[location]

    def _trim(self) -> None:
        """Close the least recently used cubes beyond the limit, and drop the oldest indexes beyond the memory limit."""
        while len(self._open) > self._most:
            idle = next((location for location in self._open if not self._users[location]), None)
            if idle is None:
                break
            self._close_cube(idle)
        begun = time.monotonic()
        if begun >= self._weigh_at:
            self._slim()
            self._weigh_at = begun + WEIGH_SHARE * (time.monotonic() - begun)  # of a thousand cubes: not at every call

    def _slim(self) -> None:
        budget = self._settings.resident_mb << 20
        held = self.resident_bytes
        if held <= budget:
            return
        for location, cube in list(self._open.items()):
            if held <= budget:
                break
            if not self._users[location] and (size := cube.resident_bytes):
                held -= size
                if size > budget:
                    log.warning("index_exceeds_resident_mb", bytes=size, resident_mb=self._settings.resident_mb)
                self._clean(location, cube.ranked.feed.drop)

    def _close_cube(self, location: str) -> None:
        cube = self._open.pop(location, None)
        if cube is not None:
            self._clean(location, cube.close_now)

    def _clean(self, location: str, work: Callable[[], None]) -> None:
        """Do something blocking that nobody waits for."""

        async def run() -> None:
            try:
                await aside(work)
            except (MemosError, apsw.Error) as e:
                log.error("cube_not_closed", error=str(e))

        task = asyncio.create_task(run())
        self._cleaning[task] = location
        task.add_done_callback(lambda done: self._cleaning.pop(done, None))

    async def _cleaned(self, location: str | None = None) -> None:
        """Wait until what was cleaned of a cube, or of all, is done."""
        tasks = [task for task, of in self._cleaning.items() if location in (None, of)]
        await asyncio.gather(*tasks, return_exceptions=True)
