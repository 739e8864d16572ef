"""What a cube holds now, page by page, with the edges between: what exports are made of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from memos.door import Door
from memos.memory.model import Edge, Memory

_PAGE = 1_000


async def pages(door: Door) -> AsyncIterator[Sequence[Memory]]:
    """All memories that hold now, in order of their creation."""
    cursor: str | None = None
    while True:
        page = await door.ask("list", limit=_PAGE, cursor=cursor, newest_first=False)
        if page.items:
            yield page.items
        cursor = page.cursor
        if cursor is None:
            return


async def edges(door: Door, memories: Sequence[Memory]) -> Sequence[Edge]:
    """The edges that begin at these memories. A server is asked for each of them."""
    if door.has("graph"):
        found: Sequence[Edge] = (await door.ask("graph", [m.id for m in memories], depth=1, direction="out")).edges
    else:
        found = [link.edge for m in memories for link in await door.ask("neighbors", m.id, direction="out")]
    here = {memory.id for memory in memories}
    return [edge for edge in found if edge.src in here]


def plain(value: Any) -> Any:
    """A value as JSON says it: times as ISO 8601 in UTC."""
    match value:
        case Enum():
            return value.value
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case Mapping():
            return {str(key): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
    return value
