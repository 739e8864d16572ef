from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.storage.tasks import TaskState


def run(home: Path, *args: str, code: int = 0) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "memos.cli", "--home", str(home), "--embedder", "none", "--json", *args],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": "src"},
    )
    assert done.returncode == code, (done.stdout, done.stderr)
    return json.loads(done.stdout or done.stderr)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder in which two adds wait, because no worker runs."""
    with MemOS(tmp_path, embedder="none", workers=0) as memos:
        memos.add("I moved to Oslo.", user="ann", task_id="mine")
        memos.add("My dog is called Rex.", user="bob")
    return tmp_path


def test_waiting_tasks_are_listed_and_a_worker_does_them(home: Path) -> None:
    waiting = run(home, "tasks", "list", "--state", "waiting", "--kind", "digest")  # others are of the system
    assert {t["user"] for t in waiting} == {"ann", "bob"}
    assert run(home, "tasks", "stats")["digest"]["waiting"] == 2
    assert run(home, "worker", "--drain") == {"failed": 0, "waiting": 0}
    assert [t["state"] for t in run(home, "tasks", "list", "--kind", "digest", "--of", "ann")] == ["completed"]
    with MemOS(home, embedder="none", background=False) as memos:
        assert not memos.stats(user="ann").waiting.get("digest")
        assert "Ann lives in Oslo." in [m.text for m in memos.list(user="ann").items]


def test_one_task_is_shown_whole(home: Path) -> None:
    (task,) = run(home, "tasks", "list", "--of", "ann")
    assert run(home, "tasks", "show", task["id"])["caller_id"] == "mine"
    assert "no task has an id" in run(home, "tasks", "show", "0" * 8, code=1)["error"]["message"]
    assert "does not exist" in run(home, "tasks", "show", str(uuid.UUID(int=7)), code=1)["error"]["message"]


def test_tasks_are_cancelled_and_retried_by_name_or_all(home: Path) -> None:
    ids = [t["id"] for t in run(home, "tasks", "list")]
    assert run(home, "tasks", "cancel", ids[0]) == {"cancelled": 1}
    assert run(home, "tasks", "cancel", "--all") == {"cancelled": 0}  # --all means the failed ones
    assert run(home, "tasks", "retry", "--all") == {"retried": 0}
    assert "--all" in run(home, "tasks", "retry", code=2)["error"]["message"]


def test_a_worker_ends_gracefully_when_told(home: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-m", "memos.cli", "--home", str(home), "--embedder", "none", "worker"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": "src"},
    )
    assert worker.stderr is not None and "2 slots" in worker.stderr.readline()
    with MemOS(home, embedder="none", workers=0) as memos:
        until = time.monotonic() + 20
        while memos.tasks.counts()[TaskState.WAITING] and time.monotonic() < until:
            time.sleep(0.05)
        memos.add("I work at Acme.", user="ann", task_id="later")
        while memos.tasks.busy() and time.monotonic() < until:
            time.sleep(0.05)
        assert memos.tasks.counts()[TaskState.COMPLETED] >= 3
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(20) == 0
