"""`/metrics`: what is counted, and that what callers choose never becomes a label."""

from __future__ import annotations

import httpx2
import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from serving import in_process

from memos import AsyncMemOS
from memos.server.app import create_app
from memos.server.options import ServerOptions
from memos.storage.tasks import TaskQuery

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
async def app(app: FastAPI) -> FastAPI:
    async def item(id: str) -> dict[str, str]:
        return {"id": id}

    async def crash() -> None:
        raise RuntimeError("contents of a memory")

    app.add_api_route("/items/{id}", item)
    app.add_api_route("/crash", crash)
    return app


async def samples(client: httpx2.AsyncClient) -> Samples:
    answer = await client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for family in text_string_to_metric_families(answer.text)
        for s in family.samples
    }


def requests(found: Samples) -> dict[tuple[str, str, str], float]:
    return {
        (labels["method"], labels["route"], labels["status"]): value
        for (name, pairs), value in found.items()
        if name == "memos_http_request_seconds_count" and (labels := dict(pairs))
    }


async def test_requests_are_counted_by_template_method_and_status(app_client: httpx2.AsyncClient) -> None:
    for path in ("/items/secret-1", "/items/secret-2", "/nowhere/secret-3", "/crash"):
        await app_client.get(path, params={"q": "secret-4"})
    await app_client.request("BREW", "/nowhere")
    found = await samples(app_client)
    counted = requests(found)
    assert counted[("GET", "/items/{id}", "200")] == 2
    assert counted[("GET", "(no route)", "404")] == 1
    assert counted[("GET", "/crash", "500")] == 1
    assert counted[("OTHER", "(no route)", "404")] == 1
    assert "secret" not in str(found)
    assert found[("memos_http_requests_in_flight", ())] == 1  # this one


async def test_what_the_system_does_is_told(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add(["I live in Oslo.", "I work at Acme."], user="alice", wait=True)
    await memos.add("I like tea.", user="bob")
    await memos.flush(user="bob")
    found = await samples(app_client)
    assert found[("memos_adds_total", ())] == 2
    assert found[("memos_messages_total", ())] == 3
    assert found[("memos_open_cubes", ())] == 2
    assert ("memos_resident_bytes", ()) in found
    assert found[("process_resident_memory_bytes", ())] > 1e6
    assert "alice" not in str(found)
    assert "bob" not in str(found)


async def test_the_queue_is_told_by_kind(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add("I live in Oslo.", user="alice")
    await memos.tasks.wait(TaskQuery(), timeout=10)
    found = await samples(app_client)
    kinds = {dict(pairs)["kind"] for (name, pairs) in found if name == "memos_queue_tasks"}
    assert "digest" in kinds
    assert found[("memos_tasks_total", (("kind", "digest"), ("outcome", "done")))] >= 1


async def test_each_application_counts_for_itself(app_client: httpx2.AsyncClient, tmp_path) -> None:
    for _ in range(3):
        await app_client.get("/items/1")
    other = create_app(AsyncMemOS(tmp_path / "other", embedder="none"), ServerOptions())
    async with other.router.lifespan_context(other), in_process(other) as client:
        assert ("GET", "/items/{id}", "200") not in requests(await samples(client))


async def test_metrics_can_be_turned_off_and_need_a_key_where_keys_are(memos: AsyncMemOS) -> None:
    app = create_app(memos, ServerOptions(metrics=False))
    async with app.router.lifespan_context(app), in_process(app) as client:
        assert (await client.get("/metrics")).status_code == 404
        _, secret = await memos.accounts.create_key("alice", scopes=["read"])
        assert (await client.get("/metrics")).status_code == 401
        app.state.frame.options = ServerOptions()
        assert (await client.get("/metrics", headers={"Authorization": secret})).status_code == 200
