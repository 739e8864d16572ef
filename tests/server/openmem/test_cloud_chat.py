"""chat of the cloud wire (§1.12): the answer in its envelope, the conversation that goes on by its id, streams, knowledge bases."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cloud_wire import Cloud
from serving import in_process

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.errors import ModelTimeout
from memos.server.app import create_app


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel("You like strawberries. 🍓", name="openai:gpt-4o-mini")


@pytest.fixture
async def cloud(tmp_path: Path, model: ScriptedModel) -> AsyncIterator[Cloud]:
    app = create_app(AsyncMemOS(tmp_path / "home", embedder="none", llm=model, reading="fast"))
    async with app.router.lifespan_context(app), in_process(app) as client:
        made = Cloud(client)
        await made.add("I like strawberries.", user_id="alice", conversation_id="old")
        yield made


async def frames(cloud: Cloud, **body: Any) -> list[dict[str, Any]]:
    answer = await cloud.answer("chat", user_id="alice", query="What do I like?", stream=True, **body)
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line]


async def messages(cloud: Cloud, **body: Any) -> list[tuple[str, str]]:
    found = await cloud.ok("get/message", user_id="alice", message_limit_number=50, **body)
    return [(m["role"], m["content"]) for m in found["message_detail_list"]]


async def test_the_answer_rests_on_memories_and_the_turn_is_kept(cloud: Cloud, model: ScriptedModel) -> None:
    data = await cloud.ok(
        "chat",
        user_id="alice",
        query="What do I like?",
        conversation_id="new",
        tags=["t"],
        agent_id="bot",
        app_id="app",
    )
    assert data["response"] == "You like strawberries. 🍓"
    assert any("I like strawberries." in item["memory_value"] for item in data["memory_detail_list"])
    assert "I like strawberries." in model.prompts[0]
    asked = model.requests[0]
    assert (asked.temperature, asked.top_p, asked.max_tokens) == (0.7, 0.95, 8192)
    assert await messages(cloud, conversation_id="new") == [
        ("user", "What do I like?"),
        ("assistant", "You like strawberries. 🍓"),
    ]
    found = await cloud.ok(
        "search/memory",
        user_id="alice",
        query="What do I like?",
        filter={"and": [{"app_id": "app"}, {"tags": {"contains": "t"}}]},
    )
    assert found["memory_detail_list"]


async def test_the_conversation_goes_on_by_its_id(cloud: Cloud, model: ScriptedModel) -> None:
    for query in ("My cat is Tom.", "What is it called?"):
        await cloud.ok("chat", user_id="alice", query=query, conversation_id="c")
    said = [(m.role, m.content) for m in model.requests[1].messages[1:]]
    assert said == [
        ("user", "My cat is Tom."),
        ("assistant", "You like strawberries. 🍓"),
        ("user", "What is it called?"),
    ]
    await cloud.ok("chat", user_id="alice", query="And now?", conversation_id="another")
    assert len(model.requests[2].messages) == 2


async def test_the_stream_tells_text_in_utf8(cloud: Cloud, model: ScriptedModel) -> None:
    model.piece = 1
    found = await frames(cloud, conversation_id="s", temperature=0, max_tokens=5)
    assert {f["type"] for f in found} == {"text"} and "".join(f["data"] for f in found) == "You like strawberries. 🍓"
    assert (model.requests[0].temperature, model.requests[0].max_tokens) == (0.0, 5)
    assert (await messages(cloud, conversation_id="s"))[0] == ("user", "What do I like?")


async def test_a_failure_in_the_stream_is_a_frame_and_before_it_a_code(cloud: Cloud, model: ScriptedModel) -> None:
    model.broken_after = (2, ModelTimeout("too late"))
    found = await frames(cloud, conversation_id="s")
    assert [f["type"] for f in found] == ["text", "text", "error"] and found[-1]["content"] == "too late"
    assert (await messages(cloud, conversation_id="s"))[0] == ("user", "What do I like?")
    assert await cloud.error("chat", user_id="alice", query="x", stream=True, model_name="gpt-9") == (200, 40000)
    assert await cloud.error("chat", user_id="alice", query="x", stream=True, knowledgebase_ids=["kb-none"]) == (
        200,
        50120,
    )
    assert await cloud.error("chat", user_id="alice") == (200, 40002)


async def test_nothing_is_kept_when_that_is_asked(cloud: Cloud) -> None:
    await cloud.ok("chat", user_id="alice", query="secret?", add_message_on_answer=False)
    assert ("user", "secret?") not in await messages(cloud)


async def test_limits_and_filters_are_those_of_a_search(cloud: Cloud, model: ScriptedModel) -> None:
    for body in (
        {"memory_limit_number": 0, "include_preference": False},
        {"filter": {"tags": {"contains": "none"}}},
        {"relativity": 1.0},
    ):
        data = await cloud.ok("chat", user_id="alice", query="Which berries?", add_message_on_answer=False, **body)
        assert data["memory_detail_list"] == [], body
    assert all("I like strawberries." not in prompt for prompt in model.prompts)


async def test_knowledge_bases_are_read_and_written(cloud: Cloud, model: ScriptedModel) -> None:
    base = (await cloud.ok("create/knowledgebase", knowledgebase_name="house"))["id"]
    await cloud.add("The house code is 4711.", user_id="bob", allow_knowledgebase_ids=[base])
    data = await cloud.ok(
        "chat", user_id="alice", query="What is the house code?", knowledgebase_ids=[base], allow_knowledgebase_ids=[base], async_mode=False,
        allow_public=True, internet_search=True,
    )  # fmt: skip
    assert "4711" in model.prompts[0]
    assert any(item["knowledgebase_id"] == base for item in data["memory_detail_list"])
    assert all(any(word in notice for notice in data["notices"]) for word in ("internet_search", "allow_public"))
    found = await cloud.ok("search/memory", user_id="carl", query="What is the house code?", knowledgebase_ids=[base])
    assert any("What is the house code?" in item["memory_value"] for item in found["memory_detail_list"])
