"""Reading with a model over the wires: fast and fine, sync and async, tags, what a task's state says, and failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS, background
from memos.errors import ModelBusy
from memos.models.llm.port import ChatRequest
from memos.scheduler import worker as workers

TEXT = "The kiln opens at seven."
FACT = {"kind": "fact", "who": "the kiln", "what": "opening time", "value": "seven", "text": TEXT, "by": [1]}
ASKED = "Remember that at seven we open the kiln."


def kiln(request: ChatRequest) -> dict[str, Any]:
    return {"facts": [FACT] if "kiln" in request.messages[1].content else [], "names": []}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> ScriptedModel:
    monkeypatch.setattr(background, "READ_LINGER_SECONDS", 0.3)
    monkeypatch.setattr(workers, "BACKOFF_BASE", 0.01)
    return ScriptedModel(kiln)


@pytest.fixture
async def memos(tmp_path: Path, model: ScriptedModel) -> AsyncMemOS:
    return AsyncMemOS(tmp_path / "home", embedder="none", llm=model)


Client = httpx2.AsyncClient


async def product(client: Client, **more: Any) -> dict[str, Any]:
    body = {"user_id": "ann", "messages": [{"role": "user", "content": ASKED}], **more}
    answer = await client.post("/product/add", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def said(answer: dict[str, Any]) -> list[str]:
    return [row["memory"] for row in answer["data"]]


async def state(client: Client, task: str) -> str:
    answer = await client.get(f"/product/scheduler/status?user_id=ann&task_id={task}")
    return str(answer.json()["data"][0]["status"])


async def idle(client: Client) -> None:
    answer = await client.post("/product/scheduler/wait?user_name=ann&timeout_seconds=30&poll_interval=0.05")
    assert answer.json()["message"] == "idle"


async def facts(client: Client) -> list[str]:
    answer = await client.post("/v1/memories/list", json={"user": "ann", "kinds": ["fact", "profile"]})
    return [m["text"] for m in answer.json()["items"]]


async def test_async_answers_at_once_and_the_task_is_done_when_the_model_has_read(
    app_client: Client, model: ScriptedModel
) -> None:
    answer = await product(app_client, task_id="t1")
    assert said(answer) == [ASKED] and answer["task_id"] == "t1" and model.calls == 0
    assert await state(app_client, "t1") in ("waiting", "in_progress")
    await idle(app_client)
    assert await state(app_client, "t1") == "completed" and TEXT in await facts(app_client)


@pytest.mark.parametrize("mode", [None, "fine"])
async def test_sync_answers_when_the_model_has_read(app_client: Client, mode: str | None) -> None:
    assert TEXT in said(await product(app_client, async_mode="sync", mode=mode))


async def test_sync_and_fast_asks_no_model(app_client: Client, model: ScriptedModel) -> None:
    assert TEXT not in said(await product(app_client, async_mode="sync", mode="fast"))
    await idle(app_client)
    assert model.calls == 0


async def test_a_mode_with_async_is_said_to_mean_nothing(app_client: Client) -> None:
    answer = await product(app_client, mode="fast")
    assert any("'fast'" in notice for notice in answer["notices"])
    await idle(app_client)
    assert TEXT in await facts(app_client)


async def test_a_model_that_fails_at_sync_costs_a_notice_and_nothing_else(
    app_client: Client, model: ScriptedModel
) -> None:
    model.answers = [ModelBusy("429", 0.01), kiln]
    answer = await product(app_client, async_mode="sync", mode="fine", task_id="t2")
    assert TEXT not in said(answer) and any("not read by the model yet" in notice for notice in answer["notices"])
    await idle(app_client)
    assert await state(app_client, "t2") == "completed" and TEXT in await facts(app_client)


async def test_custom_tags_are_a_vocabulary(app_client: Client, model: ScriptedModel) -> None:
    model.answers = [{"facts": [FACT | {"tags": ["pottery", "nonsense"]}], "names": []}]
    await product(app_client, async_mode="sync", custom_tags=["pottery", "garden"])
    assert "pottery, garden" in model.prompts[0]
    answer = await app_client.post("/v1/memories/list", json={"user": "ann", "filter": {"tags": "pottery"}})
    assert TEXT in [m["text"] for m in answer.json()["items"]]
    (fact,) = [m for m in answer.json()["items"] if m["text"] == TEXT]
    assert "nonsense" not in fact["tags"]


async def test_the_cloud_wire_waits_for_the_model_when_it_is_not_async(app_client: Client) -> None:
    body = {"user_id": "ann", "messages": [{"role": "user", "content": ASKED}], "async_mode": False}
    answer = await app_client.post("/api/openmem/v1/add/message", json=body)
    assert answer.json()["data"]["status"] == "completed", answer.text
    assert TEXT in await facts(app_client)


async def test_the_native_api_reads_finely_rereads_and_configures(app_client: Client, model: ScriptedModel) -> None:
    add = {"messages": ASKED, "user": "ann", "wait": True, "reading": "fast"}
    assert (await app_client.post("/v1/memories", json=add)).status_code == 200
    assert model.calls == 0
    done = await app_client.post("/v1/memories/reread", json={"user": "ann", "everything": True, "wait": True})
    assert done.json()["records"] == 1 and TEXT in await facts(app_client)
    where = {"params": {"user": "ann"}}
    config = {"mode": "fast", "instructions": "Only kilns.", "tags": ["kiln"]}
    assert (await app_client.patch("/v1/cubes/ann/reading", json=config, **where)).json() == config
    assert (await app_client.get("/v1/cubes/ann/reading", **where)).json() == config
    again = await app_client.post("/v1/memories/reread", json={"user": "ann", "everything": True, "wait": True})
    assert again.status_code == 200 and "Only kilns." in model.prompts[-1]
    refused = await app_client.post("/v1/memories/reread", json={"user": "ann"})
    assert refused.status_code in (400, 422)


def a_file(text: str = f"{TEXT} Bring gloves.") -> dict[str, Any]:
    return {"type": "file", "file": {"filename": "kiln.txt", "file_data": text}}


async def test_a_file_in_an_add_is_read_too(app_client: Client, model: ScriptedModel) -> None:
    sync = await product(app_client, messages=[a_file()], async_mode="sync")
    assert TEXT in said(sync)
    quick = await product(app_client, messages=[a_file(f"{TEXT} Wear an apron.")], async_mode="sync", mode="fast")
    assert len(said(quick)) == 1
    calls = model.calls
    later = await product(app_client, messages=[a_file(f"{TEXT} Wash your hands.")], task_id="f1")
    assert (later["task_id"], model.calls) == ("f1", calls)
    await idle(app_client)
    assert await state(app_client, "f1") == "completed"
    assert model.calls == calls + 1


async def test_a_file_is_read_where_it_is_asked_for(app_client: Client, model: ScriptedModel) -> None:
    binary = {"Content-Type": "application/octet-stream"}
    for reading, calls in (("fast", 0), ("fine", 1)):
        params = {"user": "ann", "name": f"{reading}.txt", "reading": reading, "wait": True}
        answer = await app_client.post("/v1/files", params=params, content=TEXT.encode(), headers=binary)
        assert answer.status_code == 200, answer.text
        assert (answer.json()["pending"], model.calls) == (False, calls)
    assert TEXT in await facts(app_client)
    wrong = await app_client.post("/v1/files", params={"name": "a.txt", "reading": "x"}, content=b"x", headers=binary)
    assert wrong.status_code == 422
