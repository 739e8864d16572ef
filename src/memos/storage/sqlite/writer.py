"""The one writer of an open cube file: a thread that takes all waiting changes, runs each in a savepoint of one
transaction, commits once, and only then answers (group commit). Guards law 2: answered means on disk, in the file
that lies at the path.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from memos.errors import StorageError
from memos.storage.ports import Change, Durability
from memos.storage.sqlite.connect import FileId, check_same, connect, typed, typed_errors
from memos.storage.sqlite.forks import gate
from memos.storage.sqlite.terms import TermDictionary
from memos.storage.sqlite.tx import SqliteTx, clock

MAX_GROUP = 512
IDLE_SECONDS = 5.0


_FATAL = (apsw.FullError, apsw.IOError, apsw.CorruptError, apsw.ReadOnlyError)  # SQLite may have rolled back on its own


@dataclass(slots=True)
class _Job:
    fn: Callable[[Any], Any]
    change: Change | None  # None: fn gets the bare connection, outside any transaction
    future: Future[Any]


class Writer:
    """Serialises the changes of one cube file. The thread starts with the first change and ends when idle."""

    def __init__(self, path: Path, durability: Durability, opened: FileId | None = None) -> None:
        self._path = path
        self._durability: Durability = durability
        self._opened = opened
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()  # None wakes the thread so that it can end
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._db: apsw.Connection | None = None
        self._terms: TermDictionary | None = None
        self._data_version = -1
        self._last_us = 0
        self.commits = 0

    def submit(self, fn: Callable[[SqliteTx], Any], change: Change) -> Future[Any]:
        """Queue a change; the future resolves after the commit that holds it, or with the error that kept it out."""
        return self._put(_Job(fn, change, Future()))

    def submit_bare(self, fn: Callable[[apsw.Connection], Any]) -> Future[Any]:
        """Queue work on the connection itself, outside any transaction (checkpoint, vacuum, backup)."""
        return self._put(_Job(fn, None, Future()))

    def _put(self, job: _Job) -> Future[Any]:
        with self._lock:
            if self._closed:
                raise StorageError(f"{self._path} is closed; open the cube again")
            self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name=f"memos-writer-{self._path.name}", daemon=True)
                self._thread.start()
        return job.future

    def close(self) -> None:
        """Finish what is queued, fold the log into the file and close."""
        with self._lock:
            self._closed = True
            thread = self._thread
            self._jobs.put(None)
        if thread is not None:
            thread.join()
        with gate:
            self.let_go()

    def let_go(self) -> None:
        """Close the connection; the next change opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _serve(self) -> None:
        while True:
            try:
                waiting = [self._jobs.get(timeout=IDLE_SECONDS)]
            except queue.Empty:
                waiting = []
            with contextlib.suppress(queue.Empty):
                while waiting and len(waiting) < MAX_GROUP:
                    waiting.append(self._jobs.get_nowait())
            jobs = [j for j in waiting if j is not None and j.future.set_running_or_notify_cancel()]
            if jobs:
                self._work(jobs)
                if not self._closed:
                    continue
            with self._lock:
                if self._jobs.empty():
                    self._thread = None
                    return

    def _work(self, jobs: list[_Job]) -> None:
        try:
            with gate, typed_errors(self._path):
                db = self._connection()
                group: list[_Job] = []
                for job in jobs:
                    if job.change is not None:
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
            self._terms = TermDictionary(self._db)
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
        assert self._terms is not None
        db.execute("BEGIN IMMEDIATE")
        try:
            check_same(self._path, self._opened)
            version = db.execute("PRAGMA data_version").get
            if version != self._data_version:  # another process wrote: its terms and deletions are unknown here
                self._terms.forget()
                self._data_version = version
            now = self._time_of(db, group)
            try:
                done = [(job, self._run(db, job, now + i)) for i, job in enumerate(group)]
            except _FATAL:
                raise
            except BaseException:  # one change is bad: start again, each in a savepoint, so that only it fails
                self._terms.forget()
                db.execute("ROLLBACK")
                db.execute("BEGIN IMMEDIATE")
                done = self._run_apart(db, group, self._time_of(db, group))  # others may have written in between
            db.execute("COMMIT")
            self.commits += 1
            check_same(self._path, self._opened)  # what went into a file that was deleted meanwhile is not acknowledged
        except BaseException:
            self._terms.forget()
            if not db.get_autocommit():
                db.execute("ROLLBACK")
            raise
        for job, result in done:
            job.future.set_result(result)

    def _time_of(self, db: apsw.Connection, group: list[_Job]) -> int:
        """The time of a group's first change, in µs; each has one of its own."""
        now = clock(db, self._last_us)
        self._last_us = now + len(group) - 1
        return now

    def _run(self, db: apsw.Connection, job: _Job, now_us: int) -> Any:
        assert self._terms is not None and job.change is not None
        return job.fn(SqliteTx(db, self._terms, now_us, job.change))

    def _run_apart(self, db: apsw.Connection, group: list[_Job], now_us: int) -> list[tuple[_Job, Any]]:
        assert self._terms is not None
        done = []
        for i, job in enumerate(group):
            db.execute("SAVEPOINT one")
            try:
                result = self._run(db, job, now_us + i)
            except _FATAL:
                raise
            except BaseException as e:
                db.execute("ROLLBACK TO one; RELEASE one")
                self._terms.forget()
                job.future.set_exception(typed(self._path, e))
            else:
                db.execute("RELEASE one")
                done.append((job, result))
        return done
