"""`kill -9` of the API and of workers at random points, under load: every acknowledged add is there and digested, once in effect."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from serving import SRC, Live, Starter

from memos import MemOS
from memos.storage.tasks import TaskState

KILLS = 6
CLIENTS = 4
SEED = 20_261_130
PLACES = ("Oslo", "Bergen", "Narvik", "Bodo", "Molde", "Alta", "Hamar", "Moss")


def worker(home: Path) -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "memos.cli", "--home", str(home), "--embedder", "none", "worker"],
        env=env,
        stderr=subprocess.DEVNULL,
    )


class Load:
    """Clients that add until told to stop, and repeat an add (same key) until it is acknowledged."""

    def __init__(self, live: Live) -> None:
        self.live = live  # replaced when the server is started anew
        self.acked: dict[tuple[str, int], str] = {}
        self.wrong: list[str] = []
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self._run, args=(i,)) for i in range(CLIENTS)]

    def _run(self, number: int) -> None:
        user, n = f"user{number}", 0
        while not self.stop.is_set():
            body = {
                "messages": f"Note {n}: my locker number {n} is in {PLACES[n % len(PLACES)]}. I live in {PLACES[n % 7]}.",
                "user": user,
                "idempotency_key": f"{user}-{n}",
                "task_id": f"{user}-{n}",
            }
            try:
                answer = httpx2.post(f"{self.live.url}/v1/memories", json=body, timeout=10)
            except httpx2.TransportError:
                time.sleep(0.05)
                continue  # the same again: it may have been stored
            if answer.status_code == 200:
                self.acked[user, n] = answer.json()["records"][0]["id"]
                n += 1
            elif answer.status_code not in (429, 503):
                self.wrong.append(answer.text)
                return


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_killed_at_random_points_under_load_every_acknowledged_add_is_digested_once(
    serve: Starter, tmp_path: Path
) -> None:
    chance, home = random.Random(SEED), tmp_path / "home"
    live = serve("--workers", "1", home=home)
    workers = [worker(home), worker(home)]
    load = Load(live)
    for thread in load.threads:
        thread.start()
    for victim in (2, *chance.choices(range(3), k=KILLS - 2), 0):
        time.sleep(chance.uniform(0.5, 2.0))
        if victim == 2:
            live.process.kill()
            live.process.wait()
            load.live = live = serve("--workers", "1", home=home)
        else:
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = worker(home)
    load.stop.set()
    for thread in load.threads:
        thread.join()
    try:
        assert not load.wrong and len(load.acked) > 50
        _wait_until_idle(live)
    finally:
        for process in workers:
            process.terminate()
            process.wait()
        assert live.stop() == 0
    _check(home, load)


def _wait_until_idle(live: Live) -> None:
    until = time.monotonic() + 120  # a killed worker's lease runs out after 30 s
    with live.client() as client:
        while time.monotonic() < until:
            stats = client.get("/v1/tasks/stats").json()
            kinds = stats.get("kinds", stats)
            if not any(k["waiting"] or k["in_progress"] for k in kinds.values()):
                return
            time.sleep(0.5)
    raise AssertionError("the queue did not become empty")


def _check(home: Path, load: Load) -> None:
    with MemOS(home, embedder="none", background=False) as memos:
        assert memos.tasks.counts()[TaskState.FAILED] == 0
        for number in range(CLIENTS):
            user = f"user{number}"
            acked = {id for (owner, _), id in load.acked.items() if owner == user}
            assert not memos.stats(user=user).waiting.get("digest"), "marked, but no task did it"
            found = _all(memos, user)
            raw = [m for m in found if m.kind.value == "trace"]
            assert acked <= {m.id for m in raw}, "an acknowledged add is lost"
            assert max(Counter(m.text for m in raw).values()) == 1, "an add that was repeated is stored twice"
            derived = [m.text for m in found if m.kind.value not in ("trace", "entity")]
            assert len(derived) == len(set(derived)) and derived, "something was derived twice"
            assert len([m for m in derived if "lives in" in m]) == 1, "one place to live is current"


def _all(memos: MemOS, user: str) -> list[object]:
    page = memos.list(user=user, limit=1000)
    items = list(page.items)
    while page.cursor:
        page = memos.list(user=user, limit=1000, cursor=page.cursor)
        items += page.items
    return items
