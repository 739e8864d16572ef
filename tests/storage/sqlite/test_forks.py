"""A fork finds no connection open, and a child that was forked in the middle of something is told so."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memos.errors import StorageError
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory
from memos.storage.ports import Probe
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.forks import gate
from memos.storage.threads import ThreadPool

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def in_child(work: Callable[[], bool]) -> bool:
    """What `work` answers in a forked child; False when it does not end in time."""
    pid = os.fork()
    if not pid:
        good = False
        try:
            good = work()
        finally:
            os._exit(0 if good else 1)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False


def files_open(path: Path) -> int:
    return sum(os.path.realpath(f"/proc/self/fd/{fd}").startswith(str(path)) for fd in os.listdir("/proc/self/fd"))


async def test_a_child_inherits_no_connection_and_the_parent_goes_on(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")
    await cube.write(lambda tx: tx.put(Memory(new_id(), Kind.TRACE, "tea")))
    assert len((await cube.gather(Probe({"tea": 1.0}))).rows) == 1
    index = cube.ranked.feed.index
    assert files_open(tmp_path) > 0
    assert in_child(lambda: files_open(tmp_path) == 0)
    await cube.write(lambda tx: tx.put(Memory(new_id(), Kind.TRACE, "tea again")))
    assert len((await cube.gather(Probe({"tea": 1.0}))).rows) == 2
    assert cube.ranked.feed.index is index
    await cube.close()


def test_a_fork_waits_for_whoever_is_inside_and_holds_off_the_others() -> None:
    order: list[str] = []
    entered = threading.Event()

    def use() -> None:
        with gate, gate:
            entered.set()
            time.sleep(0.1)
            order.append("left")

    thread = threading.Thread(target=use)
    thread.start()
    entered.wait()
    assert in_child(lambda: order == ["left"])
    thread.join()
    with gate:
        order.append("in again")


def test_a_child_forked_in_the_middle_of_an_operation_opens_nothing(tmp_path: Path) -> None:
    def refused() -> bool:
        with pytest.raises(StorageError, match="forked"):
            SqliteCube.open(tmp_path / "a.cube")
        return True

    with gate:
        assert in_child(refused)


def test_thread_pools_work_in_a_child() -> None:
    pool = ThreadPool(2, "test")
    assert list(pool.map(abs, [-1, -2])) == [1, 2]
    assert in_child(lambda: list(pool.map(abs, [-3, -4])) == [3, 4])
    pool.shutdown()
