"""Nothing of one user reaches another by any route, with keys and with named users alike, and what is shared does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from test_wire_add import post

from memos import AsyncMemOS
from memos.server.product.routes import router

SECRET = "The boiler serial is HK-902-FENNEL and alpha lives in Oslo."
Client = httpx2.AsyncClient


def attempts(id: str, user: str | None) -> dict[str, tuple[str, Any]]:
    """One try at alpha's data by each route, made as `user` where the route takes one."""
    me = {"user_id": user} if user is not None else {}
    must = user or "beta"
    cube = {"mem_cube_id": "alpha"}
    named = f"?user_id={user}" if user is not None else ""
    return {
        "POST /add": ("/add", me | {"writable_cube_ids": ["alpha"], "messages": "Beta was here."}),
        "POST /search": (
            "/search",
            {"user_id": must, "query": "boiler serial", "readable_cube_ids": ["alpha"], "relativity": 0},
        ),
        "POST /get_memory": ("/get_memory", me | cube),
        "GET /get_memory/{memory_id}": (f"/get_memory/{id}{named}", None),
        "POST /get_memory_by_ids": (f"/get_memory_by_ids{named}", [id]),
        "POST /get_memory_dashboard": ("/get_memory_dashboard", me | cube),
        "POST /get_all": ("/get_all", {"user_id": must, "memory_type": "text_mem", "mem_cube_ids": ["alpha"]}),
        "POST /delete_memory": ("/delete_memory", me | {"memory_ids": [id]}),
        "POST /delete_memory_by_record_id": ("/delete_memory_by_record_id", me | cube | {"record_id": "r"}),
        "POST /recover_memory_by_record_id": ("/recover_memory_by_record_id", me | cube | {"delete_record_id": "r"}),
        "POST /create_cube": ("/create_cube", {"cube_name": "alpha", "owner_id": must}),
        "POST /register_cube": ("/register_cube", me | {"mem_cube_name_or_path": "alpha"}),
        "POST /chat/complete": ("/chat/complete", {"user_id": must, "query": "serial?"} | cube),
        "POST /chat/stream": ("/chat/stream", {"user_id": must, "query": "serial?"} | cube),
        "POST /chat/stream/playground": ("/chat/stream/playground", {"user_id": must, "query": "serial?"} | cube),
        "POST /chat/stream/business_user": (
            "/chat/stream/business_user",
            {"user_id": must, "query": "?", "business_key": "k"} | cube,
        ),
        "POST /suggestions": ("/suggestions", {"user_id": must} | cube),
        "POST /feedback": (
            "/feedback",
            {"user_id": must, "history": [], "feedback_content": "wrong", "writable_cube_ids": ["alpha"]},
        ),
    }


# what tells of tasks and ids rather than of memories, tested below
ELSEWHERE = {
    "POST /get_user_names_by_memory_ids",
    "POST /exist_mem_cube_id",
    "GET /scheduler/allstatus",
    "GET /scheduler/status",
    "GET /scheduler/task_queue_status",
    "POST /scheduler/wait",
    "GET /scheduler/wait/stream",
}


def test_every_route_is_tried() -> None:
    routes = {
        f"{method} {route.path.removeprefix('/product')}"
        for route in router.routes
        for method in getattr(route, "methods", ())
    }
    assert routes == set(attempts("x", "beta")) | ELSEWHERE


async def with_alphas_data(client: Client, headers: Mapping[str, str] | None = None) -> str:
    body = {"user_id": "alpha", "async_mode": "sync", "messages": SECRET, "task_id": "alphas-task"}
    answer = await client.post("/product/add", json=body, headers=headers)
    return str(answer.json()["data"][0]["memory_id"])


async def everything(memos: AsyncMemOS) -> list[tuple[str, str]]:
    page = await memos.list(user="alpha", cube="alpha", include_inactive=True)
    return sorted((m.id, m.status.value) for m in page.items)


async def try_all(client: Client, memos: AsyncMemOS, id: str, user: str | None, headers: Mapping[str, str]) -> None:
    before = await everything(memos)
    for route, (path, body) in attempts(id, user).items():
        answer = await client.request(route.split()[0], f"/product{path}", json=body, headers=headers)
        told = answer.text
        assert "FENNEL" not in told, (route, told)
        assert "Oslo" not in told, (route, told)
        if answer.status_code == 200:  # said to be unknown, as an id that was never given out
            data = answer.json()["data"]
            assert data is None or data in (
                {"memories": [], "missing": [id]},
                {"status": "failure", "deleted": 0, "missing": [id]},
            ), (route, told)
        else:
            assert answer.status_code in (403, 404), (route, told)
            assert answer.json()["code"] == answer.status_code
            assert answer.json()["data"] is None
    assert await everything(memos) == before


