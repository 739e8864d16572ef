"""An embedder whose model answers requests from elsewhere: windows, batches, retries and checks around one `ask`.

The providers (`openai`, `ollama`) only know how to phrase a request and read the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from memos.models.embed import Purpose, Vectors, checked, is_blank, pooled
from memos.models.resilience import DOCUMENTS, QUERIES, CircuitState, Guard, RetryPolicy
from memos.models.windows import Limits, Window, batches_of, windows_of


class EmbeddingApi(Protocol):
    """One way to ask a server for embeddings."""

    @property
    def name(self) -> str:
        """The model's stable name."""

    async def ask(self, texts: Sequence[str]) -> object:
        """Return one row of numbers per text, in order. Raises `Failure`."""

    async def aclose(self) -> None:
        """Close connections."""


@dataclass(frozen=True, slots=True)
class Prefixes:
    """What a model was trained to see before a document and before a question."""

    document: str = ""
    query: str = ""

    def of(self, purpose: Purpose) -> str:
        """Return the prefix for `purpose`."""
        return self.query if purpose == "query" else self.document


class RemoteEmbedder:
    """An `Embedder` over an `EmbeddingApi`. Its `circuit` is visible."""

    def __init__(
        self,
        api: EmbeddingApi,
        *,
        dim: int = 0,
        limits: Limits | None = None,
        prefixes: Prefixes | None = None,
        documents: RetryPolicy = DOCUMENTS,
        queries: RetryPolicy = QUERIES,
        guard: Guard | None = None,
        parallel: int = 4,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            api: how to ask.
            dim: the declared length; 0 takes that of the first answer and holds the model to it.
            limits: what one request may hold.
            prefixes: put before each window.
            documents: patience for documents.
            queries: patience for queries.
            guard: retries and circuit breaker.
            parallel: requests under way at once, for one call.
        """
        self._api = api
        self._dim = dim
        self._limits = limits or Limits()
        self._prefixes = prefixes or Prefixes()
        self._policies: dict[Purpose, RetryPolicy] = {"document": documents, "query": queries}
        self._guard = guard or Guard(api.name)
        self._parallel = parallel

    @property
    def model_id(self) -> str:
        """See `Embedder.model_id`."""
        return self._api.name

    @property
    def dim(self) -> int:
        """Length of the vectors; 0 if it was not declared and no call was made yet."""
        return self._dim

    @property
    def circuit(self) -> CircuitState:
        """Whether the server is being asked at all."""
        return self._guard.breaker.state

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `Embedder.embed`. If one request fails for good, the others are given up and nothing is returned."""
        readable = [i for i, text in enumerate(texts) if not is_blank(text)]
        windows = windows_of([texts[i] for i in readable], readable, self._limits.text_tokens)
        if not windows:
            return np.zeros((len(texts), self._dim), np.float32)
        # A server that failed lately is probed with one request before it gets the others.
        gate = asyncio.Semaphore(self._parallel if self.circuit is CircuitState.CLOSED else 1)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(self._batch(batch, purpose, gate)) for batch in batches_of(windows, self._limits)
                ]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from errors.exceptions[0].__cause__
        vectors = checked(
            np.concatenate([task.result() for task in tasks]), count=len(windows), dim=self._dim, model_id=self.model_id
        )
        return pooled(vectors, [w.owner for w in windows], [w.tokens for w in windows], len(texts))

    async def aclose(self) -> None:
        """Close connections; the embedder may be used again."""
        await self._api.aclose()

    async def _batch(self, batch: Sequence[Window], purpose: Purpose, gate: asyncio.Semaphore) -> Vectors:
        prefix = self._prefixes.of(purpose)
        # A lone surrogate cannot be sent as UTF-8.
        texts = [prefix + window.text.encode("utf-8", "replace").decode() for window in batch]
        async with gate:
            rows = await self._guard.run(lambda: self._api.ask(texts), self._policies[purpose])
        vectors = checked(rows, count=len(batch), dim=self._dim, model_id=self.model_id)
        self._dim = self._dim or vectors.shape[1]
        return vectors
