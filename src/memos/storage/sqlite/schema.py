"""The tables of a cube file, and the ordered steps that bring an older file up to date.

Each migration is a small function over an open transaction; the list only ever grows. `SCHEMA_VERSION` is kept in
`PRAGMA user_version`, `APPLICATION_ID` tells a cube file from any other SQLite file.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

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


def _cube_v1(db: apsw.Connection) -> None:
    db.execute(_CUBE_V1)


def _control_v1(db: apsw.Connection) -> None:
    db.execute(_CONTROL_V1)


CUBE_MIGRATIONS: tuple[Migration, ...] = (_cube_v1,)
CONTROL_MIGRATIONS: tuple[Migration, ...] = (_control_v1,)
