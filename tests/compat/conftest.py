"""Every memory an adapter can stand on: in this process and behind a server, synchronous and not."""

from __future__ import annotations

import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS, MemOS
from memos.client import AsyncClient, Client

sys.path.append(str(Path(__file__).parents[1] / "server"))

from serving import Live, Starter


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A real `memos serve`, for all these tests: each has a user of its own."""
    start = Starter(tmp_path_factory.mktemp("served"))
    try:
        yield start(embedder="default")
    finally:
        start.end()


@pytest.fixture
def ada() -> str:
    return f"ada-{uuid.uuid4().hex[:8]}"


@pytest.fixture(params=["MemOS", "AsyncMemOS", "Client", "AsyncClient"])
async def memory(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A memory of each kind."""
    if request.param == "MemOS":
        with MemOS(tmp_path, embedder="default") as m:
            yield m
    elif request.param == "AsyncMemOS":
        async with AsyncMemOS(tmp_path, embedder="default") as a:
            yield a
    else:
        url = request.getfixturevalue("served").url
        if request.param == "Client":
            with Client(url, timeout=30) as c:
                yield c
        else:
            async with AsyncClient(url, timeout=30) as ac:
                yield ac


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path, embedder="default") as m:
        yield m
