"""Opening SQLite files: pragmas, typed errors, migrations with a backup before each upgrade."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import apsw

from memos.errors import (
    SchemaTooNew,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    StorageReadOnly,
)
from memos.storage.ports import Durability
from memos.storage.sqlite.schema import Migration

BUSY_TIMEOUT_MS = 10_000


@contextlib.contextmanager
def typed_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, with the file's name and what to do."""
    try:
        yield
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
        raise StorageError(f"{path} cannot be opened: {e}; check that the folder exists and may be used") from e
    except apsw.IOError as e:
        raise StorageError(f"reading or writing {path} failed: {e}; nothing unacknowledged was stored") from e


def connect(path: Path, *, read_only: bool = False, durability: Durability = "full") -> apsw.Connection:
    """Open one connection with our pragmas. Safe to use from any thread, one statement at a time."""
    with typed_errors(path):
        if read_only:
            flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
            mode = "ro" if os.access(path.parent, os.W_OK) or path.with_name(path.name + "-wal").exists() else "ro&immutable=1"
            db = apsw.Connection(f"{path.absolute().as_uri()}?mode={mode}", flags)
        else:
            db = apsw.Connection(str(path))
        db.set_busy_timeout(BUSY_TIMEOUT_MS)
        if not read_only:
            db.execute("PRAGMA journal_mode=WAL")
        db.execute(
            f"PRAGMA synchronous={'FULL' if durability == 'full' else 'NORMAL'};"
            "PRAGMA cache_size=-16000; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=268435456; PRAGMA secure_delete=ON;"
        )
        return db


def migrate(db: apsw.Connection, path: Path, application_id: int, migrations: tuple[Migration, ...]) -> int:
    """Bring the file to the newest schema and return its version; a copy is kept beside it before an upgrade.

    Raises StorageDamaged when the file is some other database and SchemaTooNew when it comes from a newer MemOS.
    """
    with typed_errors(path):
        version = _version(db)
        if version == len(migrations):
            _check_application(db, path, application_id)
            return version
        if version > len(migrations):
            raise SchemaTooNew(
                f"{path} has schema {version}, this MemOS knows {len(migrations)}: upgrade with `pip install -U memos`"
            )
        if version > 0:
            _check_application(db, path, application_id)
            _backup(db, path, version)
        elif db.execute("SELECT count(*) FROM sqlite_schema").get:
            raise StorageDamaged(f"{path} is an SQLite database but not one of ours; choose another path")
        db.execute("BEGIN IMMEDIATE")
        try:
            for step in range(_version(db), len(migrations)):  # another process may have been first
                migrations[step](db)
                db.execute(f"PRAGMA user_version={step + 1}")
            db.execute(f"PRAGMA application_id={application_id}")
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        return len(migrations)


def _version(db: apsw.Connection) -> int:
    return int(db.execute("PRAGMA user_version").get)


def _check_application(db: apsw.Connection, path: Path, application_id: int) -> None:
    if db.execute("PRAGMA application_id").get != application_id:
        raise StorageDamaged(f"{path} is an SQLite database but not one of ours; choose another path")


def _backup(db: apsw.Connection, path: Path, version: int) -> None:
    target = path.with_name(f"{path.name}.v{version}.{time.strftime('%Y%m%d%H%M%S')}.bak")
    copy = apsw.Connection(str(target))
    try:
        with copy.backup("main", db, "main") as job:
            job.step(-1)
    finally:
        copy.close()
