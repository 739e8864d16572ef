"""Answers from the writer thread to an event loop, all that are ready with one wake-up: a group commit resolves many at once."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopBridge:
    """Turns thread futures into awaitables of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[tuple[asyncio.Future[Any], Future[Any]]] = deque()

    async def wait(self, answer: Future[T]) -> T:
        """The result of a thread future. Cancelling the wait does not cancel the work."""
        waiter: asyncio.Future[T] = self._loop.create_future()
        answer.add_done_callback(lambda done: self._arrived(waiter, done))
        return await waiter

    def _arrived(self, waiter: asyncio.Future[Any], answer: Future[Any]) -> None:
        self._ready.append((waiter, answer))
        if len(self._ready) == 1:  # whoever adds to an empty queue wakes the loop; a second wake-up would do no harm
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        while self._ready:
            waiter, answer = self._ready.popleft()
            if waiter.done():
                continue
            error = answer.exception()
            if error is not None:
                waiter.set_exception(error)
            else:
                waiter.set_result(answer.result())


_bridges: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopBridge] = weakref.WeakKeyDictionary()


def bridge() -> LoopBridge:
    """The bridge of the running loop."""
    loop = asyncio.get_running_loop()
    found = _bridges.get(loop)
    if found is None:
        found = _bridges[loop] = LoopBridge(loop)
    return found
