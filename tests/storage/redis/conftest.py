"""A real Redis server for the tests of this folder: the one of MEMOS_TEST_REDIS_URL, or one that is started here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis_server import Server, given_url, installed


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server that all tests share, each in a namespace of its own."""
    if url := given_url():
        yield url
        return
    if not installed():
        pytest.skip("no Redis: set MEMOS_TEST_REDIS_URL or install redis-server")
    server = Server(tmp_path_factory.mktemp("redis"), appendonly="yes")
    server.start()
    yield server.url
    server.kill()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers of the test's own, which it may stop, fill and break."""
    if not installed():
        pytest.skip("no redis-server on the PATH")
    made: list[Server] = []

    def start(**options: str) -> Server:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Server(folder, **options))
        made[-1].start()
        return made[-1]

    yield start
    for server in made:
        server.kill()
