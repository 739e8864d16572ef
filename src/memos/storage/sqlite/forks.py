"""Forks and SQLite: a child that inherits an open connection believes it holds locks which it does not, and corrupts the
file (law 2). So a fork waits until no thread is inside SQLite, and every connection is closed before it; they open again
when needed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import Protocol

import apsw

from memos.errors import StorageError

WAIT_SECONDS = 15.0  # longer than a write waits for a lock


class Holder(Protocol):
    """Something that keeps connections between calls."""

    def let_go(self) -> None:
        """Close every connection; called while no thread is inside SQLite."""


class Gate:
    """`with gate:` around every use of a connection. Threads pass freely, and may enter again; a fork waits for them."""

    def __init__(self) -> None:
        self._holders: weakref.WeakSet[Holder] = weakref.WeakSet()
        self._clean = True
        self._spoiled = False
        self._begin()

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._mine = threading.local()
        self._inside = 0
        self._forking = False

    def __enter__(self) -> None:
        depth: int = getattr(self._mine, "depth", 0)
        if not depth:
            with self._changed:
                while self._forking:
                    self._changed.wait()
                self._inside += 1
        self._mine.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._mine.depth -= 1
        if not self._mine.depth:
            with self._changed:
                self._inside -= 1
                if self._forking:
                    self._changed.notify_all()

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
        inside = 1 if getattr(self._mine, "depth", 0) else 0
        with self._changed:
            while self._forking:
                self._changed.wait()
            self._forking = True
            self._clean = self._changed.wait_for(lambda: self._inside <= inside, WAIT_SECONDS) and not inside
        if self._clean:
            self._mine.depth = 1  # this thread alone passes
            for holder in list(self._holders):
                with contextlib.suppress(apsw.Error):  # whoever uses it next meets the error
                    holder.let_go()
            self._mine.depth = 0

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
