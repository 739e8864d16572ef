"""`SqliteCube`: one cube in one SQLite file. Writes go through the file's writer thread, reads through a few
connections, ranking reads through the resident index. Nothing here can reach another file (law 4).
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from memos.errors import StorageBusy, StorageError, StorageFull, StorageReadOnly
from memos.memory.filter import Filter
from memos.memory.image import Image, digits_of
from memos.memory.model import EdgeType, Memory, Version
from memos.storage.ports import (
    NOW,
    Change,
    Direction,
    Durability,
    Link,
    Outline,
    Page,
    Pending,
    Pool,
    Probe,
    Purged,
    Scored,
    StoreStats,
    TextQuery,
    Todo,
    View,
    WriteTx,
)
from memos.storage.sqlite import images, purge, reads
from memos.storage.sqlite.bridge import bridge
from memos.storage.sqlite.connect import (
    backups,
    check_schema,
    connect,
    file_id,
    file_size,
    migrate,
    typed_errors,
)
from memos.storage.sqlite.forks import gate
from memos.storage.sqlite.lived import Lived
from memos.storage.sqlite.ranked import RankedReads
from memos.storage.sqlite.readers import Readers, at_once
from memos.storage.sqlite.schema import CUBE_APPLICATION_ID, CUBE_MIGRATIONS
from memos.storage.sqlite.tx import CubeSession
from memos.storage.sqlite.upkept import Upkept
from memos.storage.sqlite.writer import Writer
from memos.storage.threads import ThreadPool, aside

T = TypeVar("T")

SCHEMA = len(CUBE_MIGRATIONS)
DROP_BATCH = 2_000
VACUUM_LIMIT = 64 << 20  # a hard delete rewrites files up to this size at once; larger ones when asked
_readers = ThreadPool(4, "memos-read")


class SqliteCube(Upkept, Lived):
    """A `CubeStore` in one file. `open` creates or upgrades the file; a file that cannot be written opens for
    reading.
    """

    def __init__(self, path: Path, *, durability: Durability = "full", read_only: bool = False) -> None:
        self.path = path
        self.read_only = read_only
        self._opened = file_id(path)
        self._writer = Writer(path, durability, self._opened, CubeSession)
        self._readers = Readers(path, self._opened, read_only=read_only)
        self._closed = False
        self._embedded_up_to: dict[str, tuple[int, int]] = {}
        self.ranked = RankedReads(path, read_only=read_only)
        gate.register(self)

    @classmethod
    def open(cls, path: Path, *, durability: Durability = "full", create: bool = True) -> SqliteCube:
        """Open a cube file, creating (unless `create` is False) or upgrading it where needed."""
        if not path.exists():
            if not create:
                raise StorageError(f"cube file {path} does not exist; it was moved or deleted outside MemOS")
            with typed_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
        writable = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
        if not writable and not path.exists():
            raise StorageReadOnly(f"{path.parent} cannot be written: check its permissions or choose another folder")
        # without leave to create none is made, not even when the file is deleted just now: it would belong to nobody
        with gate, contextlib.ExitStack() as undo:
            db = connect(path, read_only=not writable, durability=durability, create=create)
            undo.callback(db.close)
            if writable:
                migrate(db, path, CUBE_APPLICATION_ID, CUBE_MIGRATIONS)
                if file_size(path) <= VACUUM_LIMIT:
                    with typed_errors(path), contextlib.suppress(apsw.BusyError, apsw.FullError):
                        purge.erase_left_over(db)
            elif check_schema(db, path, CUBE_APPLICATION_ID, SCHEMA) < SCHEMA:
                raise StorageReadOnly(
                    f"{path} needs an upgrade to schema {SCHEMA} and cannot be written; fix its permissions"
                )
            cube = cls(path, durability=durability, read_only=not writable)
            if writable:  # the last connection to close a file folds its log in: one that goes on spares that
                cube._writer.adopt(db)
                undo.pop_all()
            return cube

    # -- writes ------------------------------------------------------------------------------------------------

    async def write(self, fn: Callable[[WriteTx], T], change: Change = Change()) -> T:
        """Run `fn` in one atomic, durable change. See `CubeStore.write`."""
        self._check_writable()
        return await bridge().wait(self._writer.submit(fn, change))

    async def write_patiently(self, fn: Callable[[WriteTx], T], change: Change = Change()) -> T:
        """The same for a change that takes long and that nobody waits for: all others go first."""
        self._check_writable()
        return await bridge().wait(self._writer.submit(fn, change, patient=True))

    @property
    def quiet_seconds(self) -> float:
        """How long ago a change was last asked for, of those that do not wait for others."""
        return time.monotonic() - self._writer.asked_at

    def write_soon(self, fn: Callable[[WriteTx], T], change: Change = Change()) -> Any:
        """The same for a caller without an event loop: a `concurrent.futures.Future`."""
        self._check_writable()
        return self._writer.submit(fn, change)

    async def purge(
        self,
        ids: Sequence[str],
        change: Change = Change(),
        *,
        vacuum: bool | None = None,
        check: Callable[[WriteTx], None] | None = None,
    ) -> Purged:
        """Hard-delete and clear the disk of it: free pages, log and index. Large files are rewritten only when asked.
        `check` is called first, in the same change.
        """

        def delete(tx: WriteTx) -> Purged:
            if check is not None:
                check(tx)
            return tx.purge(ids)

        self._check_writable()
        report = await self.write(delete, change)
        if not report.ids:
            return report
        return await self.erase(report, vacuum=vacuum)

    async def plan_purge(self, ids: Sequence[str]) -> Purged:
        """What a purge of these memories would remove; nothing is changed."""

        def plan(tx: WriteTx) -> Purged:
            raise _Planned(tx.purge(ids))

        try:
            return await self.write(plan)
        except _Planned as e:
            return e.report

    async def erase(self, report: Purged, *, vacuum: bool | None = None) -> Purged:
        """Clear the file's free pages and log after deletions, and remove the copies that upgrades left beside it
        (they hold what was deleted). Returns the report with `erased_from_disk` set.
        """
        rewrite = file_size(self.path) <= VACUUM_LIMIT if vacuum is None else vacuum
        self.ranked.forget_masks()
        self._readers.release()
        try:
            erased = await asyncio.wrap_future(self._writer.submit_bare(lambda db: purge.erase(db, vacuum=rewrite)))
            with typed_errors(self.path):
                for copy in backups(self.path):
                    copy.unlink(missing_ok=True)
        except (StorageFull, StorageBusy):  # the deletion itself is done; the next one, or the next start, tries again
            erased = False
        return replace(report, erased_from_disk=bool(erased))

    async def vector_models(self) -> tuple[str, ...]:
        """The models of which there are vectors."""
        return await self._read(reads.vector_models)

    async def drop_vectors(self, model: str) -> int:
        """Delete every vector of a model, in changes of at most 2,000, so that other writers are not held up."""
        self._check_writable()
        dropped = 0
        while True:
            batch = await self.write(lambda tx: tx.drop_vectors(model, DROP_BATCH), Change(cause=f"drop {model}"))
            dropped += batch
            if batch < DROP_BATCH:
                return dropped

    def _check_writable(self) -> None:
        if self.read_only:
            raise StorageReadOnly(f"{self.path} was opened read-only because it cannot be written; fix its permissions")

    # -- reads -------------------------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str], view: View = NOW) -> list[Memory]:
        """The memories that exist in this view, in the order asked."""
        return await self._read(lambda db: reads.get(db, ids, view))

    async def find_ids(self, digits: str, *, limit: int = 10) -> builtins.list[str]:
        """Ids that begin or end with these hexadecimal digits, whatever the status."""
        return await self._read(lambda db: reads.find_ids(db, digits, limit))

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
        return await self._read(lambda db: reads.list_page(db, where, view, limit, cursor, newest_first))

    async def count(self, where: Filter | None = None, *, view: View = NOW) -> int:
        """How many memories there are."""
        return await self._read(lambda db: reads.count(db, where, view))

    async def history(self, id: str) -> builtins.list[Version]:
        """Every version of a memory, oldest first."""
        return await self._read(lambda db: reads.history(db, id))

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
        """Edges within `depth` hops, nearest first."""
        return await self._read(lambda db: reads.neighbors(db, ids, depth, types, direction, view, limit))

    async def search_text(
        self, query: TextQuery, *, limit: int = 50, where: Filter | None = None, view: View = NOW
    ) -> builtins.list[Scored]:
        """Full text by the stored index alone; needs nothing in memory and sees former texts under `known_at`."""
        return await self._read(lambda db: reads.search_text(db, query, limit, where, view))

    async def search_vector(
        self,
        vector: NDArray[np.float32],
        model: str,
        *,
        limit: int = 50,
        where: Filter | None = None,
        view: View = NOW,
    ) -> builtins.list[Scored]:
        """Nearest vectors of one model by cosine."""
        return await self._rank(lambda db: self.ranked.search_vector(db, vector, model, limit, where, view))

    async def gather(self, probe: Probe, *, where: Filter | None = None, view: View = NOW) -> Pool:
        """The candidates of a question with every channel's value. See `Pool`."""
        return await self._rank(lambda db: self.ranked.gather(db, probe, where, view))

    async def prepare(self, probe: Probe) -> None:
        """A head start on `gather` for a question whose vector is still being made."""
        await self._read(lambda db: self.ranked.prepare(db, probe))

    async def fetch(self, rows: Sequence[int]) -> dict[int, Memory]:
        """The memories behind handles of a pool."""
        return await self._read(lambda db: reads.by_rows(db, rows))

    async def frequencies(self, words: Collection[str]) -> tuple[int, dict[str, int]]:
        """How many texts there are, and how many hold each term."""
        return await self._rank(lambda db: self.ranked.frequencies(db, words))

    async def outline(self) -> Outline:
        """Who speaks in the cube, and which time it covers."""
        return await self._rank(self.ranked.outline)

    async def preceding(self, ids: Sequence[str], count: int) -> dict[str, tuple[Memory, ...]]:
        """For each raw record the records before it in its session, oldest first."""
        return await self._read(lambda db: reads.preceding(db, ids, count))

    async def todo(
        self, task: str, limit: int = 100, *, attempts_below: int | None = None, ids: Collection[str] | None = None
    ) -> builtins.list[Todo]:
        """The oldest marks of a task."""
        return await self._read(lambda db: reads.todo(db, task, limit, attempts_below, ids))

    async def image(self, reference: str) -> Image | None:
        """The image under this reference."""
        digits = digits_of(reference)
        return await self._read(lambda db: images.find(db, digits))

    async def pending_vectors(self, model: str, limit: int = 256) -> builtins.list[Pending]:
        """Current texts without a vector of this model, oldest first."""
        newest, deletions = await self._read(reads.newest)
        after = self._embedded(model, deletions)
        found = await self._read(lambda db: reads.pending_vectors(db, model, after, limit))
        self._embedded_up_to[model] = (deletions, found[0].text_id - 1 if found else max(after, newest))
        return found

    async def count_pending_vectors(self, model: str) -> int:
        """How many current texts have no vector of this model."""
        _, deletions = await self._read(reads.newest)
        after = self._embedded(model, deletions)
        return await self._read(lambda db: reads.count_pending_vectors(db, model, after))

    def _embedded(self, model: str, deletions: int) -> int:
        """The text up to which all have a vector, as far as known; a deletion may have taken vectors away."""
        at, after = self._embedded_up_to.get(model, (deletions, 0))
        return after if at == deletions else 0

    async def stats(self) -> StoreStats:
        """Counts and sizes."""
        disk = sum(map(file_size, self.files()))
        return await self._read(lambda db: reads.stats(db, disk))

    async def check(self) -> builtins.list[str]:
        """Problems found in the file (pages, full text, orphans); empty when it is sound."""
        return await self._read(reads.check)

    @property
    def resident_bytes(self) -> int:
        """Memory the resident index holds; 0 when it is not loaded."""
        return self.ranked.nbytes

    def files(self) -> builtins.list[Path]:
        """Every file this cube occupies."""
        return [self.path, self.path.with_name(self.path.name + "-wal"), self.path.with_name(self.path.name + "-shm")]

    async def meta(self, key: str) -> str | None:
        """A setting kept in the cube itself."""
        return await self._read(lambda db: db.execute("SELECT value FROM meta WHERE key=?", (key,)).get)

    async def set_meta(self, key: str, value: str) -> None:
        """Keep a setting in the cube itself."""

        def put(tx: Any) -> None:
            tx.db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (key, value))

        await self.write(put)

    async def close(self) -> None:
        """Finish queued writes and close every connection."""
        await aside(self.close_now)

    def close_now(self) -> None:
        """The same, blocking."""
        self._closed = True
        self._readers.close()
        with typed_errors(self.path):
            self._writer.close()
        self.ranked.feed.drop()

    async def _read(self, fn: Callable[[apsw.Connection], T]) -> T:
        """Run `fn` on one state of the file, however many statements it makes."""
        return await asyncio.get_running_loop().run_in_executor(_readers, self.read_now, at_once(fn))

    async def _rank(self, fn: Callable[[apsw.Connection], T]) -> T:
        """The same without that: what the index is compared with must not be older than the index."""
        return await asyncio.get_running_loop().run_in_executor(_readers, self.read_now, fn)

    def read_now(self, fn: Callable[[apsw.Connection], T]) -> T:
        """Run `fn` on a reading connection, in the calling thread."""
        return self._readers.read(fn)

    def let_go(self) -> None:
        """Close every connection; the next call opens one again."""
        self._writer.let_go()
        self.ranked.feed.let_go()
        self._readers.release()


class _Planned(Exception):
    """Carries a plan out of the change that is thrown away with it."""

    def __init__(self, report: Purged) -> None:
        self.report = report
