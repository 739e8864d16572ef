"""A running `memos serve` for hooks, found by its state file as they find it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hermes_world import Make
from hosts_world import Serve, begin

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
