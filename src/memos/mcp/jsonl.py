"""The file of the MCP reference memory server: a line of JSON for each entity and each relation, in and out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeGuard

from memos.errors import InvalidInput
from memos.mcp.door import Door
from memos.mcp.graph import Held, Tie, entity_message, held, observation_message, relation_message, store
from memos.reading.parts import is_blank

_LONGEST_LINE = 16 << 20
_MOST_REPORTED = 20
_BATCH = 500


@dataclass(slots=True)
class Imported:
    """What an import did. `new` of the records that the lines make were not there before; `skipped`: what was wrong, by line."""

    lines: int = 0
    entities: int = 0
    observations: int = 0
    relations: int = 0
    new: int = 0
    bad: int = 0
    skipped: list[str] = field(default_factory=list)
    dry_run: bool = False

    def skip(self, line: int, why: str) -> None:
        """Note a line, or a part of it, that is left out."""
        self.bad += 1
        if len(self.skipped) < _MOST_REPORTED:
            self.skipped.append(f"line {line}: {why}")


async def load(door: Door, path: Path, *, dry_run: bool = False) -> Imported:
    """Take a file in. What is there already stays; bad lines are reported and left out. Raises InvalidInput for no file."""
    if not await asyncio.to_thread(path.is_file):
        raise InvalidInput(f"{path} is no file")
    done, waiting = Imported(dry_run=dry_run), list[dict[str, Any]]()
    with path.open(encoding="utf-8", errors="replace") as file:
        for message in _messages(file, done):
            waiting.append(message)
            if len(waiting) >= _BATCH:
                done.new += await _kept(door, waiting, dry_run=dry_run)
                waiting = []
    done.new += await _kept(door, waiting, dry_run=dry_run)
    return done


async def _kept(door: Door, messages: list[dict[str, Any]], *, dry_run: bool) -> int:
    return 0 if dry_run else sum(await store(door, messages))


def _messages(file: TextIO, done: Imported) -> Iterator[dict[str, Any]]:
    number = 0
    while line := file.readline(_LONGEST_LINE + 1):
        number += 1
        if len(line) > _LONGEST_LINE:
            raise InvalidInput(f"line {number} has more than {_LONGEST_LINE >> 20} MB; this is no such file")
        if not line.strip():
            continue
        done.lines += 1
        try:
            item = json.loads(line)
        except (ValueError, RecursionError):
            done.skip(number, "it is not JSON")
            continue
        if not isinstance(item, dict):
            done.skip(number, "it is no JSON object")
        elif item.get("type") == "entity":
            yield from _entity(item, number, done)
        elif item.get("type") == "relation":
            yield from _relation(item, number, done)
        else:
            done.skip(number, f"its type is {item.get('type')!r:.40}, not entity or relation")


def _entity(item: dict[str, Any], number: int, done: Imported) -> Iterator[dict[str, Any]]:
    name, kind, said = item.get("name"), item.get("entityType", ""), item.get("observations", [])
    if not _is_text(name) or not isinstance(kind, str) or not isinstance(said, list):
        done.skip(number, "an entity has a name, an entityType and a list of observations")
        return
    done.entities += 1
    yield entity_message(name, kind[:1_000])
    for one in said:
        if isinstance(one, str) and not is_blank(one) and len(one) <= 200_000:
            done.observations += 1
            yield observation_message(name, one)
        else:
            done.skip(number, "an observation is blank, too long or no text")


def _relation(item: dict[str, Any], number: int, done: Imported) -> Iterator[dict[str, Any]]:
    src, dst, kind = item.get("from"), item.get("to"), item.get("relationType")
    if not (_is_text(src) and _is_text(dst) and _is_text(kind)):
        done.skip(number, "a relation has from, to and relationType")
        return
    done.relations += 1
    yield relation_message(Tie(src, dst, kind))


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and not is_blank(value) and len(value) <= 1_000


async def save(door: Door, path: Path, *, overwrite: bool = False) -> Held:
    """Write the graph to a file. Raises InvalidInput when it exists, unless `overwrite`."""
    if not overwrite and await asyncio.to_thread(path.exists):
        raise InvalidInput(f"{path} exists already; give another path, or --overwrite")
    graph = await held(door)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(item, ensure_ascii=False)}\n" for item in _items(graph))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return graph


def _items(graph: Held) -> Iterator[dict[str, Any]]:
    for node in graph.nodes.values():
        yield {"type": "entity", "name": node.name, "entityType": node.type, "observations": node.observations}
    for tie in graph.ties:
        yield {"type": "relation", "from": tie.src, "to": tie.dst, "relationType": tie.type}
