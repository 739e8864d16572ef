"""Tools about where memories are: the cubes there are, and how a cube is doing."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from memos import __version__
from memos.errors import NotFound
from memos.tools.args import Args, Cube, Listing, Shown
from memos.tools.door import Door
from memos.tools.shapes import moment
from memos.tools.tool import Tool


class Nothing(Args):
    """No arguments."""


class CubeLine(Shown):
    """A cube."""

    name: str
    owner: str
    created_at: str | None = None
    level: str | None = Field(default=None, description="What this user may do in it; left out of the own ones.")


class CubeLines(Listing):
    """The cubes this user may read."""

    cubes: list[CubeLine] = Field(default_factory=list)


async def cubes(door: Door, asked: Nothing) -> CubeLines:
    """The cubes the user owns or was granted."""
    found = await door.system.list_cubes(**door.who())
    return CubeLines(
        cubes=[
            CubeLine(name=c.name, owner=c.owner, created_at=moment(c.created_at), level=c.grants.get(door.user or ""))
            for c in found
        ]
    )


class Status(Args):
    """Arguments of memos_status."""

    cube: Cube = None


class Health(Shown):
    """How a cube is doing."""

    version: str
    user: str | None = Field(default=None, description="Whose memory it is; none: whom the key belongs to.")
    cube: str | None = None
    session: str | None = None
    memories: int = 0
    by_kind: dict[str, int] = Field(default_factory=dict)
    waiting: dict[str, int] = Field(
        default_factory=dict, description="Work not done yet, by kind; what is stored is found all the same."
    )
    embedder: str | None = None
    disk_bytes: int = 0


async def status(door: Door, asked: Status) -> Health:
    """Counts of a cube, and what waits. A user of whom nothing is stored yet has an empty one."""
    out = Health(version=__version__, user=door.user, cube=asked.cube or door.cube, session=door.session)
    try:
        found = await door.system.stats(**door.where(asked.cube))
    except NotFound:
        if asked.cube or door.cube:
            raise
        return out
    out.cube, out.memories, out.by_kind = found.cube, found.store.memories, dict(found.store.by_kind)
    out.waiting = {kind: count for kind, count in found.waiting.items() if count}
    out.embedder, out.disk_bytes = found.embedder, found.store.disk_bytes
    return out


TOOLS: tuple[Tool[Any], ...] = (
    Tool("memos_cubes", "List cubes", "The cubes (named stores of memories) this user may read.", Nothing, CubeLines, cubes,
         reads=True),
    Tool("memos_status", "How memory is doing", "How many memories there are, and what is still being worked on.", Status, Health,
         status, reads=True),
)  # fmt: skip
