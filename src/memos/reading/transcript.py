"""Pasted transcripts: when most messages of one add begin with "Name: ", the names are who speaks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memos.memory.message import Message

LEAST = 3  # messages that must begin so, …
SHARE = 0.8  # … and their share of those that could
_PREFIX = re.compile(r"([^\W\d_][\w .'’-]{0,30}?)[:：]\s*\S")
_LABELS = frozenset(
    [
        "a",
        "answer",
        "assistant",
        "date",
        "error",
        "example",
        "from",
        "http",
        "https",
        "human",
        "important",
        "info",
        "name",
        "note",
        "ps",
        "q",
        "question",
        "re",
        "reminder",
        "result",
        "step",
        "subject",
        "summary",
        "system",
        "tip",
        "title",
        "to",
        "todo",
        "update",
        "user",
        "warning",
        "注",
        "注意",
        "问",
        "答",
        "时间",
        "地点",
        "提醒",
        "用户",
        "助手",
    ]
)


def name_speakers(messages: Sequence[Message]) -> tuple[tuple[Message, ...], str | None]:
    """The messages with speakers read from their text where that is plainly how they were written, and a notice that says so.
    The text stays as it came."""
    open_ones = [m for m in messages if m.name is None and m.role in ("user", "assistant") and m.text]
    found = {id(m): name for m in open_ones if (name := _speaker(m.text)) is not None}
    if len(found) < LEAST or len(found) < SHARE * len(open_ones):
        return tuple(messages), None
    names = ", ".join(dict.fromkeys(found.values()))
    named = tuple(replace(m, name=found[id(m)]) if id(m) in found else m for m in messages)
    return named, f"speakers were read from the beginning of the messages: {names}"


def _speaker(text: str) -> str | None:
    match = _PREFIX.match(text)
    if match is None:
        return None
    name = match[1].strip()
    if name.casefold() in _LABELS or (name.isascii() and not name[0].isupper()) or len(name.split()) > 3:
        return None
    return name
