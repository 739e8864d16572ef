"""What the verbs other than search answer with. Plain values, printable as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memos.memory.model import Edge, Memory
from memos.storage.ports import Purged, StoreStats


@dataclass(frozen=True, slots=True)
class Added:
    """One record of an add. `new` is False when the same record was there already; `seen` counts its arrivals."""

    id: str
    text: str
    new: bool
    seen: int


@dataclass(frozen=True, slots=True)
class AddResult:
    """What an add stored. It is on disk when this returns (`durability=full`). `notices` name what was skipped or
    changed.

    `pending`: digesting (facts, vectors) goes on in the background; the records themselves are searchable already.
    `task`: the id of the task that does it, where one was made.
    """

    cube: str
    records: tuple[Added, ...]
    notices: tuple[str, ...] = ()
    pending: bool = True
    task: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all records, new or known, in the order of the messages. They stay valid for ever."""
        return tuple(r.id for r in self.records)

    def __iter__(self) -> Iterator[Added]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, slots=True)
class Graph:
    """A piece of a cube's graph: memories, those asked for first, and the edges between them."""

    memories: tuple[Memory, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class FileResult:
    """What adding a file did. `memory` names the document; its pieces point at it. `new` is False when the document was there:
    as it is now, or (`replaced`) in a former edition. `pending`: a model reads it in the background, by `task`; its pieces are
    found already.
    """

    cube: str
    memory: Memory
    new: bool
    replaced: bool
    notices: tuple[str, ...] = ()
    pending: bool = False
    task: str | None = None

    @property
    def id(self) -> str:
        """The document's id, which stays the same for all its editions."""
        return self.memory.id

    @property
    def pieces(self) -> int:
        """How many pieces the text was stored in."""
        return int(self.memory.body.get("parts", 0))


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """What a delete did. `retracted` (soft) memories can be undone; the counts of a hard delete say what went where.

    `restored`: facts that are current again, because what had superseded them is gone. `erased_from_disk`: no page of
    the file holds the text any more (False for soft deletes, and for large files until `memos doctor --vacuum`).
    """

    cube: str
    hard: bool
    asked: int
    retracted: int = 0
    memories: int = 0
    cascaded: int = 0
    versions: int = 0
    edges: int = 0
    vectors: int = 0
    terms: int = 0
    images: int = 0
    restored: tuple[str, ...] = ()
    erased_from_disk: bool = False
    dry_run: bool = False

    @classmethod
    def purged(cls, cube: str, asked: int, done: Purged, *, dry_run: bool = False) -> DeleteResult:
        """The report of a hard delete, or of what it would do."""
        counts = {
            name: getattr(done, name)
            for name in ("memories", "cascaded", "versions", "edges", "vectors", "terms", "images")
        }
        return cls(
            cube, True, asked, **counts, restored=done.restored, erased_from_disk=done.erased_from_disk, dry_run=dry_run
        )


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts and sizes of a cube. `waiting` is work not done yet, by kind; `bytes_per_memory` includes everything."""

    cube: str
    store: StoreStats
    waiting: Mapping[str, int]
    embedder: str | None

    @property
    def bytes_per_memory(self) -> float:
        """Disk bytes per memory, indexes, history and vectors included."""
        return self.store.disk_bytes / max(1, self.store.memories)


@dataclass(frozen=True, slots=True)
class Report:
    """What an archive holds. `memories` counts each once, `versions` all of their history; `bytes` and `sha256` are
    the file's.
    """

    cube: str
    memories: int
    versions: int
    edges: int
    vectors: int
    bytes: int
    sha256: str
