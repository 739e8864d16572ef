"""Makes real files of the local plugin: `memos.db` with the tables, full-text tables and triggers of its two versions, and bundles."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_OWNER = "owner_agent_kind TEXT NOT NULL DEFAULT 'unknown', owner_profile_id TEXT NOT NULL DEFAULT 'default', owner_workspace_id TEXT"
_SHARE = "share_scope TEXT DEFAULT 'private', share_target TEXT, shared_at INTEGER, edited_at INTEGER"


def _json(name: str, default: str = "[]") -> str:
    return f"{name} TEXT NOT NULL DEFAULT '{default}' CHECK (json_valid({name}))"


SECOND = f"""
CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;
CREATE TABLE sessions (id TEXT PRIMARY KEY, agent TEXT NOT NULL, {_OWNER}, started_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL, {_json("meta_json", "{}")}) STRICT;
CREATE TABLE episodes (id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, {_OWNER},
  share_scope TEXT DEFAULT 'private', started_at INTEGER NOT NULL, ended_at INTEGER, {_json("trace_ids_json")}, r_task REAL,
  status TEXT NOT NULL CHECK (status IN ('open','closed')) DEFAULT 'open', {_json("meta_json", "{}")}) STRICT;
CREATE TABLE traces (id TEXT PRIMARY KEY, episode_id TEXT NOT NULL REFERENCES episodes(id) ON DELETE CASCADE,
  session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE, {_OWNER}, ts INTEGER NOT NULL, user_text TEXT NOT NULL,
  agent_text TEXT NOT NULL, summary TEXT, {_json("tool_calls_json")}, reflection TEXT, agent_thinking TEXT,
  value REAL NOT NULL DEFAULT 0, alpha REAL NOT NULL DEFAULT 0, r_human REAL, priority REAL NOT NULL DEFAULT 0,
  {_json("tags_json")}, {_json("error_signatures_json")}, vec_summary BLOB, vec_action BLOB, share_scope TEXT DEFAULT 'private',
  share_target TEXT, shared_at INTEGER, turn_id INTEGER NOT NULL, schema_version INTEGER NOT NULL DEFAULT 1) STRICT;
CREATE INDEX idx_traces_episode_turn ON traces(episode_id, turn_id, ts);
CREATE TABLE policies (id TEXT PRIMARY KEY, {_OWNER}, title TEXT NOT NULL, trigger TEXT NOT NULL, procedure TEXT NOT NULL,
  verification TEXT NOT NULL, boundary TEXT NOT NULL, support INTEGER NOT NULL DEFAULT 0, gain REAL NOT NULL DEFAULT 0,
  status TEXT NOT NULL CHECK (status IN ('candidate','active','archived')) DEFAULT 'candidate',
  experience_type TEXT NOT NULL DEFAULT 'success_pattern', evidence_polarity TEXT NOT NULL DEFAULT 'positive',
  salience REAL NOT NULL DEFAULT 0, confidence REAL NOT NULL DEFAULT 0.5, {_json("source_episodes_json")},
  {_json("source_feedback_ids_json")}, {_json("source_trace_ids_json")}, induced_by TEXT NOT NULL DEFAULT '',
  {_json("decision_guidance_json", '{"preference":[],"antiPattern":[]}')}, {_json("verifier_meta_json", "null")},
  skill_eligible INTEGER NOT NULL DEFAULT 1, vec BLOB, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, {_SHARE}) STRICT;
CREATE TABLE l2_candidate_pool (id TEXT PRIMARY KEY, {_OWNER}, policy_id TEXT, {_json("evidence_trace_ids_json")},
  signature TEXT NOT NULL, similarity REAL NOT NULL DEFAULT 0, expires_at INTEGER NOT NULL) STRICT;
CREATE TABLE world_model (id TEXT PRIMARY KEY, {_OWNER}, title TEXT NOT NULL, body TEXT NOT NULL, {_json("policy_ids_json")},
  {_json("structure_json", '{"environment":[],"inference":[],"constraints":[]}')}, {_json("domain_tags_json")},
  confidence REAL NOT NULL DEFAULT 0.5, {_json("source_episodes_json")}, induced_by TEXT NOT NULL DEFAULT '', vec BLOB,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, {_SHARE}, status TEXT NOT NULL DEFAULT 'active', archived_at INTEGER,
  version INTEGER NOT NULL DEFAULT 1) STRICT;
