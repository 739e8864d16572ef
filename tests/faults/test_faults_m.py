"""M. Resources, scale, life-cycle."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from memos import MemOS
from memos.errors import MemosError, ModelTimeout
from stubs import Broken, Words


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
@pytest.mark.parametrize("model", ["none", "words", "broken"])
def test_r153_threads_and_files_stay_flat_over_many_calls(home: Path, model: str) -> None:
    """A thread leaks with every search, until none can be made and answers are empty."""
    embedder = {"none": "none", "words": Words(), "broken": Broken(ModelTimeout("never answers"))}[model]
    with MemOS(home, embedder=embedder, background=False, durability="normal") as memos:

        def work(start: int, count: int) -> None:
            for i in range(start, start + count):
                memos.add(f"the kayak log has an entry with number {i}", session=f"s{i % 7}")
                assert memos.search(f"kayak entry {i}", limit=3).hits

        work(0, 40)
        threads, files = threading.active_count(), descriptors()
        work(40, 500)
        assert abs(threading.active_count() - threads) <= 5
        assert abs(descriptors() - files) <= 5
        assert len(memos.list(kinds=["trace"], limit=1_000).items) == 540


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")
def test_r153_systems_and_cubes_that_are_closed_leave_nothing_open(home: Path) -> None:
    """The same for whole systems that come and go."""

    def once(n: int) -> None:
        with MemOS(home, embedder="none", open_cubes=3) as memos:
            for i in range(6):
                memos.add(f"the kayak of round {n}", user=f"u{i}")
                assert memos.search("kayak", user=f"u{i}").hits

    once(0)
    threads, files = threading.active_count(), descriptors()
    for n in range(1, 9):
        once(n)
    assert threading.active_count() <= threads + 2
    assert descriptors() <= files + 3


def test_r158_after_clearing_what_is_added_is_kept_and_nothing_of_before(home: Path) -> None:
    """The file is removed under a running writer, which goes on writing into nothing."""
    with MemOS(home, embedder=Words()) as running, MemOS(home, embedder=Words()) as viewer:
        running.add([f"BEFORE-CLEAR-{i} lies in the shed" for i in range(20)])
        running.search("shed")
        viewer.delete_cube("default")
        kept = 0
        for i in range(20):
            try:
                running.add(f"AFTER-CLEAR-{i} lies in the hall")
                kept += 1
            except MemosError:  # told, not lost
                continue
        assert kept >= 19
    with MemOS(home, embedder=Words()) as memos:
        texts = [m.text for m in memos.list(kinds=["trace"], limit=500).items]
        assert len(texts) == kept and all(t.startswith("AFTER-CLEAR") for t in texts)
        assert memos.search("BEFORE-CLEAR-1").hits == () or all(
            "AFTER" in h.text for h in memos.search("BEFORE-CLEAR-1")
        )


@pytest.mark.parametrize("how", ["everything", "cube"])
def test_r158_clearing_while_work_is_going_on(home: Path, how: str) -> None:
    """The same while a job is running."""
    with MemOS(home, embedder=Words()) as memos:
        memos.add([f"My cat number {i} is called Tom{i}." for i in range(200)])
        if how == "everything":
            memos.delete(everything=True)
        else:
            memos.delete_cube("default")
        memos.add("AFTER-CLEAR-1 lies in the hall", wait=True)
        assert [m.text for m in memos.list(kinds=["trace"], include_inactive=True).items] == [
            "AFTER-CLEAR-1 lies in the hall"
        ]
        assert memos.list(kinds=["profile"], include_inactive=True).items == ()
    with MemOS(home, embedder=Words(), background=False) as memos:
        assert len(memos.search("AFTER-CLEAR-1").hits) == 1
        assert memos.list(kinds=["profile"]).items == ()
