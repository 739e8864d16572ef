"""Makes real files of Hermes Agent: its memory files, and `state.db` with the tables that are read and their full-text index."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE schema_version (version INTEGER NOT NULL);
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, user_id TEXT, session_key TEXT, model TEXT, model_config TEXT,
  system_prompt TEXT, parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT,
  message_count INTEGER DEFAULT 0, title TEXT, archived INTEGER NOT NULL DEFAULT 0);
CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
  content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, finish_reason TEXT, reasoning TEXT,
  reasoning_content TEXT, observed INTEGER DEFAULT 0, active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0,
  api_content TEXT);
CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
CREATE VIRTUAL TABLE messages_fts USING fts5(content, content='messages', content_rowid='id');
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content);
END;
"""
BEGAN = 1_767_225_600.0  # 2026-01-01T00:00:00Z


class Hermes:
    """A home of Hermes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "memories").mkdir(parents=True)

    def note(self, name: str, *entries: str) -> None:
        (self.home / "memories" / name).write_text("\n§\n".join(entries), encoding="utf-8")

    def store(self) -> sqlite3.Connection:
        """The session store, made."""
        db = sqlite3.connect(self.home / "state.db", isolation_level=None)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(SCHEMA)
        return db

    def snapshot(self, id: str, messages: list[Any]) -> Path:
        """A session as JSON."""
        (self.home / "sessions").mkdir(exist_ok=True)
        path = self.home / "sessions" / f"session_{id}.json"
        told = {"session_id": id, "platform": "cli", "session_start": "2026-01-01T08:00:00", "messages": messages}
        path.write_text(json.dumps(told, ensure_ascii=False), encoding="utf-8")
        return path


def session(db: sqlite3.Connection, id: str, *, at: float = BEGAN, source: str = "cli", **more: Any) -> None:
    put(db, "sessions", id=id, source=source, started_at=at, **more)


def say(db: sqlite3.Connection, session: str, role: str, content: Any, at: float = BEGAN, **more: Any) -> None:
    """A message; content of parts is stored as Hermes does."""
    plain = content if content is None or isinstance(content, str) else "\0json:" + json.dumps(content)
    calls = more.pop("tool_calls", None)
    put(
        db, "messages", session_id=session, role=role, content=plain, timestamp=at,
        tool_calls=json.dumps(calls) if calls is not None else None, **more,
    )  # fmt: skip


def wanted(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call in the way of OpenAI."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def put(db: sqlite3.Connection, table: str, **row: Any) -> None:
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
