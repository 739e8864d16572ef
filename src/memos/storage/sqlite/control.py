"""The connection to the control file, for one caller at a time, and the number that tells whether what is kept of it
in memory is still true.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self, TypeVar

import apsw

from memos.errors import StorageError
from memos.storage.ports import Durability
from memos.storage.sqlite import connect as connecting
from memos.storage.sqlite.connect import check_same, connect, file_id, migrate, typed_errors
from memos.storage.sqlite.forks import gate
from memos.storage.sqlite.schema import CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS

LOG_WAIT_MS = 500
MOST_KEPT = 10_000
_TRY_EVERY = 0.0003  # seconds
K = TypeVar("K")
V = TypeVar("V")


class _Asked(threading.local):
    """What this thread was told of the version within `moment`."""

    keep = False
    of: apsw.Connection | None = None
    version: int | None = None


_asked = _Asked()


@contextlib.contextmanager
def moment() -> Iterator[None]:
    """Within it this thread asks once only whether anything has changed: several questions about one moment. Asking lets other
    threads have the interpreter, and whoever answers requests would wait for it again and again. No await within.
    """
    _asked.keep = True
    try:
        yield
    finally:
        _asked.keep, _asked.of, _asked.version = False, None, None


class Control:
    """One `control.db`. Quick, blocking, and safe from any thread or process."""

    def __init__(self, folder: Path, *, durability: Durability = "full") -> None:
        self.path = folder / "control.db"
        with typed_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock, self._aside_lock, self._change_lock = threading.Lock(), threading.Lock(), threading.Lock()
        self._durability: Durability = durability
        self._closed = False
        self._aside: apsw.Connection | None = None
        self._changing: apsw.Connection | None = None
        with gate:
            self._db: apsw.Connection | None = connect(self.path, durability=durability)
            wait_in_turn(self._db)
            migrate(self._db, self.path, CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS)
            self._opened = file_id(self.path)
            gate.register(self)

    def close(self) -> None:
        """Close the control file."""
        with gate, self._aside_lock, self._change_lock, self._lock:
            self._closed = True
            self.let_go()

    def let_go(self) -> None:
        """Close the connections; the next call opens them again."""
        if self._changing is not None:
            self._changing.close()
            self._changing = None
        if self._aside is not None:
            self._aside.close()
            self._aside = None
        if self._db is not None:
            self._db.close()
            self._db = None

    @contextlib.contextmanager
    def use(self) -> Iterator[apsw.Connection]:
        """The connection, for one caller at a time."""
        with gate, self._lock, typed_errors(self.path):
            if self._db is None:
                self._db = self._connected()
            yield self._db

    @contextlib.contextmanager
    def change(self) -> Iterator[apsw.Connection]:
        """One transaction on the control file. Who only asks does not wait for its turn and for the disk."""
        with gate, self._change_lock, typed_errors(self.path):
            if self._changing is None:
                self._changing = self._connected()
            db = self._changing
            db.execute("BEGIN IMMEDIATE")
            _asked.version = None
            try:
                check_same(self.path, self._opened)
                yield db
                db.execute("COMMIT")
            except BaseException:
                if not db.get_autocommit():
                    db.execute("ROLLBACK")
                raise

    @staticmethod
    def version(db: apsw.Connection) -> int:
        """A number that grows whenever anybody changed users, keys, cubes or grants (not: tasks, or when a key was used)."""
        if _asked.version is not None and _asked.of is db:
            return _asked.version
        found: int = db.execute("SELECT n FROM changes WHERE one=1").get
        if _asked.keep:
            _asked.of, _asked.version = db, found
        return found

    def note(self, sql: str, values: tuple[object, ...]) -> bool:
        """Run one statement that can as well be run later: False, and nothing is done, when it would have to wait.

        It has a connection of its own, never waits for a lock or the disk, and may be lost in a power cut.
        """
        with gate:
            if not self._aside_lock.acquire(blocking=False):
                return False
            try:
                if self._aside is None:
                    self._check_open()
                    self._aside = connect(self.path, durability="normal", create=False)
                    self._aside.set_busy_timeout(0)
                    self._aside.execute("PRAGMA wal_autocheckpoint=0").fetchall()
                self._aside.execute(sql, values)
                return True
            except (apsw.Error, StorageError):  # busy, or a disk that is full: whoever has something to change is told
                return False
            finally:
                self._aside_lock.release()

    def forget(self) -> None:
        """Clear the log of what was deleted. (The pages are: `secure_delete` is on.)"""
        with self.use() as db:
            clear_log(db)

    def _connected(self) -> apsw.Connection:
        self._check_open()
        db = connect(self.path, durability=self._durability, create=False)
        wait_in_turn(db)
        return db

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError(f"{self.path} is closed; make a new MemOS")
        check_same(self.path, self._opened)  # the log of a replaced file must not meet the new one


def wait_in_turn(db: apsw.Connection, milliseconds: float | None = None) -> None:
    """Have a connection wait for a lock (as long as others do, or so many ms) by trying again and again at short intervals.

    SQLite's own waiting sleeps up to 100 ms between two tries, and starves beside a task queue that commits all the time.
    """
    until = 0.0

    def again(tries: int) -> bool:
        nonlocal until
        if tries == 0:
            until = time.monotonic() + (connecting.BUSY_TIMEOUT_MS if milliseconds is None else milliseconds) / 1000
        time.sleep(_TRY_EVERY)
        return time.monotonic() < until

    db.set_busy_handler(again)


def clear_log(db: apsw.Connection) -> None:
    """Clear the log of what was deleted, unless another is in the middle of something: its next deletion, or the last to
    close, does it then.
    """
    wait_in_turn(db, LOG_WAIT_MS)
    try:
        with contextlib.suppress(apsw.BusyError):
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        wait_in_turn(db)


class Kept(dict[K, V]):
    """What was read from the control file and is true until users, keys, cubes or grants change. Used under `Control.use`."""

    __slots__ = ("_version",)

    def __init__(self) -> None:
        super().__init__()
        self._version = -1

    def fresh(self, db: apsw.Connection) -> Self:
        """The same, emptied when anything has changed since, or when it holds too much."""
        version = Control.version(db)
        if version != self._version or len(self) > MOST_KEPT:
            self.clear()
            self._version = version
        return self
