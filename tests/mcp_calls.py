"""Calling tools as a host does, and what a test wants to see of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from memos import AsyncMemOS


@dataclass
class Refused:
    """A call that was answered with an error: its code and its words."""

    text: str

    @property
    def code(self) -> str:
        return self.text.partition(":")[0]


@dataclass
class Calls:
    """A client of the SDK."""

    client: Any

    async def __call__(self, tool: str, /, **arguments: Any) -> Any:
        """The structured result of a call that succeeds; text and structure say the same."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, (tool, arguments, result.content[0].text)
        assert json.loads(result.content[0].text, parse_constant=_no_constant) == result.structured_content
        return result.structured_content

    async def refused(self, tool: str, /, **arguments: Any) -> Refused:
        """The error of a call that does not."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, (tool, arguments, result.content[0].text)
        return Refused(result.content[0].text)

    async def any(self, tool: str, arguments: dict[str, Any]) -> Any:
        """The result of a call, whatever it is."""
        return await self.client.call_tool(tool, arguments)


@contextlib.asynccontextmanager
async def connected(
    memos: AsyncMemOS, *, mode: str = "memos", extra: tuple[str, ...] = (), wire: str = "auto", **how: Any
) -> AsyncIterator[Calls]:
    """A client connected to the tools over a memory system, in this process. `wire`: legacy has the handshake of older hosts."""
    from mcp import Client
    from memos.mcp.server import make_server, tools_of
    from memos.tools.door import Door

    door = Door.to(memos, local=True, **how)
    async with Client(make_server(lambda request: door, tools_of(mode, extra)), mode=wire) as client:
        yield Calls(client)


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")
