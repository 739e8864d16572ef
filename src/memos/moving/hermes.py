"""Hermes Agent: `$HERMES_HOME` with what its own memory kept (`memories/MEMORY.md`, `memories/USER.md`) and its sessions
(`state.db`, and `sessions/session_*.json` where those were written), or one of these files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.moving import shape
from memos.moving.agent_turns import Turns
from memos.moving.files import head, is_file, is_unlinked, opened, text_of
from memos.moving.foreign_sqlite import ForeignSqlite, Row, is_sqlite
from memos.moving.guard import guarded
from memos.moving.items import Bad, Item, Left, Told
from memos.moving.note_parts import MOST_PART

_MARK = "\n§\n"
_NOTES = {"MEMORY.md": "memory", "USER.md": "user"}
_LARGEST_NOTE = 8 << 20
_LARGEST_SESSION = 64 << 20
_MOST_FILES = 100_000
_NEEDED = {"sessions": ("id", "source", "started_at"), "messages": ("id", "session_id", "role", "content", "timestamp")}
_SESSION = ("id", "source", "parent_session_id", "end_reason", "model_config")
_MESSAGE = (
    "id", "role", "content", "tool_call_id", "tool_calls", "tool_name", "timestamp", "reasoning", "reasoning_content", "observed",
    "active", "compacted",
)  # fmt: skip
_JSON = "\0json:"
_SUMMARIES = ("[CONTEXT COMPACTION", "[CONTEXT SUMMARY]:")
_MERGED = "[END OF PRIOR CONTEXT"
_MOST_COMPACTED = 1_000  # sessions whose messages are remembered until the one that goes on with them is read


def _fits(path: Path) -> bool:
    if path.is_dir():
        return _home(path) is not None
    if is_sqlite(path):
        return _is_state(path)
    if path.name in _NOTES and is_file(path):
        return _MARK.encode() in head(path, _LARGEST_NOTE)
    return _is_session(path)


def _read(path: Path) -> Iterator[Item]:
    if not path.is_dir():
        if is_sqlite(path):
            yield from _state(path, set())
        elif path.suffix == ".json":
            yield from _snapshot(path, set())
        else:
            yield from _notes(path)
        return
    home = _home(path) or path
    for folder in (home / "memories", home):
        for name in _NOTES:
            if is_unlinked(folder / name):
                yield from _notes(folder / name)
    known: set[str] = set()
    state = home / "state.db"
    if is_unlinked(state):
        try:
            yield from _state(state, known)
        except InvalidInput as e:
            yield Bad("state.db", str(e))
    yield from _snapshots(home / "sessions", known)


def _home(path: Path) -> Path | None:
    """The folder of Hermes that a path is, or whose `memories` it is."""
    if any(is_unlinked(path / "memories" / name) for name in _NOTES) or (
        is_unlinked(path / "state.db") and _is_state(path / "state.db")
    ):
        return path
    if path.name == "memories" and any(is_unlinked(path / name) for name in _NOTES):
        return path
    return None


def _is_state(path: Path) -> bool:
    try:
        with ForeignSqlite(path) as db:
            return db.has(_NEEDED)
    except InvalidInput:
        return False


def _is_session(path: Path) -> bool:
    start = head(path, 4_096).decode("utf-8", "replace")
    return path.name.startswith("session_") and '"session_id"' in start and start.lstrip()[:1] == "{"


# -- notes -----------------------------------------------------------------------------------------------------------


def _notes(path: Path) -> Iterator[Item]:
    """The entries of a memory file, between lines that are only §."""
    try:
        with opened(path) as file:
            text = text_of(file, path.name, _LARGEST_NOTE)
    except InvalidInput as e:
        yield Bad(path.name, str(e))
        return
    kind = _NOTES.get(path.name, "memory")
    for number, entry in enumerate(text.replace("\r\n", "\n").split(_MARK), 1):
        said = entry.strip().strip("§").strip()
        if len(said) > MOST_PART * 4:
            yield Bad(f"{path.name}, entry {number}", f"it has more than {MOST_PART * 4:,} characters")
        elif said:
            id = f"{kind}-{shape.mark(said)}"
            yield Told(said, None, id, f"hermes-{kind}", {"file": path.name}, ("hermes", kind))


# -- sessions --------------------------------------------------------------------------------------------------------


def _state(path: Path, known: set[str]) -> Iterator[Item]:
    """The sessions of the store. `known` learns their ids."""
    scheduled = delegated = 0
    before: dict[str, set[str]] = {}
    with ForeignSqlite(path) as db:
        if not db.has(_NEEDED):
            raise InvalidInput(f"{path} is no session store of Hermes: it has not the tables of one")
        compacted = "compacted" in db.tables["messages"] and db.count("messages", "compacted = 1") > 0
        for row in db.rows("sessions", _SESSION, order="started_at, rowid"):
            id = shape.name(row.get("id"))
            if row.bad or id is None:
                yield Bad("sessions", row.bad or "a session has no id")
                continue
            known.add(id)
            if row.get("source") == "cron":
                scheduled += 1
            elif row.get("source") == "subagent" or "_delegate_from" in str(row.get("model_config")):
                delegated += 1
            else:
                seen = before.pop(str(row.get("parent_session_id")), set())
                splits = row.get("end_reason") == "compression" and len(before) < _MOST_COMPACTED
                yield from _session(db, id, row, seen, compacted or splits or bool(seen))
                if splits:
                    before[id] = seen
    if scheduled:
        yield Left("sessions of schedules", scheduled, "nobody spoke in them")
    if delegated:
        yield Left("sessions of sub-agents", delegated, "what came of them is a step of the session that asked")


def _session(db: ForeignSqlite, id: str, session: Row, seen: set[str], again: bool) -> Iterator[Item]:
    """The turns of a session. After a compaction (`again`) its last messages stand there again, which `seen` tells."""
    turns = Turns(id, {"source": "hermes", "platform": str(session.get("source"))[:40]})
    live = "(active = 1 or compacted = 1)" if {"active", "compacted"} <= db.tables["messages"] else "1"
    for row in db.rows("messages", _MESSAGE, f"session_id = ? and {live}", (id,), "id"):
        where = f"messages, {str(row.get('id'))!r:.40}"
        if row.bad:
            yield Bad(where, row.bad)
            continue
        message = {name: row.get(name) for name in _MESSAGE}
        message["content"] = _decoded(row.get("content"))
        message["tool_calls"] = _decoded(row.get("tool_calls"), plain=True)
        if again:
            fields = [str(row.get(name)) for name in ("role", "tool_calls", "tool_call_id")]
            own = shape.mark(*fields, shape.words(message["content"]))
            if own in seen:
                continue
            seen.add(own)
        if row.get("observed"):
            continue  # overheard in a group, not said to the agent
        yield from _message(turns, message, f"{id}:{row.get('id')}")
    yield from turns.end()


def _message(turns: Turns, message: Mapping[str, Any], id: str) -> Iterator[Item]:
    """One message in the way of OpenAI."""
    role, text = message.get("role"), shape.words(message.get("content"))
    at = _time(message.get("timestamp"))
    if text.startswith(_SUMMARIES) or _MERGED in text[:200_000]:
        return
    if role == "user":
        yield from turns.user(text, id=id, at=at)
    elif role == "assistant":
        turns.thought(shape.words(message.get("reasoning_content") or message.get("reasoning")))
        turns.assistant(text, id=id, at=at)
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            given = call.get("function") if isinstance(call, dict) else None
            if isinstance(given, dict):
                arguments = _decoded(given.get("arguments"), plain=True)
                turns.call(str(call.get("id") or ""), str(given.get("name") or "tool")[:200], arguments, at=at)
    elif role == "tool":
        turns.result(
            str(message.get("tool_call_id") or ""), text, ok=_went(text), tool=str(message.get("tool_name") or "")
        )


def _went(text: str) -> bool | None:
    """Whether a tool says that it failed: Hermes' tools answer in JSON, with an error or an exit code where there is one."""
    if text[:1] != "{" or len(text) > 1_000_000:
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    code = told.get("exit_code", told.get("returncode"))
    if isinstance(code, int) and not isinstance(code, bool):
        return code == 0
    if told.get("error") or told.get("success") is False:
        return False
    return True if told.get("success") is True else None


