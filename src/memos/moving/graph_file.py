"""The file of the MCP reference memory server: a line of JSON for each entity and each relation, and the records that these are
here. A record's message id is made of what it says, so that the same thing told twice, by whomever, is there once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from memos.moving.files import lines, opened
from memos.moving.items import Bad, Item, Said, Source
from memos.moving.looks import first_lines
from memos.reading.parts import is_blank

TAG = "knowledge-graph"
SESSION = "knowledge-graph"
KINDS = ("entity", "relation")
_LONGEST_NAME, _LONGEST_OBSERVATION = 1_000, 200_000


@dataclass(frozen=True, slots=True)
class Tie:
    """A relation, in the active voice."""

    src: str
    dst: str
    type: str


def entity_message(name: str, type: str) -> dict[str, Any]:
    """The record of an entity. There is one for a name, whatever its type."""
    return _message(f"{name} ({type})" if type else name, ("entity", name), graph="entity", name=name, entityType=type)


def observation_message(name: str, content: str) -> dict[str, Any]:
    """The record of an observation."""
    return _message(f"{name}: {content}", ("observation", name, content), graph="observation", name=name)


def relation_message(tie: Tie) -> dict[str, Any]:
    """The record of a relation."""
    info = {"graph": "relation", "from": tie.src, "to": tie.dst, "relationType": tie.type}
    return _message(
        f"{tie.src} {tie.type.replace('_', ' ')} {tie.dst}", ("relation", tie.src, tie.dst, tie.type), **info
    )


def _message(text: str, key: Sequence[str], **info: Any) -> dict[str, Any]:
    digest = hashlib.sha256(json.dumps(key, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()
    return {"role": "assistant", "content": text, "message_id": f"graph-{digest[:40]}", "info": info}


def records(line: str | None, number: int, skip: Callable[[int, str], None]) -> Iterator[dict[str, Any]]:
    """The records that a line makes (None: one that is not UTF-8); of what is wrong with it, `skip` is told."""
    try:
        item = None if line is None else json.loads(line)
    except (ValueError, RecursionError):
        skip(number, "it is not JSON")
        return
    if line is None:
        skip(number, "it is not UTF-8")
    elif not isinstance(item, dict):
        skip(number, "it is no JSON object")
    elif item.get("type") == "entity":
        yield from _entity(item, number, skip)
    elif item.get("type") == "relation":
        yield from _relation(item, number, skip)
    else:
        skip(number, f"its type is {item.get('type')!r:.40}, not entity or relation")


def _entity(item: dict[str, Any], number: int, skip: Callable[[int, str], None]) -> Iterator[dict[str, Any]]:
    name, kind, said = item.get("name"), item.get("entityType", ""), item.get("observations", [])
    if not _is_text(name) or not isinstance(kind, str) or not isinstance(said, list):
        skip(number, "an entity has a name, an entityType and a list of observations")
        return
    yield entity_message(name, kind[:_LONGEST_NAME])
    for one in said:
        if isinstance(one, str) and not is_blank(one) and len(one) <= _LONGEST_OBSERVATION:
            yield observation_message(name, one)
        else:
            skip(number, "an observation is blank, too long or no text")


def _relation(item: dict[str, Any], number: int, skip: Callable[[int, str], None]) -> Iterator[dict[str, Any]]:
    src, dst, kind = item.get("from"), item.get("to"), item.get("relationType")
    if not (_is_text(src) and _is_text(dst) and _is_text(kind)):
        skip(number, "a relation has from, to and relationType")
        return
    yield relation_message(Tie(src, dst, kind))


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and not is_blank(value) and len(value) <= _LONGEST_NAME


def _fits(path: Path) -> bool:
    return any(
        isinstance(value, dict)
        and (
            (value.get("type") == "entity" and "entityType" in value)
            or (value.get("type") == "relation" and "relationType" in value)
        )
        for value in first_lines(path)
    )


def _read(path: Path) -> Iterator[Item]:
    bad: list[Bad] = []
    with opened(path) as file:
        for number, line in lines(file, path.name):
            for one in records(line, number, lambda at, why: bad.append(Bad(f"{path.name}, line {at}", why))):
                yield Said(SESSION, one["role"], one["content"], None, one["message_id"], None, one["info"], (TAG,))
            yield from bad
            bad.clear()


SOURCE = Source("mcp-memory", "The memory file of the MCP reference memory server (JSON lines)", _fits, _read)
