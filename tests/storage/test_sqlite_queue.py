"""The embedded home of the task queue passes the suite of its port, and keeps its promises across processes, on full disks and
over forks.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from queue_conformance import QueueConformance
from queue_making import KINDS, Clock, Make, done, drain, end, ids, new, put, take

from memos.errors import StorageBusy, StorageError, StorageFull
from memos.memory.ids import new_id
from memos.memory.time import utcnow
from memos.storage.sqlite import connect as connecting
from memos.storage.sqlite import queue_watch
from memos.storage.sqlite.connect import backups
from memos.storage.sqlite.queue import SqliteTaskQueue
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.sqlite.schema import CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS
from memos.storage.tasks import Limits, Outcome, TaskQuery, TaskQueue, TaskState, Verdict

CHILD = Path(__file__).with_name("queue_child.py")
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "OMP_NUM_THREADS": "1"}


def read(queue: SqliteTaskQueue, sql: str) -> list[Any]:
    return queue._readers.read(lambda db: db.execute(sql).fetchall())


def assert_in_step(folder: Path) -> None:
    """What is kept beside the tasks says what the tasks say."""
    db = apsw.Connection(str(folder / "control.db"))
    for table, columns in (("tallies", "user, kind, state"), ("totals", "kind, state")):
        kept = db.execute(f"SELECT {columns}, n FROM {table} WHERE n<>0 ORDER BY 1, 2, 3").fetchall()
        assert (
            kept == db.execute(f"SELECT {columns}, count(*) FROM tasks GROUP BY {columns} ORDER BY 1, 2, 3").fetchall()
        )
    heads = db.execute(
        "SELECT t.lane, t.seq, t.user, t.kind, t.priority, t.state FROM tasks t "
        "WHERE seq IN (SELECT min(seq) FROM tasks WHERE state<2 GROUP BY lane) ORDER BY 1"
    ).fetchall()
    lanes: list[Any] = db.execute(
        "SELECT lane, head, user, kind, priority, state, token FROM lanes ORDER BY 1"
    ).fetchall()
    assert [lane[0] for lane in lanes] == [head[0] for head in heads]
    for lane, head in zip(lanes, heads, strict=True):
        assert (lane[5] == 2) == (lane[6] is not None) == (head[5] == 1)
        assert lane[5] == 2 or lane[:5] == head[:5]
    turns = db.execute("SELECT user, kind, priority, oldest FROM turns ORDER BY 1, 2, 3").fetchall()
    assert (
        turns
        == db.execute(
            "SELECT user, kind, priority, min(head) FROM lanes WHERE state=0 GROUP BY user, kind, priority ORDER BY 1, 2, 3"
        ).fetchall()
    )
    served = "SELECT count(*) FROM turns t WHERE served<>coalesce((SELECT at FROM served s WHERE s.user=t.user), 0)"
    assert db.execute(served).get == 0
    assert db.execute("PRAGMA integrity_check").get == "ok"
    db.close()


class TestSqliteTaskQueue(QueueConformance):
    @pytest.fixture
    async def home(self, tmp_path: Path) -> AsyncIterator[Callable[[], Make]]:
        made: list[SqliteTaskQueue] = []

        def new_home() -> Make:
            folder = tmp_path / new_id()

            async def make(*, clock: Callable[[], datetime] = utcnow, limits: Limits = Limits()) -> SqliteTaskQueue:
                made.append(SqliteTaskQueue(folder, clock=clock, limits=limits, durability="normal"))
                return made[-1]

            return make

        yield new_home
        for queue in made:
            await queue.close()
        for folder in tmp_path.iterdir():
            assert_in_step(folder)
            assert not list(folder.glob("*-wal"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def queue(tmp_path: Path, clock: Clock) -> AsyncIterator[SqliteTaskQueue]:
    queue = SqliteTaskQueue(tmp_path, clock=clock)
    yield queue
    await queue.close()


# -- several processes -------------------------------------------------------------------------------------------


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(CHILD), str(folder), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)


async def test_a_killed_worker_costs_no_task_and_every_one_takes_effect(tmp_path: Path) -> None:
    queue = SqliteTaskQueue(tmp_path)
    made = await queue.enqueue([new(f"lane{i % 20}", f"user{i % 3}", payload={"n": i}) for i in range(600)])
    workers = [start(tmp_path, f"w{i}") for i in range(3)]
    first = workers[0].stdout
    assert first is not None
    head = "".join(first.readline() for _ in range(30))  # it is in the middle of its work
    os.kill(workers[0].pid, signal.SIGKILL)
    said = [head]
    for worker in workers:
        output, errors = worker.communicate(timeout=60)
        said.append(output)
        assert worker is workers[0] or worker.returncode == 0, errors
    effects = [line.split()[0] for text in said for line in text.splitlines() if line.count(" ") == 1]
    assert set(effects) == set(ids(made))
    assert len(effects) <= len(made) + 4  # what the killed one had begun
    counts = await queue.counts(TaskQuery())
    assert {s: n for s, n in counts.items() if n} == {TaskState.COMPLETED: 600}
    await queue.close()
    assert_in_step(tmp_path)


async def test_what_was_acknowledged_survives_the_death_of_its_process(tmp_path: Path) -> None:
    child = start(tmp_path, "fill", "100000")
    assert child.stdout is not None
    said = [child.stdout.readline() for _ in range(100)]
    os.kill(child.pid, signal.SIGKILL)
    said += child.communicate(timeout=30)[0].splitlines(keepends=True)
    acknowledged = [line.strip() for line in said if line.endswith("\n") and line != "ok\n"]
    queue = SqliteTaskQueue(tmp_path)
    assert ids(await queue.get(acknowledged)) == acknowledged
    assert set(acknowledged) <= set(ids(await drain(queue)))
    await queue.close()
    assert_in_step(tmp_path)


async def test_processes_that_enqueue_one_key_at_once_enqueue_it_once(tmp_path: Path) -> None:
    code = """
