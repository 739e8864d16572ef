"""A chat model at a server: slots, time limits, retries, the circuit, and one more try without what the server refuses, around a
dialect that only knows how to phrase a request and read the answer.

A partial answer is never taken for a whole one: before the first piece of a stream it is asked for again, later it is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

from memos.errors import ModelError, ModelTimeout
from memos.models.http import JsonClient, Refused
from memos.models.llm.assembly import Assembly, reply_of
from memos.models.llm.dialect import Dialect
from memos.models.llm.port import ChatReply, ChatRequest, Piece, Purpose
from memos.models.llm.refusals import Refusal, refusal_in
from memos.models.llm.servers import Server, leave
from memos.models.llm.slots import URGENT
from memos.models.llm.sse import Events, TooLong
from memos.models.resilience import CircuitState, Failure, RetryPolicy

_REFUSALS = 6  # that one request may meet
_MOST_CHARACTERS = (
    1_000_000  # of an answer with its thinking: a model that does not come to an end is not listened to for ever
)
_MOST_BYTES = 16 << 20  # of an answer as it is sent
_DRAIN_SECONDS = 0.5  # after the last event, so that the connection can be used again


def patience(timeout: float) -> RetryPolicy:
    """Up to three attempts of `timeout` seconds each, in twice that time and what a server asks to wait."""
    return RetryPolicy(attempts=3, timeout=timeout, budget=2 * timeout + 10, base=0.5, longest=10.0)


@dataclass(frozen=True)
class RemoteChatModel:
    """A `ChatModel` whose model answers from elsewhere. Its `circuit` is visible."""

    model_id: str
    model: str
    dialect: Dialect
    http: JsonClient
    server: Server
    policy: RetryPolicy
    purpose: Purpose = "reading"
    holds_to_schema = True
    """It tells a schema in words itself, where its server takes none."""

    @property
    def circuit(self) -> CircuitState:
        """Whether the server is being asked at all."""
        return self.server.guard.breaker.state

    @property
    def retry_in(self) -> float:
        """Seconds until the server is asked again, when the circuit is open."""
        return self.server.guard.breaker.retry_in

    @property
    def failing(self) -> str:
        """Why the server did not answer the last call; empty when it did."""
        return self.server.guard.breaker.failing

    @property
    def busy_for(self) -> float:
        """Seconds that the server asked to be left alone."""
        return self.server.guard.busy_for

    def for_purpose(self, purpose: Purpose) -> RemoteChatModel:
        """The same model, whose calls take the turns of a purpose."""
        return RemoteChatModel(self.model_id, self.model, self.dialect, self.http, self.server, self.policy, purpose)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        async with self._slot():
            return await self.server.guard.run(lambda: self._answered(request), self.policy)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`. The time limit is that of each piece."""
        async with self._slot():
            first, pieces = await self.server.guard.run(lambda: self._begun(request), self.policy)
            try:
                yield first
                while (piece := await self._next(pieces)) is not None:
                    yield piece
            finally:
                await pieces.aclose()

    async def aclose(self) -> None:
        """Close connections."""
        leave(self.server, self.http)
        await self.http.aclose()

    def _slot(self) -> AbstractAsyncContextManager[None]:
        """A slot of the server; somebody who waits for a chat is told rather than kept waiting."""
        return self.server.slots.held(self.purpose, self.policy.timeout if self.purpose == URGENT else None)

    async def _answered(self, request: ChatRequest) -> ChatReply:
        asking = _Asking(self, request, stream=False)
        while True:
            try:
                body = await self.http.post(self.dialect.path, asking.payload, most=_MOST_BYTES)
            except Refused as refused:
                asking.again_without(refused)
                continue
            asking.taken()
            said = self.dialect.answer(body)
            self._bounded(len(said.text) + len(said.reasoning))
            return reply_of(said, request, self.model)

    async def _begun(self, request: ChatRequest) -> tuple[Piece, AsyncGenerator[Piece, None]]:
        """The first piece of a stream, and the others."""
        pieces = self._pieces(request)
        try:
            return await anext(pieces), pieces
        except BaseException:
            await pieces.aclose()
            raise

    async def _next(self, pieces: AsyncGenerator[Piece, None]) -> Piece | None:
        seconds = self.policy.timeout
        try:
            async with asyncio.timeout(seconds) as limit:
                return await anext(pieces, None)
        except TimeoutError:
            if not limit.expired():
                raise
            self.server.guard.breaker.failed("it stopped in the middle of an answer")
            raise ModelTimeout(f"{self.model_id} stopped in the middle of an answer for {seconds:g} s") from None
        except Failure as failure:
            if failure.dead:
                self.server.guard.breaker.failed(str(failure.error))
            raise failure.error from failure.__cause__

    async def _pieces(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        asking = _Asking(self, request, stream=True)
        while True:
            try:
                async with self.http.streamed(self.dialect.path, asking.payload) as chunks:
                    asking.taken()
                    async for piece in self._read(request, chunks):
                        yield piece
                return
            except Refused as refused:
                asking.again_without(refused)

    async def _read(self, request: ChatRequest, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Piece, None]:
        assembly, events, length = Assembly(), Events(), 0
        async for data in _data(events, chunks, self.model_id):
            said = self.dialect.event(self.http.without_secrets(data))
            length += len(said.text) + len(said.reasoning)
            self._bounded(length)
            for piece in assembly.add(said):
                yield piece
            if said.done:
                break
        if not assembly.complete:
            if (whole := _json(self.http.without_secrets(events.other))) is not None:  # it does not stream
                reply = reply_of(self.dialect.answer(whole), request, self.model)
                yield Piece(reply.text, reply.reasoning, reply)
                return
            raise Failure(ModelError(f"{self.model_id} ended in the middle of an answer"), retry=True, dead=True)
        for piece in assembly.rest():
            yield piece
        yield Piece(reply=assembly.reply(request, self.model))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                async for _ in chunks:
                    pass

    def _bounded(self, length: int) -> None:
        if length > _MOST_CHARACTERS:
            raise Failure(ModelError(f"{self.model_id} answered more than {_MOST_CHARACTERS:,} characters"))


class _Asking:
    """One request, and what of it the server refuses."""

    def __init__(self, model: RemoteChatModel, request: ChatRequest, *, stream: bool) -> None:
        self._model, self._request, self._stream = model, request, stream
        self._found: list[Refusal] = []

    @property
    def payload(self) -> dict[str, Any]:
        """The body as far as the server takes it."""
        without = self._model.server.refused(self._model.model) | {refusal.what for refusal in self._found}
        return self._model.dialect.payload(self._request, stream=self._stream, without=without)

    def again_without(self, refused: Refused) -> None:
        """Leave out what the server refused, or raise its error when that is not known."""
        before = self.payload
        refusal = refusal_in(refused.message, before, self._model.dialect)
        if refusal is None or len(self._found) >= _REFUSALS:
            raise refused
        self._found.append(refusal)
        if self.payload == before:
            raise refused

    def taken(self) -> None:
        """The server took the request: what was left out is left out from now on."""
        for refusal in self._found:
            if refusal.always:
                self._model.server.refuses(self._model.model, refusal.what)


async def _data(events: Events, chunks: AsyncIterator[bytes], name: str) -> AsyncGenerator[str, None]:
    try:
        async for chunk in chunks:
            for data in events.feed(chunk):
                yield data
        for data in events.end():
            yield data
    except TooLong:
        raise Failure(ModelError(f"{name} streamed a line without an end"), dead=True) from None


def _json(text: str) -> object:
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return None
