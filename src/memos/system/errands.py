"""Work that goes on when nobody waits for it any more, because the caller left; it is done before the system closes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

R = TypeVar("R")


class Errands:
    """The errands of one system. Used within one event loop."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()
        self._expected: set[Callable[[], object]] = set()

    def run(self, errand: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
        """Begin an errand. It ends by itself, also when whoever began it is cancelled, and has to handle its own errors."""
        task = asyncio.get_running_loop().create_task(errand)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def expect(self, begin: Callable[[], object]) -> None:
        """Something may have to be done: `begin` is called when the system closes before it was `settled`."""
        self._expected.add(begin)

    def settled(self, begin: Callable[[], object]) -> None:
        """It was begun, or need not be."""
        self._expected.discard(begin)

    async def finished(self) -> None:
        """Begin what is expected, and return when every errand is done."""
        for begin in [*self._expected]:
            begin()
        while self._running:
            await asyncio.wait(set(self._running))
