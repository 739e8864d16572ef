"""The one writer of an open file: takes all waiting changes, runs each in one transaction, commits once, and only then
answers (group commit). Guards law 2: answered means on disk, in the file
that lies at the path. What a change is given to work with is made by the file's `Session`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import apsw

from memos.errors import StorageError
from memos.storage.ports import Durability
from memos.storage.sqlite.connect import FileId, check_same, connect, typed, typed_errors
from memos.storage.sqlite.forks import gate
from memos.storage.threads import ThreadPool

MAX_GROUP = 512
PATIENCE = 1.0  # seconds after which a patient change goes first
_threads = ThreadPool(16, "memos-write")  # of all files: a thousand cubes need no thousand threads

_FATAL = (apsw.FullError, apsw.IOError, apsw.CorruptError, apsw.ReadOnlyError)  # SQLite may have rolled back on its own


class Session(Protocol):
    """What the changes of one connection have in common. Used by the writer thread alone."""

    def prepare(self, labels: Sequence[Any]) -> None:
        """Called before the transaction of a group of changes, with the label of each."""

    def clock(self, after: int) -> int:
        """The time of the next change, µs; `after` is that of the last one."""
        ...

    def begin(self, now_us: int, label: Any) -> Any:
        """What a change of this label is given."""
        ...

    def forget(self) -> None:
        """Drop every cache: another process wrote, or a transaction was rolled back."""


@dataclass(slots=True)
class _Job:
    fn: Callable[[Any], Any]
    label: Any  # None: fn gets the bare connection, outside any transaction
    future: Future[Any]
    asked_at: float = field(default_factory=time.monotonic)


class Writer:
    """Serialises the changes of one file, in whatever thread is free. Its connection opens with the first change."""

    def __init__(
        self,
        path: Path,
        durability: Durability,
        opened: FileId | None,
        session: Callable[[apsw.Connection], Session],
        threads: ThreadPool = _threads,
    ) -> None:
        self._path = path
        self._threads = threads
        self._make_session = session
        self._durability: Durability = durability
        self._opened = opened
        self._jobs: deque[_Job] = deque()
        self._patient: deque[_Job] = deque()  # each alone, when nothing else waits
        self.asked_at = 0.0  # when something was last asked for that is not patient, as time.monotonic() tells
        self._lock = threading.Condition()
        self._serving = False  # whether a thread has this writer, or one was asked for
        self._closed = False
        self._db: apsw.Connection | None = None
        self._session: Session | None = None
        self._data_version = -1
        self._last_us = 0
        self.commits = 0

    def adopt(self, db: apsw.Connection) -> None:
        """Take over an open connection to the file, before the first change."""
        self._db, self._session = db, self._make_session(db)

    def submit(self, fn: Callable[[Any], Any], label: Any, *, patient: bool = False) -> Future[Any]:
        """Queue a change, with what the session makes of its label; the future resolves after the commit that holds it, or
        with the error that kept it out. `patient`: it takes long and nobody waits for it: it lets all others go first, and
        none is committed with it.
        """
        return self._put(_Job(fn, label, Future()), patient=patient)

    def submit_bare(self, fn: Callable[[apsw.Connection], Any]) -> Future[Any]:
        """Queue work on the connection itself, outside any transaction (checkpoint, vacuum, backup)."""
        return self._put(_Job(fn, None, Future()))

    def _put(self, job: _Job, *, patient: bool = False) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise StorageError(f"{self._path} is closed; open it again")
            (self._patient if patient else self._jobs).append(job)
            if not patient:
                self.asked_at = job.asked_at
            ask, self._serving = not self._serving, True
        if ask:
            self._ask_for_a_thread()
        return job.future

    def close(self) -> None:
        """Finish what is queued, fold the log into the file and close."""
        with self._lock:
            self._closed = True
            while self._serving:
                self._lock.wait()
        with gate:
            self.let_go()

    def let_go(self) -> None:
        """Close the connection; the next change opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _ask_for_a_thread(self) -> None:
        try:
            self._threads.submit(self._serve)
        except RuntimeError:  # the interpreter is ending and starts no thread any more
            self._serve()

    def _serve(self) -> None:
        """Commit one group, then stand in line again: other files have their turn in between."""
        with self._lock:
            taken = self._take()
        jobs = [job for job in taken if job.future.set_running_or_notify_cancel()]
        if jobs:
            self._work(jobs)
        with self._lock:
            more = self._serving = bool(self._jobs or self._patient)
            self._lock.notify_all()
        if more:
            self._ask_for_a_thread()

    def _take(self) -> list[_Job]:
        if self._patient and (not self._jobs or time.monotonic() - self._patient[0].asked_at > PATIENCE):
            return [self._patient.popleft()]
        return [self._jobs.popleft() for _ in range(min(len(self._jobs), MAX_GROUP))]

    def _work(self, jobs: list[_Job]) -> None:
        try:
            with gate, typed_errors(self._path):
                db = self._connection()
                group: list[_Job] = []
                for job in jobs:
                    if job.label is not None:
                        group.append(job)
                        continue
                    self._commit_group(db, group)
                    group = []
                    self._bare(db, job)
                self._commit_group(db, group)
        except BaseException as e:  # whatever broke the connection is told to every caller still waiting
            for job in jobs:
                if not job.future.done():
                    job.future.set_exception(e)

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            check_same(self._path, self._opened)  # the log of a replaced file must not meet the new one
            self._db = connect(self._path, durability=self._durability, create=False)
            self._session = self._make_session(self._db)
        return self._db

    def _bare(self, db: apsw.Connection, job: _Job) -> None:
        try:
            with typed_errors(self._path):
                result = job.fn(db)
        except BaseException as e:
            job.future.set_exception(e)
        else:
            job.future.set_result(result)

    def _commit_group(self, db: apsw.Connection, group: list[_Job]) -> None:
        if not group:
            return
        assert self._session is not None
        session = self._session
        session.prepare([job.label for job in group])
        db.execute("BEGIN IMMEDIATE")
        try:
            check_same(self._path, self._opened)
            version = db.execute("PRAGMA data_version").get
            if version != self._data_version:  # another process wrote: its terms and deletions are unknown here
                session.forget()
                self._data_version = version
            now = self._time_of(session, group)
            try:
                done = [(job, job.fn(session.begin(now + i, job.label))) for i, job in enumerate(group)]
            except _FATAL:
                raise
            except BaseException:  # one change is bad: start again, each in a savepoint, so that only it fails
                session.forget()
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
                again = self._time_of(session, group)  # others may have written in between
                done = self._run_apart(db, session, group, again)
            db.execute("COMMIT")
            self.commits += 1
            check_same(self._path, self._opened)  # what went into a file that was deleted meanwhile is not acknowledged
        except BaseException:
            session.forget()
            if not db.get_autocommit():
                db.execute("ROLLBACK")
            raise
        for job, result in done:
            job.future.set_result(result)

    def _time_of(self, session: Session, group: list[_Job]) -> int:
        """The time of a group's first change, in µs; each has one of its own."""
        now = session.clock(self._last_us)
        self._last_us = now + len(group) - 1
        return now

    def _run_apart(
        self, db: apsw.Connection, session: Session, group: list[_Job], now_us: int
    ) -> list[tuple[_Job, Any]]:
        done = []
        for i, job in enumerate(group):
            db.execute("SAVEPOINT one")
            try:
                result = job.fn(session.begin(now_us + i, job.label))
            except _FATAL:
                raise
            except BaseException as e:
                db.execute("ROLLBACK TO one; RELEASE one")
                session.forget()
                job.future.set_exception(typed(self._path, e))
            else:
                db.execute("RELEASE one")
                done.append((job, result))
        return done
