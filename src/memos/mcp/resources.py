"""Resources: a memory, a cube, what is known of a user, as texts a host can attach to a conversation."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import mcp_types as types

from memos.errors import NotFound
from memos.memory.ids import is_id
from memos.tools.budget import fitted
from memos.tools.door import Door
from memos.tools.memories import Get, get
from memos.tools.store import Nothing, Status, cubes, status

_URI = re.compile(r"(memory|cube|profile)://([^/?#]+)/?")

TEMPLATES: tuple[types.ResourceTemplate, ...] = (
    types.ResourceTemplate(
        uri_template="memory://{id}", name="memory", title="A memory", description="One memory, whole, by its id.",
        mime_type="text/plain",
    ),
    types.ResourceTemplate(
        uri_template="cube://{name}", name="cube", title="A cube", description="How much a cube holds, and what waits.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        uri_template="profile://{user}", name="profile", title="What is known of somebody",
        description="What is known of the user, or of somebody the user told of, ready for a prompt.", mime_type="text/plain",
    ),
)  # fmt: skip


async def listed(door: Door) -> types.ListResourcesResult:
    """The profile of the user, and the cubes."""
    me = door.user or "me"
    found = [
        types.Resource(
            uri=f"profile://{quote(me, safe='')}", name=f"profile of {me}", title="What is known of the user",
            mime_type="text/plain",
        )
    ]  # fmt: skip
    for cube in (await cubes(door, Nothing())).cubes[:200]:
        found.append(
            types.Resource(
                uri=f"cube://{quote(cube.name, safe='')}",
                name=cube.name,
                title=f"Cube {cube.name}",
                mime_type="application/json",
            )
        )
    return types.ListResourcesResult(resources=found)


async def read(door: Door, uri: str) -> types.ReadResourceResult:
    """The text of a resource. Raises NotFound for what is none, or not for this user."""
    match = _URI.fullmatch(uri)
    if match is None:
        raise NotFound(f"{uri!r:.120} is no resource here; there are memory://ID, cube://NAME and profile://USER")
    kind, name = match[1], unquote(match[2])
    if kind == "memory":
        if not is_id(name):
            raise NotFound(f"{name!r:.60} is no id of a memory")
        got = await get(door, Get(id=name))
        text = got.text if got.next_offset is None else f"{got.text}\n[cut: {got.length:,} characters in all]"
        return _text(uri, text)
    if kind == "cube":
        return _text(uri, fitted(await status(door, Status(cube=name)), door.budget)[0], "application/json")
    about = None if name in (door.user, "me") else name
    known = await door.system.profile(about=about, max_tokens=max(100, door.budget // 8), **door.where())
    return _text(uri, known.text or "(nothing is known yet)")


def _text(uri: str, text: str, kind: str = "text/plain") -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, text=text, mime_type=kind)])
