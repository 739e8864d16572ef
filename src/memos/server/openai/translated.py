"""`/v1/chat/completions` before a model that does not speak OpenAI's protocol: the request in words of the chat-model port, the
answer in OpenAI's. What the port has no word for (tools, several answers) is refused, never dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from memos.errors import InvalidInput, MemosError, Unavailable
from memos.models.llm.port import ChatMessage, ChatModel, ChatReply, ChatRequest, Role, TokenUsage
from memos.server.openai.errors import event
from memos.server.openai.exchange import LEFT, STORED, Exchange, unless_left
from memos.server.openai.said import Answer, texts
from memos.server.replies import json_reply, to_json
from memos.server.sse import CUT_OFF, Streams, begun

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_NOT = ("tools", "functions", "audio", "logprobs", "logit_bias", "prediction", "web_search_options")
_FINISH = {"stop": "stop", "length": "length", "filtered": "content_filter", "other": "stop"}


@dataclass(frozen=True, slots=True)
class _Frame:
    """What every piece of an answer says."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def of(self, kind: str, choice: Mapping[str, Any] | None, **more: Any) -> dict[str, Any]:
        choices = [] if choice is None else [{"index": 0, **choice, "logprobs": None}]
        told = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        return told | {"choices": choices, **more}


async def answered(request: Request, model: ChatModel, exchange: Exchange, streams: Streams) -> Response:
    """The model's answer, in OpenAI's words. Raises InvalidInput for what cannot be asked of it, and what the model raises."""
    if exchange.api.NAMED:
        raise InvalidInput(f"{model.model_id} answers /v1/chat/completions only, not /v1{exchange.api.PATH}")
    asked = request_of(exchange.body, model.model_id)
    frame = _Frame(model.model_id)
    if not exchange.streams:
        reply = await unless_left(request, model.complete(asked))
        if reply is None:
            exchange.around.after(Answer())
            return Response(status_code=LEFT)
        await exchange.stored(Answer(reply.text, finish=_FINISH[reply.finish]))
        message = {"role": "assistant", "content": reply.text, "refusal": None}
        told = frame.of("chat.completion", {"message": message, "finish_reason": _FINISH[reply.finish]})
        return json_reply(told | {"usage": _usage(reply.usage)}, headers=exchange.around.headers)
    with streams.promised():
        spoken = await unless_left(request, begun(_events(model, asked, exchange, frame)))
    if spoken is None:
        return Response(status_code=LEFT)
    stopped = event(Unavailable(CUT_OFF), named=False)
    try:
        return streams.reply(spoken, heartbeat=None, stopped=stopped, headers=exchange.around.headers)
    except MemosError:
        await spoken.aclose()
        raise


def request_of(body: Mapping[str, Any], model: str) -> ChatRequest:
    """The request in words of the port. Raises InvalidInput."""
    for name in _NOT:
        if body.get(name):
            raise InvalidInput(
                f"{name} cannot be passed on to {model}; configure a server that speaks OpenAI's protocol"
            )
    if body.get("n") not in (None, 1):
        raise InvalidInput(f"n={body['n']!r:.20}: {model} answers once")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidInput("messages is a list of at least one message")
    form = body.get("response_format") or {}
    kind = form.get("type", "text") if isinstance(form, Mapping) else None
    if kind not in ("text", "json_schema"):
        raise InvalidInput(f"response_format {kind!r:.40} cannot be passed on to {model}; text and json_schema can")
    held = form.get("json_schema") if kind == "json_schema" else None
    schema = held.get("schema") if isinstance(held, Mapping) else None
    stop = body.get("stop")
    if not isinstance(stop, (str, list, type(None))) or not isinstance(schema, (Mapping, type(None))):
        raise InvalidInput("stop is a text or a list of texts, and a schema is a JSON object")
    return ChatRequest(
        tuple(_message(m, n) for n, m in enumerate(messages)),
        schema=schema,
        temperature=_number(body, "temperature"),
        top_p=_number(body, "top_p"),
        max_tokens=cast("int | None", _number(body, "max_completion_tokens", int) or _number(body, "max_tokens", int)),
        stop=(stop,) if isinstance(stop, str) else tuple(map(str, stop or ())),
    )


async def _events(
    model: ChatModel, asked: ChatRequest, exchange: Exchange, frame: _Frame
) -> AsyncGenerator[bytes, None]:
    said: list[str] = []
    reply: ChatReply | None = None
    why: str | None = "left"
    kind, ending = "chat.completion.chunk", None
    try:
        begin: dict[str, Any] = {"role": "assistant"}
        async with contextlib.aclosing(model.stream(asked)) as pieces:
            async for piece in pieces:
                reply = piece.reply or reply
                if piece.text:
                    said.append(piece.text)
                    yield _event(frame.of(kind, {"delta": {**begin, "content": piece.text}, "finish_reason": None}))
                    begin = {}
        whole = reply or ChatReply("".join(said))
        if not said and whole.text:
            said.append(whole.text)
            yield _event(frame.of(kind, {"delta": {**begin, "content": whole.text}, "finish_reason": None}))
        yield _event(frame.of(kind, {"delta": {}, "finish_reason": _FINISH[whole.finish]}))
        options = exchange.body.get("stream_options")
        if isinstance(options, Mapping) and options.get("include_usage"):
            yield _event(frame.of(kind, None, usage=_usage(whole.usage)))
        why = None
    except MemosError as error:
        if not said:
            raise  # nothing is out yet: a status can tell it
        why = "failed"
        yield event(error, named=False)
    finally:
        finish = _FINISH[reply.finish] if reply is not None else None
        ending = exchange.around.after(Answer("".join(said), finish=finish), why)
    if ending is not None:
        await asyncio.wait({ending}, timeout=STORED)
    if why is None:
        yield b"data: [DONE]\n\n"


def _event(value: Mapping[str, Any]) -> bytes:
    return b"data: " + to_json(value) + b"\n\n"


def _message(message: Any, number: int) -> ChatMessage:
    role = _ROLES.get(str(message.get("role"))) if isinstance(message, Mapping) else None
    if role is None or message.get("tool_calls"):
        raise InvalidInput(f"messages[{number}] is of no role that can be passed on: system, user, assistant")
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": texts(content)}]
    words = [p for p in parts if isinstance(p, Mapping) and p.get("type") == "text"]
    images = [p.get("image_url") for p in parts if isinstance(p, Mapping) and p.get("type") == "image_url"]
    if len(words) + len(images) < len(parts):
        raise InvalidInput(f"messages[{number}] has parts that cannot be passed on: text and image_url can")
    urls = tuple(str(i.get("url") if isinstance(i, Mapping) else i) for i in images)
    if not all(url.startswith(("data:", "https://")) for url in urls):
        raise InvalidInput(f"messages[{number}] has an image that is no data: or https: URL")
    return ChatMessage(cast("Role", role), texts(words), urls)


def _number(body: Mapping[str, Any], name: str, kind: type = float) -> float | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, kind)):
        raise InvalidInput(f"{name} is a number, got {value!r:.40}")
    return cast("float", value)


def _usage(usage: TokenUsage) -> dict[str, int]:
    total = usage.input_tokens + usage.output_tokens
    return {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens, "total_tokens": total}
