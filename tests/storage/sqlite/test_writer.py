"""One writer thread, one commit for many changes, and a failure that stays with the change it belongs to."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memos.errors import Conflict, StorageError
from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory
from memos.memory.time import utcnow
from memos.storage.ports import TextQuery, View, WriteTx
from memos.storage.sqlite import tx as tx_module
from memos.storage.sqlite.bridge import bridge
from memos.storage.sqlite.cube import SqliteCube


def said(text: str) -> Memory:
    return Memory(new_id(), Kind.TRACE, text)


def gate(cube: SqliteCube) -> Callable[[], None]:
    """Hold the writer thread, so that what is written meanwhile waits for it together; returns what lets it go."""
    held, go = threading.Event(), threading.Event()

    def wait(_: Any) -> None:
        held.set()
        go.wait(10)

    cube.write_soon(wait)
    held.wait(10)
    return go.set


async def terms_and_words(cube: SqliteCube) -> tuple[list[str], list[str]]:
    def run(db: Any) -> tuple[list[str], list[str]]:
        numbers = {n for row in db.execute("SELECT terms FROM memories") for n in memoryview(row[0] or b"").cast("I")}
        known = dict(db.execute("SELECT id, term FROM terms").fetchall())
        return sorted(known[n] for n in numbers), sorted(known.values())

    return cube.read_now(run)


async def test_waiting_changes_share_one_commit(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")
    await cube.write(lambda tx: None)
    before = cube._writer.commits
    release = gate(cube)
    waiting = [cube.write_soon(lambda tx, i=i: tx.put(said(f"w{i}"))) for i in range(64)]
    release()
    assert len({f.result(10).known_from for f in waiting}) == 64
    assert cube._writer.commits - before <= 3
    assert await cube.count() == 64
    await cube.close()


async def test_many_concurrent_writers_need_far_fewer_commits_than_writes(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")
    with ThreadPoolExecutor(64) as pool:
        list(pool.map(lambda i: [cube.write_soon(_saying(f"{i} {k}")).result() for k in range(5)], range(64)))
    assert await cube.count() == 320
    assert cube._writer.commits < 160
    await cube.close()


async def test_an_error_in_one_change_leaves_the_others_of_its_group_alone(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")
    base = await cube.write(lambda tx: tx.put(said("base")))

    def fails(tx: Any) -> None:
        tx.put(said("unicorn lost"))
        tx.link(Edge(base.id, base.id, EdgeType.USES))
        raise ValueError("mine")

    release = gate(cube)
    good = [cube.write_soon(lambda tx, w=w: tx.put(said(w))) for w in ("apple", "unicorn kept")]
    bad = cube.write_soon(fails)
    stale = cube.write_soon(lambda tx: tx.put(Memory(base.id, Kind.TRACE, "stale", version=9)))
    later = cube.write_soon(lambda tx: tx.put(said("lost pear")))
    release()
    assert [f.result(10).text for f in (*good, later)] == ["apple", "unicorn kept", "lost pear"]
    with pytest.raises(ValueError, match="mine"):
        bad.result(10)
    with pytest.raises(Conflict):
        stale.result(10)
    assert sorted(m.text for m in (await cube.list()).items) == ["apple", "base", "lost pear", "unicorn kept"]
    assert await cube.neighbors([base.id]) == []
    await cube.close()


async def test_a_failed_change_leaves_no_term_numbers_behind(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")

    def fails(tx: Any) -> None:
        tx.put(said("zebra yak"))
        raise ValueError

    for _ in range(2):
        release = gate(cube)
        bad = cube.write_soon(fails)
        good = cube.write_soon(lambda tx: tx.put(said("walrus zebra")))
        release()
        good.result(10)
        assert bad.exception(10) is not None
    held, known = await terms_and_words(cube)
    assert set(held) == {"walru", "zebra"} or set(held) == {"walrus", "zebra"}
    assert not {w for w in known if w.startswith("yak")}
    for word in held:
        assert len(await cube.search_text(TextQuery((word,)))) == 2
    await cube.close()


async def test_a_cancelled_caller_neither_blocks_nor_breaks_the_writer(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")
    release = gate(cube)
    task = asyncio.create_task(cube.write(lambda tx: tx.put(said("cancelled"))))
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    release()
    await cube.write(lambda tx: tx.put(said("next")))
    assert {m.text for m in (await cube.list()).items} == {
        "cancelled",
        "next",
    }  # the work is done, only nobody waits for it
    await cube.close()


async def test_closing_finishes_what_waits_and_is_quick(tmp_path: Path) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")
    release = gate(cube)
    waiting = [cube.write_soon(lambda tx, i=i: tx.put(said(f"{i}"))) for i in range(20)]
    release()
    started = time.perf_counter()
    await cube.close()
    assert time.perf_counter() - started < 2
    assert all(f.done() and f.exception() is None for f in waiting)
    with pytest.raises(StorageError):
        await cube.write(lambda tx: None)
    with pytest.raises(StorageError):
        await cube.get([])
    assert not list(tmp_path.glob("*-wal"))
    again = SqliteCube.open(tmp_path / "a.cube")
    assert await again.count() == 20
    started = time.perf_counter()
    await again.write(lambda tx: None)
    await again.close()
    assert time.perf_counter() - started < 2


async def test_a_clock_that_goes_back_never_puts_a_change_before_an_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cube = SqliteCube.open(tmp_path / "a.cube")
    first = await cube.write(lambda tx: tx.put(said("one")))
    monkeypatch.setattr(tx_module, "utcnow", lambda: utcnow() - timedelta(days=30))
    second = await cube.write(lambda tx: tx.put(Memory(first.id, Kind.TRACE, "two", version=1)))
    await cube.write(lambda tx: tx.link(Edge(first.id, first.id, EdgeType.USES)))
    await cube.write(lambda tx: tx.unlink(first.id, first.id, EdgeType.USES))
    await cube.write(lambda tx: tx.link(Edge(first.id, first.id, EdgeType.USES, weight=0.5)))
    await cube.close()
    cube = SqliteCube.open(tmp_path / "a.cube")
    third = await cube.write(lambda tx: tx.put(Memory(first.id, Kind.TRACE, "three", version=2)))
    assert first.known_from < second.known_from < third.known_from  # type: ignore[operator]
    seen = [[m.text for m in await cube.get([first.id], View(known_at=m.known_from))] for m in (first, second, third)]
    assert seen == [["one"], ["two"], ["three"]]
    edges = cube.read_now(lambda db: db.execute("SELECT known_from, known_to FROM edges ORDER BY e").fetchall())
    assert edges[0][0] < edges[0][1] < edges[1][0]
    await cube.close()


def _saying(text: str) -> Callable[[WriteTx], Memory]:
    return lambda tx: tx.put(said(text))


async def test_every_answer_arrives_however_many_threads_answer_one_loop() -> None:
    answers = [[Future() for _ in range(3_000)] for _ in range(4)]  # type: ignore[var-annotated]
    waits = [asyncio.ensure_future(bridge().wait(f)) for some in answers for f in some]
    await asyncio.sleep(0)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=lambda some=some: [f.set_result(1) for f in some]) for some in answers]
        for thread in threads:
            thread.start()
        assert sum(await asyncio.wait_for(asyncio.gather(*waits), 20)) == 12_000
    finally:
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join()


async def test_an_error_and_a_cancelled_wait_do_not_hold_up_other_answers() -> None:
    bad, left, good = Future(), Future(), Future()  # type: ignore[var-annotated]
    waits = [asyncio.ensure_future(bridge().wait(f)) for f in (bad, left, good)]
    await asyncio.sleep(0)
    waits[1].cancel()
    bad.set_exception(ValueError("mine"))
    left.set_result(1)
    good.set_result(2)
    done = await asyncio.wait_for(asyncio.gather(*waits, return_exceptions=True), 5)
    assert [type(d) for d in done] == [ValueError, asyncio.CancelledError, int]
