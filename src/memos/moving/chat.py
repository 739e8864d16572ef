"""Chats as JSON, in the words that most programs use: a list of messages or of conversations, an object that holds such a
list, or one of them a line. What has a text and nobody who says it (passages, notes) is kept as a memory. Zep's and Letta's
JSON is of this kind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memos.moving import shape
from memos.moving.files import is_zip, lines, members
from memos.moving.items import Bad, Item, Left, Said, Source, Told
from memos.moving.json_stream import elements
from memos.moving.looks import first_elements, first_lines

_FILES = re.compile(r".*\.(?:json|jsonl|ndjson)", re.IGNORECASE)
_TEXT = ("content", "text", "message", "body", "memory", "value")
_AT = ("chat_time", "timestamp", "created_at", "createdAt", "time", "date", "datetime", "ts", "create_time")
_ID = ("message_id", "id", "uuid", "messageId")
_ROLE = ("role", "sender", "author", "from", "speaker", "role_type", "message_type")
_SESSION = (
    "session",
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
    "chat_id",
)
_WITHIN = ("messages", "chat_messages", "conversation", "conversations", "turns", "chat", "history")
_LISTS = ("", *_WITHIN, "data", "items", "results", "passages", "memories", "facts")
_TITLE = ("title", "name", "summary")
_KNOWN = frozenset((*_TEXT, *_AT, *_ID, *_ROLE, *_SESSION, "name", "info", "metadata", "tags"))
_DEEPEST = 3  # conversations within conversations


def _fits(path: Path) -> bool:
    if path.is_dir():
        return False
    if any(_is_item(value) for value in first_lines(path)[:5]):
        return True
    return any(element.key in _LISTS and _is_item(element.value) for element in first_elements(path, _FILES))


def _is_item(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return _words(value) is not None or any(isinstance(value.get(key), list) for key in _WITHIN)


def _read(path: Path) -> Iterator[Item]:
    for name, file in members(path, _FILES):
        alone = not path.is_dir() and not is_zip(path)
        of_lines = bool(first_lines(path)) if alone else name.lower().endswith(("jsonl", "ndjson"))
        session = re.sub(r"\.\w+$", "", name)
        if of_lines:
            for number, line in lines(file, name):
                yield from _line(line, f"{name}, line {number}", session)
        else:
            other = 0
            for element in elements(file, name):
                if element.key in _LISTS and element.index >= 0:
                    yield from _item(element.value, f"{name}: {element.where}", session, 0)
                else:
                    other += 1
            if other:
                yield Left("values beside the messages", other, "they are no messages")


def _line(line: str | None, where: str, session: str) -> Iterator[Item]:
    if line is None:
        yield Bad(where, "it is not UTF-8")
        return
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        yield Bad(where, "it is not JSON")
        return
    for index, one in enumerate(value) if isinstance(value, list) else ((None, value),):
        yield from _item(one, where if index is None else f"{where} [{index}]", session, 0)


def _item(value: Any, where: str, session: str, deep: int) -> Iterator[Item]:
    if isinstance(value, list) and deep < _DEEPEST:  # a conversation as a bare list of messages
        for index, one in enumerate(value):
            yield from _item(one, f"{where}[{index}]", f"{session}-{where.rpartition('[')[2].rstrip(']')}", deep + 1)
        return
    if not isinstance(value, dict):
        yield Bad(where, "it is no object")
        return
    session = _first(value, _SESSION, shape.name) or session
    for key in _WITHIN:
        if isinstance(value.get(key), list) and deep < _DEEPEST:
            own = _first(value, (*_SESSION, *_ID), shape.name) or _first(value, _TITLE, shape.name) or session
            for index, one in enumerate(value[key]):
                yield from _item(one, f"{where}.{key}[{index}]", own, deep + 1)
            return
    yield _message(value, where, session)


def _message(value: Mapping[str, Any], where: str, session: str) -> Item:
    text = _words(value)
    if text is None:
        return Bad(where, f"it has no text (under {', '.join(_TEXT[:4])})")
    at, id = _first(value, _AT, shape.time), _first(value, _ID, shape.name)
    said = _first(value, _ROLE, _who)
    name = shape.name(value.get("name"))
    info = {
        **{key: one for key, one in value.items() if key not in _KNOWN and isinstance(one, (str, int, float, bool))},
        **(value["metadata"] if isinstance(value.get("metadata"), dict) else {}),
        **(value["info"] if isinstance(value.get("info"), dict) else {}),
    }
    tags = shape.tags(value.get("tags"))
    if said is None:
        return Told(text, at, id, session, info, tags)
    role = shape.role(said)
    if role is None:  # a name in place of a role: somebody speaks
        role, name = "user", name or said
    return Said(session, role, text, at, id, name, info, tags)


def _who(value: Any) -> str | None:
    """Who speaks: a text, or the role or name of an object."""
    if isinstance(value, dict):
        return shape.text(value.get("role")) or shape.text(value.get("name"))
    return shape.text(value)


def _words(value: Mapping[str, Any]) -> str | None:
    """The text of a message: a text, or the words of its parts."""
    for key in _TEXT:
        found = value.get(key)
        if shape.text(found):
            return str(found)
        if isinstance(found, list):
            said = [one if isinstance(one, str) else one.get("text") for one in found if isinstance(one, (str, dict))]
            words = "\n\n".join(one for one in said if isinstance(one, str) and one.strip())
            if words:
                return words
        if isinstance(found, dict) and (text := found.get("text") or found.get("content")) and shape.text(text):
            return str(text)
    return None


def _first(value: Mapping[str, Any], keys: tuple[str, ...], read: Any) -> str | None:
    return next((found for key in keys if key in value and (found := read(value[key])) is not None), None)


SOURCE = Source("chat", "Chats and notes as JSON or JSON lines (also of Zep and Letta)", _fits, _read, loose_ids=True)
