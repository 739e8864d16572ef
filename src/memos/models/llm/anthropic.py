"""Anthropic's Messages protocol (`POST {base}/v1/messages`)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from memos.errors import ModelError
from memos.models.llm.dialect import WITHOUT_TOKENS, Said, count, told_error
from memos.models.llm.port import ChatMessage, ChatRequest, Finish, TokenUsage
from memos.models.llm.schema import in_words, strict
from memos.models.resilience import Failure

VERSION = {"anthropic-version": "2023-06-01"}
_TOKENS = 4_096  # of an answer, when the caller does not say: the protocol wants a number
_FINISH: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filtered",
}


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """Anthropic's protocol."""

    name: str
    model: str
    path: str = "/v1/messages"

    def payload(self, request: ChatRequest, *, stream: bool, without: Collection[str]) -> dict[str, Any]:
        """See `Dialect.payload`."""
        held = None if request.schema is None or "json_schema" in without else strict(request.schema)
        if held is None:
            request = in_words(request)
        system = "\n\n".join(message.content for message in request.messages if message.role == "system")
        said = [message for message in request.messages if message.role != "system"]
        if not said:
            system, said = "", [ChatMessage("user", system)]
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": _TOKENS if request.max_tokens is None or WITHOUT_TOKENS in without else request.max_tokens,
            "messages": [_message(message) for message in said],
        }
        options: dict[str, Any] = {
            "system": system or None,
            "output_config": None if held is None else {"format": {"type": "json_schema", "schema": held}},
            "temperature": None if request.temperature is None else min(1.0, request.temperature),
            "top_p": request.top_p,
            "stop_sequences": list(request.stop) or None,
            **request.extra,
        }
        body |= {name: value for name, value in options.items() if value is not None and name not in without}
        return body | {"stream": True} if stream else body

    def refusable(self, payload: Mapping[str, Any]) -> Mapping[str, str]:
        """See `Dialect.refusable`."""
        out = {name: name for name in payload if name not in ("model", "messages", "stream", "system")}
        if "output_config" in payload:
            out |= dict.fromkeys(("output_config", "output_format", "schema", "structured"), "json_schema")
        return out

    def answer(self, body: object) -> Said:
        """See `Dialect.answer`."""
        if isinstance(body, dict) and body.get("type") == "error":
            raise told_error(self.name, body.get("error"))
        content = body.get("content") if isinstance(body, dict) else None
        if not isinstance(body, dict) or not isinstance(content, list):
            raise Failure(ModelError(f"{self.name} answered no content"))
        blocks = [block for block in content if isinstance(block, dict)]
        text = "".join(str(b.get("text", "")) for b in blocks if b.get("type") == "text")
        thinking = "".join(str(b.get("thinking", "")) for b in blocks if b.get("type") == "thinking")
        finish = _FINISH.get(str(body.get("stop_reason")), "stop")
        return Said(text, thinking, finish, _usage(body.get("usage")), str(body.get("model") or ""))

    def event(self, data: str) -> Said:
        """See `Dialect.event`."""
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            body = None
        if not isinstance(body, dict):
            raise Failure(ModelError(f"{self.name} streamed something that is not JSON"), retry=True, dead=True)
        kind = body.get("type")
        if kind == "error":
            raise told_error(self.name, body.get("error"))
        if kind == "message_start":
            message = body.get("message")
            message = message if isinstance(message, dict) else {}
            return Said(usage=_usage(message.get("usage")), model=str(message.get("model") or ""))
        delta = body.get("delta")
        delta = delta if isinstance(delta, dict) else {}
        if kind == "content_block_delta":
            return Said(str(delta.get("text") or ""), str(delta.get("thinking") or ""))
        if kind == "message_delta":
            reason = delta.get("stop_reason")
            return Said(finish=_FINISH.get(str(reason), "other") if reason else None, usage=_usage(body.get("usage")))
        return Said(done=kind == "message_stop")


def _usage(usage: object) -> TokenUsage | None:
    if not isinstance(usage, dict):
        return None
    read = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return TokenUsage(sum(count(usage.get(name)) for name in read), count(usage.get("output_tokens")))


def _message(message: ChatMessage) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    text = [{"type": "text", "text": message.content}] if message.content else []
    return {"role": message.role, "content": [*(_image(url) for url in message.images), *text]}


def _image(url: str) -> dict[str, Any]:
    kind, comma, data = url.partition(",")
    if not (url.startswith("data:") and comma):
        return {"type": "image", "source": {"type": "url", "url": url}}
    media = kind.removeprefix("data:").partition(";")[0]
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
