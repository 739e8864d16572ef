"""The chat protocol of OpenAI (`POST {base}/chat/completions`), which most servers and providers speak, each with quirks."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from memos.errors import ModelError
from memos.models.llm.dialect import WITHOUT_SYSTEM, WITHOUT_TOKENS, Said, count, told_error
from memos.models.llm.port import ChatMessage, ChatRequest, Finish, TokenUsage
from memos.models.llm.schema import in_words, strict
from memos.models.resilience import Failure

Holds = Literal["json_schema", "json_object", "words"]
"""How a server holds a model to a form: by schema, to JSON of any form, or not at all."""
TokensField = Literal["max_tokens", "max_completion_tokens"]

_FINISH: dict[str, Finish] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "filtered",
    "sensitive": "filtered",
}
_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True)
class OpenAIChat:
    """OpenAI's protocol as a server speaks it. `extra`: fields that all requests to it have."""

    name: str
    model: str
    path: str = "/chat/completions"
    holds: Holds = "json_schema"
    tokens: TokensField = "max_tokens"
    extra: Mapping[str, Any] = field(default_factory=dict)

    def payload(self, request: ChatRequest, *, stream: bool, without: Collection[str]) -> dict[str, Any]:
        """See `Dialect.payload`."""
        form, request = self._form(request, without)
        messages = _without_system(request.messages) if WITHOUT_SYSTEM in without else request.messages
        body: dict[str, Any] = {"model": self.model, "messages": [_message(message) for message in messages]}
        options: dict[str, Any] = {
            "response_format": form,
            "temperature": request.temperature,
            "top_p": request.top_p,
            "stop": list(request.stop) or None,
            "stream_options": {"include_usage": True} if stream else None,
            **self.extra,
            **request.extra,
        }
        body |= {name: value for name, value in options.items() if value is not None and name not in without}
        limit = next((n for n in (self.tokens, "max_tokens", "max_completion_tokens") if n not in without), None)
        if request.max_tokens is not None and limit is not None and WITHOUT_TOKENS not in without:
            body[limit] = request.max_tokens
        return body | {"stream": True} if stream else body

    def refusable(self, payload: Mapping[str, Any]) -> Mapping[str, str]:
        """See `Dialect.refusable`."""
        out = {name: name for name in payload if name not in ("model", "messages", "stream")}
        form = payload.get("response_format")
        if isinstance(form, dict):
            kind = str(form.get("type"))
            out |= dict.fromkeys(("response_format", "schema", "json_object", "grammar", "structured", "guided"), kind)
        return out

    def answer(self, body: object) -> Said:
        """See `Dialect.answer`."""
        if isinstance(body, dict) and body.get("error") and not body.get("choices"):
            raise told_error(self.name, body["error"])
        choice = _first(body)
        message = choice.get("message") if choice is not None else None
        if choice is None or not isinstance(message, dict):
            raise Failure(ModelError(f"{self.name} answered no message"))
        return self._said(body, message, _FINISH.get(str(choice.get("finish_reason")), "stop"))

    def event(self, data: str) -> Said:
        """See `Dialect.event`."""
        if data == "[DONE]":
            return Said(done=True)
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            raise Failure(
                ModelError(f"{self.name} streamed something that is not JSON"), retry=True, dead=True
            ) from None
        if isinstance(body, dict) and body.get("error"):
            raise told_error(self.name, body["error"])
        choice = _first(body) or {}
        delta = choice.get("delta")
        reason = choice.get("finish_reason")
        finish: Finish | None = None if not reason else _FINISH.get(str(reason), "other")
        return self._said(body, delta if isinstance(delta, dict) else {}, finish)

    def _said(self, body: object, message: Mapping[str, Any], finish: Finish | None) -> Said:
        text, reasoning = _content(message.get("content"))
        thought = message.get("reasoning_content") or message.get("reasoning") or ""
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal and not text:
            text, finish = refusal, "filtered"
        usage = body.get("usage") if isinstance(body, dict) else None
        counted = None
        if isinstance(usage, dict) and ("prompt_tokens" in usage or "completion_tokens" in usage):
            counted = TokenUsage(count(usage.get("prompt_tokens")), count(usage.get("completion_tokens")))
        model = body.get("model") if isinstance(body, dict) else None
        return Said(text, reasoning + (thought if isinstance(thought, str) else ""), finish, counted, str(model or ""))

    def _form(self, request: ChatRequest, without: Collection[str]) -> tuple[dict[str, Any] | None, ChatRequest]:
        """How the server is told the schema, and the request as it is then."""
        if request.schema is None:
            return None, request
        if self.holds == "json_schema" and "json_schema" not in without:
            held = strict(request.schema)
            name = _NO_NAME.sub("_", request.schema_name)[:64] or "answer"
            schema = {"name": name, "schema": held or request.schema, "strict": held is not None}
            return {"type": "json_schema", "json_schema": schema}, request
        if self.holds != "words" and "json_object" not in without:
            return {"type": "json_object"}, in_words(request)
        return None, in_words(request)


def _message(message: ChatMessage) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.content}
    images = [{"type": "image_url", "image_url": {"url": url}} for url in message.images]
    return {"role": message.role, "content": [{"type": "text", "text": message.content}, *images]}


def _without_system(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    """What the system message says, at the head of the first of the user's."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if rest and rest[0].role == "user":
        return (replace(rest[0], content=f"{system}\n\n{rest[0].content}"), *rest[1:])
    return (ChatMessage("user", system), *rest)


def _first(body: object) -> dict[str, Any] | None:
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) else None


def _content(content: object) -> tuple[str, str]:
    """(text, thinking) of what may be a text or a list of parts."""
    if isinstance(content, str):
        return content, ""
    text, thinking = "", ""
    for part in content if isinstance(content, list) else ():
        said = part.get("text") or part.get("thinking") if isinstance(part, dict) else part
        if isinstance(said, list):
            said = "".join(str(inner.get("text", "")) for inner in said if isinstance(inner, dict))
        if not isinstance(said, str):
            continue
        if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning"):
            thinking += said
        else:
            text += said
    return text, thinking
