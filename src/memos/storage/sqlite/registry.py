"""The control file: which users and cubes exist, who may do what. File names are random, never made from a name a
user chose.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw

from memos.errors import InvalidInput, NotFound, StorageError
from memos.memory.time import from_micros, to_micros, utcnow
from memos.storage.held import abandoned, hold
from memos.storage.ports import CubeInfo, Durability
from memos.storage.sqlite.connect import (
    BUSY_TIMEOUT_MS,
    check_same,
    connect,
    cube_files,
    file_id,
    migrate,
    remove_file,
    typed_errors,
)
from memos.storage.sqlite.forks import gate
from memos.storage.sqlite.schema import CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS

LEVELS = ("read", "write", "admin")
MAX_NAME = 256
LOG_WAIT_MS = 500


def check_name(name: str, what: str) -> str:
    """A user's, cube's or session's name: any text of 1 to 256 characters without control characters."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidInput(f"{what} must be a non-empty text, got {name!r}")
    if len(name) > MAX_NAME:
        raise InvalidInput(f"{what} is {len(name)} characters long, at most {MAX_NAME} are allowed: {name[:40]!r}…")
    if any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) <= 0xDFFF for c in name):
        raise InvalidInput(f"{what} must not contain control characters or lone surrogates: {name!r}")
    return name


