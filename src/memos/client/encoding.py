"""What a caller hands to a verb, as JSON and as query parameters. What has no JSON form is refused before anything is sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any
from urllib.parse import quote

from memos.errors import InvalidInput
from memos.memory.filter import And, Compare, Not, Or, to_json
from memos.memory.message import Message
from memos.memory.time import load_zone


def body(**fields: Any) -> dict[str, Any]:
    """The fields that are given; where one is None, the server's default holds."""
    return {name: value for name, value in fields.items() if value is not None}


def json_bytes(value: Mapping[str, Any]) -> bytes:
    """The JSON text of a request. Raises InvalidInput for what has none (bytes, NaN, endless nesting)."""
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidInput(f"this cannot be sent as JSON: {e}") from None
    return _utf8(text)


def query(fields: Mapping[str, Any]) -> list[tuple[str, str | int | float | bool | None]]:
    """The query parameters of a request: those that are given, a list as one parameter for each item."""
    out: list[tuple[str, str | int | float | bool | None]] = []
    for name, value in fields.items():
        several = isinstance(value, Iterable) and not isinstance(value, (str, Mapping))
        for one in value if several else (value,):
            if one is not None:
                out.append((name, _word(one)))
    return out


def segment(name: str, what: str) -> str:
    """A name or id as one segment of a path."""
    if not isinstance(name, str) or not name.strip() or name in (".", ".."):
        raise InvalidInput(f"{what} must be a non-empty text, got {name!r:.60}")
    return quote(_utf8(name), safe="")


def messages_of(given: object) -> object:
    """The messages of an add: as they are, a list where they come from an iterator."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray, Mapping)):
        return list(given)
    return given


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, Enum):
        return str(value.value)
    return str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, (And, Or, Not, Compare)):
        return to_json(value)
    if isinstance(value, Message):
        return _chat_message(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        return list(value)
    raise InvalidInput(
        f"a value of type {type(value).__name__} cannot be sent as JSON; give text, numbers, lists or dicts"
    )


def _chat_message(message: Message) -> dict[str, Any]:
    if any(part.uri for part in message.parts):
        raise InvalidInput("a Message with media cannot be sent; give it as a chat message with content parts")
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in message.tool_calls
    ]
    return body(
        role=message.role,
        content=message.text,
        name=message.name,
        message_id=message.message_id,
        chat_time=message.time.astimezone(load_zone(message.zone)) if message.time_given else None,
        tool_calls=calls or None,
        tool_call_id=message.tool_call_id,
        info=message.info or None,
    )


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair: one sign of replacement, as the library stores it
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
