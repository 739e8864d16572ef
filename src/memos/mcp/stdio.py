"""MCP over stdin and stdout. Nothing but the protocol is written to stdout; the end of stdin is the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from memos.mcp.server import make_server
from memos.tools.door import Door

if TYPE_CHECKING:
    from memos.tools.tool import Tool


async def serve_stdio(door: Door, tools: Sequence[Tool[Any]]) -> None:
    """Answer until stdin ends."""
    from mcp.server.stdio import stdio_server

    server = make_server(lambda request: door, tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
