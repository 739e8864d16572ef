"""What a started system holds: one of each room, for one event loop of one process."""

from __future__ import annotations

import asyncio
import os

from memos.background import Background
from memos.cubes.pool import CubePool
from memos.errors import InvalidInput
from memos.health import Counts
from memos.models.embed import Embedder
from memos.models.llm.port import ChatModel
from memos.models.rerank import Reranker
from memos.recall.engine import Recall
from memos.recall.models import configured_embedder, configured_reranker
from memos.scheduler.queues import make_queue
from memos.settings import Settings
from memos.storage.sqlite.registry import SqliteRegistry
from memos.system.ledger import Ledger
from memos.system.models import configured_llms


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
        self.recall = Recall(self.embedder, reranker if reranker is not None else configured_reranker(settings))
        self.registry = SqliteRegistry(settings.home, durability=settings.durability)
        self.ledger = Ledger(self.registry)
        self.llms = configured_llms(settings, llm, self.ledger.record)
        self.cubes = CubePool(self.registry, settings)
        self.counts = Counts()
        self.queue = make_queue(settings)
        self.background = Background(
            self.cubes,
            self.registry,
            self.queue,
            self.embedder,
            settings.embedder,
            former=lambda spec: configured_embedder(settings, spec),
            slots=settings.workers,
            enabled=settings.background,
        )
        self.background.start()

    def check_loop(self, *, ended: bool = False) -> None:
        """Raise InvalidInput in another event loop than the first call's (unless that one has `ended`)."""
        if asyncio.get_running_loop() is not self.loop and not (ended and self.loop.is_closed()):
            raise InvalidInput(
                "this AsyncMemOS belongs to another event loop; make one in each asyncio.run, or use MemOS"
            )
