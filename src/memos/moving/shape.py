"""Values of foreign files in our words: texts, times, roles. What is no such value is None, never a guess."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("user", "human", "customer", "me", "you", "visitor", "client"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "gpt", "chatgpt", "claude", "agent", "aimessage"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "tool_result"), "tool"),
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TAG = re.compile(r"[^\s,;#]{1,100}")


def text(value: Any) -> str | None:
    """A text that says something, else None."""
    return value if isinstance(value, str) and value.strip() else None


def words(content: Any) -> str:
    """The text of a chat message, without its pictures; nothing for what is no content."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))


def name(value: Any) -> str | None:
    """An id or a name, from a text or a number."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return None
    return str(value).strip() or None


def time(value: Any) -> str | None:
    """A time as text: what is a text already, and a number as seconds (or milliseconds, by its size) since 1970, in UTC."""
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        return None
    seconds = value if value < 1e11 else value / 1e3 if value < 1e14 else value / 1e6
    try:
        return (_EPOCH + timedelta(seconds=seconds)).isoformat()
    except OverflowError:
        return None


def role(value: Any) -> str | None:
    """Our name of a role; None where it is none."""
    return _ROLES.get(value.strip().lower()) if isinstance(value, str) else None


def tags(value: Any) -> tuple[str, ...]:
    """Tags, from a list or from a text with commas, semicolons or spaces between."""
    if isinstance(value, str):
        value = re.split(r"[,;]", value) if re.search(r"[,;]", value) else value.split()
    if not isinstance(value, Iterable) or isinstance(value, Mapping):
        return ()
    found = (_TAG.match(one.strip().lstrip("#")) for one in value if isinstance(one, str))
    return tuple(dict.fromkeys(one[0] for one in found if one is not None))[:50]


def mark(*parts: str | None) -> str:
    """A short name made of contents: the same for the same."""
    said = "\x1f".join("" if part is None else part for part in parts)
    return hashlib.blake2b(said.encode("utf-8", "replace"), digest_size=12).hexdigest()
