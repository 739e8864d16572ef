"""`GET /v1/usage`: who sees whose use of language models; and a budget that is used up, as every wire tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.memory.time import utcnow


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncMemOS:
    return AsyncMemOS(
        tmp_path / "home",
        embedder="none",
        llm=ScriptedModel("Hello."),
        llm_prices="model=1/1",
        llm_tokens_per_user_per_day=250,
        reading="fast",
    )


async def chats(client: httpx2.AsyncClient, user: str, **more: Any) -> httpx2.Response:
    return await client.post("/v1/chat", json={"user": user, "query": "Hi.", "add": False, **more})


async def test_everybodys_where_no_keys_are_in_use(app_client: httpx2.AsyncClient) -> None:
    for user in ("ann", "bob", "bob"):
        await chats(app_client, user)
    found = (await app_client.get("/v1/usage")).json()
    assert [(i["user"], i["calls"], i["day"]) for i in found["items"]] == [
        ("bob", 2, utcnow().date().isoformat()),
        ("ann", 1, utcnow().date().isoformat()),
    ]
    assert found["total"]["calls"] == 3 and found["total"]["user"] is None
    tokens = found["total"]["input_tokens"] + found["total"]["output_tokens"]
    assert found["total"]["cost_micros"] == tokens > 0
    one = (await app_client.get("/v1/usage", params={"by": ["purpose"], "limit": 1, "user": "ann"})).json()
    assert [(i["user"], i["purpose"], i["calls"]) for i in one["items"]] == [(None, "chat", 1)]
    none = (await app_client.get("/v1/usage", params={"until": "2020-01-01"})).json()
    assert (none["items"], none["total"]["calls"], none["total"]["cost_micros"]) == ([], 0, None)


async def test_a_user_sees_her_own_and_an_administrator_all(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    for user in ("ann", "bob"):
        await chats(app_client, user)
    keys = {}
    for name, scopes in {"ann": ["read"], "backend": ["read", "act"], "root": ["admin"], "blind": ["write"]}.items():
        keys[name] = (await memos.accounts.create_key(name, scopes=scopes))[1]

    async def seen(who: str, **params: Any) -> Any:
        answer = await app_client.get("/v1/usage", params=params, headers={"Authorization": f"Bearer {keys[who]}"})
        return sorted(i["user"] for i in answer.json()["items"]) if answer.status_code == 200 else answer.status_code

    assert await seen("ann") == await seen("ann", user="ann") == ["ann"]
    assert await seen("ann", user="bob") == 403
    assert await seen("backend") == []  # her own
    assert await seen("backend", user="bob") == ["bob"]
    assert await seen("root") == ["ann", "bob"]
    assert await seen("root", user="bob") == ["bob"]
    assert await seen("blind") == 403
    assert (await app_client.get("/v1/usage")).status_code == 401


@pytest.mark.parametrize(
    ("params", "status"),
    [({"by": "colour"}, 422), ({"purpose": "fun"}, 422), ({"since": "5/8/2023"}, 400), ({"limit": 0}, 422)],
)
async def test_what_cannot_be_asked_is_refused(
    app_client: httpx2.AsyncClient, params: dict[str, Any], status: int
) -> None:
    assert (await app_client.get("/v1/usage", params=params)).status_code == status


async def test_a_budget_that_is_used_up_is_429_with_the_time_to_wait(app_client: httpx2.AsyncClient) -> None:
    assert (await chats(app_client, "ann")).status_code == 200
    assert (await chats(app_client, "ann")).status_code == 200
    for stream in (False, True):
        answer = await chats(app_client, "ann", stream=stream)
        assert answer.status_code == 429, answer.text
        assert answer.json()["error"]["code"] == "over_budget"
        assert 0 < int(answer.headers["Retry-After"]) <= 86_400
    assert (await chats(app_client, "bob")).status_code == 200
    wire = await app_client.post("/product/chat/complete", json={"user_id": "ann", "query": "Hi."})
    assert wire.status_code == 429 or wire.json()["code"] == 429, wire.text


async def test_metrics_count_calls_tokens_and_failures(app_client: httpx2.AsyncClient) -> None:
    await chats(app_client, "ann")
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families((await app_client.get("/metrics")).text)
        for sample in family.samples
        if sample.name.startswith("memos_llm_")
    }
    of = (("model", "scripted:model"),)
    chat = (("purpose", "chat"),)
    assert found["memos_llm_calls_total", *of, ("outcome", "answered"), *chat] == 1
    assert found["memos_llm_calls_total", *of, ("outcome", "failed"), *chat] == 0
    assert found["memos_llm_tokens_total", ("direction", "in"), *of, *chat] > 10
    assert found["memos_llm_seconds_total", *of, *chat] >= 0
    assert "ann" not in str(found)
