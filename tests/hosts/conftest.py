"""A running `memos serve` for hooks, found by its state file as they find it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hosts_world import environment

Serve = Callable[[Path], "subprocess.Popen[bytes]"]


def begin(home: Path) -> subprocess.Popen[bytes]:
    """A server on a home, when it answers."""
    words = [sys.executable, "-m", "memos.cli", "--home", str(home), "serve", "--port", "0", "--log-level", "error"]
    process = subprocess.Popen(words, env=environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (home / "server.json").is_file() and json.loads((home / "server.json").read_text())["pid"] == process.pid:
            return process
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    raise AssertionError("the server did not start")


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
