"""Requests passed on to a server that speaks OpenAI's protocol, and its answers as they are: whole, or byte by byte as they come.

The key is the server's own. What a client that leaves has heard so far is kept, and its request is ended there, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response

from memos.errors import MemosError, ModelError, Unavailable
from memos.models.llm.passage import Head, Passage
from memos.models.llm.sse import Events, TooLong
from memos.server.openai.errors import event
from memos.server.openai.exchange import LEFT, STORED, read, unless_left
from memos.server.sse import CUT_OFF, Begun, Streams, begun

_SENT = ("openai-beta",)  # headers of the client that are passed on
_TOLD = ("retry-after", "retry-after-ms", "x-should-retry", "openai-processing-ms", "openai-version")
_LIMITS = "x-ratelimit-"
_MOST_BYTES = 64 << 20  # of an answer that is no stream
_EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class _Stream:
    """A stream that has begun."""

    events: Begun[bytes]
    headers: Mapping[str, str]


class Listener(Protocol):
    """What hears an answer on its way to the client, and is told how it ended, by one of the last three."""

    @property
    def named(self) -> bool:
        """Whether the events of a stream have names."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Further ones of the answer."""

    def take(self, event: Any) -> None:
        """One event of a stream."""

    async def passing(self) -> None:
        """What was taken is about to be passed on."""

    async def answered(self, body: Any) -> None:
        """A whole answer, which is no stream."""

    def ended(self, why: str | None) -> asyncio.Task[None] | None:
        """A stream is over; `why` it broke off, if it did. What goes on then is waited for, though not long."""

    def unanswered(self, *, left: bool = False) -> None:
        """There is no answer, or an error; `left`: because the client is gone."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a server is asked: `path` stands behind its address, with its query. `streams`: whether the answer is to be events;
    `whole`: it is read here, and may not be any.
    """

    path: str
    body: bytes | None = None
    method: str = "POST"
    streams: bool = False
    whole: bool = False

    @classmethod
    def of(cls, path: str, body: Mapping[str, Any], model: str) -> Ask:
        """A body, with the name that the server has for the model."""
        content = json.dumps({**body, "model": model}, ensure_ascii=False).encode("utf-8", "replace")
        return cls(path, content, streams=body.get("stream") is True)


async def passed_on(request: Request, passage: Passage, ask: Ask, listener: Listener, streams: Streams) -> Response:
    """The server's answer. Raises ModelUnavailable, ModelTimeout, ModelBusy, and Busy when too many streams are open."""
    sent = {name: request.headers[name] for name in _SENT if name in request.headers}
    sent |= {"Accept": _EVENTS if ask.streams else "application/json", "Accept-Encoding": "identity"}
    answer = passage.ask(ask.path, ask.body, sent, ask.method)
    with streams.promised(ask.streams):
        try:
            found = await _answered(request, passage, listener, answer, ask.whole)
        except MemosError:
            listener.unanswered()
            raise
    if isinstance(found, Response):
        return found
    stopped = event(Unavailable(CUT_OFF), named=listener.named)
    try:
        return streams.reply(found.events, heartbeat=None, stopped=stopped, headers=found.headers)
    except MemosError:
        await found.events.aclose()
        raise


async def _answered(
    request: Request, passage: Passage, listener: Listener, answer: AsyncGenerator[Head | bytes, None], all_of_it: bool
) -> Response | _Stream:
    head = await unless_left(request, anext(answer, None))
    if not isinstance(head, Head):
        await answer.aclose()
        listener.unanswered(left=True)
        return Response(status_code=LEFT)
    headers = {**_headers(head.headers), **listener.headers}
    if not all_of_it and head.status == 200 and head.headers.get("content-type", "").startswith(_EVENTS):
        spoken = await unless_left(request, begun(_spoken(listener, answer)))
        return Response(status_code=LEFT) if spoken is None else _Stream(spoken, headers)
    whole = await unless_left(request, _whole(answer, passage))
    if whole is None:
        listener.unanswered(left=True)
        return Response(status_code=LEFT)
    kind = head.headers.get("content-type") or "application/json"
    if head.status >= 300:
        listener.unanswered()
        text = passage.without_secrets(whole.decode("utf-8", "replace"))
        return Response(text, head.status, headers, media_type=kind)
    await listener.answered(read(whole))
    return Response(whole, head.status, {**headers, **listener.headers}, media_type=kind)


async def _spoken(listener: Listener, answer: AsyncGenerator[Head | bytes, None]) -> AsyncGenerator[bytes, None]:
    """The bytes of a stream as they come; they are heard on the way. A stream that breaks ends with an error."""
    events = Events()
    why: str | None = "left"
    try:
        async with contextlib.aclosing(answer) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Head):
                    continue
                _hear(listener, events, chunk)
                await listener.passing()
                yield chunk
        why = None
    except MemosError as error:
        why = "failed"
        yield event(error, named=listener.named)
    finally:
        if events.other:
            listener.take(read(events.other))
        ending = listener.ended(why)
    if ending is not None:
        await asyncio.wait({ending}, timeout=STORED)


def _hear(listener: Listener, events: Events, chunk: bytes) -> None:
    with contextlib.suppress(TooLong):  # what cannot be read is passed on all the same
        for data in events.feed(chunk):
            if data != "[DONE]":
                listener.take(read(data))


async def _whole(answer: AsyncGenerator[Head | bytes, None], passage: Passage) -> bytes:
    content = bytearray()
    async with contextlib.aclosing(answer) as chunks:
        async for chunk in chunks:
            content += chunk if isinstance(chunk, bytes) else b""
            if len(content) > _MOST_BYTES:
                raise ModelError(f"{passage.model_id} answered more than {_MOST_BYTES >> 20} MB")
    return bytes(content)


def _headers(upstream: Mapping[str, str]) -> dict[str, str]:
    """What of the server's headers the client is told."""
    told = {name: value for name, value in upstream.items() if name in _TOLD or name.startswith(_LIMITS)}
    return told | ({"X-Upstream-Request-ID": upstream["x-request-id"]} if "x-request-id" in upstream else {})
