"""Connections to the tools: in this process, to `memos mcp` in a process of its own, and to `memos serve`. Every file skips its tests
where the extra `mcp` is not installed.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_calls import Calls, connected
from memos import AsyncMemOS

SRC = Path(__file__).parents[2] / "src"
sys.path.append(str(Path(__file__).parents[1] / "server"))  # `serving`


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as made:
        yield made


@pytest.fixture
async def calls(memos: AsyncMemOS) -> AsyncIterator[Calls]:
    """The usual tools over a memory system of its own, for user ada. One task opens and closes the connection."""
    ready: asyncio.Future[Calls] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with connected(memos, user="ada") as made:
            ready.set_result(made)
            await over.wait()

    holding = asyncio.create_task(hold())
    yield await ready
    over.set()
    await holding


@pytest.fixture
def stdio(tmp_path: Path) -> Callable[..., Any]:
    """How to start `memos mcp` over a data folder."""
    from mcp import StdioServerParameters

    def parameters(*args: str, home: Path | None = None, **env: str) -> Any:
        return StdioServerParameters(
            command=sys.executable,
            args=["-m", "memos.cli", "--home", str(home or tmp_path / "home"), "--embedder", "none", "mcp", *args],
            env={
                "PYTHONPATH": os.pathsep.join((str(SRC), os.environ.get("PYTHONPATH", ""))),
                "OMP_NUM_THREADS": "1",
                **env,
            },
        )

    return parameters
