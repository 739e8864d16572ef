"""Open cubes: one handle per cube and process, counted while used, closed or slimmed when there are too many."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from memos.errors import NotFound
from memos.memory.time import utcnow
from memos.settings import Settings
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry

_EMPTY = "../empty.cube"  # beside the cubes: it belongs to nobody, and nothing is ever written into it


@dataclass(slots=True)
class _Entry:
    cube: SqliteCube
    users: int = 0
    idle: asyncio.Event = field(default_factory=asyncio.Event)


class CubePool:
    """Hands out open cubes. Used within one event loop."""

    def __init__(self, registry: SqliteRegistry, settings: Settings) -> None:
        self._registry, self._settings = registry, settings
        self._open: OrderedDict[str, _Entry] = OrderedDict()
        self._opening: dict[str, asyncio.Lock] = {}
        self._leaving: set[str] = set()

    @contextlib.asynccontextmanager
    async def use(self, info: CubeInfo) -> AsyncIterator[SqliteCube]:
        """The open cube, kept open for the length of the block."""
        entry = self._open.get(info.location)
        if entry is None:
            entry = await self._open_cube(info)
        if info.location in self._leaving:
            raise NotFound(f"cube {info.name!r} is being deleted")
        entry.users += 1
        entry.idle.clear()
        self._open.move_to_end(info.location)
        try:
            yield entry.cube
        finally:
            entry.users -= 1
            if not entry.users:
                entry.idle.set()
            await self._trim()

    @contextlib.asynccontextmanager
    async def nothing(self, user: str) -> AsyncIterator[tuple[CubeInfo, SqliteCube]]:
        """An empty cube for reading, standing in for the one that a user has not made yet."""
        info = CubeInfo(user, user, utcnow(), location=_EMPTY)
        async with self.use(info) as cube:
            yield info, cube

    async def remove(self, info: CubeInfo) -> int:
        """Close a cube for good and delete its files; waits for who still uses it. Returns the bytes freed."""
        self._leaving.add(info.location)
        try:
            entry = self._open.get(info.location)
            if entry is not None:
                if entry.users:
                    await entry.idle.wait()
                self._open.pop(info.location, None)
                await entry.cube.close()
            self._registry.delete(info.name)
            path = self._registry.path(info)
            freed = 0
            for file in (path, *path.parent.glob(path.name + "*")):
                if file.exists():
                    freed += file.stat().st_size
                    file.unlink()
            return freed
        finally:
            self._leaving.discard(info.location)

    async def close(self) -> None:
        """Close every cube."""
        entries = list(self._open.values())
        self._open.clear()
        await asyncio.gather(*(e.cube.close() for e in entries))

    async def _open_cube(self, info: CubeInfo) -> _Entry:
        lock = self._opening.setdefault(info.location, asyncio.Lock())
        async with lock:
            entry = self._open.get(info.location)
            if entry is None:
                path = self._registry.path(info)
                loop = asyncio.get_running_loop()
                cube = await loop.run_in_executor(
                    None,
                    lambda: SqliteCube.open(path, durability=self._settings.durability, create=info.location == _EMPTY),
                )
                entry = self._open[info.location] = _Entry(cube)
        self._opening.pop(info.location, None)
        return entry

    async def _trim(self) -> None:
        """Close the least recently used cubes beyond the limit, and drop the oldest indexes beyond the memory limit."""
        spare = len(self._open) - self._settings.open_cubes
        if spare > 0:
            for location in [k for k, e in self._open.items() if not e.users][:spare]:
                entry = self._open.pop(location)
                await entry.cube.close()
        budget = self._settings.resident_mb << 20
        held = sum(e.cube.resident_bytes for e in self._open.values())
        for entry in list(self._open.values())[:-1]:
            if held <= budget:
                break
            if not entry.users and entry.cube.resident_bytes:
                held -= entry.cube.resident_bytes
                entry.cube.ranked.feed.drop()