import asyncio, sys
from pathlib import Path
from queue_making import put
from memos.storage.sqlite.queue import SqliteTaskQueue
async def main():
    queue = SqliteTaskQueue(Path(sys.argv[1]))
    for i in range(40):
        print((await put(queue, f"l{i}", key=f"k{i}")).id)
    await queue.close()
asyncio.run(main())
"""
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=ENV)
        for _ in range(3)
    ]
    said = [child.communicate(timeout=60)[0] for child in children]
    assert all(child.returncode == 0 for child in children)
    assert said[0] == said[1] == said[2]
    assert_in_step(tmp_path)


# -- how much must reach the disk --------------------------------------------------------------------------------


async def test_only_a_commit_with_a_durable_task_waits_for_the_disk(tmp_path: Path) -> None:
    seen = []
    for durability in ("full", "normal"):
        queue = SqliteTaskQueue(tmp_path / durability, durability=durability)  # type: ignore[arg-type]

        async def level(durable: bool, queue: SqliteTaskQueue = queue) -> int:
            await queue.enqueue([new(durable=durable)])
            return int(
                await asyncio.wrap_future(queue._writer.submit_bare(lambda db: db.execute("PRAGMA synchronous").get))
            )

        seen.append([await level(durable) for durable in (False, True, True, False)])
        await queue.close()
    assert seen == [[1, 2, 2, 1], [1, 1, 1, 1]]


async def test_many_at_once_share_commits_and_a_refusal_does_not_cost_the_others_theirs(tmp_path: Path) -> None:
    queue = SqliteTaskQueue(tmp_path, limits=Limits(per_user=5))
    await put(queue)
    before = queue._writer.commits
    answers = await asyncio.gather(
        *(put(queue, user="flood" if i % 2 else f"u{i}") for i in range(200)), return_exceptions=True
    )
    assert queue._writer.commits - before < 50
    assert sum(isinstance(a, Exception) for a in answers) == 95
    await queue.close()


# -- the file ----------------------------------------------------------------------------------------------------


async def test_the_queue_lives_in_the_control_file_beside_the_registry(tmp_path: Path, queue: SqliteTaskQueue) -> None:
    registry = SqliteRegistry(tmp_path)
    registry.create("work", "ann")
    task = await put(queue)
    assert registry.find("work") is not None
    registry.close()
    assert ids(await queue.get([task.id])) == [task.id]


async def test_a_control_file_of_before_the_queue_is_upgraded_with_a_copy_kept(tmp_path: Path) -> None:
    db = connecting.connect(tmp_path / "control.db")
    connecting.migrate(db, tmp_path / "control.db", CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS[:1])
    db.execute("INSERT INTO users(name, created_at) VALUES('ann', 1)")
    db.close()
    queue = SqliteTaskQueue(tmp_path)
    await put(queue)
    assert read(queue, "SELECT name FROM users") == [("ann",)]
    await queue.close()
    assert len(backups(tmp_path / "control.db")) == 1


async def test_names_of_a_forgotten_cube_are_nowhere_in_the_files(tmp_path: Path, queue: SqliteTaskQueue) -> None:
    await queue.enqueue(
        [new("lane of xyzzy", cube="xyzzy cube", key="xyzzy key", caller_id="xyzzy call") for _ in range(50)]
    )
    await queue.enqueue([new("lane of xyzzy", cube="xyzzy cube", payload={"id": "xyzzy"}) for _ in range(50)])
    await done(queue, await take(queue, limit=10))
    assert await queue.forget("xyzzy cube") == 51
    assert [p.name for p in tmp_path.iterdir() if b"xyzzy" in p.read_bytes()] == []


async def test_names_that_were_pruned_are_forgotten_in_the_tallies_as_well(
    queue: SqliteTaskQueue, clock: Clock
) -> None:
    await put(queue, user="ann")
    await drain(queue)
    clock.forward(10 * 86_400)
    assert await queue.prune() == 1
    for table in ("tasks", "tallies", "totals", "lanes", "turns", "served"):
        assert read(queue, f"SELECT * FROM {table}") == []


async def test_more_tasks_than_one_transaction_deletes_are_deleted(queue: SqliteTaskQueue, clock: Clock) -> None:
    await queue.enqueue([new(f"l{i % 3}", cube="a" if i % 2 else "b") for i in range(9_000)])
    assert await queue.forget("a") == 4_500
    assert await queue.cancel(TaskQuery()) == 4_500
    clock.forward(10)
    assert await queue.prune(5) == 4_500


async def test_a_flood_of_leases_that_run_out_at_once_is_taken_back(queue: SqliteTaskQueue, clock: Clock) -> None:
    await queue.enqueue([new(f"l{i}", f"u{i % 9}") for i in range(700)])
    for _ in range(700):
        await take(queue, seconds=10)
    clock.forward(10)
    seen = set()
    while (lease := await queue.lease("w", KINDS, seconds=1_000)) is not None:
        seen.add(lease.lane)
    assert len(seen) == 700


@pytest.mark.parametrize(("lanes", "users"), [(2_000, 500), (2_000, 1), (1, 1)])
async def test_leasing_and_settling_do_not_look_through_the_backlog(
    queue: SqliteTaskQueue, clock: Clock, lanes: int, users: int
) -> None:
    """Counted, not timed: the steps of SQLite's machine, with few tasks and with many."""

    async def steps() -> int:
        counted = [0]

        def tick() -> bool:
            counted[0] += 1
            return False

        await asyncio.wrap_future(queue._writer.submit_bare(lambda db: db.set_progress_handler(tick, 10)))
        for _ in range(10):
            await end(queue, await take(queue, limit=2), Verdict.RELEASED)
            await take(queue, limit=1, seconds=5)
            clock.forward(6)  # it is lost
        await asyncio.wrap_future(queue._writer.submit_bare(lambda db: db.set_progress_handler(None)))
        return counted[0]

    tasks = [new(f"lane{i % lanes}", f"user{i % users}", max_attempts=99) for i in range(6_000)]
    await queue.enqueue(tasks[:50])
    few = await steps()
    await queue.enqueue(tasks[50:])
    assert await steps() < few * 2


