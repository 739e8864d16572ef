"""What the tests of the server share beside fixtures: real servers, and clients without a network."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
from fastapi import FastAPI

SRC = Path(__file__).parents[2] / "src"


@dataclass
class Live:
    """A running `memos serve`."""

    url: str
    home: Path
    process: subprocess.Popen[str]
    log: list[str] = field(default_factory=list)  # its stderr so far, line by line; all of it once `stop` returned
    reader: threading.Thread | None = None

    def client(self, key: str | None = None, **options: object) -> httpx2.Client:
        """A client of the server; the caller closes it."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=30, **options)

    def stop(self, number: int = signal.SIGTERM, timeout: float = 30) -> int:
        """End it and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout)
        if self.reader is not None:
            self.reader.join(timeout)
        return code


class Starter:
    """Starts servers, and ends those that still run when the test is over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: list[subprocess.Popen[str]] = []

    def __call__(self, *args: str, home: Path | None = None, embedder: str = "none", **env: str) -> Live:
        """A server on a free port. `env`: further variables, MEMOS_SERVER_BODY_MB="1" and the like."""
        home = home or self.folder / f"home{len(self._running)}"
        process = self.begin(*args, home=home, embedder=embedder, **env)
        live = Live("", home, process)
        live.reader = threading.Thread(target=lambda: live.log.extend(process.stderr), daemon=True)
        live.reader.start()
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            process.kill()
            live.reader.join(5)
            raise AssertionError(f"the server did not start: {line!r}\n{''.join(live.log)}")
        live.url = found[0]
        return live

    def begin(self, *args: str, home: Path, embedder: str = "none", **env: str) -> subprocess.Popen[str]:
        """The process alone, which may not come to serving."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MEMOS_", "OTEL_"))}
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "memos.cli",
                "--home",
                str(home),
                "--embedder",
                embedder,
                "serve",
                "--port",
                "0",
                *args,
            ],
            env={
                **inherited,
                "PYTHONPATH": os.pathsep.join((str(SRC), os.environ.get("PYTHONPATH", ""))),
                "OMP_NUM_THREADS": "1",
                **env,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._running.append(process)
        return process

    def end(self) -> None:
        """End whatever runs."""
        for process in self._running:
            if process.poll() is None:
                process.terminate()
        for process in self._running:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)


def in_process(app: FastAPI, **options: object) -> httpx2.AsyncClient:
    """A client of an application in this process."""
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 50_000))
    return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000", **options)
