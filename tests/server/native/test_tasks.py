"""The routes of background work: what was added can be followed to its end, by those who may read what it works on."""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest
from fastapi import FastAPI
from serving import in_process

from memos import AsyncMemOS
from memos.storage.tasks import NewTask

NOBODY = "00000000-0000-7000-8000-000000000000"


async def task_of(client: httpx2.AsyncClient, user: str = "ada", **more: object) -> str:
    added = await client.post("/v1/memories", json={"messages": "I live in Oslo.", "user": user, **more})
    task = added.json()["task"]
    assert isinstance(task, str), added.json()
    return task


async def test_a_task_is_waited_for_to_its_end(app_client: httpx2.AsyncClient) -> None:
    task = await task_of(app_client, task_id="turn-1")
    done = await app_client.get(f"/v1/tasks/{task}/wait?user=ada&timeout=20")
    assert done.json()["state"] == "completed"
    assert done.json()["progress"] == 1.0
    assert (await app_client.get(f"/v1/tasks/{task}?user=ada")).json()["id"] == task
    mine = (await app_client.get("/v1/tasks", params={"user": "ada", "task_id": "turn-1"})).json()["items"]
    assert [t["id"] for t in mine] == [task]
    none = await app_client.get("/v1/tasks", params={"user": "ada", "task_id": "turn-1", "state": "failed"})
    assert none.json() == {"items": [], "cursor": None}


async def test_the_events_of_a_task_end_when_it_does(app_client: httpx2.AsyncClient) -> None:
    task = await task_of(app_client)
    async with app_client.stream("GET", f"/v1/tasks/{task}/events?user=ada") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        seen = [json.loads(line[6:]) async for line in stream.aiter_lines() if line.startswith("data: ")]
    assert {t["id"] for t in seen} == {task}
    assert seen[-1]["state"] == "completed"
    async with app_client.stream("GET", "/v1/tasks/events?user=ada") as stream:
        assert [line async for line in stream.aiter_lines() if line.startswith("data: ")] == []


async def test_a_task_is_seen_by_its_user_and_by_readers_of_its_cube_only(
    app_client: httpx2.AsyncClient, memos: AsyncMemOS
) -> None:
    await memos.create_cube("team", user="ada")
    task = await task_of(app_client, cube="team")
    hidden = await app_client.get(f"/v1/tasks/{task}?user=bob")
    none = await app_client.get(f"/v1/tasks/{NOBODY}?user=bob")
    assert (hidden.status_code, none.status_code) == (404, 404)
    assert hidden.json()["error"]["message"].replace(task, "ID") == none.json()["error"]["message"].replace(
        NOBODY, "ID"
    )
    for method, path in (("GET", "/wait"), ("GET", "/events"), ("POST", "/retry"), ("POST", "/cancel")):
        assert (await app_client.request(method, f"/v1/tasks/{task}{path}?user=bob")).status_code == 404
    assert (await app_client.get("/v1/tasks?user=bob&cube=team")).status_code == 404
    assert (await app_client.get("/v1/tasks?user=bob")).json()["items"] == []
    await memos.share("team", "bob", "read", user="ada")
    assert (await app_client.get(f"/v1/tasks/{task}?user=bob")).json()["id"] == task
    seen = (await app_client.get("/v1/tasks?user=bob&cube=team")).json()["items"]
    assert task in [t["id"] for t in seen]
    assert (await app_client.post(f"/v1/tasks/{task}/cancel?user=bob")).status_code == 403


async def test_only_a_failed_task_is_tried_again(app_client: httpx2.AsyncClient) -> None:
    task = await task_of(app_client)
    await app_client.get(f"/v1/tasks/{task}/wait?user=ada&timeout=20")
    for verb in ("retry", "cancel"):
        answer = await app_client.post(f"/v1/tasks/{task}/{verb}?user=ada")
        assert answer.status_code == 409
        assert "completed" in answer.json()["error"]["message"]
    assert (await app_client.post("/v1/tasks/retry", json={"user": "ada"})).json() == {"count": 0}
    assert (await app_client.post("/v1/tasks/cancel", json={"ids": [task]})).json() == {"count": 0}


async def test_the_numbers_of_a_user_and_of_everybody(app_client: httpx2.AsyncClient) -> None:
    task = await task_of(app_client)
    await app_client.get(f"/v1/tasks/{task}/wait?user=ada&timeout=20")
    hers = (await app_client.get("/v1/tasks/stats?user=ada")).json()
    assert hers["user"] == "ada"
    assert hers["counts"]["completed"] >= 1
    assert hers["kinds"] == {}
    assert (await app_client.get("/v1/tasks/stats?user=bob")).json()["counts"]["completed"] == 0
    all_of_them = (await app_client.get("/v1/tasks/stats")).json()
    assert all_of_them["user"] is None
    assert all_of_them["kinds"]["digest"]["completed"] >= 1
    everyone = (await app_client.get("/v1/tasks?everyone=true")).json()["items"]
    assert task in [t["id"] for t in everyone]


async def test_tasks_go_on_page_by_page(app_client: httpx2.AsyncClient) -> None:
    tasks = [await task_of(app_client, session=f"s{i}") for i in range(3)]
    for task in tasks:
        await app_client.get(f"/v1/tasks/{task}/wait?user=ada&timeout=20")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = (
            await app_client.get(
                "/v1/tasks", params={"user": "ada", "limit": 2, **({"cursor": cursor} if cursor else {})}
            )
        ).json()
        seen += [t["id"] for t in page["items"]]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert set(tasks) <= set(seen)
    assert len(seen) == len(set(seen))
    assert (await app_client.get("/v1/tasks?cursor=nonsense")).status_code == 400


@pytest.mark.parametrize("lost", ["grant", "key", "user"])
async def test_a_stream_tells_nothing_more_when_the_right_to_it_is_gone(
    app: FastAPI, memos: AsyncMemOS, lost: str, first_event: asyncio.Event
) -> None:
    await memos.create_cube("team", user="ada")
    await memos.share("team", "bob", "read", user="ada")
    key, secret = await memos.accounts.create_key("bob")
    queue = memos._parts().queue
    first = (await queue.enqueue([NewTask("organize", "ada", "one", "team", delay=600)]))[0].id  # not worked on
    seen: list[str] = []

    async def follow() -> None:
        client = in_process(app, headers={"Authorization": f"Bearer {secret}"})
        async with client, client.stream("GET", "/v1/tasks/events?cube=team") as stream:
            async for line in stream.aiter_lines():
                seen.extend([json.loads(line[6:])["id"]] if line.startswith("data: ") else [])

    reading = asyncio.create_task(follow())
    await asyncio.wait_for(first_event.wait(), 10)
    if lost == "grant":
        await memos.share("team", "bob", None, user="ada")
    elif lost == "key":
        await memos.accounts.revoke_key(key.id)
    else:
        await memos.accounts.set_active("bob", False)
    await queue.enqueue([NewTask("organize", "ada", "two", "team", caller_id="afterwards", delay=600)])
    await asyncio.wait_for(reading, 10)
    assert set(seen) <= {first}