CREATE TABLE skills (id TEXT PRIMARY KEY, {_OWNER}, name TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('candidate','active','archived')) DEFAULT 'candidate', invocation_guide TEXT NOT NULL,
  {_json("procedure_json", "null")}, eta REAL NOT NULL DEFAULT 0, support INTEGER NOT NULL DEFAULT 0, gain REAL NOT NULL DEFAULT 0,
  trials_attempted INTEGER NOT NULL DEFAULT 0, trials_passed INTEGER NOT NULL DEFAULT 0, {_json("source_policies_json")},
  {_json("source_world_json")}, {_json("evidence_anchors_json")}, vec BLOB, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, version INTEGER NOT NULL DEFAULT 1, {_SHARE}, usage_count INTEGER NOT NULL DEFAULT 0,
  last_used_at INTEGER) STRICT;
CREATE TABLE feedback (id TEXT PRIMARY KEY, {_OWNER}, ts INTEGER NOT NULL, episode_id TEXT, trace_id TEXT,
  channel TEXT NOT NULL CHECK (channel IN ('explicit','implicit')), polarity TEXT NOT NULL, magnitude REAL NOT NULL DEFAULT 0,
  rationale TEXT, {_json("raw_json", "null")}) STRICT;
CREATE TABLE decision_repairs (id TEXT PRIMARY KEY, {_OWNER}, ts INTEGER NOT NULL, context_hash TEXT NOT NULL,
  preference TEXT NOT NULL, anti_pattern TEXT NOT NULL, {_json("high_value_traces_json")}, {_json("low_value_traces_json")},
  validated INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE api_logs (id INTEGER PRIMARY KEY, {_OWNER}, tool_name TEXT NOT NULL, input_json TEXT NOT NULL DEFAULT '{{}}',
  output_json TEXT NOT NULL DEFAULT '', duration_ms INTEGER NOT NULL DEFAULT 0, success INTEGER NOT NULL DEFAULT 1,
  called_at INTEGER NOT NULL);
CREATE TABLE kv (key TEXT PRIMARY KEY, {_json("value_json", "null")}, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE hub_shared_memories (id TEXT PRIMARY KEY, content TEXT NOT NULL, embedding BLOB) STRICT;
CREATE VIRTUAL TABLE traces_fts USING fts5(trace_id UNINDEXED, user_text, agent_text, summary, reflection, tags, tokenize='trigram');
CREATE TRIGGER traces_fts_ai AFTER INSERT ON traces BEGIN
  INSERT INTO traces_fts VALUES (new.id, new.user_text, new.agent_text, coalesce(new.summary,''), coalesce(new.reflection,''),
    new.tags_json);
END;
CREATE VIRTUAL TABLE skills_fts USING fts5(skill_id UNINDEXED, name, invocation_guide, tokenize='trigram');
CREATE TRIGGER skills_fts_ai AFTER INSERT ON skills BEGIN
  INSERT INTO skills_fts VALUES (new.id, new.name, new.invocation_guide);
END;
"""

FIRST = """
CREATE TABLE tasks (id TEXT PRIMARY KEY, session_key TEXT NOT NULL, title TEXT NOT NULL DEFAULT '', summary TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'active', started_at INTEGER NOT NULL, ended_at INTEGER, updated_at INTEGER NOT NULL,
  owner TEXT NOT NULL DEFAULT 'agent:main', topic TEXT);
CREATE TABLE chunks (id TEXT PRIMARY KEY, session_key TEXT NOT NULL, turn_id TEXT NOT NULL, seq INTEGER NOT NULL,
  role TEXT NOT NULL, content TEXT NOT NULL, kind TEXT NOT NULL DEFAULT 'paragraph', summary TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, task_id TEXT REFERENCES tasks(id), content_hash TEXT, skill_id TEXT,
  merge_count INTEGER NOT NULL DEFAULT 0, last_hit_at INTEGER, merge_history TEXT NOT NULL DEFAULT '[]',
  dedup_status TEXT NOT NULL DEFAULT 'active', dedup_target TEXT, dedup_reason TEXT, owner TEXT NOT NULL DEFAULT 'agent:main');
CREATE INDEX idx_chunks_session_created ON chunks(session_key, created_at, seq);
CREATE TABLE embeddings (chunk_id TEXT PRIMARY KEY, vector BLOB NOT NULL, dimensions INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE skills (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1, status TEXT NOT NULL DEFAULT 'active', tags TEXT NOT NULL DEFAULT '[]',
  source_type TEXT NOT NULL DEFAULT 'task', dir_path TEXT NOT NULL DEFAULT '', installed INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE skill_versions (id TEXT PRIMARY KEY, skill_id TEXT NOT NULL REFERENCES skills(id), version INTEGER NOT NULL,
  content TEXT NOT NULL, changelog TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL, UNIQUE(skill_id, version));
CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, tool_name TEXT NOT NULL, duration_ms INTEGER NOT NULL,
  success INTEGER NOT NULL DEFAULT 1, called_at INTEGER NOT NULL);
CREATE VIRTUAL TABLE chunks_fts USING fts5(summary, content, content='chunks', content_rowid='rowid', tokenize='trigram');
CREATE TRIGGER chunks_ai AFTER INSERT ON chunks BEGIN
  INSERT INTO chunks_fts(rowid, summary, content) VALUES (new.rowid, new.summary, new.content);
END;
"""

DAY = 86_400_000
BEGAN = 1_767_225_600_000  # 2026-01-01T00:00:00Z


class Plugin:
    """A `memos.db` of the second version that is filled row by row."""

    def __init__(self, path: Path, *, schema: str = SECOND, wal: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute(f"PRAGMA journal_mode = {'WAL' if wal else 'DELETE'}")
        self.db.executescript(schema)
        self._made = 0

    def put(self, table: str, **row: Any) -> None:
        """One row; lists and objects as JSON."""
        plain = {k: json.dumps(v, ensure_ascii=False) if isinstance(v, (list, dict)) else v for k, v in row.items()}
        marks = ", ".join("?" * len(plain))
        self.db.execute(f"INSERT INTO {table} ({', '.join(plain)}) VALUES ({marks})", tuple(plain.values()))

    def episode(
        self, id: str, session: str = "openclaw::main::s1", at: int = BEGAN, reward: float | None = None
    ) -> None:
        """An episode, and its session where it is new."""
        self.db.execute(
            "INSERT OR IGNORE INTO sessions (id, agent, started_at, last_seen_at) VALUES (?, 'openclaw', ?, ?)",
            (session, at, at),
        )
        self.put("episodes", id=id, session_id=session, started_at=at, ended_at=at + 1, r_task=reward, status="closed")

    def turn(
        self,
        episode: str,
        said: str,
        reply: str,
        calls: Iterable[dict[str, Any]] = (),
        at: int = BEGAN,
        session: str = "openclaw::main::s1",
        **more: Any,
    ) -> None:
        """A turn as the plugin stores it: a trace for each call, and one for the reply."""
        texts = [said]
        for call in calls:
            self._trace(episode, session, at, texts.pop() if texts else "", "", [call])
        self._trace(episode, session, at, texts.pop() if texts else "", reply, [], **more)

    def _trace(self, episode: str, session: str, at: int, said: str, reply: str, calls: list[Any], **more: Any) -> None:
        self._made += 1
        self.put(
            "traces",
            id=f"tr_{self._made}",
            episode_id=episode,
            session_id=session,
            ts=at + self._made,
            turn_id=at,
            user_text=said,
            agent_text=reply,
            tool_calls_json=calls,
            vec_summary=b"\0" * 16,
            **more,
        )


def call(name: str, given: Any, output: str = "", error: str | None = None, at: int = BEGAN) -> dict[str, Any]:
    """A tool call as the plugin keeps it."""
    out: dict[str, Any] = {"name": name, "input": given, "output": output, "startedAt": at, "endedAt": at + 1500}
    return {**out, "errorCode": error} if error else out


def gcc_work(plugin: Plugin, number: int, package: str, at: int) -> None:
    """An episode in which the same thing goes wrong and is put right, as policies are learned from."""
    episode, session = f"ep_{number}", f"openclaw::main::s{number}"
    plugin.episode(episode, session, at, reward=0.9)
    calls = [
        call("shell", {"command": f"pip install {package}"}, "error: command 'gcc' not found", "1", at),
        call("shell", {"command": "apt-get install -y gcc"}, "done", at=at),
        call("shell", {"command": f"pip install {package}"}, f"installed {package}", at=at),
    ]
    plugin.turn(
        episode, f"Install {package} in the container", f"{package} is installed; gcc was missing.", calls, at, session
    )
