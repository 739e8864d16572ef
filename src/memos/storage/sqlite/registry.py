"""The cubes in the control file, and the grants on them. File names are random, never made from a name a user chose."""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw

from memos.errors import InvalidInput, NotFound, StorageError
from memos.memory.time import from_micros, to_micros, utcnow
from memos.storage.accounts import LEVELS, AuditPage, Grant
from memos.storage.held import abandoned, hold
from memos.storage.names import EVERYBODY, check_name, encoded_info
from memos.storage.ports import CubeInfo, Durability
from memos.storage.sqlite import audit
from memos.storage.sqlite.accounts import SqliteAccounts
from memos.storage.sqlite.connect import cube_files, remove_file, typed_errors
from memos.storage.sqlite.control import Control, Kept
from memos.storage.sqlite.usage import SqliteUsage

__all__ = ["LEVELS", "SqliteRegistry", "check_name"]


class SqliteRegistry:
    """Cubes and grants of one data folder; `accounts` are its users and keys, `llm_usage` what their language models used.
    All methods are quick, blocking and safe from any thread or process.
    """

    def __init__(self, folder: Path, *, durability: Durability = "full") -> None:
        self.folder = folder
        self._control = Control(folder, durability=durability)
        self._found: Kept[str, CubeInfo] = Kept()
        self.accounts = SqliteAccounts(self._control)
        self.llm_usage = SqliteUsage(self._control)
        with contextlib.suppress(StorageError):  # a disk that is full or cannot be written; the next start tries again
            self.sweep()

    def close(self) -> None:
        """Close the control file."""
        self._control.close()

    def sweep(self) -> None:
        """Delete the files of cubes whose deletion or import did not end because its process did.

        Only files that the control file knows to be refuse: a file it does not know may be all there is of a cube.
        """
        with self._control.use() as db:
            left: list[Any] = db.execute("SELECT key FROM meta WHERE key GLOB 'gone:*' OR key GLOB 'new:*'").fetchall()
        for (key,) in left:
            what, file = key.split(":", 1)
            with self._control.change() as db:  # nobody registers a cube meanwhile, or has since
                there = db.execute("SELECT 1 FROM meta WHERE key=?", (key,)).get
                if there and (what == "gone" or abandoned(_sign(self.folder / "cubes" / file))):
                    self._clear(db, file)

    def note(self, key: str, value: str) -> None:
        """Keep a word about the data folder for other processes; nothing is written when it is there already."""
        if self.noted(key) != value:
            with self._control.change() as db:
                db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (key, value))

    def noted(self, key: str) -> str | None:
        """What was kept under a key."""
        with self._control.use() as db:
            found: str | None = db.execute("SELECT value FROM meta WHERE key=?", (key,)).get
            return found

    def create(
        self, name: str, owner: str, info: Mapping[str, Any] | None = None, *, file: str | None = None
    ) -> tuple[CubeInfo, bool]:
        """The cube of this name, created with an empty file if there is none; the second value says whether it is new.

        `file`: a cube file that lies ready under a name of `new_file`, or was made within `building`. Raises InvalidInput
        for a new cube by the name of another user.
        """
        check_name(name, "cube")
        check_name(owner, "owner")
        stored = encoded_info(info)
        now = to_micros(utcnow())
        mine = file or self.new_file().name
        with self._control.change() as db:
            db.execute("INSERT OR IGNORE INTO users(name, created_at) VALUES(?, ?)", (owner, now))
            db.execute(
                "INSERT OR IGNORE INTO cubes(name, file, owner, created_at, info) VALUES(?, ?, ?, ?, ?)",
                (name, mine, owner, now, stored),
            )
            new = db.changes() > 0
            if new and name != owner and db.execute("SELECT 1 FROM users WHERE name=?", (name,)).get:
                raise InvalidInput(
                    f"{name!r} is the name of another user, which only her own cube may have; choose another name for the cube"
                )
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
        with self._control.use() as db:
            kept = self._found.fresh(db)
            if name in kept:
                return kept[name]
            row = db.execute(
                "SELECT name, owner, created_at, file, info FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)
            ).fetchone()
            if row is None:
                return None
            found = kept[name] = _info(db, row)
            return found

    def list(self, user: str | None = None) -> list[CubeInfo]:
        """All cubes, or those a user owns or was granted, by name."""
        sql = "SELECT name, owner, created_at, file, info FROM cubes WHERE deleted_at IS NULL"
        params: tuple[str, ...] = ()
        if user is not None:
            sql += " AND (owner=?1 OR name IN (SELECT cube FROM grants WHERE user IN (?1, ?2)))"
            params = (user, EVERYBODY)
        with self._control.use() as db:
            grants: dict[str, dict[str, str]] = {}
            for cube, guest, level in db.execute("SELECT cube, user, level FROM grants"):
                grants.setdefault(cube, {})[guest] = level
            return [_told(r, grants.get(r[0], {})) for r in db.execute(sql + " ORDER BY name", params)]

    def set_info(self, name: str, key: str, value: object, by: str) -> CubeInfo:
        """Put a value under a key of a cube's info (None takes it out), and tell the audit trail which key it was. Other keys
        stay as they are, whoever writes them meanwhile. Raises NotFound.
        """
        check_name(by, "by")
        with self._control.change() as db:
            row = db.execute("SELECT info, owner FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)).fetchone()
            if row is None:
                raise NotFound(f"cube {name!r} does not exist")
            info = {**(json.loads(row[0]) if row[0] else {}), key: value}
            stored = encoded_info({k: v for k, v in info.items() if v is not None})
            db.execute("UPDATE cubes SET info=? WHERE name=?", (stored, name))
            told = audit.record(db, by, "cube.set", name, str(row[1]), key)
        audit.tell(told)
        found = self.find(name)
        if found is None:
            raise NotFound(f"cube {name!r} does not exist")
        return found

    def tell(self, action: str, cube: CubeInfo, by: str, detail: str) -> None:
        """Write into the audit trail what was done to a cube, unless it is deleted meanwhile. The log gets no details."""
        with self._control.change() as db:
            if not db.execute("SELECT 1 FROM cubes WHERE file=? AND deleted_at IS NULL", (cube.location,)).get:
                return
            told = audit.record(db, by, action, cube.name, cube.owner, detail)
        audit.tell(replace(told, detail=""))

    def told(self, action: str, cube: str, limit: int = 100, cursor: str | None = None) -> AuditPage:
        """What the audit trail says of one kind of action on a cube, newest first. Raises InvalidInput."""
        with self._control.use() as db:
            return audit.page(db, limit, cursor, action=action, object=cube)

    def level(self, cube: CubeInfo, user: str) -> str | None:
        """What a user may do with a cube: read, write, admin (the owner's), or None."""
        return "admin" if user == cube.owner else cube.grants.get(user) or cube.grants.get(EVERYBODY)

    def grant(self, name: str, user: str, level: str | None, by: str) -> None:
        """Give a user (or `EVERYBODY`, who can only read) read, write or admin on a cube, or take every right away (None)."""
        check_name(user, "user")
        check_name(by, "by")
        if user == EVERYBODY and level not in (None, "read"):
            raise InvalidInput(f"everybody ('{EVERYBODY}') can be given read only, got {level!r}; name who may do more")
        if level is not None and level not in LEVELS:
            raise InvalidInput(f"a grant is one of {', '.join(LEVELS)} or None, got {level!r}")
        with self._control.change() as db:
            if not db.execute("SELECT 1 FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)).get:
                raise NotFound(f"cube {name!r} does not exist")
            if level is None:
                db.execute("DELETE FROM grants WHERE cube=? AND user=?", (name, user))
                told = audit.record(db, by, "grant.take", name, user)
                audit.forget_user(db, user)
            else:
                db.execute(
                    "INSERT OR REPLACE INTO grants(cube, user, level, granted_at, granted_by) VALUES(?, ?, ?, ?, ?)",
                    (name, user, level, to_micros(utcnow()), by),
                )
                told = audit.record(db, by, "grant.give", name, user, level)
        audit.tell(told)
        if level is None:
            self._control.forget()

    def grants(self, cube: str | None = None, user: str | None = None) -> builtins.list[Grant]:
        """The grants on a cube, of a user, or all, by cube and user."""
        with self._control.use() as db:
            rows: list[Any] = db.execute(
                "SELECT cube, user, level, granted_at, granted_by FROM grants "
                "WHERE (?1 IS NULL OR cube=?1) AND (?2 IS NULL OR user=?2) ORDER BY cube, user",
                (cube, user),
            ).fetchall()
        return [Grant(c, u, level, from_micros(at), by) for c, u, level, at, by in rows]

    def delete(self, name: str) -> Path:
        """Take a cube out of the registry; returns its file, which the caller removes and then reports as `removed`."""
        with self._control.change() as db:
            row = db.execute("SELECT file, owner FROM cubes WHERE name=? AND deleted_at IS NULL", (name,)).fetchone()
            if row is None:
                raise NotFound(f"cube {name!r} does not exist")
            file, owner = row
            guests: list[Any] = db.execute("SELECT user FROM grants WHERE cube=?", (name,)).fetchall()
            db.execute("DELETE FROM grants WHERE cube=?", (name,))
            db.execute("DELETE FROM cubes WHERE name=?", (name,))
            db.execute(
                "DELETE FROM users WHERE name=?1 AND NOT explicit AND NOT EXISTS(SELECT 1 FROM cubes WHERE owner=?1)",
                (owner,),
            )
            db.execute("INSERT INTO meta(key) VALUES(?)", (f"gone:{file}",))
            audit.forget_cube(db, name)
            for user in {owner, *(guest for (guest,) in guests)}:
                audit.forget_user(db, user)
        self._control.forget()
        return self.folder / "cubes" / str(file)

    def removed(self, file: str) -> int:
        """Delete what is left of the files of a deleted or never finished cube; returns the bytes freed."""
        with self._control.change() as db:
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
            with self._control.change() as db:
                db.execute("INSERT INTO meta(key) VALUES(?)", (f"new:{target.name}",))
            yield target
        except BaseException:
            with contextlib.suppress(StorageError):  # what cannot be removed now is swept at the next start
                self.removed(target.name)
            raise
        finally:
            held.close()
            sign.unlink(missing_ok=True)

    def new_file(self) -> Path:
        """A path for a new cube file, which no cube has."""
        return self.folder / "cubes" / f"{uuid.uuid4().hex}.cube"

    def path(self, cube: CubeInfo) -> Path:
        """The file a cube lives in."""
        return self.folder / "cubes" / cube.location


def _info(db: apsw.Connection, row: tuple[Any, ...]) -> CubeInfo:
    grants: list[Any] = db.execute("SELECT user, level FROM grants WHERE cube=?", (row[0],)).fetchall()
    return _told(row, dict(grants))


def _told(row: tuple[Any, ...], grants: Mapping[str, str]) -> CubeInfo:
    name, owner, created_at, file, info = row
    return CubeInfo(name, owner, from_micros(created_at), grants, file, json.loads(info) if info else {})


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