# -- faults ------------------------------------------------------------------------------------------------------


async def test_a_full_disk_refuses_tasks_loses_none_and_works_again(tmp_path: Path, queue: SqliteTaskQueue) -> None:
    def pages(count: int) -> Any:
        return asyncio.wrap_future(
            queue._writer.submit_bare(lambda db: db.execute(f"PRAGMA max_page_count={count}").get)
        )

    await pages(200)
    kept: list[str] = []

    async def flood() -> None:
        while True:
            kept.extend(ids(await queue.enqueue([new(f"l{len(kept)}", payload={"x": "x" * 2_000}) for _ in range(10)])))

    with pytest.raises(StorageFull):
        await flood()
    assert ids(await queue.get(kept)) == kept
    assert sum((await queue.counts(TaskQuery())).values()) == len(kept) > 0
    await pages(100_000)
    await put(queue)
    assert set(kept) <= set(ids(await drain(queue)))


async def test_a_lock_held_too_long_is_busy_and_the_next_call_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connecting, "BUSY_TIMEOUT_MS", 100)
    queue = SqliteTaskQueue(tmp_path)
    db = apsw.Connection(str(tmp_path / "control.db"))
    db.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusy):
        await put(queue)
    with pytest.raises(StorageBusy):
        await queue.lease("w", KINDS)
    assert await queue.find(TaskQuery()) is not None
    db.execute("ROLLBACK")
    db.close()
    await put(queue)
    await queue.close()