def _snapshots(folder: Path, known: set[str]) -> Iterator[Item]:
    """The sessions that are only there as JSON."""
    if not folder.is_dir() or folder.is_symlink():
        return
    both = 0
    found = (p for _, p in zip(range(_MOST_FILES), sorted(folder.glob("session_*.json")), strict=False))
    for path in found:
        if not is_unlinked(path):
            yield Bad(path.name[:200], "it is no plain file")
        elif path.stem.removeprefix("session_") in known:
            both += 1
        else:
            yield from _snapshot(path, known)
    if both:
        yield Left("snapshots of sessions", both, "the session store has them")


def _snapshot(path: Path, known: set[str]) -> Iterator[Item]:
    try:
        with opened(path) as file:
            told = json.loads(text_of(file, path.name, _LARGEST_SESSION))
    except InvalidInput as e:
        yield Bad(path.name[:200], str(e))
        return
    except (ValueError, RecursionError):
        told = None
    messages = told.get("messages") if isinstance(told, dict) else None
    id = shape.name(told.get("session_id")) if isinstance(told, dict) else None
    if id is None or not isinstance(messages, list):
        yield Bad(path.name[:200], "it is no session: it has no id or messages")
        return
    if id in known:
        yield Left("snapshots of sessions", 1, "the session store has them")
        return
    turns = Turns(id, {"source": "hermes", "platform": str(told.get("platform"))[:40]})
    began = _time(told.get("session_start"))
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            yield Bad(f"{path.name[:200]}, message {number}", "it is no object")
        else:
            yield from _message(turns, {"timestamp": began, **message}, f"{id}:m{number}")
    yield from turns.end()


def _decoded(value: Any, *, plain: bool = False) -> Any:
    """A column that may hold JSON: behind a mark, or (`plain`) as it is."""
    if not isinstance(value, str):
        return value
    if not plain and not value.startswith(_JSON):
        return value
    try:
        return json.loads(value.removeprefix(_JSON))
    except (ValueError, RecursionError):
        return value


def _time(value: Any) -> str | None:
    """A time; one without a zone is the time of this machine, where Hermes runs."""
    told = shape.time(value)
    if not isinstance(value, str) or told is None:
        return told
    try:
        return datetime.fromisoformat(told).astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        return None


SOURCE = guarded("hermes", "Hermes Agent: its home folder, its memory files, or its session store", _fits, _read)
