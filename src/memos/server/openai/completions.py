"""`/v1/chat/completions`: what a request says, where memories go in it, and what an answer says, whole or event by event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memos.models.llm.thoughts import split
from memos.server.openai.said import Answer, Entry, ToolCall, images, texts

PATH = "/chat/completions"
NAMED = False
_FIRST = ("system", "developer")


def entries(body: Mapping[str, Any]) -> list[Entry]:
    """The conversation of a request; what is no message is left out."""
    messages = body.get("messages")
    return [_entry(m) for m in messages if isinstance(m, Mapping)] if isinstance(messages, list) else []


def with_block(body: Mapping[str, Any], block: str) -> dict[str, Any]:
    """The request with a block of memories at the end of its system prompt, which stays the same up to there."""
    messages = list(body.get("messages") or ())
    end = next(
        (n for n, m in enumerate(messages) if not (isinstance(m, Mapping) and m.get("role") in _FIRST)), len(messages)
    )
    if not end:
        messages.insert(0, {"role": "system", "content": block})
    else:
        last = messages[end - 1]
        messages[end - 1] = {**last, "content": appended(last.get("content"), block, "text")}
    return {**body, "messages": messages}


def appended(content: Any, block: str, kind: str) -> Any:
    """A content with a block at its end."""
    if isinstance(content, list):
        return [*content, {"type": kind, "text": block}]
    return f"{content}\n\n{block}" if content else block


class Heard:
    """Puts an answer together from the events of its stream."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._usage: tuple[int, int] | None = None
        self.id = ""

    def take(self, event: Any) -> None:
        """One event, or a whole answer."""
        if not isinstance(event, Mapping):
            return
        self.id = self.id or str(event.get("id") or "")
        usage = event.get("usage")
        if isinstance(usage, Mapping):
            self._usage = number(usage.get("prompt_tokens")), number(usage.get("completion_tokens"))
        for choice in _list(event.get("choices")):
            if isinstance(choice, Mapping) and not choice.get("index"):
                said = choice.get("delta") or choice.get("message")
                if isinstance(said, Mapping):
                    self._say(said)
                self._finish = str(choice["finish_reason"]) if choice.get("finish_reason") else self._finish

    @property
    def over(self) -> bool:
        """Whether the end was heard, whatever it was."""
        return self._finish is not None

    @property
    def answer(self) -> Answer:
        """What was said so far."""
        calls = tuple(ToolCall(c["id"], c["name"], c["arguments"]) for _, c in sorted(self._calls.items()))
        put_in, came_out = self._usage or (0, 0)
        text = split("".join(self._texts))[0]
        return Answer(text, calls, self._finish, put_in, came_out, self._usage is not None)

    def _say(self, said: Mapping[str, Any]) -> None:
        for name in ("content", "refusal"):
            if said.get(name):
                self._texts.append(texts(said[name]))
        for n, call in enumerate(_list(said.get("tool_calls"))):
            if isinstance(call, Mapping):
                at = call["index"] if isinstance(call.get("index"), int) else n
                self._call(at, str(call.get("id") or ""), call.get("function") or call.get("custom"))
        if said.get("function_call"):
            self._call(0, "", said["function_call"])

    def _call(self, at: int, id: str, told: Any) -> None:
        call = self._calls.setdefault(at, {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or id
        if isinstance(told, Mapping):
            call["name"] += str(told.get("name") or "")
            call["arguments"] += str(told.get("arguments") or told.get("input") or "")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def number(value: Any) -> int:
    """A count of tokens, as far as it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _entry(message: Mapping[str, Any]) -> Entry:
    role, text = message.get("role"), texts(message.get("content"))
    if role == "user":
        return Entry("user", text, images=images(message.get("content")))
    if role in ("tool", "function"):
        return Entry("tool", text, call=str(message.get("tool_call_id") or message.get("name") or ""))
    if role != "assistant":
        return Entry("other", text)
    heard = Heard()
    heard.take({"choices": [{"message": message}]})
    calls = tuple(
        c if c.id or not c.tool else ToolCall(c.tool, c.tool, c.input) for c in heard.answer.calls
    )  # a function of the old form is known by its name
    return Entry("assistant", text, calls)
