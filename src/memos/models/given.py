"""Embedders and rerankers that a user hands over as objects, held to their promises: whatever they raise or answer becomes a
`ModelError`, so that a search is answered without them (law 6)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

import structlog

from memos.errors import InvalidInput, ModelError, ModelTimeout
from memos.models.embed import Embedder, Purpose, Vectors, sound
from memos.models.rerank import Reranker

QUERY_SECONDS = 30.0  # that a search waits for a query's vector before it is answered without

log = structlog.get_logger(__name__)


class GivenEmbedder:
    """A user's embedder, checked when it is handed over and at each answer."""

    def __init__(self, inner: Embedder) -> None:
        _require(inner, "embedder", "embed")
        self._inner = inner

    @property
    def model_id(self) -> str:
        """See `Embedder.model_id`."""
        return self._inner.model_id

    @property
    def dim(self) -> int:
        """See `Embedder.dim`."""
        return self._inner.dim

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        """See `Embedder.embed`."""
        try:
            async with asyncio.timeout(QUERY_SECONDS if purpose == "query" else None) as limit:
                return sound(await self._inner.embed(texts, purpose=purpose), len(texts), self.model_id)
        except ModelError:
            raise
        except TimeoutError as e:
            if not limit.expired():
                raise _failed("embedder", self.model_id, e) from e
            raise ModelTimeout(f"the embedder {self.model_id} did not answer within {QUERY_SECONDS:g} s") from None
        except Exception as e:
            raise _failed("embedder", self.model_id, e) from e


class GivenReranker:
    """A user's reranker, checked likewise."""

    def __init__(self, inner: Reranker) -> None:
        _require(inner, "reranker", "rerank")
        self._inner = inner

    @property
    def model_id(self) -> str:
        """See `Reranker.model_id`."""
        return self._inner.model_id

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.rerank`."""
        try:
            return [float(score) for score in await self._inner.rerank(query, texts)]
        except ModelError:
            raise
        except Exception as e:
            raise _failed("reranker", self.model_id, e) from e


def _require(given: Any, what: str, verb: str) -> None:
    if not isinstance(getattr(given, "model_id", None), str):
        raise InvalidInput(f"the {what} has no `model_id` text; see `memos.models` for what an object must offer")
    if not inspect.iscoroutinefunction(getattr(given, verb, None)):
        raise InvalidInput(f"the {what} needs a method `async def {verb}(…)`; see `memos.models` for its arguments")


def _failed(what: str, model: str, error: Exception) -> ModelError:
    log.warning("given_model_failed", what=what, model=model, error=type(error).__name__)
    return ModelError(f"the {what} {model} raised {type(error).__name__}: {error}")
