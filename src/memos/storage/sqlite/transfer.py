"""Everything in a cube file, out of it and into a new one, as plain values without row or term numbers.

What is derived (full-text rows, term numbers, features) does not travel: it is made again from the texts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import apsw

from memos.errors import ArchiveError
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.image import Image
from memos.memory.model import Edge, Memory
from memos.memory.time import from_micros, to_micros
from memos.storage.ports import Durability, Todo
from memos.storage.sqlite import rows
from memos.storage.sqlite.connect import connect, migrate, remove_file, typed_errors
from memos.storage.sqlite.forks import gate
from memos.storage.sqlite.images import keep
from memos.storage.sqlite.schema import CUBE_APPLICATION_ID, CUBE_MIGRATIONS
from memos.storage.sqlite.sources_moved import ListReader, ListWriter
from memos.storage.sqlite.terms import TermDictionary, fts_document, pack
from memos.storage.sqlite.transfer_lived import RowBuilder, StoredRow
from memos.text.document import term_row

T = TypeVar("T")

BATCH = 2_000


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """One version of a memory as it lies in a cube. `text_version`: the version that first had this text (often
    itself). `sources_kept`: how many sources it has before those of `memory`: all of the version before it, or none.
    """

    memory: Memory
    op: str
    actor: str
    cause: str | None
    change: str
    text_version: int
    sources_kept: int = 0


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """An edge, and the changes that opened and closed it."""

    edge: Edge
    opened: str
    closed: str | None


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What a memory is stored once under."""

    key: bytes
    id: str


@dataclass(frozen=True, slots=True)
class StoredImage:
    """An image, the digits of its SHA-256, and the ids of the records that refer to it."""

    digits: str
    image: Image
    records: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StoredVector:
    """A vector as little-endian float16, and the text it belongs to: a memory's version that is its own
    `text_version`.
    """

    id: str
    version: int
    data: bytes


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """An embedding model of a cube, its dimensions and how many vectors there are."""

    name: str
    dim: int
    vectors: int


@contextlib.contextmanager
def snapshot(db: apsw.Connection) -> Iterator[apsw.Connection]:
    """One state of the file for several reads, whatever is written meanwhile."""
    db.execute("BEGIN")
    try:
        db.execute("SELECT count(*) FROM meta").fetchall()  # a deferred transaction begins with its first read
        yield db
    finally:
        db.execute("COMMIT")


def versions(db: apsw.Connection) -> Iterator[StoredVersion]:
    """Every version of every memory, in the order they were stored."""
    same = "x.id=m.id AND x.text=m.text AND x.title IS m.title AND x.speaker IS m.speaker"
    sql = (
        f"SELECT {rows.STORED}, m.op, m.actor, m.cause, m.change, CASE WHEN {same} THEN x.version END "
        "FROM memories m LEFT JOIN memories x ON x.n=m.t ORDER BY m.n"
    )
    lists = ListReader(db)
    for row in db.execute(sql):
        kept, added = lists.added(row[0], row[1], row[rows.SOURCES])
        memory = rows.memory_from_row((*row[: rows.SOURCES], added, *row[rows.SOURCES + 1 :]))
        op, actor, cause, change, text_version = row[rows.WIDTH : rows.WIDTH + 5]
        yield StoredVersion(memory, op, actor, cause, id_from_bytes(change), text_version or memory.version, kept)


def edges(db: apsw.Connection) -> Iterator[StoredEdge]:
    """Every edge, closed ones too, in the order they were stored; those that lead nowhere are left out."""
    sql = (
        f"SELECT {rows.EDGE_COLUMNS}, e.opened, e.closed FROM edges e WHERE e.src IN (SELECT id FROM memories) "
        "AND e.dst IN (SELECT id FROM memories) ORDER BY e.e"
    )
    for row in db.execute(sql):
        closed = row[11]
        yield StoredEdge(
            rows.edge_from_row(row), id_from_bytes(row[10]), None if closed is None else id_from_bytes(closed)
        )


def keys(db: apsw.Connection) -> Iterator[StoredKey]:
    """What memories are stored once under, by key."""
    sql = "SELECT key, id FROM keys WHERE id IN (SELECT id FROM memories) ORDER BY key"
    for key, ident in db.execute(sql):
        yield StoredKey(key, id_from_bytes(ident))


def todos(db: apsw.Connection) -> Iterator[Todo]:
    """Every mark of work still to be done, oldest first."""
    sql = "SELECT id, task, since, attempts, error FROM todo WHERE id IN (SELECT id FROM memories) ORDER BY q"
    for ident, task, since, attempts, error in db.execute(sql):
        yield Todo(id_from_bytes(ident), task, from_micros(since), attempts, error)


def has_images(db: apsw.Connection) -> bool:
    """Whether any image is kept here."""
    return next(images(db), None) is not None


def images(db: apsw.Connection) -> Iterator[StoredImage]:
    """Every image that a record refers to, by its SHA-256."""
    of = "SELECT id FROM image_records WHERE sha256=? AND id IN (SELECT id FROM memories) ORDER BY id"
    for digest, media_type, data in db.execute("SELECT sha256, media_type, data FROM images ORDER BY sha256"):
        records = tuple(id_from_bytes(ident) for (ident,) in db.execute(of, (digest,)))
        if records:
            yield StoredImage(digest.hex(), Image(data, media_type), records)


def models(db: apsw.Connection) -> list[ModelInfo]:
    """The models that have vectors here, by name."""
    sql = (
        "SELECT k.name, k.dim, count(*) FROM models k JOIN vectors v ON v.m=k.m JOIN memories x ON x.n=v.t "
        "GROUP BY k.m ORDER BY k.name"
    )
    return [ModelInfo(*row) for row in db.execute(sql)]


