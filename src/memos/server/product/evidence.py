"""The raw records behind derived memories, so that a derived memory can show what it was read from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from memos.memory.filter import Compare, Field, Op
from memos.memory.model import Memory
from memos.server.product.translate import evidence_ids
from memos.system import AsyncMemOS

AT_ONCE = 400  # ids in one read


async def evidence_of(core: AsyncMemOS, user: str, shown: Sequence[tuple[str, Memory]]) -> dict[str, Memory]:
    """The records that memories (with their cubes) name as their sources, by id; those that are gone are left out."""
    wanted: dict[str, list[str]] = {}
    for cube in dict.fromkeys(cube for cube, _ in shown):
        wanted[cube] = evidence_ids([memory for of, memory in shown if of == cube])
    found = await asyncio.gather(*(read_ids(core, user, cube, ids) for cube, ids in wanted.items() if ids))
    return {memory.id: memory for memories in found for memory in memories}


async def read_ids(core: AsyncMemOS, user: str, cube: str, ids: Sequence[str]) -> list[Memory]:
    """The memories of these ids in one cube, whatever their status, in the order asked; unknown ids are left out."""
    out: dict[str, Memory] = {}
    for at in range(0, len(ids), AT_ONCE):
        some = Compare(Field("id"), Op.IN, tuple(ids[at : at + AT_ONCE]))
        page = await core.list(filter=some, limit=AT_ONCE, include_inactive=True, user=user, cube=cube)
        out |= {memory.id: memory for memory in page.items}
    return [out[id] for id in ids if id in out]
