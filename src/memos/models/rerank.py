"""The reranker port, and rerankers behind HTTP: servers that speak Cohere's, Jina's or TEI's `/rerank`, or that of BGE servers.

Reranking is optional: recall blends these scores with its own and goes on without them when they fail.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable
from urllib.parse import urlsplit

from memos.errors import InvalidInput, ModelError
from memos.models.embed import is_blank
from memos.models.http import JsonClient
from memos.models.resilience import CircuitState, Failure, Guard, RetryPolicy
from memos.models.windows import Limits, batches_of, windows_of

Dialect = Literal["cohere", "jina", "tei", "bge"]

RERANK = RetryPolicy(attempts=2, timeout=8.0, budget=10.0, base=0.1, longest=1.0)
_BASE_URLS = {"cohere": "https://api.cohere.com/v2", "jina": "https://api.jina.ai/v1"}
_LIMITS = Limits(text_tokens=480, batch_tokens=48_000, batch_texts=100)


@runtime_checkable
class Reranker(Protocol):
    """Judges how well each text answers a question."""

    @property
    def model_id(self) -> str:
        """Stable name of the model."""

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score in 0 to 1 for each text, in the order given; a blank text scores 0.

        Raises:
            ModelUnavailable, ModelTimeout, ModelError: as `Embedder.embed`.
        """


@dataclass(frozen=True, slots=True)
class _Request:
    payload: dict[str, object]
    score_field: str


class HttpReranker:
    """A `Reranker` behind HTTP. A long text is judged in windows and gets the best one's score."""

    def __init__(
        self,
        dialect: Dialect,
        model: str,
        *,
        base_url: str,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        limits: Limits = _LIMITS,
        policy: RetryPolicy = RERANK,
        guard: Guard | None = None,
    ) -> None:
        """Prepare; nothing is sent. `model` may be empty for TEI, whose server has only one. `headers` are sent, too."""
        self._dialect = dialect
        self._model = model
        self._limits = limits
        self._policy = policy
        self._path = "" if dialect == "bge" and urlsplit(base_url).path.rstrip("/") not in ("", "/v1") else "/rerank"
        self._http = JsonClient(
            base_url, api_key=api_key, headers=headers, hint="check the base URL and that the server runs"
        )
        self._guard = guard or Guard(self.model_id)

    @classmethod
    def of(
        cls,
        dialect: Dialect,
        model: str,
        *,
        base_url: str | None,
        api_key: str | None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReranker:
        """Make one with the provider's usual base URL unless given.

        Raises:
            InvalidInput: neither given nor known, or the model's name is missing.
        """
        url = base_url or _BASE_URLS.get(dialect)
        if not url:
            raise InvalidInput(
                f"the reranker {dialect!r} needs the address of its server: set MEMOS_RERANKER_URL (or base_url)"
            )
        if not model and dialect != "tei":
            raise InvalidInput(f"the reranker {dialect!r} needs a model name: {dialect}:MODEL")
        return cls(dialect, model, base_url=url, api_key=api_key, headers=headers)

    @property
    def model_id(self) -> str:
        """`DIALECT:MODEL`."""
        return f"{self._dialect}:{self._model}".rstrip(":")

    @property
    def circuit(self) -> CircuitState:
        """Whether the server is being asked at all."""
        return self._guard.breaker.state

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.rerank`. Scores outside 0 to 1 are taken for logits and put through the logistic function."""
        readable = [i for i, text in enumerate(texts) if not is_blank(text)]
        windows = windows_of([texts[i] for i in readable], readable, self._limits.text_tokens)
        if is_blank(query) or not windows:
            return [0.0] * len(texts)
        raw: list[float] = []
        for batch in batches_of(windows, self._limits):
            raw += await self._ask(query, [window.text for window in batch])
        if not all(0.0 <= score <= 1.0 for score in raw):
            raw = [_logistic(score) for score in raw]
        best = [0.0] * len(texts)
        for window, score in zip(windows, raw, strict=True):
            best[window.owner] = max(best[window.owner], score)
        return best

    async def aclose(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _ask(self, query: str, texts: list[str]) -> list[float]:
        request = self._request(_sendable(query), [_sendable(text) for text in texts])

        async def call() -> list[float]:
            return self._scores(await self._http.post(self._path, request.payload), len(texts), request.score_field)

        return await self._guard.run(call, self._policy)

    def _request(self, query: str, texts: list[str]) -> _Request:
        if self._dialect == "tei":
            return _Request({"query": query, "texts": texts, "raw_scores": False}, "score")
        payload: dict[str, object] = {"model": self._model, "query": query, "documents": texts, "top_n": len(texts)}
        if self._dialect == "jina":
            payload["return_documents"] = False
        return _Request(payload, "relevance_score")

    def _scores(self, body: object, count: int, field: str) -> list[float]:
        items = (body.get("results") or body.get("data")) if isinstance(body, dict) else body
        scores: dict[int, float] = {}
        for place, item in enumerate(items if isinstance(items, list) else []):
            score, index = _said(item, field, place if self._dialect == "bge" else None)
            if isinstance(index, int) and isinstance(score, int | float) and math.isfinite(score):
                scores[index] = float(score)
        if set(scores) != set(range(count)):
            raise Failure(ModelError(f"{self.model_id} answered {len(scores)} usable scores for {count} texts"))
        return [scores[i] for i in range(count)]


def _said(item: Any, field: str, place: int | None) -> tuple[object, object]:
    """Score and index of an item; `place`: where it stands, for servers that answer in the order asked and name no index."""
    if not isinstance(item, dict):
        return None, None
    if place is None:
        return item.get(field), item.get("index")
    return item.get(field, item.get("score")), item.get("index", place)


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x))
