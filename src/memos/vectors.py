"""The vectors of cubes: those that are missing are made in the background, politely, and a search uses those of one model only.

What lacks a vector is found by asking the cube, so a crash loses nothing, and a cube goes over to another model at once when all
of its texts have that one's vectors (law 6: until then it is searched by the former).
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

from memos.errors import MemosError
from memos.logs import get_logger
from memos.models.embed import Embedder
from memos.scheduler.locks import Locks
from memos.storage.ports import Change
from memos.storage.sqlite.cube import SqliteCube

log = get_logger(__name__)

EMBED_BATCH = 16
POLITE_SECONDS = 0.5  # how long a batch waits for searches to end
MODEL_KEY = "vector_model"


class Vectors:
    """Makes vectors with one embedder (None: there are none). `spec`: what it is called in the settings. `former`: makes the
    embedder of another spec. Used within one event loop.
    """

    def __init__(
        self, embedder: Embedder | None, spec: str = "", former: Callable[[str], Embedder | None] = lambda _: None
    ) -> None:
        self.embedder, self._spec, self._make_former = embedder, spec, former
        self._locks = Locks()
        self._former: dict[str, Embedder | None] = {}
        self._complete: set[str] = set()
        self._settled: set[str] = set()  # cubes whose vectors are of no other model, as far as this process knows
        self._callers = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextlib.contextmanager
    def attending(self) -> Iterator[None]:
        """Around what somebody waits for: embedding holds still a moment meanwhile, since both need the processor."""
        self._callers += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._callers -= 1
            if not self._callers:
                self._quiet.set()

    async def embedder_of(self, store: SqliteCube) -> Embedder | None:
        """The embedder whose vectors the cube is complete in: the configured one, or, until a re-embed ends, the one
        before.
        """
        key = str(store.path)
        if self.embedder is None or key in self._complete or key in self._settled:
            return self.embedder
        known = await store.meta(MODEL_KEY)
        if known is None or known.split("\n")[0] == self.embedder.model_id:
            self._settled.add(key)
            return self.embedder
        spec = known.split("\n")[1] if "\n" in known else ""
        if key not in self._former:
            self._former[key] = None
            with contextlib.suppress(MemosError):
                self._former[key] = self._make_former(spec) if spec else None
        former = self._former[key]
        return former if former is not None and former.model_id == known.split("\n")[0] else self.embedder

    async def make_all(self, store: SqliteCube) -> None:
        """Make the vectors that are missing now, however much comes in meanwhile. Raises ModelError."""
        if self.embedder is not None:
            await self.make(store, most=await store.count_pending_vectors(self.embedder.model_id))

    async def make(self, store: SqliteCube, seconds: float | None = None, most: int | None = None) -> bool:
        """Make the vectors that are missing, for at most so many seconds or texts; whether any are left. Raises ModelError."""
        if self.embedder is None:
            return False
        until = None if seconds is None else time.monotonic() + seconds
        async with self._locks.of(str(store.path)):
            model, made = self.embedder.model_id, 0
            while batch := await store.pending_vectors(model, EMBED_BATCH):
                if (until is not None and time.monotonic() >= until) or (most is not None and made >= max(most, 1)):
                    return True
                await self._let_callers_pass()
                vectors = await self.embedder.embed([p.text for p in batch], purpose="document")
                made += len(batch)
                items = [(p.text_id, vector) for p, vector in zip(batch, vectors, strict=True)]
                await store.write(lambda tx, items=items: tx.put_vectors(model, items), Change(actor="embed"))  # type: ignore[misc]
            key = str(store.path)
            if key not in self._complete:
                await self._now_of(model, store)
                self._complete.add(key)
                self._former.pop(key, None)
        return False

    def forget(self, path: str) -> None:
        """Forget what is known of a cube that is deleted."""
        self._complete.discard(path)
        self._settled.discard(path)
        self._former.pop(path, None)

    async def _now_of(self, model: str, store: SqliteCube) -> None:
        """Searches use the vectors of this model from here on; those of others go."""
        stamp = f"{model}\n{self._spec}"
        if await store.meta(MODEL_KEY) != stamp:
            await store.set_meta(MODEL_KEY, stamp)
        for former in await store.vector_models():
            if former != model:
                log.info("vectors_dropped", model=former, vectors=await store.drop_vectors(former))

    async def _let_callers_pass(self) -> None:
        with contextlib.suppress(TimeoutError):  # not `wait_for`: in Python 3.11 it can swallow a cancellation
            async with asyncio.timeout(POLITE_SECONDS):
                await self._quiet.wait()
