"""A server that behaves as badly as a test says, and the real one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_helpers import BadServer

sys.path.append(str(Path(__file__).parents[1] / "server"))

from serving import Live, Starter


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A real `memos serve`, for all tests of a file."""
    pytest.importorskip("fastapi")
    start = Starter(tmp_path_factory.mktemp("live"))
    try:
        yield start()
    finally:
        start.end()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Starter]:
    """Starts a real server with options of the test's own."""
    pytest.importorskip("fastapi")
    start = Starter(tmp_path)
    try:
        yield start
    finally:
        start.end()


@pytest.fixture
def bad() -> Iterator[BadServer]:
    server = BadServer()
    yield server
    server.close()
