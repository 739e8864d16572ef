"""Models that a user hands over as objects, held to their promises: whatever they raise or answer becomes a `ModelError`, so
that a search is answered without them, and what is added is read by rules (law 6)."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

from memos.errors import InvalidInput, ModelError, ModelTimeout
from memos.logs import get_logger
from memos.models.embed import Embedder, Purpose, Vectors, sound
from memos.models.llm.assembly import estimated
from memos.models.llm.port import ChatModel, ChatReply, ChatRequest, Piece
from memos.models.llm.remote import RemoteChatModel
from memos.models.llm.schema import in_words
from memos.models.rerank import Reranker

QUERY_SECONDS = 30.0  # that a search waits for a query's vector before it is answered without

log = get_logger(__name__)


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


class GivenChatModel:
    """A user's language model, checked likewise. A schema is told it in words, unless it says `holds_to_schema = True`."""

    def __init__(self, inner: ChatModel, seconds: float = 60.0) -> None:
        """`seconds`: for an answer, and for each piece of a streamed one."""
        _require(inner, "language model", "complete")
        if not inspect.isasyncgenfunction(getattr(inner, "stream", None)):
            raise InvalidInput(
                "the language model needs a method `async def stream(…)` that yields pieces; see `memos.models.llm`"
            )
        self._inner = inner
        self._seconds = seconds

    @property
    def model_id(self) -> str:
        """See `ChatModel.model_id`."""
        return self._inner.model_id

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        return self._checked(await self._limited(self._inner.complete(self._told(request))))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`. A model that ends without a whole reply gets one made of its pieces."""
        pieces = self._inner.stream(self._told(request))
        text, reasoning, reply = "", "", None
        try:
            while (piece := await self._limited(anext(pieces, None))) is not None:
                if not (isinstance(piece, Piece) and isinstance(piece.text, str) and isinstance(piece.reasoning, str)):
                    raise ModelError(
                        f"the language model {self.model_id} streamed no piece, but {type(piece).__name__}"
                    )
                text, reasoning, reply = text + piece.text, reasoning + piece.reasoning, piece.reply or reply
                if piece.text or piece.reasoning:
                    yield replace(piece, reply=None)
        finally:
            await pieces.aclose()
        if reply is None:
            reply = ChatReply(text, reasoning, usage=estimated(request, text + reasoning), model=self.model_id)
        yield Piece(reply=self._checked(reply))

    async def aclose(self) -> None:
        """Close what the model keeps open, if it can be closed."""
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()

    def _told(self, request: ChatRequest) -> ChatRequest:
        return request if getattr(self._inner, "holds_to_schema", False) else in_words(request)

    async def _limited(self, answer: Any) -> Any:
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await answer
        except ModelError:
            raise
        except TimeoutError as e:
            if not limit.expired():
                raise _failed("language model", self.model_id, e) from e
            raise ModelTimeout(
                f"the language model {self.model_id} did not answer within {self._seconds:g} s"
            ) from None
        except Exception as e:
            raise _failed("language model", self.model_id, e) from e

    def _checked(self, reply: Any) -> ChatReply:
        if isinstance(reply, ChatReply) and isinstance(reply.text, str) and isinstance(reply.reasoning, str):
            return reply
        raise ModelError(f"the language model {self.model_id} answered no ChatReply, but {type(reply).__name__}")


def given_chat_model(model: ChatModel, seconds: float) -> ChatModel:
    """A user's language model, checked; one of our own at a server needs no checks, and has its own patience."""
    return model if isinstance(model, RemoteChatModel) else GivenChatModel(model, seconds)


def _require(given: Any, what: str, verb: str) -> None:
    if not isinstance(getattr(given, "model_id", None), str):
        raise InvalidInput(f"the {what} has no `model_id` text; see `memos.models` for what an object must offer")
    if not inspect.iscoroutinefunction(getattr(given, verb, None)):
        raise InvalidInput(f"the {what} needs a method `async def {verb}(…)`; see `memos.models` for its arguments")


def _failed(what: str, model: str, error: Exception) -> ModelError:
    log.warning("given_model_failed", what=what, model=model, error=type(error).__name__)
    return ModelError(f"the {what} {model} raised {type(error).__name__}: {error}")
