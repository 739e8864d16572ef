"""Keeps what Hermes writes into its own MEMORY.md and USER.md: each entry as one memory, added, replaced and removed with it."""

from __future__ import annotations

from typing import Any

from memos.tools.door import Door

SOURCE = "hermes"
TARGETS = {"memory": "MEMORY.md", "user": "USER.md"}
_MOST = 500  # entries that are looked through for one that is replaced


async def remember(door: Door, text: str, target: str, profile: str, key: str) -> None:
    """Store an entry."""
    info = {"source": SOURCE, "file": TARGETS.get(target, target), "profile": profile}
    await door.system.add(
        text, tags=[SOURCE, target], info=info, idempotency_key=key, session=f"hermes-{target}", **door.where()
    )


async def forget(door: Door, old: str, target: str, profile: str) -> None:
    """Retract the entry that holds a text, and what was derived from it; it stays in the history."""
    found = [m.id for m in await _entries(door, target, profile) if old in m.text]
    if found:
        await door.system.delete(found[:1], hard=False, **door.where())


async def _entries(door: Door, target: str, profile: str) -> list[Any]:
    where = {"info.source": SOURCE, "info.file": TARGETS.get(target, target), "info.profile": profile}
    page = await door.system.list(filter=where, kinds=["trace"], limit=_MOST, **door.where())
    return list(page.items)
