"""SQLite files of others, opened so that nothing in them runs and nothing beside them changes: plain tables only, read-only,
every value bounded. One with a log beside it that is not in it yet is read from a copy.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import apsw

from memos.errors import InvalidInput
from memos.moving.files import head, opened

MOST_VALUE = 16 << 20  # bytes of a value that is looked at
_TOO_LARGE = 0  # what stands for a value that is larger; no text is a number
_TRIES = 4
_PATIENCE = 1_000_000_000  # steps of SQLite, half a minute; rows that come give new patience. No file keeps us for ever
_PER_ROW = 50_000
_MAGIC = b"SQLite format 3\0"

Value = str | int | float | bytes | None


class Row(dict[str, Any]):
    """The values of a row by their columns; `bad` names the first that cannot be read, and why."""

    __slots__ = ("bad",)

    def __init__(self) -> None:
        self.bad: str | None = None


def is_sqlite(path: Path) -> bool:
    """Whether a file begins like a database of SQLite."""
    return head(path, len(_MAGIC)) == _MAGIC


class ForeignSqlite:
    """A database of others. Raises InvalidInput where it is none, is damaged, or is being written to.

    `tables`: the columns of each plain table. Views, virtual tables, and tables with computed columns are not among them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with opened(path) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise InvalidInput(f"{path} is no SQLite database")
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._patience = _PATIENCE
        try:
            self._db = self._open()
            self.tables = self._plain_tables()
        except apsw.Error as e:
            self.close()
            raise InvalidInput(f"{path} cannot be read: {_reason(e)}") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file, and of the copy where there is one."""
        db: apsw.Connection | None = getattr(self, "_db", None)
        if db is not None:
            db.close(True)
        if self._copy is not None:
            self._copy.cleanup()
            self._copy = None

    def has(self, wanted: Mapping[str, Iterable[str]]) -> bool:
        """Whether these plain tables with these columns are in it."""
        return all(set(columns) <= self.tables.get(table, frozenset()) for table, columns in wanted.items())

    def count(self, table: str, where: str = "1") -> int:
        """How many rows a table has; none where it does not exist or cannot be counted."""
        if table not in self.tables:
            return 0
        with contextlib.suppress(InvalidInput):
            for (found,) in self.query(f'select count(*) from "{table}" where {where}'):
                return int(found)
        return 0

    def query(self, sql: str, given: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement of ours. Raises InvalidInput where the file turns out to be damaged, or never answers."""
        try:
            whole = tuple(v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in given)
            for row in self._db.cursor().execute(sql, whole):
                self._patience = min(_PATIENCE, self._patience + _PER_ROW)
                yield row
        except apsw.InterruptError:
            raise InvalidInput(
                f"{self._path} takes too long to answer; this is no file of the program it claims to be of"
            ) from None
        except (apsw.Error, UnicodeError) as e:
            raise InvalidInput(f"{self._path} cannot be read any further: {_reason(e)}") from None

    def row(self, table: str, rowid: int, columns: Iterable[str]) -> Row | None:
        """One row of a plain table, of it these columns, as far as the table has them."""
        for row in self.rows(table, columns, "rowid = ?", (rowid,)):
            return row
        return None

    def rows(
        self, table: str, columns: Iterable[str], where: str = "1", given: tuple[Any, ...] = (), order: str = "rowid"
    ) -> Iterator[Row]:
        """Rows of a plain table, of them these columns, as far as the table has them. Texts come as text."""
        wanted = [c for c in columns if c in self.tables.get(table, frozenset())]
        if not wanted:
            return
        chosen = ", ".join(_chosen(c) for c in wanted)
        for values in self.query(f'select {chosen} from "{table}" where {where} order by {order}', given):
            row = Row()
            for place, column in enumerate(wanted):
                row[column], why = _value(values[2 * place], values[2 * place + 1])
                if why and row.bad is None:
                    row.bad = f"its {column} {why}"
            yield row

    def _open(self) -> apsw.Connection:
        beside = [Path(f"{self._path}{end}") for end in ("-wal", "-journal")]
        if any(p.is_symlink() for p in beside):
            raise InvalidInput(f"{self._path} has a log beside it that is a link; it is not followed")
        logs = [p for p in beside if p.is_file() and (p.name.endswith("-wal") or p.stat().st_size > 0)]
        if logs:
            return self._connect(self._copied(logs), "mode=rw")
        return self._connect(self._path, "mode=ro&immutable=1")

    def _connect(self, path: Path, how: str) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_URI | (apsw.SQLITE_OPEN_READWRITE if how == "mode=rw" else apsw.SQLITE_OPEN_READONLY)
        db = apsw.Connection(f"file:{quote(str(path.absolute()))}?{how}", flags=flags)
        self._db = db
        for setting, value in (
            (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
            (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
            (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        ):
            db.config(setting, value)
        db.limit(apsw.SQLITE_LIMIT_LENGTH, 2 * MOST_VALUE)
        db.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
        db.set_progress_handler(self._waited, 10_000)
        db.execute("pragma mmap_size = 0; pragma cache_size = -8000; pragma query_only = 1; pragma cell_size_check = 1")
        return db

    def _waited(self) -> bool:
        self._patience -= 10_000
        return self._patience < 0

    def _copied(self, logs: list[Path]) -> Path:
        """A copy in a temporary folder, taken while nothing was written."""
        self._copy = tempfile.TemporaryDirectory(prefix="memos-import-")
        target = Path(self._copy.name) / "db"
        for _ in range(_TRIES):
            before = _stamps(self._path, *logs)
            try:
                shutil.copyfile(self._path, target)
                for log in logs:
                    shutil.copyfile(log, f"{target}{log.name.removeprefix(self._path.name)}", follow_symlinks=False)
            except OSError as e:
                raise InvalidInput(f"{self._path} and the log beside it cannot be copied: {e.strerror or e}") from None
            if _stamps(self._path, *logs) == before:
                return target
        raise InvalidInput(f"{self._path} is being written to; end the program that it belongs to, and import again")

    def _plain_tables(self) -> dict[str, frozenset[str]]:
        names = self.query(
            "select name from sqlite_schema where type = 'table' and rootpage > 0 and octet_length(name) < 100 limit 1000"
        )
        found = {}
        for (name,) in list(names):
            if isinstance(name, str) and '"' not in name and not name.startswith("sqlite_"):
                columns = list(self.query("select name, hidden from pragma_table_xinfo(?)", (name,)))
                if not any(hidden for _, hidden in columns):
                    found[name] = frozenset(str(column) for column, _ in columns)
        return found


@functools.cache
def _chosen(column: str) -> str:
    """A column as two: what type it has, and its value, which is only loaded when it is not too large."""
    name = f'"{column}"'
    return (
        f"typeof({name}), case when typeof({name}) in ('text', 'blob') and octet_length({name}) > {MOST_VALUE} then {_TOO_LARGE} "
        f"when typeof({name}) = 'text' then cast({name} as blob) else {name} end"
    )


def _value(type: str, value: Any) -> tuple[Value, str | None]:
    if type not in ("text", "blob"):
        return value, None
    if not isinstance(value, bytes):
        return None, f"has more than {MOST_VALUE >> 20} MB"
    if type == "blob":
        return value, None
    try:
        return value.decode(), None
    except UnicodeDecodeError:
        return None, "is not UTF-8 text"


def _stamps(*paths: Path) -> list[tuple[int, int, int]]:
    found = []
    for path in paths:
        with contextlib.suppress(OSError):
            at = os.stat(path, follow_symlinks=path == paths[0])
            found.append((at.st_ino, at.st_size, at.st_mtime_ns))
    return found


def _reason(e: Exception) -> str:
    return {
        "NotADBError": "it is no database",
        "CorruptError": "it is damaged",
        "FullError": "there is no room for a copy of it",
        "BusyError": "another program holds it",
        "CantOpenError": "it cannot be opened",
    }.get(type(e).__name__, type(e).__name__)
