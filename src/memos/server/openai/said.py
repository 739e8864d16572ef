"""A conversation as a request tells it, whichever API it came by: who said what, which tools were called, and what of it is new.

A client sends its whole history again with every request. Each message is known by all that was said before it, so that it is
stored once, and the same words said again later are another message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memos.memory.ids import unique_key

NAME = "openai"
_MOST_ID = 128
_OWN_ID = 16  # characters from which the id of a call is taken for one that no other call has


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asked for. `input` is the text of its arguments."""

    id: str
    tool: str
    input: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was said or done. Of an assistant also the `calls` it asked for; of a tool the `call` it answers; of a user
    the `images`: URLs, with the data in them or not.
    """

    role: Literal["user", "assistant", "tool", "other"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model answered: its words, the calls it asks for, how it ended (None: it broke off)."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Spoken:
    """A user message, and the key it is stored under."""

    text: str
    key: str
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """A tool that was called, as `end_turn` takes it."""

    step: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fresh:
    """What a request tells since the last answer, in order: `events`. `key`: of all that was said, from which the key of the
    answer is made. `query`: the last words of the user. `said`: all texts of the conversation.
    """

    events: tuple[Spoken | Done, ...]
    key: str
    query: str
    said: frozenset[str]


def fresh(entries: Sequence[Entry], seed: str, known: Callable[[str], ToolCall | None]) -> Fresh:
    """What is new in a conversation: all since the last answer that called no tool. `seed`: what it is told apart by from another
    one with the same words; `known`: finds a call that was asked for in an earlier answer by its id.
    """
    begin = max((n + 1 for n, one in enumerate(entries) if one.role == "assistant" and not one.calls), default=0)
    calls = {call.id: call for one in entries for call in one.calls}
    key, query = unique_key(NAME, seed).hex(), ""
    events: list[Spoken | Done] = []
    for number, one in enumerate(entries):
        if one.role == "other":
            continue  # a system prompt may hold the time of day
        key = unique_key(key, one.role, one.text, one.call, *(c.id + c.input for c in one.calls), *one.images).hex()
        if one.role == "user":
            query = one.text or query
        if number < begin:
            continue
        if one.role == "user" and one.text.strip():
            events.append(Spoken(one.text, key, one.images))
        elif one.role == "tool":
            events.append(Done(_step(one, calls.get(one.call) or known(one.call), key)))
    return Fresh(tuple(events), key, query, frozenset(one.text for one in entries))


def opening(entries: Sequence[Entry], user: str) -> str:
    """A short mark of how a conversation began: of who began it, and of the first user message."""
    first = next((one for one in entries if one.role == "user"), Entry("user"))
    return unique_key(NAME, user, first.text, *first.images).hex()[:12]


def reply_mark(entries: Sequence[Entry]) -> str | None:
    """A short mark of the first answer to the first user message, None where there was none, or it is not told any more. Of
    calls, the ids tell: what they were given, clients leave out when they shorten what they send again.
    """
    begun = next((n for n, one in enumerate(entries) if one.role == "user"), len(entries))
    for one in entries[begun:]:
        if one.role == "assistant":
            ids = [call.id for call in one.calls]
            return unique_key(NAME, "reply", one.text, *ids).hex()[:8] if one.text or ids else None
    return None


def texts(content: Any) -> str:
    """The words in a content: a text, or parts of which those without words are named."""
    if isinstance(content, str):
        return content
    out = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, str):
            out.append(part)
        elif isinstance(part, Mapping):
            said = part.get("text") if isinstance(part.get("text"), str) else part.get("refusal")
            kind = str(part.get("type") or "part").removeprefix("input_").removesuffix("_url")
            out.append(said if isinstance(said, str) else f"[{kind:.40}]")
    return "\n".join(out)


def images(content: Any) -> tuple[str, ...]:
    """The URLs of the images in a content."""
    out = []
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") in ("image_url", "input_image"):
            url = part.get("image_url")
            url = url.get("url") if isinstance(url, Mapping) else url
            if isinstance(url, str) and url:
                out.append(url)
    return tuple(out)


def _named(text: str) -> str:
    """A name that a client or model made up, without what no name may hold."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _step(one: Entry, call: ToolCall | None, key: str) -> dict[str, Any]:
    tool = _named(call.tool if call is not None else "").strip()[:_MOST_ID] or "function"
    id = _named(one.call)
    if len(id) < _OWN_ID:  # such as call_0, or the tool's name: told apart by where it stands
        id = f"{id}-{key[:12]}"
    elif len(id) > _MOST_ID:
        id = unique_key(id).hex()
    return {"tool": tool, "input": call.input if call is not None else None, "output": one.text, "call_id": id}
