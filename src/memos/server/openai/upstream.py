"""Requests passed on to a server that speaks OpenAI's protocol, and its answers as they are: whole, or byte by byte as they come.

The key is the server's own. What a client that leaves has heard so far is kept, and its request is ended there, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memos.errors import MemosError, ModelError, Unavailable
from memos.models.llm.passage import Head, Passage
from memos.models.llm.sse import Events, TooLong
from memos.server.openai.errors import event
from memos.server.openai.exchange import LEFT, STORED, Exchange, Hearing, read, unless_left
from memos.server.openai.said import Answer
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


async def passed_on(request: Request, passage: Passage, exchange: Exchange, streams: Streams) -> Response:
    """The server's answer. Raises ModelUnavailable, ModelTimeout, ModelBusy, and Busy when too many streams are open."""
    body = json.dumps({**exchange.body, "model": passage.model}, ensure_ascii=False).encode("utf-8", "replace")
    sent = {name: request.headers[name] for name in _SENT if name in request.headers}
    sent |= {"Accept": _EVENTS if exchange.streams else "application/json", "Accept-Encoding": "identity"}
    answer = passage.ask(exchange.api.PATH, body, sent)
    with streams.promised(exchange.streams):
        try:
            found = await _answered(request, passage, exchange, answer)
        except MemosError:
            passage.tell(exchange.usage(Answer()), False, 0.0)
            raise
    if isinstance(found, Response):
        return found
    stopped = event(Unavailable(CUT_OFF), named=exchange.api.NAMED)
    try:
        return streams.reply(found.events, heartbeat=None, stopped=stopped, headers=found.headers)
    except MemosError:
        await found.events.aclose()
        raise


async def _answered(
    request: Request,
    passage: Passage,
    exchange: Exchange,
    answer: AsyncGenerator[Head | bytes, None],
) -> Response | _Stream:
    head = await unless_left(request, anext(answer, None))
    if not isinstance(head, Head):
        await answer.aclose()
        return await _left(passage, exchange)
    headers = _headers(head.headers) | exchange.around.headers
    if head.status == 200 and head.headers.get("content-type", "").startswith(_EVENTS):
        spoken = await unless_left(request, begun(_spoken(passage, exchange, answer)))
        return Response(status_code=LEFT) if spoken is None else _Stream(spoken, headers)
    whole = await unless_left(request, _whole(answer, passage))
    if whole is None:
        return await _left(passage, exchange)
    kind = head.headers.get("content-type") or "application/json"
    if head.status >= 300:
        passage.tell(exchange.usage(Answer()), False, _seconds(exchange))
        text = passage.without_secrets(whole.decode("utf-8", "replace"))
        return Response(text, head.status, headers, media_type=kind)
    said = exchange.api.answer(read(whole))
    passage.tell(exchange.usage(said), True, _seconds(exchange))
    if said.response or exchange.api.NAMED:
        await _keep(exchange, read(whole))
    await exchange.stored(said)
    return Response(whole, head.status, headers | exchange.around.headers, media_type=kind)


async def _spoken(
    passage: Passage, exchange: Exchange, answer: AsyncGenerator[Head | bytes, None]
) -> AsyncGenerator[bytes, None]:
    """The bytes of a stream as they come; they are heard on the way. A stream that breaks ends with an error."""
    heard, events = exchange.api.Heard(), Events()
    why: str | None = "left"
    kept = False
    try:
        async with contextlib.aclosing(answer) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, Head):
                    continue
                _hear(heard, events, chunk)
                if not kept and exchange.api.NAMED and (response := heard.answer.response):
                    kept = True
                    await exchange.keep_id(response)
                yield chunk
        why = None
    except MemosError as error:
        why = "failed"
        yield event(error, named=exchange.api.NAMED)
    finally:
        if events.other:
            heard.take(read(events.other))
        said = heard.answer
        whole = said.finish is not None
        passage.tell(exchange.usage(said, left=why == "left"), whole, _seconds(exchange))
        ending = exchange.around.after(said, None if whole else why or "failed")
    if ending is not None:
        await asyncio.wait({ending}, timeout=STORED)


def _hear(heard: Hearing, events: Events, chunk: bytes) -> None:
    with contextlib.suppress(TooLong):  # what cannot be read is passed on all the same
        for data in events.feed(chunk):
            if data != "[DONE]":
                heard.take(read(data))


async def _whole(answer: AsyncGenerator[Head | bytes, None], passage: Passage) -> bytes:
    content = bytearray()
    async with contextlib.aclosing(answer) as chunks:
        async for chunk in chunks:
            content += chunk if isinstance(chunk, bytes) else b""
            if len(content) > _MOST_BYTES:
                raise ModelError(f"{passage.model_id} answered more than {_MOST_BYTES >> 20} MB")
    return bytes(content)


async def _keep(exchange: Exchange, body: Any) -> None:
    if isinstance(body, Mapping) and isinstance(body.get("id"), str):
        await exchange.keep_id(body["id"])


async def _left(passage: Passage, exchange: Exchange) -> Response:
    """The client is gone before there was an answer."""
    passage.tell(exchange.usage(Answer(), left=True), False, _seconds(exchange))
    exchange.around.after(Answer())
    return Response(status_code=LEFT)


def _headers(upstream: Mapping[str, str]) -> dict[str, str]:
    """What of the server's headers the client is told."""
    told = {name: value for name, value in upstream.items() if name in _TOLD or name.startswith(_LIMITS)}
    return told | ({"X-Upstream-Request-ID": upstream["x-request-id"]} if "x-request-id" in upstream else {})


def _seconds(exchange: Exchange) -> float:
    return time.monotonic() - exchange.begun