class SqliteRegistry:
    """Users, cubes and grants of one data folder. All methods are quick, blocking and safe from any thread or
    process.
    """

    def __init__(self, folder: Path, *, durability: Durability = "full") -> None:
        self.folder = folder
        self._path = folder / "control.db"
        with typed_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._durability: Durability = durability
        self._found: dict[str, CubeInfo] = {}
        self._version = -1
        self._closed = False
        with gate:
            self._db: apsw.Connection | None = connect(self._path, durability=durability)
            migrate(self._db, self._path, CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS)
            self._opened = file_id(self._path)
            gate.register(self)
        with contextlib.suppress(StorageError):  # a disk that is full or cannot be written; the next start tries again
            self.sweep()

    def close(self) -> None:
        """Close the control file."""
        with gate, self._lock:
            self._closed = True
            self.let_go()

    def let_go(self) -> None:
        """Close the connection; the next call opens it again."""
        if self._db is not None:
            self._db.close()
            self._db, self._version = None, -1

    def sweep(self) -> None:
        """Delete the files of cubes whose deletion or import did not end because its process did.

        Only files that the control file knows to be refuse: a file it does not know may be all there is of a cube.
        """
        with self._use() as db:
            left: list[Any] = db.execute("SELECT key FROM meta WHERE key GLOB 'gone:*' OR key GLOB 'new:*'").fetchall()
        for (key,) in left:
            what, file = key.split(":", 1)
            with self._change() as db:  # nobody registers a cube meanwhile, or has since
                there = db.execute("SELECT 1 FROM meta WHERE key=?", (key,)).get
                if there and (what == "gone" or abandoned(_sign(self.folder / "cubes" / file))):
                    self._clear(db, file)

    def create(
        self, name: str, owner: str, info: Mapping[str, Any] | None = None, *, file: str | None = None
    ) -> tuple[CubeInfo, bool]:
        """The cube of this name, created with an empty file if there is none; the second value says whether it is new.

        `file`: a cube file that lies ready under a name of `new_file`, or was made within `building`.
        """
        check_name(name, "cube")
        check_name(owner, "owner")
        stored = _encoded(info)
        now = to_micros(utcnow())
        mine = file or self.new_file().name
        with self._change() as db:
            db.execute("INSERT OR IGNORE INTO users(name, created_at) VALUES(?, ?)", (owner, now))
            db.execute(
                "INSERT OR IGNORE INTO cubes(name, file, owner, created_at, info) VALUES(?, ?, ?, ?, ?)",
                (name, mine, owner, now, stored),
            )
            new = db.changes() > 0
            if new and file is None:
                _make_empty(self.folder / "cubes" / mine)
            elif new:
                db.execute("DELETE FROM meta WHERE key=?", (f"new:{mine}",))
                with contextlib.suppress(OSError):  # some systems keep a file that is open
                    _sign(self.folder / "cubes" / mine).unlink(missing_ok=True)
        found = self.find(name)
        assert found is not None
        return found, new

    def find(self, name: str) -> CubeInfo | None:
        """The cube of this name. Asked at every call, so it is kept until anybody has changed the control file."""
        with self._use() as db:
            version = int(db.execute("PRAGMA data_version").get)
            if version != self._version or len(self._found) > 10_000:
                self._found.clear()
                self._version = version
            if name in self._found:
                return self._found[name]
            row = db.execute(
                "SELECT name, owner, created_at, file, info FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)
            ).fetchone()
            if row is None:
                return None
            found = self._found[name] = _info(db, row)
            return found

    def list(self, user: str | None = None) -> list[CubeInfo]:
        """All cubes, or those a user owns or was granted, by name."""
        sql = "SELECT name, owner, created_at, file, info FROM cubes WHERE deleted_at IS NULL"
        params: tuple[str, ...] = ()
        if user is not None:
            sql += " AND (owner=? OR name IN (SELECT cube FROM grants WHERE user=?))"
            params = (user, user)
        with self._use() as db:
            return [_info(db, r) for r in db.execute(sql + " ORDER BY name", params).fetchall()]

    def level(self, cube: CubeInfo, user: str) -> str | None:
        """What a user may do with a cube: read, write, admin (the owner's), or None."""
        return "admin" if user == cube.owner else cube.grants.get(user)

    def grant(self, name: str, user: str, level: str | None, by: str) -> None:
        """Give a user read, write or admin on a cube, or take every right away (None)."""
        check_name(user, "user")
        if level is not None and level not in LEVELS:
            raise InvalidInput(f"a grant is one of {', '.join(LEVELS)} or None, got {level!r}")
        with self._change() as db:
            if not db.execute("SELECT 1 FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)).get:
                raise NotFound(f"cube {name!r} does not exist")
            if level is None:
                db.execute("DELETE FROM grants WHERE cube=? AND user=?", (name, user))
            else:
                db.execute(
                    "INSERT OR REPLACE INTO grants(cube, user, level, granted_at, granted_by) VALUES(?, ?, ?, ?, ?)",
                    (name, user, level, to_micros(utcnow()), by),
                )
        if level is None:
            self._forget_names()

    def delete(self, name: str) -> Path:
        """Take a cube out of the registry; returns its file, which the caller removes and then reports as `removed`."""
        with self._change() as db:
            file = db.execute("SELECT file FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)).get
            if file is None:
                raise NotFound(f"cube {name!r} does not exist")
            db.execute("DELETE FROM grants WHERE cube=?", (name,))
            db.execute("DELETE FROM cubes WHERE name=?", (name,))
            db.execute("DELETE FROM users WHERE name NOT IN (SELECT owner FROM cubes)")
            db.execute("INSERT INTO meta(key) VALUES(?)", (f"gone:{file}",))
        self._forget_names()
        return self.folder / "cubes" / str(file)

    def removed(self, file: str) -> int:
        """Delete what is left of the files of a deleted or never finished cube; returns the bytes freed."""
        with self._change() as db:
            return self._clear(db, file)

    def _clear(self, db: apsw.Connection, file: str) -> int:
        freed = sum(map(remove_file, cube_files(self.folder / "cubes" / file)))
        db.execute("DELETE FROM meta WHERE key IN (?, ?)", (f"gone:{file}", f"new:{file}"))
        return freed

    @contextlib.contextmanager
    def building(self) -> Iterator[Path]:
        """A path for a new cube file. When the block fails, or its process ends, without a `create` of the file,
        nothing of it stays.
        """
        target = self.new_file()
        sign = _sign(target)
        with typed_errors(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            held = sign.open("xb")
        try:
            hold(held)
            with self._change() as db:
                db.execute("INSERT INTO meta(key) VALUES(?)", (f"new:{target.name}",))
            yield target
        except BaseException:
            with contextlib.suppress(StorageError):  # what cannot be removed now is swept at the next start
                self.removed(target.name)
            raise
        finally:
            held.close()
            sign.unlink(missing_ok=True)

    def _forget_names(self) -> None:
        """Clear the log of names that were deleted. (The pages are: `secure_delete` is on.)"""
        with self._use() as db:
            db.set_busy_timeout(LOG_WAIT_MS)
            try:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except apsw.BusyError:
                pass  # another process is in the middle of something: its next deletion, or the last to close, does it
            finally:
                db.set_busy_timeout(BUSY_TIMEOUT_MS)

    def new_file(self) -> Path:
        """A path for a new cube file, which no cube has."""
        return self.folder / "cubes" / f"{uuid.uuid4().hex}.cube"

    def path(self, cube: CubeInfo) -> Path:
        """The file a cube lives in."""
        return self.folder / "cubes" / cube.location

    @contextlib.contextmanager
    def _use(self) -> Iterator[apsw.Connection]:
        """The connection, for one caller at a time."""
        with gate, self._lock, typed_errors(self._path):
            if self._db is None:
                if self._closed:
                    raise StorageError(f"{self._path} is closed; make a new MemOS")
                check_same(self._path, self._opened)  # the log of a replaced file must not meet the new one
                self._db = connect(self._path, durability=self._durability, create=False)
            yield self._db

    @contextlib.contextmanager
    def _change(self) -> Iterator[apsw.Connection]:
        """One transaction on the control file."""
        with self._use() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                check_same(self._path, self._opened)
                yield db
                self._found.clear()  # data_version tells of other connections only
                db.execute("COMMIT")
            except BaseException:
                if not db.get_autocommit():
                    db.execute("ROLLBACK")
                raise


def _info(db: apsw.Connection, row: tuple[Any, ...]) -> CubeInfo:
    name, owner, created_at, file, info = row
    grants: list[Any] = db.execute("SELECT user, level FROM grants WHERE cube=?", (name,)).fetchall()
    return CubeInfo(name, owner, from_micros(created_at), dict(grants), file, json.loads(info) if info else {})


def _encoded(info: Mapping[str, Any] | None) -> str | None:
    if not info:
        return None
    try:
        return json.dumps(dict(info), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidInput(f"info cannot be written as JSON ({e})") from None


def _sign(path: Path) -> Path:
    """The file that says, by its lock, that somebody is building a cube file."""
    return path.with_name(path.name + ".building")


def _make_empty(path: Path) -> None:
    """The file of a new cube is there before the cube is: one that is missing later was lost, and is not made anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with contextlib.suppress(OSError):  # a folder cannot be synced everywhere
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
