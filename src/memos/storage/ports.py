"""The port every home of a cube implements, and the plain values that cross it.

A `CubeStore` is one cube and nothing else (law 4): no method takes a cube name, so no query can reach another cube.
Reads take a `View` (the two clocks and the statuses wanted); writes are functions over a `WriteTx`, run one after
another inside a durable transaction, so that read-modify-write is safe across threads and processes (laws 1, 2 and 5).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from memos.memory.filter import Filter
from memos.memory.image import Image
from memos.memory.model import Edge, EdgeType, Kind, Memory, Status, Version
from memos.text.document import TermRow

T = TypeVar("T")
Direction = Literal["out", "in", "both"]
Durability = Literal["full", "normal"]

DIGEST = "digest"  # the task of reading a raw record for facts
READ = "read"  # the task of having a model read a raw record, after the rules did
DESCRIBE = "describe"  # the task of having a model that sees say what the images of a raw record show
FEEDBACK = (
    "feedback"  # the mark of feedback that is not acted on yet, and where the body of its record keeps what came of it
)
RELATION_EVIDENCE = "evidence"  # in the `info` of a RELATES_TO edge: the ids of the records that tell of it
READER = "reader"  # in a body or an edge: which model, with which edition of the prompt, read it
LEANS = "leans"  # in a body: ids of records whose words a text has beside those of its evidence; in the SUPPORTS edges from them
CURRENT: frozenset[Status] = frozenset({Status.ACTIVE})
WAS_TRUE: frozenset[Status] = frozenset({Status.ACTIVE, Status.SUPERSEDED})
ANY_STATUS: frozenset[Status] = frozenset(Status)


@dataclass(frozen=True, slots=True)
class View:
    """How a read looks at the cube.

    `as_of`: what was true then (None: no restriction on valid time). `known_at`: what we believed then (None: now).
    `statuses`: which are visible; None means active ones, plus superseded ones when a clock is set.
    """

    as_of: datetime | None = None
    known_at: datetime | None = None
    statuses: frozenset[Status] | None = None

    @property
    def visible(self) -> frozenset[Status]:
        """The statuses this view shows."""
        if self.statuses is not None:
            return self.statuses
        return WAS_TRUE if self.as_of is not None else CURRENT

    @property
    def is_now(self) -> bool:
        """Whether the view needs no clock: the current version of what is active."""
        return self.as_of is None and self.known_at is None


NOW = View()


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing. `cursor` continues after the last item; None when there is no more."""

    items: tuple[Memory, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Link:
    """An edge met while walking the graph, and how many hops from the start."""

    edge: Edge
    depth: int


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory id and the raw score of one channel (higher is better; scale is the channel's own)."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A bag of analysed terms with weights. No syntax: a term is matched as a value, never parsed."""

    terms: tuple[str, ...]
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A time span asked for, and how much a message within it is worth, 0 to 1. `end` is exclusive."""

    start: datetime
    end: datetime
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Probe:
    """One question, made ready for any cube.

    `terms`: analysed terms and how much each counts (its rarity is the store's to know, unless `idf` gives it).
    `speakers`: whose words are wanted, 0 to 1. `weights`: of the first stage, by column name. `force`: memory ids
    that must be in the pool whatever their score (explain).
    """

    terms: Mapping[str, float]
    idf: Mapping[str, float] | None = None
    vector: NDArray[np.float32] | None = None
    model: str | None = None
    speakers: Mapping[str, float] = field(default_factory=dict)
    spans: Sequence[Wanted] = ()
    text_pool: int = 300
    dense_pool: int = 200
    weights: Mapping[str, float] = field(default_factory=dict)
    force: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates and their raw channel values; all arrays are aligned. `rows` are the home's handles, given back to
    `fetch`.

    Columns (float32): `lexical` and `coarse` (≥ 0, idf-weighted), `dense` and `dense_window` (cosines), `speaker`,
    `date`, `worth`, `question`, `time_word`, `name` and `length` (0 to 1). `full_match` is the lexical value of a typical
    message that holds every term once. `dense_mean` and `dense_window_mean` are the cosines of the cube's mean, where
    nearness begins to count.
    """

    rows: NDArray[np.int64]
    sessions: NDArray[np.int32]
    happened: NDArray[np.int64]
    derived: NDArray[np.bool_]
    columns: Mapping[str, NDArray[np.float32]]
    first_rank: NDArray[np.int64]
    documents: int
    history_chars: int
    full_match: float
    dense_mean: float = 0.0
    dense_window_mean: float = 0.0
    has_dense: bool = False
    loading: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """Who speaks in a cube (and how many texts are theirs), and from when to when its raw records go. `aliases`: the names of
    each entity that has several, with what slots call it.
    """

    speakers: Mapping[str, int]
    first: datetime | None = None
    last: datetime | None = None
    aliases: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Todo:
    """A durable mark that work on a memory is still to be done."""

    id: str
    task: str
    since: datetime
    attempts: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """A text that has no vector of a model yet. `text_id` is the home's own handle, given back to `put_vectors`."""

    text_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Purged:
    """What a hard delete removed, by what it was. `cascaded` are derived memories that had no other evidence."""

    memories: int = 0
    cascaded: int = 0
    versions: int = 0
    edges: int = 0
    vectors: int = 0
    terms: int = 0
    images: int = 0
    ids: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    erased_from_disk: bool = False


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Counts and sizes of a cube. Sizes in bytes."""

    memories: int
    by_kind: Mapping[str, int]
    by_status: Mapping[str, int]
    versions: int
    edges: int
    vectors: Mapping[str, int]
    pending: Mapping[str, int]
    disk_bytes: int
    schema_version: int
    images: int = 0
    image_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """Who changes the cube and why; every version written under it carries this."""

    actor: str = "system"
    cause: str | None = None
    id: str | None = None


class WriteTx(Protocol):
    """The inside of one atomic change. All methods are synchronous and see the change's own writes."""

    @property
    def now(self) -> datetime:
        """The time of this change."""
        ...

    def get(self, id: str) -> Memory | None:
        """The current version of a memory, whatever its status; None when there is none."""
        ...

    def find_key(self, key: bytes) -> str | None:
        """The id of the memory that was last put under this key."""
        ...

    def point(self, key: bytes, id: str) -> None:
        """Find this memory, as it is, under one more key from now on."""
        ...

    def find_slot(self, slot: str, statuses: Collection[Status] | None = None) -> list[Memory]:
        """Current versions of all memories of a slot with these statuses (default: active), oldest first."""
        ...

    def find_about(self, subject: str, kind: Kind, statuses: Collection[Status] | None = None) -> list[Memory]:
        """The same of every slot of a subject (`subject|…`), of one kind."""
        ...

    def keeping(self) -> AbstractContextManager[None]:
        """Within this, what is read again is not parsed again: for changes that look at what those before them looked at."""
        ...

    def put_new(
        self, memory: Memory, op: str = "add", *, terms: TermRow, key: bytes | None = None, tasks: Sequence[str] = ()
    ) -> Memory:
        """Add a memory whose id was made just now, marked with what is to be done for it."""
        ...

    def put(self, memory: Memory, op: str = "add", *, terms: TermRow | None = None, key: bytes | None = None) -> Memory:
        """Add a memory, or a new version made from the current one; Conflict when another change came between."""
        ...

    def touch(self, id: str) -> int:
        """Count one more arrival of the same content; returns the new count. Raises NotFound."""
        ...

    def keep_image(self, id: str, reference: str, image: Image) -> None:
        """Keep the bytes of an image that a record refers to (`sha256:` and its digits), as long as one does."""
        ...

    def link(self, edge: Edge) -> None:
        """Add an edge; the same current edge again only raises its weight."""
        ...

    def unlink(self, src: str, dst: str, type: EdgeType, predicate: str | None = None) -> bool:
        """Close a current edge (it stays visible under `known_at`); False when there is none."""
        ...

    def edges(self, id: str, direction: Direction, types: Collection[EdgeType] | None = None) -> list[Edge]:
        """Current edges out of, into, or at a memory."""
        ...

    def mark(self, id: str, task: str) -> None:
        """Note durably that `task` is to be done for this memory."""
        ...

    def unmark(self, id: str, task: str) -> bool:
        """Take a mark away; False when it was gone: somebody else did the work."""
        ...

    def fail(self, id: str, task: str, error: str) -> None:
        """Count a failed attempt at a task and keep its reason."""
        ...

    def put_vectors(self, model: str, items: Sequence[tuple[int, NDArray[np.float32]]]) -> int:
        """Store vectors of one model by text id; returns how many. Raises DimensionMismatch."""
        ...

    def drop_vectors(self, model: str, limit: int) -> int:
        """Delete up to `limit` vectors of a model; returns how many."""
        ...

    def purge(self, ids: Iterable[str]) -> Purged:
        """Hard-delete memories and all that rests on nothing else."""
        ...

    def undo(self, id: str) -> list[Memory]:
        """Revert the last change of this memory, and whatever else that change did."""
        ...

    def changed_with(self, id: str) -> list[str]:
        """The ids of the memories that the last change of this memory touched. Raises NotFound."""
        ...


class CubeStore(Protocol):
    """Everything about one cube. Implementations must pass `tests/storage/conformance.py` unchanged."""

    async def write(self, fn: Callable[[WriteTx], T], change: Change = Change()) -> T:
        """Run `fn` in one atomic, durable change; when this returns, it survives a crash. Raises what `fn` raises.

        `fn` may be run again (when a change committed together with it fails), so it must not keep state of its own.
        """
        ...

    async def get(self, ids: Sequence[str], view: View = NOW) -> list[Memory]:
        """The memories that exist in this view, in the order asked."""
        ...

    async def list(
        self,
        where: Filter | None = None,
        *,
        view: View = NOW,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = True,
    ) -> Page:
        """One page in order of creation; continue with `cursor` until it is None."""
        ...

    async def count(self, where: Filter | None = None, *, view: View = NOW) -> int:
        """How many memories the view and filter leave."""
        ...

    async def find_ids(self, digits: str, *, limit: int = 10) -> builtins.list[str]:
        """Ids that begin or end with these hexadecimal digits, whatever the status, oldest first."""
        ...

    async def history(self, id: str) -> builtins.list[Version]:
        """Every version of a memory, oldest first. Raises NotFound."""
        ...

    async def neighbors(
        self,
        ids: Sequence[str],
        *,
        depth: int = 1,
        types: Collection[EdgeType] | None = None,
        direction: Direction = "both",
        view: View = NOW,
        limit: int | None = None,
    ) -> builtins.list[Link]:
        """Edges within `depth` hops, breadth first, each once, nearest first."""
        ...

    async def search_text(
        self, query: TextQuery, *, limit: int = 50, where: Filter | None = None, view: View = NOW
    ) -> builtins.list[Scored]:
        """Full text with BM25, best first; sees former texts under `known_at`."""
        ...

    async def search_vector(
        self,
        vector: NDArray[np.float32],
        model: str,
        *,
        limit: int = 50,
        where: Filter | None = None,
        view: View = NOW,
    ) -> builtins.list[Scored]:
        """Nearest vectors of one model by cosine, best first."""
        ...

    async def gather(self, probe: Probe, *, where: Filter | None = None, view: View = NOW) -> Pool:
        """The candidates of a question with every channel's value: the one round trip of a search."""
        ...

    async def prepare(self, probe: Probe) -> None:
        """A head start on `gather` with the same probe, while its vector is still being made. May do nothing."""
        ...

    async def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        """The memories behind handles of a pool, by handle; those deleted meanwhile are left out."""
        ...

    async def frequencies(self, terms: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many texts there are, and how many hold each term: the rarity of terms across several cubes."""
        ...

    async def outline(self) -> Outline:
        """Who speaks in the cube, and which time it covers."""
        ...

    async def preceding(self, ids: Sequence[str], count: int) -> dict[str, tuple[Memory, ...]]:
        """For each raw record the up to `count` records before it in its session, oldest first."""
        ...

    async def todo(
        self, task: str, limit: int = 100, *, attempts_below: int | None = None, ids: Collection[str] | None = None
    ) -> builtins.list[Todo]:
        """The oldest marks of a task, of all memories or of these `ids`, without those that failed as often as that or more, or
        whose memory was retracted.
        """
        ...

    async def image(self, reference: str) -> Image | None:
        """The image under this reference; None where none is kept, or all records that refer to it were taken back."""
        ...

    async def pending_vectors(self, model: str, limit: int = 256) -> builtins.list[Pending]:
        """Current texts without a vector of this model, oldest first."""
        ...

    async def count_pending_vectors(self, model: str) -> int:
        """How many current texts have no vector of this model."""
        ...

    async def vector_models(self) -> tuple[str, ...]:
        """The models of which there are vectors."""
        ...

    async def drop_vectors(self, model: str) -> int:
        """Delete every vector of a model, in bounded changes; returns how many there were."""
        ...

    async def stats(self) -> StoreStats:
        """Counts and sizes."""
        ...

    async def close(self) -> None:
        """Finish queued writes and close every file."""
        ...


@dataclass(frozen=True, slots=True)
class CubeInfo:
    """A cube as the registry knows it: its name, who owns it, who may do what, and where it lives."""

    name: str
    owner: str
    created_at: datetime
    grants: Mapping[str, str] = field(default_factory=dict)
    location: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
