"""A memory as adapters see it: a `MemOS`, an `AsyncMemOS`, or a client of a server, with one user and one cube.

An adapter is written once, as coroutines over `Door.ask`. With a synchronous memory nothing in them waits, so that a plain call
runs them to their end, and an asynchronous one runs them in a thread; with an asynchronous memory they run in its event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from memos.engine import Face
from memos.errors import InvalidInput
from memos.memory.model import Memory

R = TypeVar("R")
PAGE = 1_000  # memories of one page of a listing, or deleted in one call


class Door:
    """The verbs of a memory for one user and one cube (None: what the memory takes by itself).

    Raises InvalidInput for an object that is no memory.
    """

    def __init__(self, memos: object, user: str | None = None, cube: str | None = None) -> None:
        self.is_async = not isinstance(memos, Face) and inspect.iscoroutinefunction(getattr(memos, "add", None))
        if not self.is_async and not isinstance(memos, Face):
            raise InvalidInput(
                f"{type(memos).__name__} is no memory; give a MemOS, an AsyncMemOS, or a Client or AsyncClient of a server"
            )
        self._memos = memos
        self._scope = {name: value for name, value in (("user", user), ("cube", cube)) if value is not None}
        self._lock = threading.Lock()
        self._loop_locks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            weakref.WeakKeyDictionary()
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        if self.is_async:
            with contextlib.suppress(RuntimeError):
                self._loop = asyncio.get_running_loop()

    async def ask(self, verb: str, *args: Any, **options: Any) -> Any:
        """The answer to a verb of the memory, for the user and the cube of this door."""
        answer = getattr(self._memos, verb)(*args, **self._scope, **options)
        return await answer if self.is_async else answer

    def has(self, verb: str) -> bool:
        """Whether the memory knows a verb: a server's client lacks some."""
        return hasattr(self._memos, verb)

    async def erase(self, ids: Sequence[str], *, hard: bool) -> None:
        """Delete memories; `hard=False` takes them back."""
        for start in range(0, len(ids), PAGE):
            await self.ask("delete", list(ids[start : start + PAGE]), hard=hard)

    async def pause(self, seconds: float) -> None:
        """Wait a little."""
        if self.is_async:
            await asyncio.sleep(seconds)
        else:
            time.sleep(seconds)  # noqa: ASYNC251 - with a synchronous memory no event loop runs this

    async def embedded(self, most: float) -> None:
        """Return when every text of the cube has its vector, or after `most` seconds: what was written a moment ago is then
        found by its meaning too.
        """
        until = time.monotonic() + most
        while (await self.ask("stats")).waiting.get("embed") and time.monotonic() < until:
            await self.pause(0.01)

    async def listed(self, where: Mapping[str, Any], *, most: int | None = None) -> AsyncIterator[Memory]:
        """The raw records that match, the newest first (`most` of them), read page by page as they are asked for."""
        cursor: str | None = None
        while most is None or most > 0:
            limit = PAGE if most is None else min(PAGE, most)
            page = await self.ask("list", filter=where, kinds=["trace"], limit=limit, cursor=cursor)
            for memory in page.items:
                yield memory
            most = None if most is None else most - len(page.items)
            cursor = page.cursor
            if cursor is None:
                return

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One at a time: what is looked up here is still so when it is written."""
        if not self.is_async:
            with self._lock:
                yield
            return
        async with self._loop_locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            yield

    def run(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """The end of a piece of work, waited for. Raises InvalidInput where that would never come: with an asynchronous memory,
        in the thread of its event loop, or before any of its asynchronous calls.
        """
        if not self.is_async:
            return _ended(work())
        loop = self._loop
        if loop is None or not loop.is_running():
            raise InvalidInput("this memory is asynchronous: call the asynchronous method, or give a MemOS or a Client")
        with contextlib.suppress(RuntimeError):
            if asyncio.get_running_loop() is loop:
                raise InvalidInput(
                    "a synchronous call would stop the event loop it waits for; await the asynchronous method"
                )
        return asyncio.run_coroutine_threadsafe(work(), loop).result()

    async def arun(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """The end of a piece of work, awaited; no event loop stands still meanwhile."""
        if self.is_async:
            self._loop = asyncio.get_running_loop()
            return await work()
        return await asyncio.to_thread(lambda: _ended(work()))


def _ended(work: Coroutine[Any, Any, R]) -> R:
    """The result of a coroutine in which nothing waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
    work.close()
    raise AssertionError("a synchronous memory answers without waiting")


def plain(value: Any) -> Any:
    """A value of `info` as plain JSON: new dictionaries and lists, which may be changed."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value
