"""Makes real files of OpenClaw: sessions as lines of JSON, an agent's database, and the memory files of a workspace."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

BEGAN = 1_767_225_600_000  # 2026-01-01T00:00:00Z, in milliseconds

DATABASE = """
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL,
  event_zstd BLOB, event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE memory_index_sources (id INTEGER PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'memory') STRICT;
CREATE TABLE memory_index_chunks (chunk_rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
  source TEXT NOT NULL DEFAULT 'memory', start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, hash TEXT NOT NULL,
  model TEXT NOT NULL, text TEXT NOT NULL, embedding BLOB NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE VIRTUAL TABLE memory_index_chunks_fts USING fts5(text, id UNINDEXED, path UNINDEXED);
CREATE TRIGGER memory_index_chunks_fts_after_insert AFTER INSERT ON memory_index_chunks BEGIN
  INSERT INTO memory_index_chunks_fts (rowid, text, id, path) VALUES (new.chunk_rowid, new.text, new.id, new.path);
END;
"""


class Session:
    """The entries of a session, each the child of the one before it."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.entries: list[Any] = [
            {"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work"}
        ]
        self.last: str | None = None

    def add(self, type: str = "message", **fields: Any) -> str:
        id = f"{self.id}-{len(self.entries)}"
        at = BEGAN + len(self.entries) * 1000
        self.entries.append({"type": type, "id": id, "parentId": self.last, "timestamp": at, **fields})
        self.last = id
        return id

    def user(self, text: Any, **more: Any) -> str:
        content = [{"type": "text", "text": text}] if isinstance(text, str) else text
        return self.add(
            message={"role": "user", "content": content, "timestamp": BEGAN + len(self.entries) * 1000, **more}
        )

    def assistant(self, *blocks: Any) -> str:
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        return self.add(message={"role": "assistant", "content": content, "stopReason": "stop"})

    def result(self, call: str, text: str, *, failed: bool = False, tool: str = "exec") -> str:
        content = [{"type": "text", "text": text}]
        told = {"role": "toolResult", "toolCallId": call, "toolName": tool, "content": content, "isError": failed}
        return self.add(message=told)

    def write(self, folder: Path, name: str | None = None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (name or f"{self.id}.jsonl")
        path.write_text("".join(json.dumps(e, ensure_ascii=False) + "\n" for e in self.entries), encoding="utf-8")
        return path

    def store(self, db: sqlite3.Connection, key: str) -> None:
        """Into an agent's database."""
        db.execute("INSERT INTO session_windows VALUES (?, ?, ?, ?)", (self.id, key, BEGAN, BEGAN))
        for seq, entry in enumerate(self.entries):
            row = (self.id, seq, json.dumps(entry, ensure_ascii=False), BEGAN + seq)
            db.execute(
                "INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES (?, ?, ?, ?)", row
            )


def called(id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool call, as a block of the assistant's message."""
    return {"type": "toolCall", "id": id, "name": tool, "arguments": arguments}


def database(agent: Path) -> sqlite3.Connection:
    """An agent's database, made."""
    (agent / "agent").mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(agent / "agent" / "openclaw-agent.sqlite", isolation_level=None)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(DATABASE)
    return db


def piece(db: sqlite3.Connection, path: str, text: str, source: str = "memory") -> None:
    """A piece of a memory file, in the index."""
    row = (f"{path}:{text}", path, source, 1, 2, "h", "m", text, b"\0" * 8, BEGAN)
    columns = "id, path, source, start_line, end_line, hash, model, text, embedding, updated_at"
    db.execute(f"INSERT INTO memory_index_chunks ({columns}) VALUES ({', '.join('?' * 10)})", row)
