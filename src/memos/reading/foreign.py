"""Chat messages in the words of other libraries, put into ours: `text` for content, `timestamp` for chat_time, and the like.

What is given in our words is never overridden, and what was read so is named (law 2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

ROLES = frozenset({"user", "assistant", "system", "developer", "tool"})
ROLE_WORDS: Mapping[str, str] = {"human": "user", "ai": "assistant", "model": "assistant"}
_CONTENT = ("text", "message")
_TIMES = ("timestamp", "created_at", "time", "date")
_NAMES = ("speaker", "author", "sender")
_EPOCH = re.compile(r"\d{9,19}(?:\.\d+)?")
_LEAST_EPOCH = 1e8  # seconds; a smaller number (1973) counts the seconds of a recording, or messages


@dataclass(frozen=True, slots=True)
class Translated:
    """A message in our words. `read`: which field was read as which; `unread`: sentences about values that could not be."""

    item: Mapping[Any, Any]
    read: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def in_our_words(item: Mapping[Any, Any], is_time: Callable[[object], bool]) -> Translated:
    """The message with its content, role, time, id and name where `add` looks for them."""
    work = _Work(dict(item))
    _content(work)
    _role(work)
    _time(work, is_time)
    _id(work)
    _name(work)
    return Translated(work.item, tuple(work.read), tuple(work.unread)) if work.read or work.unread else Translated(item)


class _Work:
    def __init__(self, item: dict[Any, Any]) -> None:
        self.item = item
        self.read: list[str] = []
        self.unread: list[str] = []

    def lacks(self, field: str) -> bool:
        return self.item.get(field) in (None, "")

    def take(self, field: str, ours: str, value: Any) -> None:
        self.item.pop(field, None)
        self.item[ours] = value
        self.read.append(f"{field} as {ours}")


def _content(work: _Work) -> None:
    if work.item.get("content") is not None:
        return
    inner = work.item.get("message")
    if isinstance(inner, Mapping) and "content" in inner:  # a message in an envelope, as logs keep it
        del work.item["message"]
        work.item |= inner
        work.read.append("message as the message itself")
        return
    field = next((f for f in _CONTENT if isinstance(work.item.get(f), (str, list)) and work.item[f]), None)
    if field is not None:
        work.take(field, "content", work.item[field])


def _role(work: _Work) -> None:
    """A role by another word, or (where there is none) under another name."""
    for field in ("role", "type", *_NAMES):
        value = work.item.get(field)
        if not isinstance(value, str) or (field != "role" and "role" in work.item):
            continue
        role = ROLE_WORDS.get(value.casefold(), value.casefold() if field != "role" else "")
        if role in ROLES:
            work.take(field, "role", role)
            work.read[-1] = f"{field} {value!r} as role {role!r}"


def _time(work: _Work, is_time: Callable[[object], bool]) -> None:
    if not work.lacks("chat_time"):
        return
    date, time = work.item.get("date"), work.item.get("time")
    both = f"{date} {time}" if isinstance(date, str) and isinstance(time, str) else None
    if both is not None and work.lacks("timestamp") and work.lacks("created_at") and is_time(both):
        del work.item["time"]
        work.take("date", "chat_time", both)
        work.read[-1] = "date and time as chat_time"
        return
    for field in _TIMES:
        if work.lacks(field):
            continue
        value = work.item[field]
        if isinstance(value, str) and _EPOCH.fullmatch(value.strip()):
            value = float(value) if "." in value else int(value)
        small = isinstance(value, (int, float)) and value < _LEAST_EPOCH
        if not small and is_time(value):
            work.take(field, "chat_time", value)
            return
        del work.item[field]  # or it would be told a second time, as unknown
        work.unread.append(f"{field} {value!r:.60} is not a time that can be read; the time of arrival stands")


def _id(work: _Work) -> None:
    value = work.item.get("id")
    if work.lacks("message_id") and not isinstance(value, bool) and isinstance(value, (str, int)) and value != "":
        work.take("id", "message_id", str(value))


def _name(work: _Work) -> None:
    if not work.lacks("name"):
        return
    field = next((f for f in _NAMES if isinstance(work.item.get(f), str) and work.item[f].strip()), None)
    if field is None:
        return
    if work.item[field] == work.item.get("role"):
        del work.item[field]
    else:
        work.take(field, "name", work.item[field])
