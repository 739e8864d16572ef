"""How workers of the embedded queue sleep: changes of this process wake them at once, those of others and the passing of time are
looked for a few times a second, and only while somebody waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import apsw

from memos.errors import MemosError
from memos.storage.sqlite.connect import FileId, check_same, connect, typed_errors
from memos.storage.sqlite.forks import gate
from memos.storage.threads import ThreadPool

POLL_SECONDS = 0.05
AGAIN_SECONDS = (
    0.5  # how soon workers are woken again for a lane that they did not take (it may be of a kind they do not do)
)
_heard: ContextVar[tuple[int, int]] = ContextVar(
    "memos-queue-heard", default=(0, 0)
)  # which bell, and how often it had rung
_watchers = ThreadPool(1, "memos-queue-watch")


class Look:
    """Tells cheaply whether a lane may have become ready: reads only when somebody wrote. Blocking."""

    def __init__(self, path: Path, opened: FileId, now_us: Callable[[], int]) -> None:
        self._path, self._opened, self._now_us = path, opened, now_us
        self._lock = threading.Lock()
        self._db: apsw.Connection | None = None
        self._version: int | None = None
        self._ready, self._due = False, None
        self._told = 0.0
        self._closed = False

    def __call__(self) -> bool:
        """Whether a lane is ready, or the delay or lease of one has run out; news at once, the same now and then."""
        with gate, self._lock, typed_errors(self._path):
            if self._closed:
                return False
            if self._db is None:
                check_same(self._path, self._opened)
                self._db = connect(self._path, create=False)
                self._version = None
            version = self._db.execute("PRAGMA data_version").get
            if version != self._version:
                found: Any = self._db.execute(
                    "SELECT EXISTS(SELECT 1 FROM turns), (SELECT min(due) FROM lanes WHERE state>0)"
                ).fetchone()
                self._version, self._ready, self._due = version, bool(found[0]), found[1]
                self._told = 0.0
        ready = self._ready or (self._due is not None and self._due <= self._now_us())
        if not ready or time.monotonic() - self._told < AGAIN_SECONDS:
            return False
        self._told = time.monotonic()
        return True

    def close(self) -> None:
        """Close the connection for good."""
        with gate, self._lock:
            self._closed = True
        self.let_go()

    def let_go(self) -> None:
        """Close the connection; the next look opens it again."""
        with gate, self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None


class Bell:
    """Wakes those who wait. Used within one event loop at a time."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._rung = 0
        self._waiting: set[asyncio.Future[None]] = set()
        self._poller: asyncio.Task[None] | None = None
        self._closed = False

    def listen(self) -> None:
        """Before a worker looks for work: a ring from now on ends its next `wait` at once, also in a task it starts for that."""
        _heard.set((id(self), self._rung))

    def ring(self) -> None:
        """A task may have become ready."""
        self._rung += 1
        self._wake(None)

    async def wait(self, seconds: float) -> None:
        """Return at a ring, or when another process or the passing of time made a task ready, or after so many seconds."""
        bell, rung = _heard.get()
        _heard.set((0, 0))
        if self._closed or (bell == id(self) and rung != self._rung):
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        if self._poller is None or self._poller.done() or self._poller.get_loop() is not waiter.get_loop():
            self._poller = waiter.get_loop().create_task(self._poll())
        try:
            with contextlib.suppress(TimeoutError):  # not `wait_for`: in Python 3.11 it can swallow a cancellation
                async with asyncio.timeout(seconds):
                    await waiter
        finally:
            self._waiting.discard(waiter)

    def close(self) -> None:
        """Let everybody go."""
        self._closed = True
        self._wake(None)
        if self._poller is not None and not self._poller.get_loop().is_closed():
            self._poller.get_loop().call_soon_threadsafe(self._poller.cancel)

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if not self._waiting or self._closed:
                return
            try:
                looking = asyncio.get_running_loop().run_in_executor(_watchers, self._look)
            except RuntimeError:  # the interpreter is ending, and let go of its threads before us
                return
            try:
                ready = await looking
            except MemosError as e:
                self._wake(e)
            else:
                if ready:
                    self._wake(None)

    def _wake(self, error: MemosError | None) -> None:
        for waiter in list(self._waiting):
            with contextlib.suppress(RuntimeError):  # its loop has ended, and with it whoever waited
                waiter.get_loop().call_soon_threadsafe(_answer, waiter, error)


def _answer(waiter: asyncio.Future[None], error: MemosError | None) -> None:
    if waiter.done():
        return
    if error is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(error)