async def test_by_naming_another_user_who_has_no_grant(app_client: Client, memos: AsyncMemOS) -> None:
    id = await with_alphas_data(app_client)
    await try_all(app_client, memos, id, "beta", {})
    names = await post(app_client, "/exist_mem_cube_id", {"mem_cube_id": "alpha", "user_id": "beta"})
    assert names["data"] == {"alpha": False}
    answer = await app_client.get("/product/scheduler/status?user_id=beta&task_id=alphas-task")
    assert answer.status_code == 404


@pytest.mark.parametrize("named", ["beta", None])
async def test_with_a_key_of_ones_own(app_client: Client, memos: AsyncMemOS, named: str | None) -> None:
    _, alphas = await memos.accounts.create_key("alpha")
    _, betas = await memos.accounts.create_key("beta")
    id = await with_alphas_data(app_client, {"Authorization": f"Bearer {alphas}"})
    beta = {"Authorization": f"Token {betas}"}
    await try_all(app_client, memos, id, named, beta)

    async def ask(method: str, path: str, body: Any = None) -> httpx2.Response:
        return await app_client.request(method, f"/product{path}", json=body, headers=beta)

    assert (await ask("POST", "/get_user_names_by_memory_ids", {"memory_ids": [id]})).json()["data"] == {id: None}
    assert (await ask("POST", "/exist_mem_cube_id", {"mem_cube_id": "alpha"})).json()["data"] == {"alpha": False}
    total = (await ask("GET", "/scheduler/allstatus")).json()["data"]["all_tasks_summary"]["total"]
    assert total == 0
    assert (await ask("GET", "/scheduler/status?user_id=beta&task_id=alphas-task")).status_code == 404
    for path in ("/scheduler/status?user_id=alpha", "/scheduler/task_queue_status?user_id=alpha"):
        assert (await ask("GET", path)).status_code == 403
    assert (await ask("POST", "/scheduler/wait?user_name=alpha")).status_code in (403, 404)
    assert (await ask("GET", "/scheduler/wait/stream?user_name=alpha")).status_code in (403, 404)


async def test_a_key_does_not_act_for_another_user(app_client: Client, memos: AsyncMemOS) -> None:
    _, alphas = await memos.accounts.create_key("alpha")
    _, betas = await memos.accounts.create_key("beta")
    id = await with_alphas_data(app_client, {"Authorization": f"Bearer {alphas}"})
    before = await everything(memos)
    for route, (path, body) in attempts(id, "alpha").items():
        body = {**body, "owner_id": "alpha"} if route == "POST /create_cube" else body
        answer = await app_client.request(
            route.split()[0], f"/product{path}", json=body, headers={"Authorization": f"Bearer {betas}"}
        )
        assert answer.status_code == 403, (route, answer.text)
        assert "FENNEL" not in answer.text
    assert await everything(memos) == before


async def test_without_a_key_nothing_is_told_once_there_is_one(app_client: Client, memos: AsyncMemOS) -> None:
    await memos.accounts.create_key("alpha")
    for route, (path, body) in attempts("x", "alpha").items():
        answer = await app_client.request(route.split()[0], f"/product{path}", json=body)
        assert answer.status_code == 401
        assert answer.json() == {
            "code": 401,
            "message": answer.json()["message"],
            "data": None,
            "error": "unauthorized",
        }


async def test_a_key_that_may_only_read_changes_nothing(app_client: Client, memos: AsyncMemOS) -> None:
    _, full = await memos.accounts.create_key("alpha")
    _, reading = await memos.accounts.create_key("alpha", scopes=["read"])
    id = await with_alphas_data(app_client, {"Authorization": f"Bearer {full}"})
    before = await everything(memos)
    read = {"Authorization": f"Bearer {reading}"}
    tries = attempts(id, "alpha")
    tries["POST /create_cube"] = ("/create_cube", {"cube_name": "more", "owner_id": "alpha"})
    for route in (
        "POST /add", "POST /delete_memory", "POST /delete_memory_by_record_id", "POST /recover_memory_by_record_id",
        "POST /create_cube", "POST /register_cube", "POST /feedback",
    ):  # fmt: skip
        path, body = tries[route]
        assert (await app_client.request("POST", f"/product{path}", json=body, headers=read)).status_code == 403, route
    assert (await app_client.get(f"/product/get_memory/{id}", headers=read)).json()["data"]["id"] == id
    assert await everything(memos) == before


