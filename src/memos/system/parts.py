"""What a started system holds: one of each room, for one event loop of one process."""

from __future__ import annotations

import asyncio
import os

from memos.background import DIGEST_SECONDS, Background
from memos.cubes.pool import CubePool
from memos.errors import InvalidInput, ModelError
from memos.evolving import Evolving
from memos.feedback import FeedbackWork
from memos.health import Counts
from memos.memory.hit import SearchResult
from memos.memory.time import load_zone
from memos.models.embed import Embedder
from memos.models.llm.port import ChatModel
from memos.models.llm.prices import Prices
from memos.models.rerank import Reranker
from memos.recall.ask import Ask
from memos.recall.engine import Recall
from memos.recall.lore import Lores
from memos.recall.models import configured_embedder, configured_reranker
from memos.scheduler.kinds import FEEDBACK
from memos.scheduler.queues import make_queue
from memos.seeing import NotSeen, Seeing
from memos.settings import Settings
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry
from memos.system.errands import Errands
from memos.system.ledger import Ledger
from memos.system.models import configured_llms
from memos.understanding import NotRead, Understanding
from memos.upkeep import Upkeep
from memos.vectors import Vectors


def left_undone(error: ModelError) -> str:
    """What is not done yet since a model failed, and why. The models that read and see say themselves what it is."""
    return str(error) if isinstance(error, (NotRead, NotSeen)) else f"not embedded yet: {error}"


class Parts:
    """What a started system holds."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder | None,
        reranker: Reranker | None,
        llm: ChatModel | None = None,
    ) -> None:
        self.loop, self.pid = asyncio.get_running_loop(), os.getpid()
        self.embedder = embedder if embedder is not None else configured_embedder(settings)
        self.registry = SqliteRegistry(settings.home, durability=settings.durability)
        self.ledger = Ledger(self.registry, Prices.parse(settings.llm_prices), settings.llm_tokens_per_user_per_day)
        self.llms = configured_llms(settings, llm, self.ledger.record, self.ledger.check)
        self.recall = Recall(
            self.embedder,
            reranker
            if reranker is not None
            else configured_reranker(settings, lambda user: self.llms.of("chat", user)),
        )
        self.lores = Lores()
        self.cubes = CubePool(self.registry, settings)
        self.counts = Counts()
        self.errands = Errands()
        self.queue = make_queue(settings)
        self.understanding = Understanding(
            self.cubes,
            self.registry,
            self.queue,
            self.llms,
            settings,
            lambda *which: self._digested(*which),
            embedder=self.embedder,
        )
        self.seeing = Seeing(self.cubes, self.registry, self.queue, self.llms, settings)
        self.upkeep = Upkeep(
            self.cubes,
            self.registry,
            self.queue,
            self.ask,
            self._model_of,
            lambda user: self.llms.of("evolution", user),
            zone=load_zone(settings.timezone),
            topics=settings.reorganize,
            enabled=settings.background,
        )
        self.evolving = Evolving(self.cubes, self.registry, self.queue, self.llms, settings)
        self.feedback = FeedbackWork(self.cubes, self.registry, self.queue, self.llms)
        self.vectors = Vectors(self.embedder, settings.embedder, lambda spec: configured_embedder(settings, spec))
        self.background = Background(
            self.cubes,
            self.registry,
            self.queue,
            self.vectors,
            more={
                **self.understanding.handlers,
                **self.seeing.handlers,
                **self.upkeep.handlers,
                **self.evolving.handlers,
                FEEDBACK: self.feedback.handle,
            },
            looks=(self.understanding.look, self.seeing.look, self.feedback.look, self.evolving.look),
            after=(self.upkeep.digested,),
            slots=settings.workers,
            enabled=settings.background,
        )
        self.background.start()
        self.upkeep.start()

    async def ask(self, info: CubeInfo, store: SqliteCube, ask: Ask) -> SearchResult:
        """Search one cube, with the embedder that its vectors are of."""
        embedder = await self.vectors.embedder_of(store)
        embedders = {} if embedder is None else {info.name: embedder}
        return await self.recall.search(ask, {info.name: store}, embedders=embedders)

    async def _model_of(self, store: SqliteCube) -> str | None:
        embedder = await self.vectors.embedder_of(store)
        return None if embedder is None else embedder.model_id

    async def finish(self, info: CubeInfo, store: SqliteCube) -> None:
        """Digest, read and embed everything that is marked in a cube now. Raises ModelError when a model fails: of two, the one
        that reads, and what it can be done without is done all the same.
        """
        unread: NotRead | NotSeen | None = None
        try:
            await self.seeing.finish(info, store)
        except NotSeen as e:
            unread = e
        try:
            await self.understanding.finish(info, store)
        except NotRead as e:
            unread = e
        await self.background.finish(store)
        if unread is not None:
            raise unread

    async def _digested(self, store: SqliteCube, to_the_end: bool) -> None:
        """Have rules read what is marked, before a model does."""
        if to_the_end:
            await self.background.digest_all(store)
        else:
            await self.background.catch_up(store, DIGEST_SECONDS)

    def check_loop(self, *, ended: bool = False) -> None:
        """Raise InvalidInput in another event loop than the first call's (unless that one has `ended`)."""
        if asyncio.get_running_loop() is not self.loop and not (ended and self.loop.is_closed()):
            raise InvalidInput(
                "this AsyncMemOS belongs to another event loop; make one in each asyncio.run, or use MemOS"
            )
