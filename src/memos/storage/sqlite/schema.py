"""The tables of a cube file, and the ordered steps that bring an older file up to date.

Each migration is a small function over an open transaction; the list only ever grows. `SCHEMA_VERSION` is kept in
`PRAGMA user_version`, `APPLICATION_ID` tells a cube file from any other SQLite file.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from memos.storage.sqlite.sources import share

CUBE_APPLICATION_ID = 0x4D4F5343  # "MOSC"
CONTROL_APPLICATION_ID = 0x4D4F5352  # "MOSR"

Migration = Callable[[apsw.Connection], None]

_CUBE_V1 = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID;

-- One row per version of a memory; n only grows and is never used again (meta.last_n remembers deleted ones).
-- known_to IS NULL marks the current version.
-- t is the n of the version that first had this text: what the text index and the vectors point to.
CREATE TABLE memories(
  n INTEGER PRIMARY KEY,
  id BLOB NOT NULL, version INTEGER NOT NULL,
  known_from INTEGER NOT NULL, known_to INTEGER,
  layer TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
  text TEXT NOT NULL, title TEXT,
  t INTEGER NOT NULL, features INTEGER NOT NULL DEFAULT 0, terms BLOB, beside BLOB,
  session TEXT, owner TEXT, role TEXT, speaker TEXT, message_id TEXT, slot TEXT,
  origin TEXT NOT NULL, trust REAL NOT NULL, confidence REAL NOT NULL, importance REAL NOT NULL,
  seen INTEGER NOT NULL DEFAULT 1,
  valid_from INTEGER, valid_to INTEGER, recorded_at INTEGER NOT NULL, retracted_at INTEGER,
  tags TEXT NOT NULL DEFAULT '[]', sources TEXT, info TEXT, body TEXT,
  op TEXT NOT NULL, actor TEXT NOT NULL, cause TEXT, change BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX memories_id ON memories(id, version);
CREATE INDEX memories_slot ON memories(slot) WHERE slot IS NOT NULL AND known_to IS NULL;
CREATE INDEX memories_session ON memories(session, coalesce(valid_from, recorded_at), id) WHERE known_to IS NULL;
CREATE INDEX memories_t ON memories(t) WHERE t <> n;

CREATE TABLE edges(
  e INTEGER PRIMARY KEY,
  src BLOB NOT NULL, dst BLOB NOT NULL, type TEXT NOT NULL, predicate TEXT NOT NULL DEFAULT '',
  weight REAL NOT NULL DEFAULT 1.0,
  valid_from INTEGER, valid_to INTEGER, known_from INTEGER NOT NULL, known_to INTEGER,
  info TEXT, opened BLOB NOT NULL, closed BLOB
) STRICT;
CREATE INDEX edges_src ON edges(src, type, dst);
CREATE INDEX edges_dst ON edges(dst, type, src);
CREATE UNIQUE INDEX edges_current ON edges(src, type, dst, predicate) WHERE known_to IS NULL;

-- The only place where words of the text index live; documents and the index hold their numbers.
CREATE TABLE terms(id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;
CREATE VIRTUAL TABLE fts USING fts5(terms, content='', contentless_delete=1, detail=none, tokenize='ascii');

CREATE TABLE models(m INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL) STRICT;
CREATE TABLE vectors(v INTEGER PRIMARY KEY AUTOINCREMENT, t INTEGER NOT NULL, m INTEGER NOT NULL, data BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX vectors_t ON vectors(t, m);

CREATE TABLE keys(key BLOB PRIMARY KEY, id BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX keys_id ON keys(id);

CREATE TABLE todo(
  q INTEGER PRIMARY KEY, task TEXT NOT NULL, id BLOB NOT NULL, since INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, error TEXT, UNIQUE(task, id)
) STRICT;

CREATE INDEX todo_id ON todo(id);

-- What was deleted, for the indexes other processes hold in memory: 'text' t and all of it, the 'vectors' of text t, or those of
-- 'model' t. Numbers only.
CREATE TABLE purges(p INTEGER PRIMARY KEY AUTOINCREMENT, t INTEGER NOT NULL, what TEXT NOT NULL DEFAULT 'text') STRICT;
"""

