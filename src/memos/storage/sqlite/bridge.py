"""Answers from the writer thread to an event loop, all that are ready with one wake-up: a group commit resolves many at once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopBridge:
    """Turns thread futures into awaitables of one loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._lock = threading.Lock()
        self._ready: list[tuple[asyncio.Future[Any], Future[Any]]] = []

    async def wait(self, answer: Future[T]) -> T:
        """The result of a thread future. Cancelling the wait does not cancel the work."""
        waiter: asyncio.Future[T] = self._loop.create_future()
        answer.add_done_callback(lambda done: self._arrived(waiter, done))
        return await waiter

    def _arrived(self, waiter: asyncio.Future[Any], answer: Future[Any]) -> None:
        with self._lock:  # several writer threads answer one loop: exactly the first to add to an empty queue wakes it
            first = not self._ready
            self._ready.append((waiter, answer))
        if first:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it whoever waited
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            ready, self._ready = self._ready, []
        for waiter, answer in ready:
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
