"""`/v1/responses`: what a request says, where memories go in it, and what an answer says, whole or event by event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memos.server.openai.completions import appended, number
from memos.server.openai.said import Answer, Entry, ToolCall, images, texts

PATH = "/responses"
NAMED = True
_FIRST = ("system", "developer")
_ENDS = ("response.completed", "response.incomplete", "response.failed")
_GOING_ON = ("queued", "in_progress")


def entries(body: Mapping[str, Any]) -> list[Entry]:
    """The conversation of a request: its input, a text or items."""
    given = body.get("input")
    if isinstance(given, str):
        return [Entry("user", given)]
    return list(_entries(given)) if isinstance(given, list) else []


def with_block(body: Mapping[str, Any], block: str) -> dict[str, Any]:
    """The request with a block of memories at the end of its instructions, which stay the same up to there; or, where they stand
    in the input instead, at the end of those.
    """
    given = body.get("input")
    if not body.get("instructions") and isinstance(given, list):
        end = next((n for n, i in enumerate(given) if not _is_first(i)), len(given))
        if end:
            last = given[end - 1]
            changed = {**last, "content": appended(last.get("content"), block, "input_text")}
            return {**body, "input": [*given[: end - 1], changed, *given[end:]]}
    return {**body, "instructions": appended(body.get("instructions"), block, "input_text")}


class Heard:
    """Puts an answer together from the events of its stream."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._items: list[Any] = []
        self._whole: Mapping[str, Any] | None = None
        self.id = ""

    def take(self, event: Any) -> None:
        """One event, or a whole answer."""
        if not isinstance(event, Mapping):
            return
        kind, response = event.get("type"), event.get("response")
        if isinstance(response, Mapping):
            self.id = str(response.get("id") or "") or self.id
            if kind in _ENDS:
                self._whole = response
        elif kind == "response.output_text.delta" and isinstance(event.get("delta"), str):
            self._texts.append(event["delta"])
        elif kind == "response.output_item.done":
            self._items.append(event.get("item"))
        elif kind is None and (event.get("object") == "response" or "output" in event):  # it does not stream
            self.take({"type": _ENDS[0], "response": event})

    @property
    def over(self) -> bool:
        """Whether the end was heard, whatever it was."""
        return self._whole is not None and self._whole.get("status") not in _GOING_ON

    @property
    def answer(self) -> Answer:
        """What was said so far."""
        whole = self._whole or {}
        found = list(_entries(whole.get("output") or self._items))
        calls = tuple(call for one in found for call in one.calls)
        text = "\n".join(one.text for one in found if one.role == "assistant" and one.text)
        usage = whole.get("usage")
        told: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
        said = "".join(self._texts)
        return Answer(
            text=text if whole or len(text) > len(said) else said,
            calls=calls,
            finish=_finish(whole) if self._whole is not None else None,
            input_tokens=number(told.get("input_tokens")),
            output_tokens=number(told.get("output_tokens")),
            counted=bool(told),
        )


def _finish(response: Mapping[str, Any]) -> str | None:
    if response.get("status") == "incomplete":
        return "length"
    return None if response.get("status") in ("failed", "cancelled", *_GOING_ON) else "stop"


def _entries(items: Any) -> Iterator[Entry]:
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, Mapping):
            continue
        kind, role, id = item.get("type") or "message", item.get("role"), str(item.get("call_id") or "")
        if kind == "message":
            said = texts(item.get("content"))
            if role == "user":
                yield Entry("user", said, images=images(item.get("content")))
            else:
                yield Entry("assistant" if role == "assistant" else "other", said)
        elif kind in ("function_call", "custom_tool_call"):
            told = str(item.get("arguments") or item.get("input") or "")
            yield Entry("assistant", "", (ToolCall(id, str(item.get("name") or ""), told),))
        elif kind == "compaction":
            yield Entry("assistant")  # stands for all that was said before it
        elif isinstance(kind, str) and kind.endswith("_call_output"):
            output = item.get("output")
            yield Entry("tool", output if isinstance(output, str) else texts(output) or str(output), call=id)


def _is_first(item: Any) -> bool:
    return isinstance(item, Mapping) and item.get("type", "message") == "message" and item.get("role") in _FIRST