# Beside the clocks, and nothing that anything else rests on: how often memories were shown, and what each session is about.
_CUBE_V2 = """
-- `u` is new with every change of a row: what holds counts in memory reads those after the last it knows.
CREATE TABLE uses(
  u INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, n INTEGER NOT NULL, last INTEGER NOT NULL
) STRICT;
CREATE TABLE working(
  session TEXT PRIMARY KEY, asked_at INTEGER NOT NULL, made_at INTEGER NOT NULL, upto BLOB, items TEXT NOT NULL
) STRICT, WITHOUT ROWID;
"""

# What came in as bytes, once however many records refer to it.
_CUBE_V3 = """
CREATE TABLE images(sha256 BLOB PRIMARY KEY, media_type TEXT NOT NULL, data BLOB NOT NULL) STRICT;
CREATE TABLE image_records(sha256 BLOB NOT NULL, id BLOB NOT NULL, PRIMARY KEY(sha256, id)) STRICT, WITHOUT ROWID;
CREATE INDEX image_records_id ON image_records(id);
"""

# What agents lived through and what was counted of what they learned (`lived`): ids, numbers, names that callers gave and words
# of closed sets, never a text: those are memories. Beside the clocks, and derived where `episodes.learned_at` is set: learning an
# episode again writes the same (`evolution`).
_CUBE_V4 = """
CREATE TABLE episodes(
  e INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, session TEXT NOT NULL, agent TEXT NOT NULL, owner TEXT NOT NULL,
  environment TEXT NOT NULL, parent BLOB, opened_at INTEGER NOT NULL, last_at INTEGER NOT NULL,
  closed_at INTEGER, reason TEXT, due_at INTEGER, learned_at INTEGER, reward REAL, confidence REAL NOT NULL DEFAULT 0,
  judge_at INTEGER
) STRICT;
CREATE INDEX episodes_session ON episodes(session, e);
CREATE INDEX episodes_environment ON episodes(environment, e);
CREATE INDEX episodes_open ON episodes(last_at) WHERE closed_at IS NULL;
CREATE INDEX episodes_due ON episodes(due_at) WHERE due_at IS NOT NULL;
CREATE INDEX episodes_judge ON episodes(judge_at) WHERE judge_at IS NOT NULL;
CREATE INDEX episodes_parent ON episodes(parent) WHERE parent IS NOT NULL;
CREATE INDEX episodes_closed ON episodes(closed_at) WHERE due_at IS NOT NULL;

-- In order. `signature`: of a failed step, what kind of error it was (evolution/signature.py); `context`: tool and what it was
-- given, without what differs from case to case. `key`: what makes a repeated report the same.
CREATE TABLE steps(
  s INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, episode INTEGER NOT NULL, turn INTEGER NOT NULL, role TEXT NOT NULL,
  at INTEGER NOT NULL, tool TEXT, ok INTEGER, signature BLOB, context BLOB, alpha REAL, value REAL
) STRICT;
CREATE INDEX steps_episode ON steps(episode, s);
CREATE INDEX steps_context ON steps(tool, context, s, ok, episode, at) WHERE tool IS NOT NULL;
CREATE INDEX steps_signature ON steps(signature) WHERE signature IS NOT NULL;

CREATE TABLE signals(
  n INTEGER PRIMARY KEY, episode INTEGER NOT NULL, source TEXT NOT NULL, what TEXT NOT NULL, score REAL NOT NULL,
  at INTEGER NOT NULL, id BLOB, key BLOB NOT NULL UNIQUE
) STRICT;
CREATE INDEX signals_episode ON signals(episode);
CREATE INDEX signals_memory ON signals(id) WHERE id IS NOT NULL;

-- What one episode teaches: which of its steps (numbers, as JSON: failed, done, resolved). `bucket`: lessons alike share one.
-- `memory`: the policy that it is evidence of.
CREATE TABLE lessons(
  l INTEGER PRIMARY KEY, episode INTEGER NOT NULL, form TEXT NOT NULL, bucket BLOB NOT NULL, steps TEXT NOT NULL,
  value REAL NOT NULL, memory BLOB
) STRICT;
CREATE INDEX lessons_episode ON lessons(episode, form, memory);
CREATE INDEX lessons_bucket ON lessons(bucket, episode);
CREATE INDEX lessons_free ON lessons(bucket, form, episode) WHERE memory IS NULL;
CREATE INDEX lessons_elsewhere ON lessons(form, l) WHERE memory IS NULL;
CREATE INDEX lessons_taught ON lessons(bucket, memory) WHERE memory IS NOT NULL;
CREATE INDEX lessons_memory ON lessons(memory, episode, value) WHERE memory IS NOT NULL;

-- `cube`: of the episode, empty for this one. `home`: CUBE/ID where the trial counts too, when the memory is of another cube or a
-- copy; `carried`: the outcome that was told there.
CREATE TABLE trials(
  t INTEGER PRIMARY KEY, memory BLOB NOT NULL, cube TEXT NOT NULL DEFAULT '', episode BLOB NOT NULL, handed_at INTEGER NOT NULL,
  after INTEGER NOT NULL, outcome TEXT NOT NULL DEFAULT 'pending', reward REAL, followed INTEGER, resolved_at INTEGER,
  home TEXT NOT NULL DEFAULT '', carried TEXT NOT NULL DEFAULT 'pending', UNIQUE(memory, cube, episode)
) STRICT;
CREATE INDEX trials_episode ON trials(episode);
CREATE INDEX trials_uncarried ON trials(t) WHERE home<>'' AND carried<>outcome;

CREATE TABLE hints(
  h INTEGER PRIMARY KEY, session TEXT NOT NULL, episode INTEGER NOT NULL, tool TEXT NOT NULL, context BLOB NOT NULL,
  failures INTEGER NOT NULL, after INTEGER NOT NULL, memory BLOB, prefer BLOB, avoid BLOB, made_at INTEGER NOT NULL,
  delivered_at INTEGER, validated INTEGER, resolved_at INTEGER
) STRICT;
CREATE INDEX hints_session ON hints(session, h);
CREATE INDEX hints_episode ON hints(episode, h);

CREATE TABLE learned(
  n INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, what TEXT NOT NULL, memory BLOB, episode BLOB, numbers TEXT
) STRICT;
CREATE INDEX learned_memory ON learned(memory) WHERE memory IS NOT NULL;
-- Few among many: what holds them in memory reads those after the last it knows.
CREATE INDEX memories_learned ON memories(kind, n) WHERE kind IN ('policy','world_model','skill');
"""

