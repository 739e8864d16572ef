"""The requests have the parameters of the verbs: what the library learns, the API learns too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from memos import AsyncMemOS
from memos.server.native import chat, feedback, learning, models, recall, skills, turns


@pytest.mark.parametrize(
    ("model", "verb", "named"),
    [
        (models.Add, AsyncMemOS.add, {"retry_key": None}),  # a header
        (models.Search, AsyncMemOS.search, {"recipe": None}),
        (models.Explain, AsyncMemOS.explain, {}),
        (models.Delete, AsyncMemOS.delete, {"if_version": None}),  # by `If-Match`
        (models.Patch, AsyncMemOS.update, {"id": None, "if_version": None}),
        (feedback.FeedbackRequest, AsyncMemOS.feedback, {}),
        (chat.Chat, AsyncMemOS.chat_stream, {"found": "stream"}),
        (chat.Suggest, AsyncMemOS.suggest, {}),
        (models.Listing, AsyncMemOS.list, {"newest_first": "order"}),
        (models.Counting, AsyncMemOS.count, {}),
        (turns.StartTurn, AsyncMemOS.start_turn, {}),
        (turns.ReportStep, AsyncMemOS.report_step, {}),
        (turns.EndTurn, AsyncMemOS.end_turn, {}),
        (turns.ReportSubagent, AsyncMemOS.report_subagent, {}),
        (turns.ReportOutcome, AsyncMemOS.report_outcome, {}),
        (turns.EndSession, AsyncMemOS.end_session, {"session": None}),  # in the path
        (recall.Recall, AsyncMemOS.recall, {}),
        (learning.Evolve, AsyncMemOS.evolve, {}),
        (learning.SetState, AsyncMemOS.set_state, {"id": None}),
        (skills.UseSkill, AsyncMemOS.skill, {"name": None, "use": None}),
    ],
)
def test_a_request_has_the_parameters_of_its_verb(
    model: type[BaseModel], verb: Callable[..., Any], named: dict[str, str | None]
) -> None:
    parameters = {named.get(name, name) for name in inspect.signature(verb).parameters} - {"self", None}
    assert set(model.model_fields) == parameters


async def test_a_file_is_kept_and_replaced_by_its_next_edition(app_client: httpx2.AsyncClient) -> None:
    binary = {"Content-Type": "application/octet-stream"}
    where = {"user": "ada", "name": "guide.md", "document_id": "guide", "tags": ["doc"]}
    first = await app_client.post("/v1/files", params=where, content=b"# Tea\n\nBoil water for tea.", headers=binary)
    assert first.status_code == 200, first.text
    assert (first.json()["new"], first.json()["memory"]["kind"]) == (True, "document")
    again = await app_client.post("/v1/files", params=where, content=b"# Tea\n\nBoil milk for tea.", headers=binary)
    assert again.json()["replaced"] is True
    assert again.json()["memory"]["id"] == first.json()["memory"]["id"]
    found = await app_client.post("/v1/memories/search", json={"query": "what to boil for tea", "user": "ada"})
    assert "milk" in found.json()["context"]
    assert "water" not in found.json()["context"]


async def test_a_file_that_cannot_be_read_is_refused(app_client: httpx2.AsyncClient) -> None:
    binary = {"Content-Type": "application/octet-stream"}
    for name, content, status in (("a.xyz", b"\x00\x01", 400), ("a.txt", b"", 400)):
        answer = await app_client.post("/v1/files", params={"name": name}, content=content, headers=binary)
        assert answer.status_code == status, answer.text
    answer = await app_client.post("/v1/files", params={"name": "a.txt"}, json={"text": "x"})
    assert answer.status_code == 415


async def test_messages_that_correct_something_take_its_place(app_client: httpx2.AsyncClient) -> None:
    await app_client.post("/v1/memories", json={"messages": "I live in Oslo.", "user": "ada", "wait": True})
    body = {"messages": "No, I live in Bergen.", "user": "ada", "corrects": [], "wait": True}
    assert (await app_client.post("/v1/memories", json=body)).status_code == 200
    found = await app_client.post("/v1/memories/search", json={"query": "Where do I live?", "user": "ada"})
    assert "Bergen" in found.json()["context"].splitlines()[0] or "Bergen" in found.json()["hits"][0]["text"]
