"""Our own JSON lines, as `memos export --format jsonl` writes them, taken back in. What was said is stored and read again;
what was derived from it is left out, since reading derives it anew (an archive keeps all of it).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.moving import shape
from memos.moving.files import lines, opened
from memos.moving.items import Bad, Item, Left, Said, Skill, Source, Told
from memos.moving.looks import first_lines
from memos.moving.spool import LONGEST_TEXT

FORMAT, VERSION = "memos-jsonl", 1
OWN_ID = "memos-"  # begins the message id of a record that had none
_MOST_PARTS = 10_000  # of one message
_AGAIN = "they are derived from what is taken in, or need an archive (memos export PATH)"
_DERIVED = frozenset(("entity", "summary", "working", "policy", "world_model", "image", "document", "tool_call"))


def _fits(path: Path) -> bool:
    first = first_lines(path)[:1]
    return bool(first) and isinstance(first[0], dict) and first[0].get("format") == FORMAT


def _read(path: Path) -> Iterator[Item]:
    left: Counter[str] = Counter()
    parts = _Parts()
    with opened(path) as file:
        for number, line in lines(file, path.name):
            where = f"{path.name}, line {number}"
            try:
                value = None if line is None else json.loads(line)
            except (ValueError, RecursionError):
                yield Bad(where, "it is not JSON")
                continue
            if not isinstance(value, dict):
                yield Bad(where, "it is not UTF-8" if line is None else "it is no JSON object")
            elif value.get("format") == FORMAT:
                _check(value)
            elif value.get("type") == "edge":
                left["edges"] += 1
            elif value.get("type") == "memory":
                found = parts.take(value)
                item = None if found is None else _item(found, where)
                if isinstance(item, str):
                    left[item] += 1
                elif item is not None:
                    yield item
            else:
                yield Bad(where, f"its type is {value.get('type')!r:.40}, not memory or edge")
    yield from (Bad(path.name, "a long message whose other parts are missing") for _ in range(parts.broken()))
    yield from (Left(what, count, _AGAIN) for what, count in left.items())


def _check(header: Mapping[str, Any]) -> None:
    if header.get("version") != VERSION:
        raise InvalidInput(
            f"this file is {FORMAT} of version {header.get('version')!r:.20}; version {VERSION} is read here, upgrade MemOS"
        )


class _Parts:
    """Puts long messages, which are kept in parts, together again."""

    def __init__(self) -> None:
        self._held: list[Mapping[str, Any]] = []
        self._lost = self._size = 0

    def take(self, value: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """A whole message, or None while parts of it are still to come."""
        body = value.get("body")
        if (
            not isinstance(body, dict)
            or not isinstance(body.get("parts"), int)
            or not isinstance(value.get("text"), str)
        ):
            return value
        if body.get("part") != len(self._held) or (self._held and body["parts"] != self._held[0]["body"]["parts"]):
            self._lost += bool(self._held)
            self._held = []
            if body.get("part") != 0:
                self._lost += 1
                return None
        self._held.append(value)
        self._size = len(value["text"]) + (self._size if body["part"] else 0)
        if self._size > LONGEST_TEXT or len(self._held) > _MOST_PARTS:
            self._lost, self._held = self._lost + 1, []
            return None
        if len(self._held) < body["parts"]:
            return None
        held, self._held = self._held, []
        text = ""
        for one in held:
            start = one["body"].get("start")
            text = (text[:start] if isinstance(start, int) and 0 <= start <= len(text) else text) + one["text"]
        return {**held[0], "text": text, "info": held[0].get("info") or {}}

    def broken(self) -> int:
        """How many messages were not whole."""
        return self._lost + bool(self._held)


def _item(value: Mapping[str, Any], where: str) -> Item | str:
    """The item of a memory, or the kind of what is left out."""
    kind, text = value.get("kind"), shape.text(value.get("text"))
    if not isinstance(kind, str) or text is None:
        return Bad(where, "a memory has a kind and a text")
    if kind == "skill":
        guide = shape.text(value.get("skill_md"))
        return (
            "skills without their guide" if guide is None else Skill(shape.text(value.get("title")) or "skill", guide)
        )
    if kind in _DERIVED or (kind not in ("trace", "chunk") and value.get("sources")):
        return f"memories of kind {kind}"[:60]
    body = value["body"] if isinstance(value.get("body"), dict) else {}
    session, role = shape.name(value.get("session")) or "", shape.role(value.get("role")) or "user"
    at = _said_at(value.get("valid_from"), body) if body.get("time_given") is not False else None
    id = shape.name(value.get("message_id")) or f"{OWN_ID}{shape.name(value.get('id')) or shape.mark(text)}"
    info = value["info"] if isinstance(value.get("info"), dict) else {}
    tags = tuple(tag for tag in value["tags"] if isinstance(tag, str)) if isinstance(value.get("tags"), list) else ()
    if kind != "trace" or body.get("derive") is False:
        return Told(text, at, id, session, info, tags, role=role)
    name = shape.name(value.get("speaker"))
    return Said(session, role, text, at, id, None if name == value.get("role") else name, info, tags)


def _said_at(value: Any, body: Mapping[str, Any]) -> str | None:
    """When it was said, in the zone it was written in, so that "tomorrow" is the same day again."""
    from datetime import datetime

    from memos.memory.time import load_zone

    at = shape.time(value)
    zone = body.get("zone")
    if at is None or not isinstance(zone, str):
        return at
    try:
        return datetime.fromisoformat(at).astimezone(load_zone(zone)).isoformat()
    except (ValueError, OverflowError):
        return at


SOURCE = Source("memos-jsonl", "Our own JSON lines (memos export --format jsonl)", _fits, _read)
