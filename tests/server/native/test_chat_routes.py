"""`/v1/chat`: the answer as JSON or as events, what is refused with which status, the models and the suggestions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import in_process

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.errors import ModelBusy, ModelTimeout
from memos.models.llm.port import ChatReply
from memos.server.app import create_app
from memos.server.options import ServerOptions


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(ChatReply("You live in Bergen.", reasoning="Hm."), name="openai:gpt-4o-mini")


@pytest.fixture
async def client(tmp_path: Path, model: ScriptedModel) -> AsyncIterator[httpx2.AsyncClient]:
    app = create_app(
        AsyncMemOS(tmp_path / "home", embedder="none", llm=model, reading="fast"), ServerOptions(text_chars=1000)
    )
    async with app.router.lifespan_context(app), in_process(app) as made:
        await made.post("/v1/memories", json={"user": "ada", "messages": "I live in Bergen."})
        yield made


async def events(client: httpx2.AsyncClient, **body: Any) -> list[dict[str, Any]]:
    answer = await client.post("/v1/chat", json={"user": "ada", "query": "Where do I live?", "stream": True, **body})
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream"), answer.text
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]


async def test_the_answer_has_its_references_and_what_was_added(client: httpx2.AsyncClient) -> None:
    answer = await client.post(
        "/v1/chat", json={"user": "ada", "query": "Where do I live?", "session": "s", "tags": ["t"]}
    )
    told = answer.json()
    assert answer.status_code == 200 and told["text"] == "You live in Bergen." and told["reasoning"] == "Hm."
    assert told["references"][0]["memory"]["text"] == "I live in Bergen." and told["recall"] == "found"
    assert (told["model"], told["finish"]) == ("openai:gpt-4o-mini", "stop") and told["usage"].keys() >= {
        "input_tokens"
    }
    kept = await client.post("/v1/memories/get", json={"user": "ada", "ids": told["added"]})
    assert [(m["text"], m["session"], m["tags"]) for m in kept.json()["items"]] == [
        ("Where do I live?", "s", ["t"]), ("You live in Bergen.", "s", ["t"]),
    ]  # fmt: skip


async def test_the_events_are_typed_and_end(client: httpx2.AsyncClient, model: ScriptedModel) -> None:
    found = await events(client)
    assert [e["type"] for e in found if e["type"] not in ("text", "reasoning")] == [
        "status", "status", "references", "status", "status", "time", "added", "end",
    ]  # fmt: skip
    assert "".join(e["text"] for e in found if e["type"] == "text") == "You live in Bergen."
    model.broken_after = (3, ModelTimeout("late"))
    found = await events(client)
    assert [e["type"] for e in found][-4:] == ["error", "time", "added", "end"]
    assert {"code": "model_timeout", "message": "late"}.items() <= found[-4].items()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"query": " "}, 422),
        ({"temperature": 3}, 422),
        ({"nonsense": 1}, 422),
        ({"history": [{"role": "pirate", "content": "arr"}]}, 400),
        ({"history": [{"role": "user", "content": "x" * 1001}]}, 400),
        ({"query": "x" * 1001}, 400),
        ({"model": "gpt-9"}, 400),
        ({"filter": {"tags": {"like": 7}}}, 400),
        ({"reference_time": "some day"}, 400),
        ({"cube": "nowhere"}, 404),
        ({"add_to": ["nowhere"]}, 404),
    ],
)
async def test_what_is_wrong_has_a_status(
    client: httpx2.AsyncClient, model: ScriptedModel, body: dict[str, Any], status: int, stream: bool
) -> None:
    answer = await client.post("/v1/chat", json={"user": "ada", "query": "q", "stream": stream, **body})
    assert answer.status_code == status, answer.text
    assert not model.requests


async def test_a_busy_model_is_a_status_with_a_pause(client: httpx2.AsyncClient, model: ScriptedModel) -> None:
    model.answers[:] = [ModelBusy("too much to do", 7)]
    answer = await client.post("/v1/chat", json={"user": "ada", "query": "q"})
    assert answer.status_code == 503 and answer.json()["error"]["code"] == "model_busy"


async def test_no_more_streams_than_are_allowed(tmp_path: Path, model: ScriptedModel) -> None:
    app = create_app(AsyncMemOS(tmp_path / "home", embedder="none", llm=model), ServerOptions(streams=0))
    async with app.router.lifespan_context(app), in_process(app) as made:
        for path, body in (("/v1/chat", {"stream": True}), ("/product/chat/stream", {"user_id": "ada"})):
            answer = await made.post(path, json={"query": "q", **body})
            assert answer.status_code == 429, answer.text
        assert not model.requests


async def test_models_and_suggestions(client: httpx2.AsyncClient, model: ScriptedModel) -> None:
    assert (await client.get("/v1/chat/models")).json() == {"items": ["openai:gpt-4o-mini"]}
    model.answers[:] = [ChatReply('{"questions": ["A?", "B?"]}')]
    answer = await client.post(
        "/v1/chat/suggestions", json={"user": "ada", "messages": [{"role": "user", "content": "Hi"}]}
    )
    assert answer.json()["questions"][:2] == ["A?", "B?"] and len(answer.json()["questions"]) == 3
