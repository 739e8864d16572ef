"""A cube as JSON lines: a header, then a line for each memory that holds now, and for each edge between two. `ours` reads
it back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from memos import __version__
from memos.cubes.container import whole_file
from memos.door import Door
from memos.evolution.skills.folder import skill_file
from memos.memory.learned import Skill, SkillBody
from memos.memory.model import Edge, Kind, Memory
from memos.moving.held import edges, pages, plain
from memos.moving.ours import FORMAT, VERSION


@dataclass(frozen=True, slots=True)
class Written:
    """What an export wrote. `files`: how many."""

    path: str
    format: str
    memories: int
    edges: int = 0
    files: int = 1


async def write_jsonl(
    memory: object, path: Path, *, user: str | None = None, cube: str | None = None, overwrite: bool = False
) -> Written:
    """Write what a cube holds now to a file, which appears when it is whole. Raises InvalidInput when it exists, unless
    `overwrite`.
    """
    door = Door(memory, user, cube)
    return await door.arun(lambda: _write(door, path, overwrite=overwrite))


def write_jsonl_now(
    memory: object, path: Path, *, user: str | None = None, cube: str | None = None, overwrite: bool = False
) -> Written:
    """`write_jsonl`, for a caller without an event loop."""
    door = Door(memory, user, cube)
    return door.run(lambda: _write(door, path, overwrite=overwrite))


async def _write(door: Door, path: Path, *, overwrite: bool) -> Written:
    memories = ties = 0
    with whole_file(path, overwrite=overwrite) as file:
        _line(file, {"format": FORMAT, "version": VERSION, "made_by": f"memos {__version__}", "made_at": _now()})
        async for page in pages(door):
            for memory in page:
                _line(file, _memory(memory))
            memories += len(page)
            for edge in await edges(door, page):
                _line(file, _edge(edge))
                ties += 1
    return Written(str(path), "jsonl", memories, ties)


def _line(file: IO[bytes], value: Any) -> None:
    file.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _memory(memory: Memory) -> dict[str, Any]:
    out = {"type": "memory", **dict(_said(memory))}
    out["sources"] = [dict(_said(source)) for source in memory.sources]
    if not out["sources"]:
        del out["sources"]
    if memory.kind is Kind.SKILL:
        out["skill_md"] = skill_file(Skill(memory, SkillBody.of(memory)))
    return out


def _edge(edge: Edge) -> dict[str, Any]:
    return {**dict(_said(edge)), "type": "edge", "edge": edge.type.value}


def _said(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a value that say something."""
    for field in fields(value):
        found = getattr(value, field.name)
        if found is not None and found != () and found != {} and field.name != "sources":
            yield field.name, plain(found)
