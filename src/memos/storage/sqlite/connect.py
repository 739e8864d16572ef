"""Opening SQLite files: pragmas, typed errors, migrations with a backup before each upgrade, and the check that the
file which lies at a path is still the one that was opened (law 2: nothing is written into a deleted file).
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from memos.errors import (
    MemosError,
    SchemaTooNew,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    StorageReadOnly,
)
from memos.storage.files import none_left
from memos.storage.ports import Durability
from memos.storage.sqlite.forks import gate
from memos.storage.sqlite.schema import Migration
from memos.storage.sqlite.where import install_functions

BUSY_TIMEOUT_MS = 10_000
FileId = tuple[int, int]  # device and inode
_LITTLE = 64 << 10
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_CROWDED = frozenset({errno.EMFILE, errno.ENFILE})
_TOO_MANY = (
    "this process has too many files open: raise the limit (`ulimit -n 65536`) or lower `open_cubes`, then retry"
)
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@contextlib.contextmanager
def typed_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the file system into ours, with the file's name and what to do."""
    try:
        yield
    except MemosError:
        raise
    except apsw.FullError as e:
        raise StorageFull(f"no space left for {path}: the write was not stored; free disk space and retry") from e
    except (apsw.ReadOnlyError, apsw.PermissionsError) as e:
        raise StorageReadOnly(f"{path} cannot be written: check its permissions and those of its folder") from e
    except (apsw.CorruptError, apsw.NotADBError) as e:
        raise StorageDamaged(
            f"{path} is damaged or not a MemOS file ({e}); run `memos doctor`, restore a backup or import an archive"
        ) from e
    except (apsw.BusyError, apsw.LockedError) as e:
        raise StorageBusy(f"{path} stayed locked by another process for {BUSY_TIMEOUT_MS / 1000:.0f} s; retry") from e
    except apsw.CantOpenError as e:
        if none_left():
            raise StorageError(_TOO_MANY) from e
        raise StorageError(f"{path} cannot be opened: {e}; check that the folder exists and may be used") from e
    except apsw.IOError as e:
        if _no_room(path):
            raise StorageFull(f"no space left for {path}: the write was not stored; free disk space and retry") from e
        raise StorageError(f"reading or writing {path} failed: {e}; nothing unacknowledged was stored") from e
    except apsw.Error as e:
        raise StorageError(f"{path} cannot be used: {type(e).__name__}: {e}; run `memos doctor`") from e
    except OSError as e:
        if e.errno in _CROWDED:
            raise StorageError(_TOO_MANY) from e
        if e.errno in _FULL:
            raise StorageFull(f"no space left for {path}: free disk space and retry") from e
        if e.errno in _FORBIDDEN:
            raise StorageReadOnly(f"{path} cannot be written: check its permissions and those of its folder") from e
        raise StorageError(
            f"{path} cannot be used: {e.strerror or e}; check that the folder exists and may be used"
        ) from e


def _no_room(path: Path) -> bool:
    """Whether the disk is so full that not even the log's index can grow (SQLite calls this an I/O error)."""
    with contextlib.suppress(OSError):
        return shutil.disk_usage(path.parent).free < _LITTLE
    return False


def typed(path: Path, error: BaseException) -> BaseException:
    """An error of SQLite as `typed_errors` would raise it, any other as it is."""
    if isinstance(error, apsw.Error):
        try:
            with typed_errors(path):
                raise error
        except MemosError as e:
            return e
    return error


def file_size(path: Path) -> int:
    """Bytes of a file that may vanish at any moment; 0 when it has."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def remove_file(path: Path) -> int:
    """Delete a file that another may delete at the same moment. Returns the bytes freed."""
    with typed_errors(path):
        size = file_size(path)
        path.unlink(missing_ok=True)
        return size


def cube_files(path: Path) -> list[Path]:
    """A cube file and everything that may lie beside it."""
    with typed_errors(path):
        return [path, *(f for f in path.parent.glob(glob.escape(path.name) + "*") if f != path)]


def file_id(path: Path) -> FileId:
    """Which file lies at a path now. Raises StorageError when there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise StorageError(
            f"{path} was deleted or moved while it was in use: nothing is written; put the file back or restore a backup"
        ) from None
    return found.st_dev, found.st_ino