def vectors(db: apsw.Connection, model: str) -> Iterator[StoredVector]:
    """All vectors of a model, in the order of their texts."""
    sql = (
        "SELECT x.id, x.version, v.data FROM vectors v JOIN models k ON k.m=v.m JOIN memories x ON x.n=v.t "
        "WHERE k.name=? ORDER BY v.t"
    )
    for ident, version, data in db.execute(sql, (model,)):
        yield StoredVector(id_from_bytes(ident), version, data)


class CubeBuilder:
    """Fills a new cube file. Nobody else may know the file before `finish`; `discard` leaves no trace of it.

    Rows that contradict each other (a version twice, a vector of a text that is not there) raise ArchiveError.
    """

    def __init__(self, path: Path, *, durability: Durability = "full") -> None:
        self.path = path
        with typed_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = connect(path, durability=durability)
            migrate(self._db, path, CUBE_APPLICATION_ID, CUBE_MIGRATIONS)
            self._db.execute("PRAGMA wal_autocheckpoint=20000")
        self._terms = TermDictionary(self._db)
        self._lived = RowBuilder(self._db)
        self._texts: dict[tuple[bytes, int], int] = {}
        self._lists = ListWriter(self._db)
        self._n = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.discard()

    def add_versions(self, found: Iterable[StoredVersion]) -> None:
        """Store versions in this order. A version with another's text must come after it."""
        self._in_batches(found, self._version)

    def add_edges(self, found: Iterable[StoredEdge]) -> None:
        """Store edges with their own clocks."""
        self._in_batches(found, self._edge)

    def add_keys(self, found: Iterable[StoredKey]) -> None:
        """Store what memories are stored once under."""
        sql = "INSERT INTO keys(key, id) VALUES(?, ?)"
        self._in_batches(found, lambda k: self._db.execute(sql, (k.key, id_to_bytes(k.id))))

    def add_todos(self, found: Iterable[Todo]) -> None:
        """Store marks of work still to be done."""
        sql = "INSERT INTO todo(task, id, since, attempts, error) VALUES(?, ?, ?, ?, ?)"
        self._in_batches(
            found,
            lambda t: self._db.execute(sql, (t.task, id_to_bytes(t.id), to_micros(t.since), t.attempts, t.error)),
        )

    def add_images(self, found: Iterable[StoredImage]) -> None:
        """Store images, with the records that refer to them."""

        def one(stored: StoredImage) -> None:
            for id in stored.records:
                keep(self._db, id, stored.digits, stored.image)

        self._in_batches(found, one)

    def add_lived(self, found: Iterable[StoredRow]) -> None:
        """Store rows of what agents lived through; those that name an episode after it."""
        self._in_batches(found, self._lived.add)

    def add_vectors(self, model: ModelInfo, found: Iterable[StoredVector]) -> None:
        """Store all vectors of a model; their texts must have been stored before."""
        self._db.execute("INSERT INTO models(name, dim) VALUES(?, ?)", (model.name, model.dim))
        m = self._db.last_insert_rowid()
        sql = "INSERT INTO vectors(t, m, data) VALUES(?, ?, ?)"
        self._in_batches(found, lambda v: self._db.execute(sql, (self._texts[id_to_bytes(v.id), v.version], m, v.data)))

    def finish(self) -> None:
        """Bring everything into the one file and close it."""
        with typed_errors(self.path):
            self._db.execute("INSERT INTO fts(fts) VALUES('optimize')")
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self._db.close()

    def discard(self) -> None:
        """Close the file and delete it."""
        self._db.close()
        for suffix in ("", "-wal", "-shm"):
            remove_file(self.path.with_name(self.path.name + suffix))

    def _in_batches(self, found: Iterable[T], store: Callable[[T], object]) -> None:
        with typed_errors(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            for i, one in enumerate(found, 1):
                try:
                    with gate:
                        store(one)
                except (apsw.ConstraintError, KeyError) as e:
                    raise ArchiveError(f"{type(one).__name__} number {i} contradicts what came before it ({e})") from e
                if i % BATCH == 0:
                    self._db.execute("COMMIT")
                    self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("COMMIT")

    def _version(self, v: StoredVersion) -> None:
        self._n += 1
        n, ident = self._n, id_to_bytes(v.memory.id)
        values = list(rows.memory_values(v.memory))
        final = v.memory.known_to is None
        values[rows.SOURCES] = self._lists.stored(ident, n, values[rows.SOURCES], v.sources_kept, final=final)
        about = (v.op, v.actor, v.cause, id_to_bytes(v.change))
        if v.text_version != v.memory.version:
            t = self._texts[ident, v.text_version]
            features = self._db.execute("SELECT features FROM memories WHERE n=?", (t,)).get
            self._db.execute(rows.INSERT, (n, t, features, None, None, *about, *values))
            return
        row = term_row(v.memory)
        text_ids, beside_ids = self._terms.ids(row.text), self._terms.ids(row.beside)
        self._db.execute(rows.INSERT, (n, n, row.features, pack(text_ids), pack(beside_ids), *about, *values))
        self._db.execute("INSERT INTO fts(rowid, terms) VALUES(?, ?)", (n, fts_document(text_ids + beside_ids)))
        self._texts[ident, v.memory.version] = n

    def _edge(self, stored: StoredEdge) -> None:
        e = stored.edge
        self._db.execute(
            f"INSERT INTO edges({rows.EDGE_COLUMNS.replace('e.', '')}, opened, closed) VALUES({', '.join('?' * 12)})",
            (
                *rows.edge_values(e),
                id_to_bytes(stored.opened),
                None if stored.closed is None else id_to_bytes(stored.closed),
            ),
        )
