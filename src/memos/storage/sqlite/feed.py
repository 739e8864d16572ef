"""Streams a cube file into its resident index: everything at first, then only what was stored since."""

from __future__ import annotations

import itertools
import json
import threading
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from memos.memory.entity import ALIASED
from memos.storage.resident.index import ResidentIndex, Row
from memos.storage.sqlite.connect import connect
from memos.storage.sqlite.forks import gate

_ROW = (
    "m.n, m.t, CASE WHEN m.version > 1 THEN coalesce((SELECT p.t FROM memories p WHERE p.id=m.id AND p.version=m.version-1), 0) "
    "ELSE 0 END, m.known_to IS NULL, m.kind, m.status, m.session, m.role, m.speaker, coalesce(m.valid_from, m.recorded_at), "
    "m.valid_to, m.features, length(m.text) + coalesce(length(m.speaker) + 2, 0), m.importance"
)
# every text, former ones too (reads of the past need them), in the newest version that has it
_ALL = (
    f"SELECT {_ROW}, x.terms FROM memories x CROSS JOIN memories m "
    "ON m.n=coalesce((SELECT max(l.n) FROM memories l WHERE l.t=x.n AND l.t<>l.n), x.n) WHERE x.t=x.n ORDER BY x.n"
)
_SINCE = f"SELECT {_ROW}, m.terms FROM memories m WHERE m.n > ? ORDER BY m.n"
_VECTORS = "SELECT v.v, v.t, v.m, v.data FROM vectors v WHERE v.v > ? ORDER BY v.v LIMIT 20000"
_USES = (
    "SELECT u.u, m.t, u.n, u.last FROM uses u JOIN memories m ON m.id=u.id AND m.known_to IS NULL "
    "WHERE u.u > ? ORDER BY u.u LIMIT 20000"
)

_ALIASES = "SELECT text, body FROM memories WHERE slot=? AND status='active' AND known_to IS NULL ORDER BY id"

_CHUNK = 20_000


class Feed:
    """Keeps one `ResidentIndex` equal to the file. Use `lock` around `refresh` and any read of the index."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self._path, self._read_only = path, read_only
        self._db: apsw.Connection | None = None
        self.lock = threading.RLock()
        self.index: ResidentIndex | None = None
        self._n = self._v = self._p = self._u = 0
        self._models: dict[int, tuple[str, int]] = {}
        self._data_version = -1
        self.aliases: tuple[tuple[str, ...], ...] = ()
        self.stamp = 0
        self.ready = False

    def refresh(self) -> ResidentIndex:
        """Bring the index up to date with what is committed, and return it. `stamp` changes when anything was
        written.
        """
        if self._db is None:
            self._db = connect(self._path, read_only=self._read_only, create=False)
        db = self._db
        db.execute("BEGIN")
        try:
            version = int(db.execute("PRAGMA data_version").get)
            if self.index is None or version != self._data_version:
                self.aliases = _aliases(db)
            if self.index is None:
                self._load(db)
            elif version != self._data_version:
                self._follow(db)
                self.stamp += 1
            self._data_version = version
            self.ready = True
            assert self.index is not None
            return self.index
        finally:
            db.execute("COMMIT")

    def drop(self) -> None:
        """Free the index and its connection; the next `refresh` loads it again."""
        with gate, self.lock:
            self.index, self.ready = None, False
            self.let_go()

    def let_go(self) -> None:
        """Close the connection and keep the index; the next `refresh` reads what was stored since."""
        if self._db is not None:
            self._db.close()
            self._db, self._data_version = None, -1

    def _load(self, db: apsw.Connection) -> None:
        index = ResidentIndex()
        found = db.execute(_ALL)
        index.build(iter(lambda: list(itertools.islice(found, _CHUNK)), []))
        self.index = index
        self._n = int(db.execute("SELECT coalesce(max(n), 0) FROM memories").get)
        self._p = int(db.execute("SELECT coalesce(max(p), 0) FROM purges").get)
        self._v = self._u = 0
        self._vectors(db)
        self._uses(db)
        self.stamp += 1

    def _follow(self, db: apsw.Connection) -> None:
        assert self.index is not None
        rows = [Row(*r) for r in db.execute(_SINCE, (self._n,))]
        if rows:
            self.index.apply(rows)
            self._n = rows[-1].n
        for p, t, what in _rows(db, "SELECT p, t, what FROM purges WHERE p > ? ORDER BY p", self._p):
            self._p = p
            if what == "text":
                self.index.purge([t])
            elif what == "vectors":
                self.index.drop_vectors([t])
            else:
                self.index.drop_model(db.execute("SELECT name FROM models WHERE m=?", (t,)).get)
        self._vectors(db)
        self._uses(db)

    def _vectors(self, db: apsw.Connection) -> None:
        assert self.index is not None
        while batch := _rows(db, _VECTORS, self._v):
            self._v = batch[-1][0]
            for m in {row[2] for row in batch}:
                if m not in self._models:
                    known: Any = db.execute("SELECT name, dim FROM models WHERE m=?", (m,)).fetchone()
                    self._models[m] = known
                name, dim = self._models[m]
                mine = [row for row in batch if row[2] == m]
                vectors = np.frombuffer(b"".join(r[3] for r in mine), "<f2").reshape(len(mine), dim).astype(np.float32)
                self.index.put_vectors(name, dim, np.asarray([r[1] for r in mine], np.int64), vectors)

    def _uses(self, db: apsw.Connection) -> None:
        assert self.index is not None
        while batch := _rows(db, _USES, self._u):
            self._u = batch[-1][0]
            self.index.put_uses(row[1:] for row in batch)


def _rows(db: apsw.Connection, sql: str, after: int) -> list[Any]:
    return db.execute(sql, (after,)).fetchall()


def _aliases(db: apsw.Connection) -> tuple[tuple[str, ...], ...]:
    """The names of each entity that has several, and what slots call it. Found by their slot: most cubes have none."""
    out: list[tuple[str, ...]] = []
    for name, body in db.execute(_ALIASES, (ALIASED,)):
        about = json.loads(body or "{}")
        names = (name, *about.get("aliases", ()), about.get("subject"))
        out.append(tuple(str(n) for n in names if n))
    return tuple(out)