async def test_a_replaced_file_takes_no_more_tasks(tmp_path: Path) -> None:
    queue = SqliteTaskQueue(tmp_path)
    await put(queue)
    (tmp_path / "control.db").unlink()
    for call in (put(queue), queue.lease("w", KINDS), queue.get([new_id()])):
        with pytest.raises(StorageError):
            await call
    assert not (tmp_path / "control.db").exists()


async def test_closing_lets_those_who_wait_go_and_finishes_what_was_asked(tmp_path: Path) -> None:
    queue = SqliteTaskQueue(tmp_path)
    waiting = asyncio.create_task(queue.wait(60))
    asked = [asyncio.create_task(put(queue, f"l{i}")) for i in range(50)]
    await asyncio.sleep(0)
    await queue.close()
    await asyncio.wait_for(asyncio.gather(waiting, *asked), 5)
    await queue.wait(60)  # returns at once
    again = SqliteTaskQueue(tmp_path)
    assert len(await drain(again)) == 50
    await again.close()


async def test_a_cancelled_caller_breaks_nothing(queue: SqliteTaskQueue) -> None:
    task = asyncio.create_task(put(queue))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await put(queue, "b")
    assert [t.lane for t in await drain(queue)] in (["b"], ["lane", "b"])


async def test_what_comes_between_looking_and_waiting_is_not_waited_for(
    queue: SqliteTaskQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        queue_watch, "POLL_SECONDS", 60.0
    )  # nobody looks: only what this process knows of itself counts
    assert await queue.lease("w", KINDS) is None
    await put(queue)
    await asyncio.wait_for(asyncio.create_task(queue.wait(60)), 5)


def test_a_queue_is_used_from_one_loop_after_another(tmp_path: Path) -> None:
    queue = SqliteTaskQueue(tmp_path)
    for i in range(3):

        async def use(i: int = i) -> None:
            waiting = asyncio.create_task(queue.wait(30))
            await asyncio.sleep(0.1)
            await put(queue, f"l{i}")
            await asyncio.wait_for(waiting, 5)
            assert len(await drain(queue)) == 1

        asyncio.run(use())
    asyncio.run(queue.close())


# -- forks -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
async def test_a_child_inherits_no_connection_and_both_go_on(tmp_path: Path) -> None:
    queue = SqliteTaskQueue(tmp_path)
    made = await queue.enqueue([new(lane) for lane in "abcd"])
    await queue.get(ids(made))
    waiting = asyncio.create_task(queue.wait(30))
    await asyncio.sleep(0.2)
    pid = os.fork()
    if not pid:
        good = False
        try:
            here = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
            good = not any(path.startswith(str(tmp_path)) for path in here)
        finally:
            os._exit(0 if good else 1)
    until = time.monotonic() + 20
    status = None
    while status is None and time.monotonic() < until:
        ended, code = os.waitpid(pid, os.WNOHANG)
        status = code if ended else None
        await asyncio.sleep(0.01)
    assert status == 0
    await put(queue, "e")
    await asyncio.wait_for(waiting, 5)
    assert len(await drain(queue)) == 5
    await queue.close()


async def test_settling_many_outcomes_at_once_is_one_commit(queue: SqliteTaskQueue) -> None:
    await queue.enqueue([new() for _ in range(64)])
    lease = await take(queue)
    before = queue._writer.commits
    await queue.settle(lease, [Outcome(t.id, Verdict.DONE) for t in lease.tasks])
    assert queue._writer.commits == before + 1


def test_the_queue_fits_its_port(tmp_path: Path) -> None:
    def takes(_: TaskQueue) -> None: ...

    queue = SqliteTaskQueue(tmp_path)
    takes(queue)
    asyncio.run(queue.close())


async def test_waiting_goes_on_quietly_while_the_interpreter_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter lets go of its threads before anything is closed; nobody is told of that."""
    gone = ThreadPoolExecutor(1)
    gone.shutdown()
    monkeypatch.setattr(queue_watch, "_watchers", gone)
    queue = SqliteTaskQueue(tmp_path)
    await queue.wait(queue_watch.POLL_SECONDS * 3)
    poller = queue._bell._poller
    assert poller is not None and poller.done() and poller.exception() is None
    await queue.close()
