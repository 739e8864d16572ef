"""Working memory on the wire: the kept set of a session, shown as the WorkingMemory that the original copies its memories into.

Here nothing is copied: a memory shown so is the same one, under the same id, and `working_binding` names it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from memos.memory.filter import And, Compare, Field, Filter, Op
from memos.memory.upkeep import Working
from memos.server.product.evidence import evidence_of
from memos.server.product.translate import node
from memos.system import AsyncMemOS

TYPE = "WorkingMemory"
_NOBODY = "00000000-0000-0000-0000-000000000000"


async def within(
    core: AsyncMemOS, user: str, filters: Mapping[str, Filter | None], session: str | None
) -> dict[str, Filter | None]:
    """The filters of cubes, narrowed to the working set of a session (None: of the one spoken in last) of each."""
    sets = await asyncio.gather(*(core.working(session, user=user, cube=cube) for cube in filters))
    return {cube: _among(where, kept) for (cube, where), kept in zip(filters.items(), sets, strict=True)}


def _among(where: Filter | None, kept: Working) -> Filter:
    only = Compare(Field("id"), Op.IN, kept.ids or (_NOBODY,))
    return only if where is None else And((where, only))


def as_working(shown: dict[str, Any]) -> dict[str, Any]:
    """A memory of the wire, shown as working memory."""
    return shown | {"metadata": shown["metadata"] | {"memory_type": TYPE, "working_binding": shown["id"]}}


async def bucket(core: AsyncMemOS, user: str, cube: str) -> dict[str, Any]:
    """The working set of the session spoken in last, as a bucket."""
    kept = await core.working(user=user, cube=cube)
    memories = [item.memory for item in kept]
    evidence = await evidence_of(core, user, [(cube, memory) for memory in memories])
    shown = [as_working(node(memory, cube, evidence=evidence)) for memory in memories]
    return {"cube_id": cube, "memories": shown, "total_nodes": len(shown)}
