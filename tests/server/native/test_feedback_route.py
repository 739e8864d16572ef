"""POST /v1/feedback: the verb, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from pydantic import TypeAdapter

from memos import AsyncMemOS
from memos.memory.feedback import FeedbackResult

NOBODY = "00000000-0000-7000-8000-000000000000"


async def give(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post("/v1/feedback", json={"user": "ada", **body})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


async def test_it_answers_what_the_library_does(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add("I live in Oslo.", user="ada", wait=True)
    body = {"user": "ada", "text": "No, it's Bergen, not Oslo.", "task_id": "t", "answer": True}
    body["history"] = [{"role": "assistant", "content": "You live in Oslo."}]
    answer = await app_client.post("/v1/feedback", json=body)
    told = TypeAdapter(FeedbackResult).validate_json(answer.content)
    assert told.answer == "You live in Bergen."
    again = await memos.feedback("No, it's Bergen, not Oslo.", user="ada", task_id="t")
    assert (told.operations, told.record, told.message) == (again.operations, again.record, again.message)


async def test_a_rehearsal_changes_nothing(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add("My phone number is 555-1234.", user="ada", wait=True)
    told = await give(app_client, text="Forget my phone number.", dry_run=True, hard=True)
    assert told["operations"][0]["operation"] == "forget" and told["record"] is None
    assert await memos.count(user="ada") == 2


async def test_what_is_unclear_is_told(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add(["My boss is Tom.", "My brother is called Tom."], user="ada", wait=True)
    told = await give(app_client, text="Forget Tom.")
    assert (told["understood"], told["operations"]) == (False, [])
    assert len(told["candidates"]) > 1


async def test_a_thumb(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    (id,) = (await memos.add("I like tea.", user="ada", wait=True)).ids
    told = await give(app_client, rating="down", targets=[id])
    assert [t["id"] for t in told["operations"][0]["targets"]] == [id]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "  "},
        {"rating": "up"},
        {"rating": "up", "targets": []},
        {"text": "x" * 1_601},
        {"text": 5},
        {"rating": "great"},
        {"text": "no", "targets": ["x"]},
        {"text": "no", "hard": "yes"},
        {"text": "no", "colour": "red"},
    ],
)
async def test_what_has_not_the_shape_is_refused(app_client: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    assert (await app_client.post("/v1/feedback", json=body)).status_code == 422


@pytest.mark.parametrize("body", [{"text": "no", "history": 5}, {"text": "no", "time": "someday"}])
async def test_what_cannot_be_used_is_refused(app_client: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    assert (await app_client.post("/v1/feedback", json=body)).status_code in (400, 422)


async def test_ids_of_nobody_change_nothing(app_client: httpx2.AsyncClient, memos: AsyncMemOS) -> None:
    await memos.add("My phone number is 555-1234.", user="ada", wait=True)
    told = await give(app_client, text="Forget my phone number.", targets=[NOBODY])
    assert told["understood"] is False
