"""The write side of a cube file: `SqliteTx` is what a change function works with, inside the writer's transaction.

Guards law 2 (a change is whole or absent) and law 5 (versions are added, never overwritten).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from memos.errors import Conflict, DimensionMismatch, InvalidInput, NotFound
from memos.memory.ids import id_from_bytes, id_to_bytes, new_id
from memos.memory.image import Image, digits_of
from memos.memory.model import Edge, EdgeType, Kind, Layer, Memory, Status
from memos.memory.time import from_micros, to_micros, utcnow
from memos.storage.ports import CURRENT, Change, Direction, Purged
from memos.storage.sqlite import images, lived, memo, purge, reads, rows, undo
from memos.storage.sqlite.sources import begins
from memos.storage.sqlite.terms import TermDictionary, fts_document, pack
from memos.text.document import TermRow, term_row

_KEY = "INSERT OR REPLACE INTO keys(key, id) VALUES(?, ?)"
_MARK = "INSERT OR IGNORE INTO todo(task, id, since) VALUES(?, ?, ?)"
# Of the last memory and edge when they were written, and the highest numbers that rows have and ever had.
_LAST = (
    "SELECT (SELECT known_from FROM memories ORDER BY n DESC LIMIT 1), (SELECT known_from FROM edges ORDER BY e DESC LIMIT 1), "
    "(SELECT max(n) FROM memories), (SELECT value FROM meta WHERE key='last_n')"
)


class SqliteTx:
    """One atomic change of a cube file. Lives only while its function runs, in the writer thread."""

    def __init__(self, session: CubeSession, db: apsw.Connection, now_us: int, change: Change) -> None:
        self.db = db
        self._session = session
        self._terms = session.terms
        self.memo = session.memo
        self.now_us = now_us
        self.change = change
        self.change_id = id_to_bytes(change.id or new_id())

    @property
    def now(self) -> datetime:
        """The time of this change."""
        return from_micros(self.now_us)

    # -- reads -------------------------------------------------------------------------------------------------

    def get(self, id: str) -> Memory | None:
        """The current version of a memory, whatever its status; None when there is none."""
        kept = memo.of(self.db)
        if kept is not None:
            return reads.current_kept(self.db, id, kept)
        row = self._current(id_to_bytes(id))
        return rows.memory_from_row(row) if row else None

    def find_key(self, key: bytes) -> str | None:
        """The id of the memory that was last put under this key."""
        found = self.db.execute("SELECT id FROM keys WHERE key=?", (key,)).get
        return None if found is None else id_from_bytes(found)

    def point(self, key: bytes, id: str) -> None:
        """Find this memory, as it is, under one more key from now on."""
        self.db.execute("INSERT OR REPLACE INTO keys(key, id) VALUES(?, ?)", (key, id_to_bytes(id)))

    def find_slot(self, slot: str, statuses: Collection[Status] | None = None) -> list[Memory]:
        """Current versions of all memories of a slot with these statuses (default: active), oldest first."""
        wanted = CURRENT if statuses is None else statuses
        kept = memo.of(self.db)
        return [m for m in reads.of_slot(self.db, slot, kept) if m.status in wanted]

    def find_about(self, subject: str, kind: Kind, statuses: Collection[Status] | None = None) -> list[Memory]:
        """The same of every slot of a subject (`subject|…`), of one kind."""
        wanted = CURRENT if statuses is None else statuses
        return [m for m in reads.of_subject(self.db, subject, kind) if m.status in wanted]

    def keeping(self) -> AbstractContextManager[None]:
        """Within this, what is read again is not parsed again: for changes that look at what those before them looked at."""
        return memo.reading(self.db, self.memo)

    def edges(self, id: str, direction: Direction, types: Collection[EdgeType] | None = None) -> list[Edge]:
        """Current edges out of, into, or at a memory."""
        ident = id_to_bytes(id)
        out: list[Edge] = []
        for column, wanted in (("src", ("out", "both")), ("dst", ("in", "both"))):
            if direction in wanted:
                once = " AND e.src<>e.dst" if (direction, column) == ("both", "dst") else ""
                sql = f"SELECT {rows.EDGE_COLUMNS} FROM edges e WHERE e.{column}=? AND e.known_to IS NULL{once}"
                found: Any = self.db.execute(sql, (ident,))
                out += [rows.edge_from_row(r) for r in found if types is None or r[2] in types]
        return out

    # -- memories ----------------------------------------------------------------------------------------------

    def put_new(
        self, memory: Memory, op: str = "add", *, terms: TermRow, key: bytes | None = None, tasks: Sequence[str] = ()
    ) -> Memory:
        """Add a memory whose id was made just now, with the marks of what is to be done for it: nothing has to be looked up."""
        now = self.now
        stored = replace(memory, version=1, known_from=now, known_to=None, recorded_at=memory.recorded_at or now)
        self._insert(stored, op, None, terms)
        ident = id_to_bytes(memory.id)
        if key is not None:
            self.db.execute(_KEY, (key, ident))
        for task in tasks:
            self.db.execute(_MARK, (task, ident, self.now_us))
        return stored

    def put(self, memory: Memory, op: str = "add", *, terms: TermRow | None = None, key: bytes | None = None) -> Memory:
        """Add a memory, or a new version of it; returns it with version and clocks set.

        A new version must carry the `version` it was made from: Conflict when another change came between.
        """
        ident = id_to_bytes(memory.id)
        old = self.db.execute(
            "SELECT n, version, t, text, title, speaker, kind, valid_from, recorded_at, features, status, sources "
            f"FROM memories m WHERE {reads.NEWEST}",
            (ident,),
        ).get
        if old is None:
            recorded = memory.recorded_at or self.now
            stored = replace(memory, version=1, known_from=self.now, known_to=None, recorded_at=recorded)
            self._insert(stored, op, None, terms)
        else:
            n, version, t, text, title, speaker, kind, valid_from, recorded_at, features, status, listed = old
            if memory.version != version:
                raise Conflict(
                    f"memory {memory.id} is at version {version}, the change was made from {memory.version}; read it again"
                )
            stored = replace(
                memory, version=version + 1, known_from=self.now, known_to=None, recorded_at=from_micros(recorded_at)
            )
            # A raw record is found by the words of its date too: see `memos.text.document`.
            dated = stored.layer is not Layer.TRACE or stored.valid_from == _instant(valid_from)
            same = dated and (stored.text, stored.title, stored.speaker, stored.kind) == (text, title, speaker, kind)
            self._insert(stored, op, (t, features) if same and terms is None else None, terms, (n, listed))
            if (status == Status.RETRACTED) is not (stored.status is Status.RETRACTED):
                lived.taken_back(self.db, ident)
        if key is not None:
            self.db.execute(_KEY, (key, ident))
        return stored

    def _insert(
        self,
        m: Memory,
        op: str,
        same_text: tuple[int, int] | None,
        terms: TermRow | None,
        replaced: tuple[int, str | None] | None = None,
    ) -> None:
        """Store a version; `replaced`: the number of the row before it, and the sources that lie there."""
        values = (op, self.change.actor, self.change.cause, self.change_id, *rows.memory_values(m))
        _check_characters(m.id, values)
        if replaced is not None:
            n, listed = replaced
            shared = begins(values[4 + rows.SOURCES], listed, len(m.sources))
            self.db.execute(
                "UPDATE memories SET known_to=?, sources=coalesce(?, sources) WHERE n=?", (self.now_us, shared, n)
            )
            self.memo.changed(m.id)
        n = self._session.next_number()
        if same_text is not None:
            self.db.execute(rows.INSERT, (n, *same_text, None, None, *values))
            return
        row = terms if terms is not None else term_row(m)
        ids = self._terms.ids(row.text + row.beside)
        text_ids, beside_ids = ids[: len(row.text)], ids[len(row.text) :]
        self.db.execute(rows.INSERT, (n, n, row.features, pack(text_ids), pack(beside_ids), *values))
        self.db.execute("INSERT INTO fts(rowid, terms) VALUES(?, ?)", (n, fts_document(ids)))

    def touch(self, id: str) -> int:
        """Count one more arrival of the same content; returns the new count."""
        count = self.db.execute(
            "UPDATE memories SET seen = seen + 1 WHERE id=? AND known_to IS NULL RETURNING seen", (id_to_bytes(id),)
        ).get
        if count is None:
            raise NotFound(f"memory {id} does not exist in this cube")
        self.memo.changed(id)
        return int(count)

    def keep_image(self, id: str, reference: str, image: Image) -> None:
        """Keep the bytes of an image that a record refers to, as long as one does."""
        images.keep(self.db, id, digits_of(reference), image)

    # -- edges -------------------------------------------------------------------------------------------------

    def link(self, edge: Edge) -> None:
        """Add an edge between memories of this cube; the same current edge again only updates its weight when higher.

        Raises NotFound when one of the memories does not exist.
        """
        if edge.predicate and edge.type is not EdgeType.RELATES_TO:
            raise InvalidInput(f"an edge of type {edge.type} has no predicate (got {edge.predicate!r}); use RELATES_TO")
        self.db.execute(
            "INSERT INTO edges(src, dst, type, predicate, weight, valid_from, valid_to, known_from, info, opened) "
            "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE EXISTS(SELECT 1 FROM memories WHERE id=?1) "
            "AND EXISTS(SELECT 1 FROM memories WHERE id=?2) ON CONFLICT(src, type, dst, predicate) WHERE known_to IS NULL "
            "DO UPDATE SET weight=max(weight, excluded.weight)",
            (
                id_to_bytes(edge.src),
                id_to_bytes(edge.dst),
                edge.type.value,
                edge.predicate or "",
                edge.weight,
                None if edge.valid_from is None else to_micros(edge.valid_from),
                None if edge.valid_to is None else to_micros(edge.valid_to),
                self.now_us,
                rows.dump(edge.info),
                self.change_id,
            ),
        )
        if not self.db.changes():
            raise NotFound(
                f"no edge from {edge.src} to {edge.dst} can be made: one of them does not exist in this cube"
            )

    def unlink(self, src: str, dst: str, type: EdgeType, predicate: str | None = None) -> bool:
        """Close a current edge (it stays visible to `known_at` reads); False when there is none."""
        self.db.execute(
            "UPDATE edges SET known_to=?, closed=? WHERE src=? AND dst=? AND type=? AND predicate=? AND known_to IS NULL",
            (self.now_us, self.change_id, id_to_bytes(src), id_to_bytes(dst), type.value, predicate or ""),
        )
        return self.db.changes() > 0

    # -- work still to be done ---------------------------------------------------------------------------------

    def mark(self, id: str, task: str) -> None:
        """Note durably that `task` is to be done for this memory. Raises NotFound when there is no such memory."""
        ident = id_to_bytes(id)
        self.db.execute(_MARK, (task, ident, self.now_us))
        if self.db.changes() and not self.db.execute("SELECT 1 FROM memories WHERE id=? LIMIT 1", (ident,)).get:
            self.unmark(id, task)
            raise NotFound(f"memory {id} does not exist in this cube")

    def unmark(self, id: str, task: str) -> bool:
        """Take a mark away; False when it was gone, which means that somebody else did the work."""
        self.db.execute("DELETE FROM todo WHERE task=? AND id=?", (task, id_to_bytes(id)))
        return self.db.changes() > 0

    def fail(self, id: str, task: str, error: str) -> None:
        """Count a failed attempt and keep its reason."""
        self.db.execute(
            "UPDATE todo SET attempts = attempts + 1, error=? WHERE task=? AND id=?", (error, task, id_to_bytes(id))
        )

    # -- vectors -----------------------------------------------------------------------------------------------

    def put_vectors(self, model: str, items: Sequence[tuple[int, NDArray[np.float32]]]) -> int:
        """Store vectors of one model, as float16. Texts that are gone meanwhile are skipped. Returns how many were
        stored.
        """
        if not items:
            return 0
        dim = len(items[0][1])
        known = self.db.execute("SELECT m, dim FROM models WHERE name=?", (model,)).get
        if known is None:
            self.db.execute("INSERT INTO models(name, dim) VALUES(?, ?)", (model, dim))
            known = (self.db.last_insert_rowid(), dim)
        m, declared = known
        stored = 0
        for t, vector in items:
            if len(vector) != declared:
                raise DimensionMismatch(
                    f"model {model!r} has {declared} dimensions in this cube, got {len(vector)}; give the other model another id"
                )
            self.db.execute(
                "INSERT OR IGNORE INTO vectors(t, m, data) SELECT ?, ?, ? WHERE EXISTS(SELECT 1 FROM memories WHERE n=?)",
                (t, m, np.asarray(vector, dtype="<f2").tobytes(), t),
            )
            stored += self.db.changes()
        return stored

    def drop_vectors(self, model: str, limit: int) -> int:
        """Delete up to `limit` vectors of a model; fewer than `limit` means that none is left. Its number is never
        given to another.
        """
        m = self.db.execute("SELECT m FROM models WHERE name=?", (model,)).get
        if m is None:
            return 0
        self.db.execute("DELETE FROM vectors WHERE v IN (SELECT v FROM vectors WHERE m=? LIMIT ?)", (m, limit))
        dropped = self.db.changes()
        if dropped < limit:
            self.db.execute("INSERT INTO purges(t, what) VALUES(?, 'model')", (m,))
        return dropped

    # -- whole changes -----------------------------------------------------------------------------------------

    def purge(self, ids: Iterable[str]) -> Purged:
        """Hard-delete memories and all that is derived from nothing else, with every version, edge, vector and mark."""
        self.memo.forget()
        try:
            return purge.purge(self, ids)
        finally:
            self.memo.forget()

    def undo(self, id: str) -> list[Memory]:
        """Revert the last change of this memory, and whatever else that change did."""
        return undo.undo_last(self, id)

    def changed_with(self, id: str) -> list[str]:
        """The memories that the last change of this memory touched, as `undo` would revert them."""
        return undo.changed_with(self, id)

    def keep_numbers_used(self) -> None:
        """Remember the highest row number before rows are deleted, so that it is never given out again."""
        self.db.execute(
            "INSERT OR REPLACE INTO meta(key, value) VALUES('last_n', ?)", (str(self._session.last_number()),)
        )

    def forget_terms(self) -> None:
        """Drop cached term numbers, some of which a deletion took out of the dictionary."""
        self._terms.forget()

    def _current(self, ident: bytes) -> tuple[object, ...] | None:
        found = self.db.execute(f"SELECT {rows.SELECT} FROM memories m WHERE {reads.NEWEST}", (ident,)).fetchone()
        return found if found else None


class CubeSession:
    """What the changes of one connection to a cube have in common: the dictionary of its words."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self.terms = TermDictionary(db)
        self.memo = memo.Memo()
        self._last_n: int | None = None

    def prepare(self, changes: Sequence[Change]) -> None:
        """Nothing: all changes are alike."""

    def clock(self, after: int) -> int:
        """The change's time in µs: now, but never before what is already recorded (clocks of machines go back)."""
        found: Any = self._db.execute(_LAST).fetchone()
        memory, edge, n, used = found
        self._last_n = max(n or 0, int(used or 0))
        return max(to_micros(utcnow()), (memory or 0) + 1, (edge or 0) + 1, after + 1)

    def last_number(self) -> int:
        """The highest row number that was ever given out."""
        if self._last_n is None:
            found: Any = self._db.execute(_LAST).fetchone()
            self._last_n = max(found[2] or 0, int(found[3] or 0))
        return self._last_n

    def next_number(self) -> int:
        """A row number that was never used."""
        self._last_n = n = self.last_number() + 1
        return n

    def begin(self, now_us: int, change: Change) -> SqliteTx:
        """The transaction as one change sees it."""
        return SqliteTx(self, self._db, now_us, change)

    def forget(self) -> None:
        """Drop the cached numbers of words and rows."""
        self.terms.forget()
        self.memo.forget()
        self._last_n = None


def _check_characters(id: str, values: Iterable[object]) -> None:
    """Everything is checked before anything is written, so that a caller may catch the error and go on."""
    for value in values:
        if isinstance(value, str):
            try:
                value.encode()
            except UnicodeEncodeError:
                raise InvalidInput(f"memory {id} holds half a character (a lone surrogate); replace it") from None


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)
