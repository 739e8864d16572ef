"""A few reading connections to one file, opened when needed and kept for the next read."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from memos.errors import StorageError
from memos.storage.sqlite.connect import FileId, check_same, connect, typed_errors
from memos.storage.sqlite.forks import gate

T = TypeVar("T")


class Readers:
    """Blocking and safe from any thread."""

    def __init__(self, path: Path, opened: FileId, *, read_only: bool = False) -> None:
        self._path, self._opened, self._read_only = path, opened, read_only
        self._idle: queue.SimpleQueue[apsw.Connection] = queue.SimpleQueue()
        self._closed = False

    def read(self, fn: Callable[[apsw.Connection], T]) -> T:
        """Run `fn` on a reading connection, in the calling thread. Wrap it in `at_once` when it makes several statements."""
        if self._closed:
            raise StorageError(f"{self._path} is closed; open it again")
        with gate, typed_errors(self._path):
            check_same(self._path, self._opened)  # first: a new file must not meet the log of the old one
            try:
                db = self._idle.get_nowait()
            except queue.Empty:
                db = connect(self._path, read_only=self._read_only, create=False)
            try:
                return fn(db)
            finally:
                self._idle.put(db)
                if self._closed:  # meanwhile
                    self.release()

    def release(self) -> None:
        """Close every connection that is not in use; the next read opens one again."""
        with gate, contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def close(self) -> None:
        """Close them for good."""
        self._closed = True
        self.release()


def at_once(fn: Callable[[apsw.Connection], T]) -> Callable[[apsw.Connection], T]:
    """`fn` on one state of the file, however many statements it makes."""

    def run(db: apsw.Connection) -> T:
        db.execute("BEGIN")
        try:
            return fn(db)
        finally:
            if not db.get_autocommit():
                db.execute("COMMIT")

    return run