async def test_what_is_shared_is_read_and_no_more(app_client: Client, memos: AsyncMemOS) -> None:
    id = await with_alphas_data(app_client)
    await memos.share("alpha", "beta", "read", user="alpha")
    search = {"user_id": "beta", "query": "boiler serial", "readable_cube_ids": ["alpha"], "relativity": 0}
    assert "FENNEL" in json.dumps(await post(app_client, "/search", search))
    assert (await app_client.get(f"/product/get_memory/{id}?user_id=beta")).json()["data"]["id"] == id
    for path, body in (
        ("/add", {"user_id": "beta", "writable_cube_ids": ["alpha"], "messages": "Beta was here."}),
        ("/delete_memory", {"user_id": "beta", "memory_ids": [id]}),
        ("/delete_memory", {"user_id": "beta", "writable_cube_ids": ["alpha"]}),
        ("/feedback", {"user_id": "beta", "history": [], "feedback_content": "no", "writable_cube_ids": ["alpha"]}),
    ):
        await post(app_client, path, body, 403)
    await memos.share("alpha", "beta", None, user="alpha")
    await post(app_client, "/search", search, 404)


async def test_a_key_that_acts_for_everyone_needs_to_name_nobody(app_client: Client, memos: AsyncMemOS) -> None:
    _, service = await memos.accounts.create_key("service", scopes=["read", "write", "act"])
    headers = {"Authorization": f"Bearer {service}"}
    id = await with_alphas_data(app_client, headers)
    assert (await app_client.get(f"/product/get_memory/{id}", headers=headers)).json()["data"]["id"] == id
    listed = await app_client.post("/product/get_memory", json={"mem_cube_id": "alpha"}, headers=headers)
    assert listed.json()["data"]["text_mem"][0]["total_nodes"] > 0
    gone = await app_client.post("/product/delete_memory", json={"memory_ids": [id]}, headers=headers)
    assert gone.json()["data"]["status"] == "success"


async def test_user_names_of_files_and_paths_stay_names(
    app: FastAPI, app_client: Client, memos: AsyncMemOS, tmp_path: Path
) -> None:
    for name in ("../../escape", "/etc/passwd", "a/b", "..", "小明", "x" * 256):
        await post(app_client, "/add", {"user_id": name, "async_mode": "sync", "messages": "I own a lute."})
    assert not (tmp_path / "escape").exists()
    await post(app_client, "/add", {"user_id": "x" * 257, "messages": "I own a lute."}, 400)
    await post(app_client, "/add", {"user_id": "a\nb", "messages": "I own a lute."}, 400)
    await post(app_client, "/add", {"user_id": 7, "messages": "I own a lute."}, 422)


async def test_names_that_are_no_names_are_refused_by_every_route(app_client: Client) -> None:
    for name in ("\ud800", "a\u0000b", " ", "x" * 300):
        for route, (path, body) in attempts("00000000-0000-7000-8000-000000000000", name).items():
            if body is None or isinstance(body, list):
                continue
            body = {**body, "owner_id": name} if route == "POST /create_cube" else body
            answer = await app_client.post(
                f"/product{path}", content=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
            )
            assert answer.status_code in (400, 403, 404, 422), (route, name, answer.text)
            assert answer.json()["code"] == answer.status_code


async def test_who_took_the_name_of_somebody_to_come_gets_nothing_meant_for_her(
    app_client: Client, memos: AsyncMemOS
) -> None:
    await memos.create_cube("zed", user="beta")
    _, secret = await memos.accounts.create_key("service", scopes=("act",))
    headers = {"Authorization": f"Bearer {secret}"}
    for path, body in (
        ("/product/add", {"mem_cube_id": "zed", "messages": "Zed's PIN is 4711."}),
        ("/product/get_memory", {"mem_cube_id": "zed"}),
    ):
        answer = await app_client.post(path, json=body, headers=headers)
        assert answer.status_code == 403 and "user_id" in answer.json()["message"]
    assert await memos.count(user="beta", cube="zed") == 0
    named = {"user_id": "beta", "mem_cube_id": "zed", "messages": "Beta's own note about the boat."}
    assert (await app_client.post("/product/add", json=named, headers=headers)).status_code == 200
