"""`memos serve --processes`: several processes behind one port, one of which may die."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from serving import Live, Starter

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def children(live: Live) -> list[int]:
    pid = live.process.pid
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def until(true: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)


def add(live: Live, n: int) -> str | None:
    """Add over a connection of its own, repeated until it is answered; the id of the record."""
    body = {"messages": f"Note {n}: the locker {n * 7} is teal.", "user": "u", "idempotency_key": f"k{n}"}
    for _ in range(200):
        try:
            answer = httpx2.post(f"{live.url}/v1/memories", json=body, timeout=20)
        except httpx2.TransportError:  # the process that had the connection died
            time.sleep(0.02)
            continue
        assert answer.status_code == 200, answer.text
        return answer.json()["records"][0]["id"]
    return None


def check_all_are_there(live: Live, ids: list[str | None]) -> None:
    assert None not in ids
    for _ in range(6):  # by new connections, to whichever process
        there = httpx2.post(f"{live.url}/v1/memories/get", json={"ids": ids, "user": "u"}, timeout=20).json()
        assert there["missing"] == []
    count = httpx2.post(f"{live.url}/v1/memories/count", json={"user": "u", "filter": {"layer": "trace"}}, timeout=20)
    assert count.json()["count"] == len(set(ids))


@linux
def test_what_was_added_over_many_connections_is_found_over_many_connections(serve: Starter) -> None:
    live = serve("--processes", "2")
    first = children(live)
    assert len(first) == 2
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda n: add(live, n), range(40)))
    check_all_are_there(live, ids)
    for n in (0, 13, 39):
        for _ in range(4):
            body = {"query": f"locker {n * 7}", "user": "u", "limit": 3}
            found = httpx2.post(f"{live.url}/v1/memories/search", json=body, timeout=20).json()
            assert f"locker {n * 7} " in found["hits"][0]["memory"]["text"]
    assert live.stop() == 0
    assert not [pid for pid in first if Path(f"/proc/{pid}").exists()]
    assert "Traceback" not in "".join(live.log)


@linux
def test_a_killed_process_is_started_again_and_nothing_acknowledged_is_lost(serve: Starter) -> None:
    live = serve("--processes", "2")
    first = children(live)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(add, live, n) for n in range(150)]
        until(lambda: sum(a.done() for a in answers) > 30)
        os.kill(first[0], signal.SIGKILL)
        ids = [a.result() for a in answers]
    until(lambda: len(children(live)) == 2)
    assert first[1] in children(live) and first[0] not in children(live)
    check_all_are_there(live, ids)
    assert live.stop() == 0
    assert [line for line in live.log if "process_ended" in line and '"exit_code":-9' in line]


@linux
def test_processes_end_when_the_one_that_watches_them_is_killed(serve: Starter) -> None:
    live = serve("--processes", "2")
    first = children(live)
    live.process.kill()
    live.process.wait()
    until(lambda: not [pid for pid in first if running(pid)])


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_an_interrupt_ends_all(serve: Starter) -> None:
    live = serve("--processes", "3")
    assert httpx2.get(f"{live.url}/ready").status_code == 200
    assert live.stop(signal.SIGINT) == 0


def test_what_keeps_a_process_from_starting_is_told_once_and_ends_all(serve: Starter) -> None:
    home = serve.folder / "h"
    home.mkdir()
    (home / "control.db").write_bytes(b"no database" * 1000)
    process = serve.begin("--processes", "2", home=home)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert out == ""
    assert len(re.findall(r"^memos: ", err, re.MULTILINE)) == 1
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_refused_also_when_those_who_have_it_share_it(serve: Starter) -> None:
    live = serve("--processes", "2")
    port = live.url.rpartition(":")[2]
    process: subprocess.Popen[str] = serve.begin("--port", port, "--processes", "2", home=serve.folder / "other")
    _, err = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "the port is taken" in err
    with socket.create_connection(("127.0.0.1", int(port))):
        pass
