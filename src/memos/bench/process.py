"""Processes to measure: `memos serve` on a data folder, a Redis server for its queue, and what they cost."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from memos.errors import Unavailable

READY_SECONDS = 120.0
STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process uses: memory in MB, threads, open descriptors, and processor seconds since its start."""

    rss: float
    threads: int
    descriptors: int
    cpu: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.rss + other.rss,
            self.threads + other.threads,
            self.descriptors + other.descriptors,
            self.cpu + other.cpu,
        )


class Server:
    """A running `memos serve`. `ready`: seconds from its start until it answered its first request."""

    def __init__(self, process: subprocess.Popen[str], url: str, ready: float, log: Path) -> None:
        self.process, self.url, self.ready, self.log = process, url, ready, log
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80

    def cost(self) -> Cost:
        """What it and its children use now. Zeros where the system has no /proc."""
        return sum((cost(child) for child in _children(self.process.pid)), cost(self.process.pid))


@contextlib.contextmanager
def server(home: Path, *, embedder: str = "default", queue: str | None = None, **settings: str) -> Iterator[Server]:
    """`memos serve` on a free port of this machine, ended when the block ends. `settings`: further environment variables.

    Raises Unavailable with the end of its log when it does not come up.
    """
    env = environment()
    env |= {"MEMOS_TASKS_PER_USER": "400000", **settings, **({"MEMOS_QUEUE": queue} if queue else {})}
    command = [sys.executable, "-m", "memos.cli", "--home", str(home), "--embedder", embedder]
    command += ["serve", "--port", "0", "--log-level", "warning"]
    home.mkdir(parents=True, exist_ok=True)
    log = home.with_name(f"{home.name}.log")
    start = time.perf_counter()
    with log.open("w") as errors:
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)  # noqa: S603
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        if found is None:
            raise Unavailable(f"the server did not start: {log.read_text()[-1000:]}")
        _until_it_answers(found[0], start)
        yield Server(process, found[0], time.perf_counter() - start, log)
    finally:
        _end(process)


@contextlib.contextmanager
def redis() -> Iterator[str | None]:
    """The URL of a Redis server: MEMOS_TEST_REDIS_URL, or one of our own, or None where there is none."""
    if given := os.environ.get("MEMOS_TEST_REDIS_URL"):
        yield given
        return
    program = shutil.which("redis-server")
    if program is None:
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        # Acknowledged work survives a crash, as it does in SQLite: everything is written to its log each second.
        options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--appendonly", "yes", "--save", ""]
        process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, text=True)  # noqa: S603
        try:
            _until_open(port)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            _end(process)


def environment() -> dict[str, str]:
    """Of a process that runs the same code as this one, without any setting of the user's."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("MEMOS_")}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once, not at each start
    return env | {
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), env.get("PYTHONPATH", "")]).strip(os.pathsep)
    }


def cost(pid: int) -> Cost:
    """What a process uses now. Zeros where the system has no /proc."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return Cost(0.0, 0, 0, 0.0)
    ticks = os.sysconf("SC_CLK_TCK")
    return Cost(
        _of(status, "VmRSS") / 1024, _of(status, "Threads"), descriptors, (int(fields[11]) + int(fields[12])) / ticks
    )


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _of(status: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)
    return int(found[1]) if found else 0


def _until_it_answers(url: str, start: float) -> None:
    import httpx2

    while True:
        with contextlib.suppress(httpx2.TransportError):
            if httpx2.get(f"{url}/health", trust_env=False).status_code == 200:
                return
        if time.perf_counter() - start > READY_SECONDS:
            raise Unavailable(f"{url} did not answer within {READY_SECONDS:.0f} s")
        time.sleep(0.01)


def _until_open(port: int) -> None:
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise Unavailable(f"redis-server did not open port {port}")


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
