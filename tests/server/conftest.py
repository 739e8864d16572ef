"""Servers to test against: real ones (`memos serve` in a process of its own), and the application in this process.

`live` is one server for all tests of a file: name users of your own. `serve` starts one with options and settings as you
like. `app_client` is the quick way in, without a network, over a data folder of its own per test.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from serving import Live, Starter, in_process

from memos import AsyncMemOS
from memos.server import sse
from memos.server.app import create_app
from memos.server.options import ServerOptions


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    start = Starter(tmp_path_factory.mktemp("live"))
    try:
        yield start()
    finally:
        start.end()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Starter]:
    start = Starter(tmp_path)
    try:
        yield start
    finally:
        start.end()


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncMemOS:
    """The memory system under `app`, which the application opens and closes."""
    return AsyncMemOS(tmp_path / "home", embedder="none")


@pytest.fixture
def options() -> ServerOptions:
    """Override in a file or class to test other options."""
    return ServerOptions()


@pytest.fixture
async def app(memos: AsyncMemOS, options: ServerOptions) -> AsyncIterator[FastAPI]:
    made = create_app(memos, options)
    async with made.router.lifespan_context(made):
        yield made


@pytest.fixture
def first_event(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a stream of `app` has begun to tell: `app_client` gets all of it at once, at its end."""
    told, real = asyncio.Event(), sse.frame

    def frame(event: Any) -> bytes:
        told.set()
        return real(event)

    monkeypatch.setattr(sse, "frame", frame)
    return told


@pytest.fixture
async def app_client(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    async with in_process(app) as client:
        yield client
