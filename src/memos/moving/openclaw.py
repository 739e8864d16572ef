"""OpenClaw: its state folder with the sessions of its agents (`agents/*/sessions/*.jsonl`, and, since 2026, the agent's own
database) and the memory files of its workspaces, or one of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.moving import openclaw_files, openclaw_session
from memos.moving.files import head, is_unlinked, lines, opened, text_of
from memos.moving.foreign_sqlite import ForeignSqlite, is_sqlite
from memos.moving.guard import guarded
from memos.moving.items import Bad, Item, Left
from memos.moving.openclaw_session import Entry

_NEEDED = {"transcript_events": ("session_id", "seq", "event_json")}
_INDEXES = {
    "memory_index_chunks": ("id", "path", "source", "text"),
    "chunks": ("id", "path", "source", "text", "start_line"),
}
_SESSION = re.compile(r"[^.].*\.jsonl")
_COPIES = re.compile(r"\.(?:reset|deleted|checkpoint|bak)\b|\.trajectory\.jsonl$", re.IGNORECASE)
_LARGEST_INDEX = 64 << 20
_MOST_FILES = 100_000


def _fits(path: Path) -> bool:
    if path.is_dir():
        return _root(path) is not None or openclaw_files.is_workspace(path)
    if is_sqlite(path):
        try:
            with ForeignSqlite(path) as db:
                return db.has(_NEEDED) or any(db.has({table: columns}) for table, columns in _INDEXES.items())
        except InvalidInput:
            return False
    return openclaw_session.is_header(head(path, 1 << 16))


def _read(path: Path) -> Iterator[Item]:
    if not path.is_dir():
        yield from _database(path, set(), set()) if is_sqlite(path) else _session_file(path, {})
        return
    root = _root(path)
    if root is None:
        yield from openclaw_files.workspace(path, path.name, set())
        return
    notes: set[str] = set()
    if _is_agent(root):
        yield from _agent(root, notes)
    elif _sessions(root):
        yield from _session_files(root, set())
    for workspace in openclaw_files.workspaces(root):
        yield from openclaw_files.workspace(workspace, workspace.name, notes)
    for agent in _folders(root / "agents"):
        yield from _agent(agent, notes)
    for found in _files(root / "memory", ".sqlite"):
        yield from _kept(found, set(), notes)


def _root(path: Path) -> Path | None:
    """The state folder that a path is; one of an agent, or of its sessions, stands for the whole of itself."""
    return path if _folders(path / "agents") or _is_agent(path) or _sessions(path) else None


def _is_agent(path: Path) -> bool:
    return bool(_sessions(path / "sessions")) or is_unlinked(path / "agent" / "openclaw-agent.sqlite")


def _agent(folder: Path, notes: set[str]) -> Iterator[Item]:
    known: set[str] = set()
    database = folder / "agent" / "openclaw-agent.sqlite"
    if is_unlinked(database):
        yield from _kept(database, known, notes)
    yield from _session_files(folder / "sessions", known)


def _kept(database: Path, known: set[str], notes: set[str]) -> Iterator[Item]:
    try:
        yield from _database(database, known, notes)
    except InvalidInput as e:
        yield Bad(database.name, str(e))


def _session_files(folder: Path, known: set[str]) -> Iterator[Item]:
    keys = _keys(folder / "sessions.json")
    copies = both = 0
    for path in _sessions(folder):
        if _COPIES.search(path.name):
            copies += 1
        elif path.name.split(".", 1)[0].split("_")[-1] in known or path.stem in known:
            both += 1
        else:
            try:
                yield from _session_file(path, keys)
            except InvalidInput as e:
                yield Bad(path.name[:200], str(e))
    if copies:
        yield Left("copies of sessions", copies, "kept there before a reset, a deletion or a compaction")
    if both:
        yield Left("files of sessions", both, "the agent's database has them")


def _session_file(path: Path, keys: dict[str, str]) -> Iterator[Item]:
    """A session, read twice: once for which of its branches is the one that was gone on with."""
    with opened(path) as file:
        branch = openclaw_session.branch(entry for _, entry in _entries(file, path.name) if entry is not None)
    with opened(path) as file:
        numbered = ((f"{path.name[:200]}, line {n}", entry) for n, entry in _entries(file, path.name))
        yield from openclaw_session.items(numbered, branch, path.stem, keys)


def _entries(file: Any, name: str) -> Iterator[tuple[int, Entry | None]]:
    for number, line in lines(file, name):
        try:
            value = json.loads(line) if line is not None else None
        except (ValueError, RecursionError):
            value = None
        yield number, value if isinstance(value, dict) else None


def _database(path: Path, known: set[str], notes: set[str]) -> Iterator[Item]:
    """An agent's database: its sessions, and pieces of those memory files that are not there any more. `known` learns the ids of
    the sessions; `notes`: the memory files that were read.
    """
    with ForeignSqlite(path) as db:
        if db.has(_NEEDED):
            keys = {}
            for row in db.rows("session_windows", ("session_id", "session_key")):
                if isinstance(row.get("session_id"), str) and isinstance(row.get("session_key"), str):
                    keys[row["session_id"]] = row["session_key"]
            for (session,) in db.query(
                "select session_id from transcript_events group by session_id order by min(created_at)"
            ):
                if isinstance(session, str):
                    known.add(session)
                    yield from openclaw_session.stored(db, session, keys)
        for table, columns in _INDEXES.items():
            if db.has({table: columns}):
                yield from openclaw_files.pieces(db, table, notes)
        if number := db.count("session_transcript_cold_archives"):
            yield Left(
                "sessions in cold archives", number, "compressed; bring them back with OpenClaw, and import again"
            )
        if number := db.count("memory_embedding_cache"):
            yield Left("vectors", number, "vectors are made again here")


def _keys(path: Path) -> dict[str, str]:
    """The key of each session, from the index beside them."""
    if not is_unlinked(path):
        return {}
    try:
        with opened(path) as file:
            told = json.loads(text_of(file, path.name, _LARGEST_INDEX))
    except (InvalidInput, ValueError, RecursionError):
        return {}  # it only names the sessions
    if not isinstance(told, dict):
        return {}
    return {
        entry["sessionId"]: key
        for key, entry in told.items()
        if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str)
    }


def _sessions(folder: Path) -> list[Path]:
    found = _files(folder, ".jsonl")
    return [p for p in found if _COPIES.search(p.name) or openclaw_session.is_header(head(p, 1 << 16))]


def _files(folder: Path, end: str) -> list[Path]:
    if not folder.is_dir() or folder.is_symlink():
        return []
    found = sorted(p for _, p in zip(range(_MOST_FILES), folder.iterdir(), strict=False))
    return [p for p in found if (p.name.endswith(end) or (end in p.name and _COPIES.search(p.name))) and is_unlinked(p)]


def _folders(folder: Path) -> list[Path]:
    """The agents of a state folder."""
    if not folder.is_dir() or folder.is_symlink():
        return []
    found = sorted(p for _, p in zip(range(_MOST_FILES), folder.iterdir(), strict=False))
    return [p for p in found if p.is_dir() and not p.is_symlink() and _is_agent(p)]


SOURCE = guarded("openclaw", "OpenClaw: its state folder, an agent, a workspace, or a session", _fits, _read)