_CONTROL_V1 = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE users(name TEXT PRIMARY KEY, created_at INTEGER NOT NULL, info TEXT) STRICT;
CREATE TABLE cubes(
  name TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, created_at INTEGER NOT NULL,
  deleted_at INTEGER, info TEXT
) STRICT;
CREATE INDEX cubes_owner ON cubes(owner);
CREATE TABLE grants(
  cube TEXT NOT NULL, user TEXT NOT NULL, level TEXT NOT NULL, granted_at INTEGER NOT NULL, granted_by TEXT NOT NULL,
  PRIMARY KEY(cube, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_user ON grants(user);
"""

# The task queue (queue_tx.py, queue_lanes.py). States: 0 waiting, 1 in progress, 2 completed, 3 failed, 4 cancelled.
_CONTROL_V2 = """
CREATE TABLE tasks(
  seq INTEGER PRIMARY KEY, -- the order within a lane
  id BLOB NOT NULL, kind TEXT NOT NULL, user TEXT NOT NULL, lane TEXT NOT NULL, cube TEXT,
  payload TEXT, key TEXT, caller_id TEXT, priority INTEGER NOT NULL,
  state INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, max_attempts INTEGER NOT NULL,
  enqueued_at INTEGER NOT NULL, available_at INTEGER NOT NULL, started_at INTEGER, finished_at INTEGER,
  progress REAL NOT NULL DEFAULT 0, error TEXT, worker TEXT, result TEXT
) STRICT;
CREATE UNIQUE INDEX tasks_id ON tasks(id);
CREATE UNIQUE INDEX tasks_key ON tasks(kind, key) WHERE key IS NOT NULL;
CREATE INDEX tasks_lane ON tasks(lane) WHERE state<2;
CREATE INDEX tasks_live ON tasks((state<2)) WHERE state<2; -- in order of seq
CREATE INDEX tasks_waiting ON tasks(kind, lane, enqueued_at) WHERE state=0;
CREATE INDEX tasks_failed ON tasks(state) WHERE state=3;
CREATE INDEX tasks_ended ON tasks(state, kind, finished_at, enqueued_at) WHERE state IN (2,4);
CREATE INDEX tasks_user ON tasks(user);
CREATE INDEX tasks_cube ON tasks(cube) WHERE cube IS NOT NULL;
CREATE INDEX tasks_caller ON tasks(caller_id) WHERE caller_id IS NOT NULL;

-- How many tasks there are, kept by triggers: limits and status are asked for at every request.
CREATE TABLE tallies(
  user TEXT NOT NULL, kind TEXT NOT NULL, state INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(user, kind, state)
) STRICT, WITHOUT ROWID;
CREATE TABLE totals(
  kind TEXT NOT NULL, state INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(kind, state)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER tasks_come AFTER INSERT ON tasks BEGIN
  INSERT INTO tallies VALUES(new.user, new.kind, new.state, 1) ON CONFLICT DO UPDATE SET n=n+1;
  INSERT INTO totals VALUES(new.kind, new.state, 1) ON CONFLICT DO UPDATE SET n=n+1;
END;
CREATE TRIGGER tasks_move AFTER UPDATE OF state ON tasks WHEN old.state<>new.state BEGIN
  UPDATE tallies SET n=n-1 WHERE user=old.user AND kind=old.kind AND state=old.state;
  UPDATE totals SET n=n-1 WHERE kind=old.kind AND state=old.state;
  INSERT INTO tallies VALUES(new.user, new.kind, new.state, 1) ON CONFLICT DO UPDATE SET n=n+1;
  INSERT INTO totals VALUES(new.kind, new.state, 1) ON CONFLICT DO UPDATE SET n=n+1;
END;
CREATE TRIGGER tasks_go AFTER DELETE ON tasks BEGIN
  UPDATE tallies SET n=n-1 WHERE user=old.user AND kind=old.kind AND state=old.state;
  UPDATE totals SET n=n-1 WHERE kind=old.kind AND state=old.state;
END;

-- One row per lane with live tasks, about the first of them. state: 0 ready, 1 delayed until `due`, 2 leased until `due`.
CREATE TABLE lanes(
  lane TEXT PRIMARY KEY, head INTEGER NOT NULL, user TEXT NOT NULL, kind TEXT NOT NULL, priority INTEGER NOT NULL,
  state INTEGER NOT NULL, due INTEGER NOT NULL, token TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX lanes_due ON lanes(due) WHERE state>0;
CREATE INDEX lanes_ready ON lanes(kind, priority, user, head) WHERE state=0;

-- One row per user, kind and priority with a ready lane: when the user was last served, and the oldest head of those lanes.
CREATE TABLE turns(
  user TEXT NOT NULL, kind TEXT NOT NULL, priority INTEGER NOT NULL, served INTEGER NOT NULL, oldest INTEGER NOT NULL,
  PRIMARY KEY(user, kind, priority)
) STRICT, WITHOUT ROWID;
CREATE INDEX turns_next ON turns(kind, priority DESC, served, oldest);
CREATE TABLE served(user TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX served_at ON served(at);
"""

# What a process keeps of these tables in memory is true as long as `changes` says the same. Triggers count, so that no writer
# can forget to, an older version of MemOS with the file open included. When a key was used is no change.
_CONTROL_V3 = """
ALTER TABLE users ADD COLUMN active INTEGER NOT NULL DEFAULT 1;
ALTER TABLE users ADD COLUMN explicit INTEGER NOT NULL DEFAULT 0; -- made on purpose: stays when the last cube is gone

CREATE TABLE api_keys(
  id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE, prefix TEXT NOT NULL, user TEXT NOT NULL, scopes TEXT NOT NULL,
  description TEXT NOT NULL, created_at INTEGER NOT NULL, created_by TEXT NOT NULL,
  expires_at INTEGER, revoked_at INTEGER, last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX api_keys_user ON api_keys(user);
CREATE INDEX api_keys_prefix ON api_keys(prefix);

CREATE TABLE audit(
  n INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, object TEXT NOT NULL,
  user TEXT NOT NULL, detail TEXT NOT NULL
) STRICT;

CREATE TABLE changes(one INTEGER PRIMARY KEY CHECK(one = 1), n INTEGER NOT NULL) STRICT;
INSERT INTO changes VALUES(1, 0);
"""
_COUNTED = {
    "users": "UPDATE", "cubes": "UPDATE", "grants": "UPDATE",
    "api_keys": "UPDATE OF hash, prefix, user, scopes, description, expires_at, revoked_at",
}  # fmt: skip

# What language models were used for (usage.py). `day`: of UTC, as 2026-11-30. `cost`: millionths, of the calls with a price.
_CONTROL_V4 = """
CREATE TABLE llm_usage(
  day TEXT NOT NULL, user TEXT NOT NULL, purpose TEXT NOT NULL, model TEXT NOT NULL,
  calls INTEGER NOT NULL, failed INTEGER NOT NULL, estimated INTEGER NOT NULL, unpriced INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, cost INTEGER NOT NULL, seconds REAL NOT NULL,
  PRIMARY KEY(day, user, purpose, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX llm_usage_user ON llm_usage(user, day);
"""


def _cube_v1(db: apsw.Connection) -> None:
    db.execute(_CUBE_V1)


def _cube_v2(db: apsw.Connection) -> None:
    db.execute(_CUBE_V2)


def _cube_v3(db: apsw.Connection) -> None:
    db.execute(_CUBE_V3)


def _cube_v4(db: apsw.Connection) -> None:
    db.execute(_CUBE_V4)


def _cube_v5(db: apsw.Connection) -> None:
    share(db)  # an older MemOS cannot read what is written so


def _control_v1(db: apsw.Connection) -> None:
    db.execute(_CONTROL_V1)


def _control_v2(db: apsw.Connection) -> None:
    db.execute(_CONTROL_V2)


def _control_v3(db: apsw.Connection) -> None:
    db.execute(_CONTROL_V3)
    for table, update in _COUNTED.items():
        for event in ("INSERT", "DELETE", update):
            db.execute(
                f"CREATE TRIGGER {table}_{event.split()[0].lower()} AFTER {event} ON {table} "
                "BEGIN UPDATE changes SET n = n + 1; END"
            )


def _control_v4(db: apsw.Connection) -> None:
    db.execute(_CONTROL_V4)


CUBE_MIGRATIONS: tuple[Migration, ...] = (_cube_v1, _cube_v2, _cube_v3, _cube_v4, _cube_v5)
CONTROL_MIGRATIONS: tuple[Migration, ...] = (_control_v1, _control_v2, _control_v3, _control_v4)
