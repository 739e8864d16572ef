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

    def __init__(self, path: Path, opened: FileId) -> None:
        self._path, self._opened = path, opened
        self._idle: queue.SimpleQueue[apsw.Connection] = queue.SimpleQueue()
        self._closed = False

    def read(self, fn: Callable[[apsw.Connection], T]) -> T:
        """Run `fn` on one state of the file, however many statements it makes."""
        if self._closed:
            raise StorageError(f"{self._path} is closed; open it again")
        with gate, typed_errors(self._path):
            check_same(self._path, self._opened)  # first: a new file must not meet the log of the old one
            try:
                db = self._idle.get_nowait()
            except queue.Empty:
                db = connect(self._path, create=False)
            try:
                db.execute("BEGIN")
                try:
                    return fn(db)
                finally:
                    if not db.get_autocommit():
                        db.execute("COMMIT")
            finally:
                if self._closed:
                    db.close()
                else:
                    self._idle.put(db)

    def release(self) -> None:
        """Close every connection that is not in use; the next read opens one again."""
        with gate, contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def close(self) -> None:
        """Close them for good."""
        self._closed = True
        self.release()
