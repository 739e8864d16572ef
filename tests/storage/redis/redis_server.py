"""A Redis server in a folder that can be started, stopped and killed."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import socket
import subprocess
import time
from pathlib import Path


def given_url() -> str | None:
    """A server that is there already."""
    return os.environ.get("MEMOS_TEST_REDIS_URL")


def installed() -> bool:
    """Whether a server can be started."""
    return shutil.which("redis-server") is not None


class Server:
    """A `redis-server` on a free port of this machine; what it writes is in a folder."""

    def __init__(self, folder: Path, **options: str) -> None:
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again with what is on its disk."""
        options = {"port": str(self.port), "bind": "127.0.0.1", "save": "", "dir": str(self._folder)} | self._options
        line = ["redis-server"]
        for name, value in options.items():
            line += [f"--{name.replace('_', '-')}", value]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(line, stdout=log, stderr=log)
        for _ in range(500):
            if self._answers():
                return
            time.sleep(0.02)
        raise RuntimeError((self._folder / "log").read_text())

    def kill(self) -> None:
        """End it as kill -9 does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as one:
                one.sendall(b"PING\r\n")
                return one.recv(64).startswith((b"+PONG", b"-NOAUTH", b"-DENIED"))
        except OSError:
            return False


def _free_port() -> int:
    """One whose cluster port, which is 10,000 above, is free too; both below what the system gives to connections."""
    while True:
        port = random.randint(12_000, 22_000)
        with socket.socket() as one, socket.socket() as bus, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            bus.bind(("127.0.0.1", port + 10_000))
            return port
