"""Quick looks into a cube file that is perhaps not open: one short read-only connection, and nothing is kept.

For questions over many cubes: which of them holds an id, which has work marked. Each file is asked alone (law 4).
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.storage.sqlite import lived
from memos.storage.sqlite.connect import file_size, typed_errors

WAIT_MS = 2_000


def held(path: Path, ids: Collection[str]) -> set[str]:
    """Which of these memories the cube has. A file that is empty has none. Raises StorageError."""
    wanted = json.dumps([id_to_bytes(i).hex() for i in ids])
    sql = "SELECT DISTINCT id FROM memories WHERE id IN (SELECT unhex(value) FROM json_each(?))"
    return {id_from_bytes(row[0]) for row in _ask(path, sql, (wanted,))}


def marked(path: Path, task: str, attempts_below: int, before: float | None = None) -> bool:
    """Whether any memory of the cube is marked for this work (`before`: since before then, seconds since 1970; a mark of the
    future is of a clock that was put back). Raises StorageError.
    """
    sql, values = "SELECT 1 FROM todo WHERE task=? AND attempts<?", (task, attempts_below)
    if before is None:
        return bool(_ask(path, f"{sql} LIMIT 1", values))
    between = (int(before * 1e6), int(time.time() * 1e6))
    return bool(_ask(path, f"{sql} AND since NOT BETWEEN ? AND ? LIMIT 1", (*values, *between)))


def next_learning(path: Path, gap: int, judging: bool) -> int | None:
    """When learning from the cube's episodes has something to do next, µs (see `lived.next_work`). Raises StorageError."""
    if not _ask(path, "SELECT 1 FROM sqlite_master WHERE name='episodes'", ()):  # of an older version, not opened since
        return None
    found = _ask(path, lived.NEXT_WORK, (gap, int(judging)))[0][0]
    return None if found is None else int(found)


def touched_since(path: Path, when: float) -> bool:
    """Whether anything was written into the cube since `when` (seconds since 1970)."""
    for file in (path, path.with_name(path.name + "-wal")):
        with contextlib.suppress(OSError):
            if file.stat().st_mtime >= when:
                return True
    return False


def _ask(path: Path, sql: str, values: tuple[str | int, ...]) -> list[Any]:
    with typed_errors(path):
        if not file_size(path):
            return []
        with contextlib.closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as db:
            db.set_busy_timeout(WAIT_MS)
            if not db.execute("PRAGMA user_version").get:  # it is being made just now
                return []
            found: list[Any] = db.execute(sql, values).fetchall()
            return found
