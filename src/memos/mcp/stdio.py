"""MCP over stdin and stdout. Nothing but the protocol is written to stdout; the end of stdin is the end."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from memos.mcp.server import make_server
from memos.tools.door import Door

if TYPE_CHECKING:
    from memos.tools.tool import Tool

# An escape in JSON: a backslash, a whole pair of halves, half a character, or another one.
_ESCAPE = re.compile(r"\\(?:\\|u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)")


async def serve_stdio(door: Door, tools: Sequence[Tool[Any]]) -> None:
    """Answer until stdin ends."""
    from mcp.server.stdio import stdio_server

    server = make_server(lambda request: door, tools)
    given: Any = _Lines()
    async with stdio_server(given) as (read, write):
        await server.run(read, write, server.create_initialization_options())


class _Lines:
    """The lines of stdin. Half a character, which hosts that cut texts send, becomes U+FFFD: the protocol's parser would drop the
    line, and the host would wait for an answer for ever.
    """

    def __aiter__(self) -> AsyncIterator[str]:
        return self._lines()

    async def _lines(self) -> AsyncIterator[str]:
        import anyio

        file = TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace")
        async for line in anyio.wrap_file(file):
            yield whole(line) if "\\u" in line else line


def whole(line: str) -> str:
    """JSON with the escapes of lone surrogates as that of U+FFFD."""
    return _ESCAPE.sub(lambda found: r"\ufffd" if found[1] else found[0], line)
