"""What tests of hosts are given: running servers, found by their state files as hooks find them, and plugins that talk to them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hermes_world import Make
from hosts_world import Serve, begin
from openclaw_world import Gateway, Gateways

from memos.hosts.hermes.provider import Provider


@pytest.fixture
def serving() -> Iterator[Serve]:
    """Starts servers, and ends them with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def start(home: Path) -> subprocess.Popen[bytes]:
        running.append(begin(home))
        return running[-1]

    yield start
    for process in running:
        if process.poll() is None:
            process.terminate()
            process.wait(30)


@pytest.fixture
def home(tmp_path: Path, serving: Serve) -> Path:
    """A home that a server runs on."""
    serving(tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes providers that have begun a session, and ends them with the test."""
    monkeypatch.setenv("MEMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOS_EMBEDDER", "none")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "hermes"))
    monkeypatch.setattr("memos.hosts.hermes.provider.DRAIN_SECONDS", 2.0)
    made: list[Provider] = []

    def start(session: str = "s1", **about: Any) -> Provider:
        made.append(Provider())
        given = {"platform": "cli", "agent_context": "primary", "agent_identity": "default", **about}
        made[-1].initialize(session, hermes_home=str(tmp_path / "hermes"), **given)
        return made[-1]

    yield start
    for provider in made:
        provider.shutdown()


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home that one server runs on, for all tests of OpenClaw's plugin: each has a user of its own."""
    home = tmp_path_factory.mktemp("openclaw")
    server = begin(home)
    yield home
    server.terminate()
    server.wait(30)


@pytest.fixture
def user() -> str:
    return f"u{uuid4().hex[:10]}"


@pytest.fixture
def gateways(live: Path, tmp_path: Path, user: str) -> Iterator[Gateways]:
    """Makes gateways, which end with the test. Their queues are their own, their server is that of all tests."""
    made: list[Gateway] = []

    def new(home: Path | None = None, env: dict[str, str] | None = None, **config: Any) -> Gateway:
        where = {} if home is not None else {"url": json.loads((live / "server.json").read_text())["url"]}
        made.append(Gateway(home or tmp_path / "own", {"user": user, **where, **config}, **(env or {})))
        return made[-1]

    yield new
    for one in made:
        one.__exit__()


@pytest.fixture
def gateway(gateways: Gateways) -> Gateway:
    return gateways()
