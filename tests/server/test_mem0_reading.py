"""mem0's cloud wire with a language model that reads: what an event says while it reads, when it has read, and when it cannot."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS, background
from memos.errors import ModelUnavailable
from memos.models.llm.port import ChatReply, ChatRequest
from memos.scheduler import worker as workers

TEXT = "The kiln opens at seven."
FACT = {"kind": "fact", "who": "the kiln", "what": "opening time", "value": "seven", "text": TEXT, "by": [1]}
ADDED = {"messages": "Remember that at seven we open the kiln.", "user_id": "alice", "metadata": {"topic": "work"}}


class Reader:
    """Reads, or fails."""

    def __init__(self) -> None:
        self.fails = False

    def __call__(self, request: ChatRequest) -> dict[str, Any]:
        if self.fails:
            raise ModelUnavailable("the model is away")
        return {"facts": [FACT] if "kiln" in request.messages[1].content else [], "names": []}


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    monkeypatch.setattr(background, "READ_LINGER_SECONDS", 0.05)
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.01)
    return Reader()


class Held(ScriptedModel):
    """Answers nothing while `may` is not set."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.may = asyncio.Event()
        self.may.set()

    async def complete(self, request: ChatRequest) -> ChatReply:
        await self.may.wait()
        return await super().complete(request)


@pytest.fixture
async def model(reader: Reader) -> Held:
    return Held(reader)


@pytest.fixture
async def memos(tmp_path: Path, model: Held) -> AsyncMemOS:
    return AsyncMemOS(tmp_path / "home", embedder="none", llm=model)


async def ask(client: httpx2.AsyncClient, method: str, path: str, **options: Any) -> dict[str, Any]:
    answer = await client.request(method, f"/compat/mem0{path}", **options)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def listed(client: httpx2.AsyncClient) -> list[str]:
    found = await ask(
        client, "POST", "/v3/memories/", json={"filters": {"user_id": "alice", "metadata": {"topic": "work"}}}
    )
    return [memory["memory"] for memory in found["results"]]


async def ended(client: httpx2.AsyncClient, event: str) -> dict[str, Any]:
    for _ in range(400):
        told = await ask(client, "GET", f"/v1/event/{event}/")
        if told["status"] in ("SUCCEEDED", "FAILED"):
            return told
        await asyncio.sleep(0.02)
    raise AssertionError(told)


async def test_an_event_has_succeeded_only_when_the_model_has_read(app_client: httpx2.AsyncClient, model: Held) -> None:
    model.may.clear()
    answer = await ask(app_client, "POST", "/v3/memories/add/", json=ADDED)
    for _ in range(5):
        told = await ask(app_client, "GET", f"/v1/event/{answer['event_id']}/")
        assert told["status"] in ("PENDING", "RUNNING")
        assert told["results"] == []
        await asyncio.sleep(0.02)
    model.may.set()
    told = await ended(app_client, answer["event_id"])
    assert (told["status"], [each["memory"] for each in told["results"]]) == ("SUCCEEDED", [TEXT])
    assert await listed(app_client) == [TEXT]


async def test_what_is_waited_for_is_read(app_client: httpx2.AsyncClient) -> None:
    answer = await ask(app_client, "POST", "/v3/memories/add/", json={**ADDED, "async_mode": False})
    assert (answer["status"], [each["memory"] for each in answer["results"]]) == ("SUCCEEDED", [TEXT])
    open_source = await ask(app_client, "POST", "/memories", json={**ADDED, "user_id": "bob"})
    assert [each["memory"] for each in open_source["results"]] == [TEXT]


async def test_a_model_that_is_away_is_no_success(app_client: httpx2.AsyncClient, reader: Reader) -> None:
    reader.fails = True
    answer = await ask(app_client, "POST", "/v3/memories/add/", json={**ADDED, "async_mode": False})
    assert answer["status"] == "PENDING"
    assert "stored, but" in answer["notices"][0]
    found = {"query": "kiln", "filters": {"user_id": "alice"}}
    (kept,) = (await ask(app_client, "POST", "/v3/memories/search/", json=found))["results"]  # what was said is there
    assert kept["memory"] == ADDED["messages"]
