"""The tools the model gets: the six that look things up, of those `memos mcp` has, as Hermes takes and calls them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memos.hosts.hermes.link import Link

if TYPE_CHECKING:
    from memos.tools.door import Door
    from memos.tools.tool import Answer, Tool

NAMES = (
    "memos_search",
    "memos_get",
    "memos_timeline",
    "memos_environment",
    "memos_skill_list",
    "memos_skill_get",
)
SECONDS = 20.0  # of one call


def schemas() -> list[dict[str, Any]]:
    """The tools as functions of OpenAI's protocol."""
    return [{"name": t.name, "description": t.description, "parameters": t.schema} for t in _tools().values()]


def called(link: Link, name: str, arguments: Any, session: str) -> str:
    """The answer to a call, as JSON: what was found, or {"error": what went wrong}."""
    tool = _tools().get(name)
    if tool is None:
        return failed(f"there is no tool {name!r:.80}; known are {', '.join(NAMES)}")
    if arguments is not None and not isinstance(arguments, dict):
        return failed("arguments are an object")

    async def run(door: Door) -> Answer:
        return await tool.call(replace(door, session=session), arguments)

    answer = link.call(run, SECONDS)
    return failed(answer.text) if answer.failed else answer.text


def failed(why: str) -> str:
    """The answer to a call that cannot be done."""
    return json.dumps({"error": why}, ensure_ascii=False)


def _tools() -> dict[str, Tool[Any]]:
    from memos.tools import lived, memories

    return {tool.name: tool for tool in (*memories.TOOLS, *lived.TOOLS) if tool.name in NAMES}
