"""CrewAI's memory over a cube: a crew and its agents recall from it and remember into it.

    Crew(agents=[...], tasks=[...], memory=MemosMemory(MemOS(), user="alice"))

Needs the extra `memos[crewai]`. What the records of CrewAI are in the cube is in `memos.compat.crewai_records`.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Literal

from memos.door import Door

try:
    from crewai.events.event_bus import crewai_event_bus
    from crewai.events.types.memory_events import (
        MemoryQueryCompletedEvent,
        MemoryQueryFailedEvent,
        MemoryQueryStartedEvent,
    )
    from crewai.memory.types import MemoryMatch, MemoryRecord, compute_composite_score
    from crewai.memory.unified_memory import Memory
    from crewai.memory.utils import join_scope_paths
except ImportError as e:
    raise ImportError(
        "memos.compat.crewai needs CrewAI with its unified memory: pip install '.[crewai]' in a checkout of MemOS"
    ) from e

from memos.compat.crewai_records import MemosStorage

_SOURCE = "memos"


class MemosMemory(Memory):
    """CrewAI's `Memory`, with what it keeps in a cube: searched by words and meaning there, and read for facts like everything
    that is told. No model is asked by CrewAI for it: its `llm`, `embedder` and thresholds for consolidation and deep recall do
    nothing here; its weights of meaning, recency and importance do.

    Works with a `MemOS` or a `Client`; with an asynchronous memory from other threads than that of its event loop, and there by
    `aremember` and `arecall`. Without a
    scope (and without `root_scope`) everything in the cube is recalled, with one the records in it. `derive=False`: records are
    kept as they are. `hard=False`: what is forgotten is taken back and stays in the history of the cube.
    """

    def __init__(
        self,
        memos: object,
        *,
        user: str | None = None,
        cube: str | None = None,
        derive: bool = True,
        hard: bool = True,
        **fields: Any,
    ) -> None:
        storage = MemosStorage(Door(memos, user, cube), derive=derive, hard=hard)
        super().__init__(storage=storage, embedder=_no_vectors, **fields)

    def extract_memories(self, content: str) -> list[str]:
        """What is to be remembered of a text: the whole of it. The cube reads it for facts by itself."""
        return [content] if content.strip() else []

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """What fits a question best, the best first: records, and without a scope whatever else the cube knows. One search,
        whatever the `depth`. Raises Unavailable when the memory cannot be asked.
        """
        self.drain_writes()
        start = time.perf_counter()
        asked = {"query": query, "limit": limit, "score_threshold": None, "source_type": _SOURCE}
        crewai_event_bus.emit(self, MemoryQueryStartedEvent(**asked))
        try:
            inside = scope if scope is None else join_scope_paths(self.root_scope, scope)
            found = self._records.find(
                query, inside or self.root_scope, categories, limit, None if include_private else (source,)
            )
            matches = [self._match(record, score) for record, score in found]
        except Exception as e:
            crewai_event_bus.emit(self, MemoryQueryFailedEvent(**asked, error=str(e)))
            raise
        matches.sort(key=lambda match: -match.score)
        took = (time.perf_counter() - start) * 1000
        crewai_event_bus.emit(self, MemoryQueryCompletedEvent(**asked, results=matches, query_time_ms=took))
        return matches

    async def aremember(self, *args: Any, **options: Any) -> MemoryRecord | None:
        """See `remember`. No event loop stands still meanwhile."""
        return await asyncio.to_thread(self.remember, *args, **options)

    async def aremember_many(self, *args: Any, **options: Any) -> list[MemoryRecord]:
        """See `remember_many`."""
        return await asyncio.to_thread(self.remember_many, *args, **options)

    async def arecall(self, *args: Any, **options: Any) -> list[MemoryMatch]:
        """See `recall`."""
        return await asyncio.to_thread(self.recall, *args, **options)

    @property
    def _records(self) -> MemosStorage:
        assert isinstance(self._storage, MemosStorage)
        return self._storage

    def _match(self, record: MemoryRecord, score: float) -> MemoryMatch:
        combined, reasons = compute_composite_score(record, score, self._config)
        return MemoryMatch(record=record, score=combined, match_reasons=reasons)

    def _encode_batch(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """What CrewAI's own class asks a model about (scope, categories, importance, doubles) is as the caller says, or plain."""
        records = [
            MemoryRecord(
                content=content,
                scope=join_scope_paths(root_scope, scope),
                categories=list(categories or ()),
                metadata=dict(metadata or {}),
                importance=self.default_importance if importance is None else importance,
                source=source,
                private=private,
            )
            for content in contents
        ]
        self._records.save(records)
        return records


def _no_vectors(texts: list[str]) -> list[list[float]]:
    """The embedder CrewAI is given: the cube makes its own vectors."""
    return []
