"""The memory of a process: one event loop and one open data folder (or server), shared by all sessions that Hermes runs in it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from memos.errors import MemosError, Unavailable
from memos.hosts.hermes.options import Options, missing
from memos.hosts.reach import Away, key_in, running
from memos.tools.door import Door

T = TypeVar("T")
_REMOTE = 30.0  # seconds of one call of a server
_Key = tuple[str, str, str]
_engines: dict[_Key, Engine] = {}
_guard = threading.Lock()


class Engine:
    """Calls to the memory, from any thread. Nothing is opened before the first."""

    def __init__(self, options: Options, key: _Key) -> None:
        self._options, self._key = options, key
        self._leases = 0
        self._loop = asyncio.new_event_loop()
        self._opening = asyncio.Lock()
        self._door: Door | None = None
        self._ended = False
        self._going: set[asyncio.Task[Any]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memos", daemon=True)
        self._thread.start()

    def begin(self, call: Callable[[Door], Awaitable[T]]) -> Future[T]:
        """Begin a call; its result is in the future, or what went wrong."""
        return asyncio.run_coroutine_threadsafe(self._called(call), self._loop)

    def release(self, seconds: float) -> None:
        """Give it back; the last who does closes what was opened, within a time."""
        with _guard:
            self._leases -= 1
            if self._leases > 0:
                return
            _engines.pop(self._key, None)
        ending = asyncio.run_coroutine_threadsafe(self._close(), self._loop)
        with contextlib.suppress(MemosError, TimeoutError, OSError, CancelledError):  # what was acknowledged is on disk
            ending.result(seconds)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(1.0)

    async def _called(self, call: Callable[[Door], Awaitable[T]]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._going.add(task)
        task.add_done_callback(self._going.discard)
        door = await self._opened()
        try:
            return await call(door)
        except Unavailable:
            if door.local or self._options.url:
                raise
        await self._let_go(door)  # the server that ran on the data folder is gone: another one, or the folder itself
        return await call(await self._opened())

    async def _opened(self) -> Door:
        async with self._opening:
            if self._ended:
                raise Unavailable("the session of Hermes is over")
            if self._door is None:
                self._door = await self._open()
            return self._door

    async def _open(self) -> Door:
        lacking = missing()
        if lacking:
            raise Unavailable(f"this Python lacks packages that MemOS needs: {', '.join(lacking)}")
        home = self._options.folder
        url: str | None = self._options.url or await asyncio.to_thread(running, str(home))
        if url:
            from memos.client.client import AsyncClient

            try:
                key = key_in(self._options.key_file or None)
            except Away as e:
                raise Unavailable(f"{e}: {self._options.key_file}") from None
            return Door.to(AsyncClient(url, key, timeout=_REMOTE, attempts=2))
        from memos.storage.files import allow_many_files
        from memos.system import AsyncMemOS

        allow_many_files()
        system = AsyncMemOS(home)
        await system.start()
        return Door.to(system, local=True)

    async def _let_go(self, door: Door) -> None:
        async with self._opening:
            if self._door is door:
                self._door = None
                with contextlib.suppress(MemosError):
                    await door.system.close()

    async def _close(self) -> None:
        """Let what goes on come to its end, then close; no call begins any more."""
        async with self._opening:
            self._ended = True
        if self._going:
            await asyncio.wait(self._going, timeout=1.0)
        if self._door is not None:
            door, self._door = self._door, None
            await door.system.close()


def lease(options: Options) -> Engine:
    """The engine for these options, to be released."""
    key = (str(options.folder), options.url, options.key_file)
    with _guard:
        engine = _engines.get(key)
        if engine is None:
            engine = _engines[key] = Engine(options, key)
        engine._leases += 1
    return engine
