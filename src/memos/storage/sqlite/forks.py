"""Forks and SQLite: a child that inherits an open connection believes it holds locks which it does not, and corrupts the
file (law 2). So a fork waits until no thread is inside SQLite, and every connection is closed before it; they open again
when needed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import Protocol

import apsw

from memos.errors import StorageError

WAIT_SECONDS = 15.0  # longer than a write waits for a lock
LOOK_SECONDS = 0.001  # between two looks whether the threads inside have left


class Holder(Protocol):
    """Something that keeps connections between calls."""

    def let_go(self) -> None:
        """Close every connection; called while no thread is inside SQLite."""


class _Inside:
    """How deep one thread is inside."""

    __slots__ = ("__weakref__", "depth")

    def __init__(self) -> None:
        self.depth = 0


class _Mine(threading.local):
    inside: _Inside | None = None


class Gate:
    """`with gate:` around every use of a connection. Threads pass freely, and may enter again; a fork waits for them.

    Whoever enters says so and then looks whether somebody forks; who forks says so and then looks who is inside. So entering
    takes no lock, for which a thread would have to wait that answers requests.
    """

    def __init__(self) -> None:
        self._holders: weakref.WeakSet[Holder] = weakref.WeakSet()
        self._clean = True
        self._spoiled = False
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._mine = _Mine()
        self._threads: weakref.WeakSet[_Inside] = weakref.WeakSet()
        self._forking = False

    def __enter__(self) -> None:
        mine = self._mine.inside or self._known()
        mine.depth += 1
        if mine.depth > 1 or not self._forking:
            return
        while True:
            mine.depth = 0
            with self._changed:
                while self._forking:
                    self._changed.wait()
            mine.depth = 1
            if not self._forking:
                return

    def __exit__(self, *_: object) -> None:
        mine = self._mine.inside
        if mine is not None and mine.depth:  # else this is a child that was forked inside
            mine.depth -= 1

    def _known(self) -> _Inside:
        """What is known of this thread."""
        mine = self._mine.inside
        if mine is None:
            mine = self._mine.inside = _Inside()
            with self._changed:
                self._threads.add(mine)
        return mine

    def register(self, holder: Holder) -> None:
        """Have a holder let go of its connections before a fork."""
        with self:
            self._holders.add(holder)

    def check(self) -> None:
        """Raise StorageError in a child that was forked in the middle of an operation."""
        if self._spoiled:
            raise StorageError(
                "this process was forked while MemOS was at work on a file; fork when it is idle, or start with spawn"
            )

    def before_fork(self) -> None:
        """Wait for the threads inside, hold off others and close what is open."""
        mine = self._known()
        inside = mine.depth > 0
        with self._changed:
            while self._forking:
                self._changed.wait()
            self._forking = True
        self._clean = self._empty(mine) and not inside
        if self._clean:
            mine.depth = 1  # this thread alone passes
            for holder in list(self._holders):
                with contextlib.suppress(apsw.Error):  # whoever uses it next meets the error
                    holder.let_go()
            mine.depth = 0

    def _empty(self, but: _Inside) -> bool:
        """Wait until no other thread is inside; whether that came to be."""
        until = time.monotonic() + WAIT_SECONDS
        while True:
            with self._changed:
                busy = any(thread.depth for thread in self._threads if thread is not but)
            if not busy or time.monotonic() >= until:
                return not busy
            time.sleep(LOOK_SECONDS)

    def after_fork_in_parent(self) -> None:
        """Let everybody in again."""
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        """Begin anew: no other thread is here."""
        self._spoiled = self._spoiled or not self._clean
        self._holders = weakref.WeakSet()
        self._begin()


gate = Gate()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=gate.before_fork,
        after_in_parent=gate.after_fork_in_parent,
        after_in_child=gate.after_fork_in_child,
    )
