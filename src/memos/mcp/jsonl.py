"""The file of the MCP reference memory server: a line of JSON for each entity and each relation, in and out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.mcp.graph import Held, held, store
from memos.moving.files import lines, opened
from memos.moving.graph_file import records
from memos.tools.door import Door

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

    def count(self, record: Mapping[str, Any]) -> None:
        """Count a record as what it is."""
        match record["info"]["graph"]:
            case "entity":
                self.entities += 1
            case "observation":
                self.observations += 1
            case _:
                self.relations += 1


async def load(door: Door, path: Path, *, dry_run: bool = False) -> Imported:
    """Take a file in. What is there already stays; bad lines are reported and left out. Raises InvalidInput for no file."""
    if not await asyncio.to_thread(path.is_file):
        raise InvalidInput(f"{path} is no file")
    done, waiting = Imported(dry_run=dry_run), list[dict[str, Any]]()
    with opened(path) as file:
        for number, line in lines(file, path.name):
            done.lines += 1
            for record in records(line, number, done.skip):
                done.count(record)
                waiting.append(record)
            if len(waiting) >= _BATCH:
                done.new += await _kept(door, waiting, dry_run=dry_run)
                waiting = []
    done.new += await _kept(door, waiting, dry_run=dry_run)
    return done


async def _kept(door: Door, messages: list[dict[str, Any]], *, dry_run: bool) -> int:
    return 0 if dry_run else sum(await store(door, messages))


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
