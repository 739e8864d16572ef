"""B. Queue, scheduler, restart."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memos import MemOS, background
from memos.errors import ModelError
from memos.reading.read import read_trace
from memos.scheduler import worker
from stubs import Broken, Words, child_env

BLOCKED = """
import sys, time
from memos import MemOS, background

def blocks(*_):
    print("reading", flush=True)
    time.sleep(60)

background.read_trace = blocks
kept = MemOS(sys.argv[1], embedder="none")
kept.add("The locker is number 58.")
time.sleep(60)
"""


def test_r029_work_of_a_killed_process_is_taken_up_once(home: Path) -> None:
    """What a killed worker had claimed stays in processing for ever and blocks what comes after it."""
    child = subprocess.Popen([sys.executable, "-c", BLOCKED, str(home)], stdout=subprocess.PIPE, env=child_env())
    assert child.stdout is not None and child.stdout.readline().strip() == b"reading"
    child.kill()
    child.wait()
    with MemOS(home, embedder="none") as memos:
        assert memos.stats().waiting["digest"] == 1
        memos.add("The boiler serial is HK-902.", wait=True)
        facts = [m.text for m in memos.list(kinds=["fact"], include_inactive=True).items]
        assert sorted(facts) == ["The boiler serial is HK-902.", "The locker is number 58."]
        assert memos.stats().waiting.get("digest", 0) == 0


def test_r032_what_can_never_be_read_does_not_hold_up_what_comes_behind_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few bad jobs jam the queue while health is green."""

    def read(trace: Any, before: Any = ()) -> Any:
        if "poison" in trace.text:
            raise ValueError("cannot be read")
        return read_trace(trace, before)

    monkeypatch.setattr(background, "read_trace", read)
    with MemOS(home, embedder="none", background=False) as memos:
        memos.add([f"poison number {i} of the well" for i in range(150)])
        memos.add("The locker is number 58.")
        for _ in range(12):
            memos.flush()
        assert [m.text for m in memos.list(kinds=["fact"]).items] == ["The locker is number 58."]
        assert memos.stats().waiting["digest"] == 150  # visible, not silently given up
        assert len(memos.search("poison well", limit=5)) == 5


class Wrong(Words):
    """An embedder whose vectors have another length or number than it says."""

    def __init__(self, shape: Any) -> None:
        super().__init__("wrong", 8)
        self.shape = shape

    def embed_sync(self, texts: Any, *, purpose: Any) -> Any:
        return np.ones(self.shape(len(texts)), np.float32)


@pytest.mark.parametrize(
    "shape", [lambda n: (n, 0), lambda n: (n + 1, 8), lambda n: (0, 8), lambda n: (8,), lambda n: (n, 8, 2)]
)
def test_r032_vectors_of_the_wrong_shape_are_refused_and_the_words_answer(home: Path, shape: Any) -> None:
    """A vector of length 0 or 7 jams the queue."""
    with MemOS(home, embedder=Wrong(shape), background=False) as memos:
        memos.add("The locker is number 58.")
        with pytest.raises(ModelError):
            memos.flush()
        assert memos.search("locker").hits[0].memory.text == "The locker is number 58."
        assert memos.stats().waiting["embed"] == 2


def test_r039_a_dead_model_is_asked_once_per_pause_and_not_by_looking(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any user activity thousands of calls go to a failing model."""
    monkeypatch.setattr(worker, "BACKOFF_BASE", 0.1)
    embedder = Broken(ModelError("429 too many requests"))
    with MemOS(home, embedder=embedder) as memos:
        memos.add([f"dirty episode number {i} of fifty" for i in range(50)])
        start = time.monotonic()
        while (past := time.monotonic() - start) < 1.0 or (embedder.calls < 2 and past < 20):
            memos.stats()
            memos.list()
        assert 2 <= embedder.calls <= 8
