"""Background work: digest what was added, then embed it. Marks in the cube say what is left, so a crash loses nothing
and the next start goes on. One worker task per cube; CPU work runs in threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator

import structlog

from memos.cubes.pool import CubePool
from memos.errors import MemosError, ModelError, NotFound
from memos.models.embed import Embedder
from memos.models.factory import make_embedder
from memos.organize.digest import digest
from memos.reading.read import read_trace
from memos.storage.ports import DIGEST, Change, CubeInfo
from memos.storage.sqlite.cube import SqliteCube

log = structlog.get_logger(__name__)

EMBED_BATCH = 16
POLITE_SECONDS = 0.5  # how long a batch waits for searches to end
CATCH_UP_SECONDS = 0.25  # how long a read waits for facts of what was added just before it
RETRY_SECONDS = 30.0
MODEL_KEY = "vector_model"


class Background:
    """The workers of one system. Used within one event loop."""

    def __init__(self, cubes: CubePool, embedder: Embedder | None, spec: str) -> None:
        self._cubes, self._embedder, self._spec = cubes, embedder, spec
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._again: set[str] = set()
        self._digesting: dict[str, asyncio.Lock] = {}
        self._embedding: dict[str, asyncio.Lock] = {}
        self._former: dict[str, Embedder | None] = {}
        self._complete: set[str] = set()
        self._settled: set[str] = set()  # cubes whose vectors are of no other model, as far as this process knows
        self._woken: set[str] = set()
        self._searches = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._stopped = False

    def wake(self, info: CubeInfo) -> None:
        """Start work on a cube, or have its worker look again."""
        if self._stopped:
            return
        self._again.add(info.location)
        task = self._tasks.get(info.location)
        if task is None or task.done():
            self._tasks[info.location] = asyncio.get_running_loop().create_task(self._run(info))

    def greet(self, info: CubeInfo) -> None:
        """Take up, once, what an earlier process left undone in a cube that is opened."""
        if info.location not in self._woken:
            self._woken.add(info.location)
            self.wake(info)

    async def catch_up(self, store: SqliteCube, seconds: float = CATCH_UP_SECONDS) -> int:
        """Digest what is marked for at most `seconds`; returns how many messages are still waiting."""
        if store.read_only:
            return 0
        until = time.monotonic() + seconds
        async with self._lock(self._digesting, store):
            while True:
                done = await digest(store, read_trace)
                if not done.more:
                    return 0
                if time.monotonic() >= until:
                    return (await store.stats()).pending.get(DIGEST, 0)

    async def finish(self, store: SqliteCube) -> None:
        """Digest and embed everything that is marked. Raises ModelError when the embedder fails."""
        if store.read_only:
            return
        async with self._lock(self._digesting, store):
            while (await digest(store, read_trace)).more:
                pass
        await self._embed(store)

    @contextlib.contextmanager
    def searching(self) -> Iterator[None]:
        """Around a search: embedding waits a moment meanwhile, since both need the processor."""
        self._searches += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._searches -= 1
            if not self._searches:
                self._quiet.set()

    async def _let_searches_pass(self) -> None:
        with contextlib.suppress(TimeoutError):  # not `wait_for`: in Python 3.11 it can swallow a cancellation
            async with asyncio.timeout(POLITE_SECONDS):
                await self._quiet.wait()

    async def embedder_of(self, store: SqliteCube) -> Embedder | None:
        """The embedder whose vectors the cube is complete in: the configured one, or, until a re-embed ends, the one
        before.
        """
        key = str(store.path)
        if self._embedder is None or key in self._complete or key in self._settled:
            return self._embedder
        known = await store.meta(MODEL_KEY)
        if known is None or known.split("\n")[0] == self._embedder.model_id:
            self._settled.add(key)
            return self._embedder
        spec = known.split("\n")[1] if "\n" in known else ""
        if key not in self._former:
            self._former[key] = None
            with contextlib.suppress(MemosError):
                self._former[key] = make_embedder(spec) if spec else None
        former = self._former[key]
        return former if former is not None and former.model_id == known.split("\n")[0] else self._embedder

    async def leave(self, info: CubeInfo) -> None:
        """Stop working on a cube that is to be deleted."""
        task = self._tasks.pop(info.location, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def stop(self) -> None:
        """Stop all workers after the step they are in."""
        self._stopped = True
        tasks = list(self._tasks.values())
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, info: CubeInfo) -> None:
        while info.location in self._again:
            self._again.discard(info.location)
            try:
                async with self._cubes.use(info) as store:
                    while await self.catch_up(store, seconds=1.0):
                        pass
                    await self._embed(store)
            except NotFound:
                return  # deleted meanwhile
            except ModelError as e:
                log.warning("embedding_put_off", cube=info.name, error=str(e))
                await asyncio.sleep(RETRY_SECONDS)
                self._again.add(info.location)
            except MemosError as e:
                log.error("background_failed", cube=info.name, error=str(e))
                return

    async def _embed(self, store: SqliteCube) -> None:
        if self._embedder is None:
            return
        async with self._lock(self._embedding, store):
            model = self._embedder.model_id
            while batch := await store.pending_vectors(model, EMBED_BATCH):
                await self._let_searches_pass()
                vectors = await self._embedder.embed([p.text for p in batch], purpose="document")
                items = [(p.text_id, vector) for p, vector in zip(batch, vectors, strict=True)]
                await store.write(lambda tx, items=items: tx.put_vectors(model, items), Change(actor="embed"))  # type: ignore[misc]
            key = str(store.path)
            if key not in self._complete:
                stamp = f"{model}\n{self._spec}"
                if await store.meta(MODEL_KEY) != stamp:
                    await store.set_meta(MODEL_KEY, stamp)
                self._complete.add(key)
                self._former.pop(key, None)
                for former in await store.vector_models():
                    if former != model:  # searches use the new one from here on
                        log.info("vectors_dropped", model=former, vectors=await store.drop_vectors(former))

    @staticmethod
    def _lock(table: dict[str, asyncio.Lock], store: SqliteCube) -> asyncio.Lock:
        return table.setdefault(str(store.path), asyncio.Lock())
