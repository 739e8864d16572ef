"""Waiting for, following and asking after background work over the wire."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from serving import in_process
from test_wire_add import idle, post

from memos import AsyncMemOS
from memos.storage.tasks import NewTask

Client = httpx2.AsyncClient


@pytest.fixture
async def memos(tmp_path: Any) -> AsyncMemOS:
    """Nothing works on the tasks: they wait until a test ends them."""
    return AsyncMemOS(tmp_path / "home", embedder="none", background=False)


async def waiting(memos: AsyncMemOS, **more: Any) -> str:
    task = NewTask(**{"kind": "organize", "lane": "lane", "user": "u", "cube": "u", **more})
    return (await memos._parts().queue.enqueue([task]))[0].id


def frames(text: str) -> list[dict[str, Any]]:
    assert text.endswith("\n\n")
    return [json.loads(frame.removeprefix("data: ")) for frame in text.strip().split("\n\n")]


async def test_the_stream_ends_idle_at_once_when_nothing_is_to_be_done(app_client: Client) -> None:
    answer = await app_client.get("/product/scheduler/wait/stream?user_name=u")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-cache"
    (frame,) = frames(answer.text)
    assert frame | {"elapsed_seconds": 0, "instance_id": ""} == {
        "user_name": "u", "active_tasks": 0, "elapsed_seconds": 0, "status": "idle", "timed_out": False, "instance_id": "",
    }  # fmt: skip
    assert frame["instance_id"]


async def test_the_stream_tells_how_it_goes_and_that_time_is_over(app_client: Client, memos: AsyncMemOS) -> None:
    await waiting(memos)
    answer = await app_client.get("/product/scheduler/wait/stream?user_name=u&timeout_seconds=0.3&poll_interval=0.1")
    *running, last = frames(answer.text)
    assert running
    assert {frame["status"] for frame in running} == {"running"}
    assert (last["status"], last["timed_out"], last["active_tasks"]) == ("timeout", True, 1)


async def test_the_wait_says_what_is_left_when_time_is_over(app_client: Client, memos: AsyncMemOS) -> None:
    await waiting(memos)
    begun = time.monotonic()
    answer = await app_client.post("/product/scheduler/wait?user_name=u&timeout_seconds=0.2&poll_interval=0.05")
    assert time.monotonic() - begun < 5
    told = answer.json()
    assert told["message"] == "timeout"
    assert told["data"] | {"waited_seconds": 0} == {
        "running_tasks": 1,
        "waited_seconds": 0,
        "timed_out": True,
        "user_name": "u",
    }


async def test_a_user_name_can_be_a_cube_and_work_on_both_counts_once(app_client: Client, memos: AsyncMemOS) -> None:
    await waiting(memos)
    await waiting(memos, user="somebody", key="b")
    answer = await app_client.post("/product/scheduler/wait?user_name=u&timeout_seconds=0")
    assert answer.json()["data"]["running_tasks"] == 2


async def test_waits_that_make_no_sense_are_refused(app_client: Client) -> None:
    for query in (
        "",
        "?user_name=u&timeout_seconds=-1",
        "?user_name=u&poll_interval=0",
        "?user_name=u&timeout_seconds=nan",
    ):
        for method, path in (("POST", "/scheduler/wait"), ("GET", "/scheduler/wait/stream")):
            answer = await app_client.request(method, f"/product{path}{query}")
            assert answer.status_code in (400, 422), query
            assert answer.json()["code"] == answer.status_code


async def test_several_tasks_under_one_name_are_as_far_as_the_least(app_client: Client, memos: AsyncMemOS) -> None:
    async def status() -> Any:
        answer = await app_client.get("/product/scheduler/status?user_id=u&task_id=mine")
        return answer.json()["data"]

    ids = [await waiting(memos, caller_id="mine", key=f"k{n}", lane=f"l{n}", max_attempts=1) for n in range(3)]
    assert await status() == [{"task_id": "mine", "status": "waiting"}]
    queue = memos._parts().queue
    lease = await queue.lease("w", ["organize"])
    assert lease is not None
    assert await status() == [{"task_id": "mine", "status": "in_progress"}]
    await memos.tasks.cancel(ids=[id for id in ids if id != lease.tasks[0].id])
    from memos.storage.tasks import Outcome, Verdict

    await queue.settle(lease, [Outcome(lease.tasks[0].id, Verdict.DEAD, error="it broke")])
    assert await status() == [{"task_id": "mine", "status": "failed", "error": "it broke"}]
    by_id = await app_client.get(f"/product/scheduler/status?user_id=u&task_id={ids[0]}")
    assert by_id.json()["data"][0]["task_id"] == ids[0]
    total = (await app_client.get("/product/scheduler/allstatus")).json()["data"]["all_tasks_summary"]
    assert (total["failed"], total["cancelled"]) == (1, 2)


async def test_what_waits_is_told_by_lane(app_client: Client, memos: AsyncMemOS) -> None:
    await waiting(memos, lane="l1")
    await waiting(memos, lane="l2", cube="team")
    data = (await app_client.get("/product/scheduler/task_queue_status?user_id=u")).json()["data"]
    assert data["remaining_tasks_count"] == 2
    assert data["pending_tasks_count"] == 0
    assert sorted(data["stream_keys"]) == ["u:team:organize", "u:u:organize"]
    assert sorted(data["remaining_tasks_detail"]) == ["u:team:organize:1", "u:u:organize:1"]


class TestWithWorkers:
    @pytest.fixture
    async def memos(self, tmp_path: Any) -> AsyncMemOS:
        return AsyncMemOS(tmp_path / "home", embedder="none")

    async def test_an_async_add_can_be_followed_by_the_id_that_was_answered(self, app_client: Client) -> None:
        answer = await post(app_client, "/add", {"user_id": "u", "messages": "I live in Oslo."})
        await idle(app_client, "u")
        status = await app_client.get(f"/product/scheduler/status?user_id=u&task_id={answer['task_id']}")
        assert status.json()["data"] == [{"task_id": answer["task_id"], "status": "completed"}]


async def test_the_stream_ends_with_an_error_when_the_right_to_the_cube_is_gone(
    app: FastAPI, memos: AsyncMemOS, first_event: asyncio.Event
) -> None:
    await memos.create_cube("team", user="ada")
    await memos.share("team", "bob", "read", user="ada")
    _, secret = await memos.accounts.create_key("bob")
    await waiting(memos, user="ada", cube="team")

    async def follow() -> str:
        async with in_process(app, headers={"Authorization": f"Bearer {secret}"}) as client:
            path = "/product/scheduler/wait/stream?user_name=team&timeout_seconds=30&poll_interval=0.1"
            return (await client.get(path)).text

    reading = asyncio.create_task(follow())
    await asyncio.wait_for(first_event.wait(), 10)
    await memos.share("team", "bob", None, user="ada")
    told = frames(await asyncio.wait_for(reading, 10))
    assert [frame["status"] for frame in told[:-1]] == ["running"] * (len(told) - 1)
    assert (told[-1]["status"], told[-1]["exception"]) == ("error", "not_found")


async def test_the_stream_counts_among_the_streams_and_ends_when_the_server_does(
    app: FastAPI, app_client: Client, memos: AsyncMemOS, first_event: asyncio.Event
) -> None:
    await waiting(memos)
    path = "/product/scheduler/wait/stream?user_name=u&timeout_seconds=60&poll_interval=60"
    reading = asyncio.create_task(app_client.get(path))
    await asyncio.wait_for(first_event.wait(), 10)
    assert "memos_http_streams 1.0" in (await app_client.get("/metrics")).text
    app.state.frame.streams.stop()
    assert [frame["status"] for frame in frames((await asyncio.wait_for(reading, 5)).text)] == ["running"]
