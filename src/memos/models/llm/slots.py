"""How many calls a server gets at a time from this process, and in which order: a conversation does not wait behind the reading
of an archive. Safe for threads: systems of several event loops share them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from memos.errors import ModelBusy
from memos.models.llm.port import Purpose

URGENT: Purpose = "chat"


@dataclass(eq=False, slots=True)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    granted: bool = False


class Slots:
    """`most` calls at a time. One of them is kept for chat (if there are at least two); purposes that wait take turns, and chat
    is every second one of those that are let in."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._taken = self._others = 0
        self._waiting: dict[Purpose, deque[_Waiter]] = {}
        self._last: Purpose | None = None

    @property
    def taken(self) -> int:
        """Calls under way."""
        return self._taken

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot."""
        return sum(map(len, self._waiting.values()))

    @contextlib.asynccontextmanager
    async def held(self, purpose: Purpose, patience: float | None = None) -> AsyncIterator[None]:
        """A slot, for as long as the block runs. Raises ModelBusy when there was none for `patience` seconds."""
        try:
            async with asyncio.timeout(patience) as limit:
                await self._enter(purpose)
        except TimeoutError:
            if not limit.expired():
                raise
            raise ModelBusy(f"all {self.most} calls that may be made at a time are under way") from None
        try:
            yield
        finally:
            self._leave(purpose)

    async def _enter(self, purpose: Purpose) -> None:
        with self._lock:
            if not self._waiting.get(purpose) and self._may(purpose):
                self._take(purpose)
                return
            loop = asyncio.get_running_loop()
            waiter = _Waiter(loop, loop.create_future())
            self._waiting.setdefault(purpose, deque()).append(waiter)
        try:
            await waiter.future
        except BaseException:
            with self._lock:
                if not waiter.granted:
                    self._forget(purpose, waiter)
                    raise
            self._leave(purpose)
            raise

    def _leave(self, purpose: Purpose) -> None:
        with self._lock:
            self._taken -= 1
            self._others -= purpose != URGENT
            while (chosen := self._next()) is not None:
                waiter = self._waiting[chosen].popleft()
                if not self._waiting[chosen]:
                    del self._waiting[chosen]
                self._take(chosen)
                waiter.granted = True
                try:
                    waiter.loop.call_soon_threadsafe(_wake, waiter.future)
                except RuntimeError:  # its event loop was closed
                    self._taken -= 1
                    self._others -= chosen != URGENT

    def _may(self, purpose: Purpose) -> bool:
        free = self._taken < self.most
        return free and (purpose == URGENT or self.most == 1 or self._others < self.most - 1)

    def _take(self, purpose: Purpose) -> None:
        self._taken += 1
        self._others += purpose != URGENT
        self._last = purpose
        if purpose in self._waiting:  # to the end of those that take turns
            self._waiting[purpose] = self._waiting.pop(purpose)

    def _next(self) -> Purpose | None:
        able = [purpose for purpose in self._waiting if self._may(purpose)]
        if URGENT in able and (self._last != URGENT or len(able) == 1):
            return URGENT
        return next((purpose for purpose in able if purpose != URGENT), None)

    def _forget(self, purpose: Purpose, waiter: _Waiter) -> None:
        line = self._waiting.get(purpose)
        if line is not None and waiter in line:
            line.remove(waiter)
            if not line:
                del self._waiting[purpose]


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
