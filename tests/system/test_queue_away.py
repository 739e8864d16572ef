"""The Redis queue is away: what is added is stored at once, waits for nobody, and is read when the queue is back."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from structlog.testing import capture_logs

from memos import AsyncMemOS
from memos.errors import Busy, Unavailable
from memos.server.app import create_app
from memos.server.options import ServerOptions
from memos.storage.redis import link

sys.path.append(str(Path(__file__).parents[1] / "storage" / "redis"))
from redis_server import Server, _free_port, installed

pytest.importorskip("redis.asyncio")
NOTICE = "stored; the task queue cannot be reached, the work is taken up by the next sweep"
AT_ONCE = 0.5  # seconds; what takes the processor on a busy machine included


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    if not installed():
        pytest.skip("no redis-server on the PATH")
    folder = tmp_path / "redis"
    folder.mkdir()
    made = Server(folder, appendonly="yes")
    made.start()
    yield made
    made.kill()


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Callable[..., AsyncMemOS]]:
    made: list[AsyncMemOS] = []

    def open_one(queue: str, **given: Any) -> AsyncMemOS:
        made.append(AsyncMemOS(tmp_path / "home", embedder="none", queue=queue, **given))
        return made[-1]

    yield open_one
    for one in made:
        await one.close()


async def seconds_of(work: Any) -> tuple[float, Any]:
    begun = time.monotonic()
    result = await work
    return time.monotonic() - begun, result


async def test_adds_are_stored_and_only_the_first_one_waits_for_a_queue_that_went_away(
    server: Server, opened: Callable[..., AsyncMemOS]
) -> None:
    memos = opened(server.url)
    assert (await memos.add("I live in Oslo")).task is not None
    server.kill()
    with capture_logs() as logs:
        first, added = await seconds_of(memos.add("I own a kite"))
        assert first < 1.0 + AT_ONCE
        assert (added.pending, added.task, added.notices) == (True, None, (NOTICE,))
        for i in range(5):
            took, _ = await seconds_of(memos.add(f"I own {i} boats"))
            assert took < AT_ONCE
        assert (await memos.search("kite")).hits[0].memory.text == "I own a kite"
        named = await memos.add("I own a car", task_id="mine")
        assert named.notices == (f"{NOTICE}; it cannot tell the state of task_id 'mine'",)
        took, error = await seconds_of(asyncio.gather(memos.tasks.counts(), return_exceptions=True))
        assert isinstance(error[0], Unavailable)
        assert took < AT_ONCE
    told = [entry for entry in logs if entry["log_level"] in ("error", "warning")]
    assert [entry["server"] for entry in told if "server" in entry] == [server.url], told
    assert len(told) <= 2, told  # what was just done when the server went away may end in a line of its own


@pytest.mark.parametrize("workers", [2, 0])
async def test_the_work_is_taken_up_when_the_queue_is_back(
    server: Server, opened: Callable[..., AsyncMemOS], monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    monkeypatch.setattr("memos.background.OWING_SECONDS", 0.2)
    monkeypatch.setattr(link, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr("memos.scheduler.worker.QUEUE_PAUSE_CAP", 0.5)
    memos = opened(server.url, workers=workers)
    await memos.add("I live in Oslo")
    server.kill()
    await memos.add("I own a kite")
    await asyncio.sleep(0.5)
    server.start()
    helper = None if workers else opened(server.url, workers=1)
    if helper is not None:
        await helper.start()
    for _ in range(200):
        if not (await memos.stats()).store.pending.get("digest", 0):
            break
        await asyncio.sleep(0.1)
    else:
        pytest.fail("nobody took up the work")


async def test_a_queue_that_hangs_is_waited_for_no_longer_than_one_that_is_gone(
    server: Server, opened: Callable[..., AsyncMemOS]
) -> None:
    memos = opened(server.url)
    await memos.add("I live in Oslo")
    assert server._process is not None
    server._process.send_signal(signal.SIGSTOP)
    try:
        took, added = await seconds_of(memos.add("I own a kite"))
        assert took < 1.0 + AT_ONCE
        assert added.notices == (NOTICE,)
        took, _ = await seconds_of(memos.add("I own a boat"))
        assert took < AT_ONCE
    finally:
        server._process.send_signal(signal.SIGCONT)


async def test_many_adds_at_once_wait_together(server: Server, opened: Callable[..., AsyncMemOS]) -> None:
    memos = opened(server.url)
    await memos.add("I live in Oslo")
    server.kill()
    took, added = await seconds_of(asyncio.gather(*(memos.add(f"I own {i} boats") for i in range(100))))
    assert took < 3.0
    assert {one.notices for one in added} == {(NOTICE,)}


async def test_one_that_was_never_there_keeps_nobody(opened: Callable[..., AsyncMemOS]) -> None:
    memos = opened(f"redis://:hunter2@127.0.0.1:{_free_port()}/0")
    with capture_logs() as logs:
        took, added = await seconds_of(memos.add("I live in Oslo"))
        assert took < 1.0 + AT_ONCE
        assert added.notices == (NOTICE,)
        found = {check.name: check.detail for check in (await memos.health()).checks}
    assert "redis://***@127.0.0.1" in found["queue"]
    assert "hunter2" not in f"{logs}{found}"


async def test_a_full_queue_still_refuses_before_anything_is_stored(
    server: Server, opened: Callable[..., AsyncMemOS]
) -> None:
    memos = opened(server.url, workers=0, tasks_per_user=1)
    await memos.add("I live in Oslo")
    with pytest.raises(Busy):
        await memos.add("I own a kite")
    assert "kite" not in str([memory.text for memory in (await memos.list()).items])


async def test_over_http_adds_answer_and_status_endpoints_say_503_quickly(
    server: Server, opened: Callable[..., AsyncMemOS]
) -> None:
    app = create_app(opened(server.url), ServerOptions())
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30) as client:
            body = {"user_id": "ann", "messages": [{"role": "user", "content": "I own a kite"}], "async_mode": "async"}
            assert (await client.post("/product/add", json=body)).status_code == 200
            server.kill()
            took, answer = await seconds_of(client.post("/product/add", json={**body, "task_id": "t1"}))
            assert (answer.status_code, took < 1.0 + AT_ONCE) == (200, True)
            for path in ("/product/scheduler/allstatus", "/product/scheduler/status?user_id=ann", "/v1/tasks"):
                took, answer = await seconds_of(client.get(path))
                assert (path, answer.status_code, took < AT_ONCE) == (path, 503, True)
            took, answer = await seconds_of(client.get("/ready"))
            assert answer.status_code == 503
            assert server.url in answer.json()["checks"]["queue"]["detail"]


async def test_a_queue_that_keeps_nothing_on_disk_is_told_of_once_and_only_where_work_is_done(
    tmp_path: Path, opened: Callable[..., AsyncMemOS]
) -> None:
    if not installed():
        pytest.skip("no redis-server on the PATH")
    folder = tmp_path / "volatile"
    folder.mkdir()
    volatile = Server(folder)
    volatile.start()
    try:
        with capture_logs() as logs:
            quiet = opened(volatile.url, background=False)
            await quiet.tasks.counts()
            assert not [entry for entry in logs if entry["event"] == "queue_not_on_disk"]
            for workers in (0, 1):
                await opened(volatile.url, workers=workers).tasks.counts()
            async with asyncio.timeout(20):
                while sum(entry["event"] == "queue_not_on_disk" for entry in logs) < 2:
                    await asyncio.sleep(0.02)
            await asyncio.sleep(0.3)  # and nobody says it once more
        told = [entry["advice"] for entry in logs if entry["event"] == "queue_not_on_disk"]
        assert len(told) == 2
        assert "after a Redis crash tasks are lost until the next sweep; set appendonly yes" in told[0]
    finally:
        volatile.kill()
