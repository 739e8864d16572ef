"""A running `memos serve` for hooks, found by its state file as they find it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts_world import Serve, begin


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