def check_same(path: Path, opened: FileId | None) -> None:
    """Raise StorageError when another file lies at the path than the one that was opened (None: do not check)."""
    if opened is not None and file_id(path) != opened:
        raise StorageError(f"{path} was replaced by another file while it was in use: close and open the cube again")


def connect(
    path: Path, *, read_only: bool = False, durability: Durability = "full", create: bool = True
) -> apsw.Connection:
    """Open one connection with our pragmas. Safe to use from any thread, one statement at a time.

    Memory-mapped reading stays off: it gains nothing measurable, and a file cut short from outside would kill the
    process.
    """
    gate.check()
    with gate, typed_errors(path):
        if read_only:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            log_there = path.with_name(path.name + "-wal").exists()
            mode = "ro" if os.access(path.parent, os.W_OK) or log_there else "ro&immutable=1"
            db = apsw.Connection(f"{path.absolute().as_uri()}?mode={mode}", flags)
        else:
            db = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0))
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            if not read_only:
                _write_ahead(db)
            db.execute(
                f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'};"
                "PRAGMA cache_size=-16000; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA secure_delete=ON;"
            ).fetchall()  # what follows a row runs only when the row is read
            install_functions(db)
        except BaseException:
            db.close()
            raise
        return db


def _write_ahead(db: apsw.Connection) -> None:
    """Switch a file to write-ahead logging. Of two processes that do so at once one is told "busy" without being made to wait."""
    until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL").fetchall()
            return
        except apsw.BusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.005)


def check_schema(db: apsw.Connection, path: Path, application_id: int, newest: int) -> int:
    """The schema version of a file, 0 when it is empty.

    Raises StorageDamaged when the file is some other database and SchemaTooNew when it comes from a newer MemOS.
    """
    with typed_errors(path):
        version, application, tables = db.execute(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema) "
            "FROM pragma_user_version, pragma_application_id"
        ).get
    if not tables and not version:
        return 0
    if application != application_id:
        raise StorageDamaged(f"{path} is an SQLite database but not one of ours; choose another path")
    if version > newest:
        raise SchemaTooNew(
            f"{path} has schema {version}, this MemOS knows {newest}: upgrade it (pip install . in a newer checkout)"
        )
    return int(version)


def migrate(db: apsw.Connection, path: Path, application_id: int, migrations: tuple[Migration, ...]) -> int:
    """Bring the file to the newest schema and return its version; a copy is kept beside it before an upgrade.

    Raises what `check_schema` raises, and StorageError when a step fails: the file is then as it was.
    """
    newest = len(migrations)
    version = check_schema(db, path, application_id, newest)
    if version == newest:
        return version
    with typed_errors(path):
        if version:
            _backup(db, path, version)
        db.execute("BEGIN IMMEDIATE")
        try:
            done = check_schema(db, path, application_id, newest)  # another process may have been first
            for step in range(done, newest):
                migrations[step](db)
                db.execute(f"PRAGMA user_version={step + 1}")
            db.execute(f"PRAGMA application_id={application_id}")
            db.execute("COMMIT")
        except BaseException as e:
            if not db.get_autocommit():
                db.execute("ROLLBACK")
            if isinstance(e, apsw.SQLError):
                raise StorageError(f"{path} could not be upgraded from schema {version} ({e}); it is unchanged") from e
            raise
        return newest


def backups(path: Path) -> list[Path]:
    """The copies that upgrades kept beside a file, and what a failed one left."""
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.v*.bak*"))


def _backup(db: apsw.Connection, path: Path, version: int) -> None:
    target = path.with_name(f"{path.name}.v{version}.{time.strftime('%Y%m%d%H%M%S')}.bak")
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        copy = apsw.Connection(str(partial))
        try:
            with copy.backup("main", db, "main") as job:
                job.step(-1)
        finally:
            copy.close()
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
