"""`memos doctor` and language models: what waits for one that is away, and asking each when told to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from llm_server import LlmServer
from memos.cli import doctor_models
from memos.cli.doctor_models import Unread, waiting_for_models
from memos.memory.time import utcnow
from memos.storage.ports import READ, Todo
from memos.storage.sqlite.queue import SqliteTaskQueue
from memos.storage.tasks import NewTask, Outcome, Verdict


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    with LlmServer() as running:
        monkeypatch.setenv("MEMOS_LLM", "openai-compatible:stub")
        monkeypatch.setenv("MEMOS_LLM_URL", running.url)
        yield running


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model at an address where nobody listens."""
    monkeypatch.setenv("MEMOS_LLM", "openai-compatible:stub")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MEMOS_LLM_URL", f"http://127.0.0.1:{nobody.getsockname()[1]}")


def test_no_model_is_called_unless_it_is_asked_for(memos: Memos, llm: LlmServer) -> None:
    assert "not called; --llm asks" in memos("doctor").stdout and not llm.requests


def test_each_model_is_asked_one_tiny_question(
    memos: Memos, answer: Answer, llm: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOS_LLM_CHAT", "openai-compatible:other")
    first, second = answer("doctor", "--llm")["models"]
    assert len(llm.requests) == 2 and {first["model"], second["model"]} == {
        "openai-compatible:stub",
        "openai-compatible:other",
    }
    assert first["seconds"] >= 0 and first["error"] is None
    assert {*first["purposes"]} & {"reading"} or {*second["purposes"]} & {"reading"}
    said = memos("doctor", "--llm").stdout
    assert "openai-compatible:other (chat): answered in" in said and "no problems" in said


@pytest.mark.usefixtures("away")
def test_a_model_that_does_not_answer_is_a_problem_that_says_what_to_do(memos: Memos) -> None:
    said = " ".join(memos("doctor", "--llm", code=1).stdout.split())
    assert "did not answer" in said and "check the base URL" in said and "no problems" not in said


def test_a_model_without_end_is_left(memos: Memos, llm: LlmServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(self: object, request: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(doctor_models, "ASK_SECONDS", 0.1)
    monkeypatch.setattr("memos.models.llm.remote.RemoteChatModel.complete", never)
    assert "no answer within" in memos("doctor", "--llm", code=1).stdout


@pytest.mark.usefixtures("away")
def test_messages_that_wait_for_a_model_are_a_problem(memos: Memos, answer: Answer) -> None:
    memos("add", "I live in Oslo.")
    memos("add", "I own a kite.", "--no-wait")
    said = " ".join(memos("doctor", code=1).stdout.split())
    assert "2 messages wait for" in said and "to be read by a model" in said and "memos flush" in said
    assert "no problems" not in said
    assert answer("doctor", code=1)["cubes"][0]["unread"]["waiting"] == 2


def test_when_all_is_read_there_is_no_problem(memos: Memos, llm: LlmServer) -> None:
    llm.otherwise = '{"facts": []}'
    memos("add", "I live in Oslo.")
    assert "no problems" in memos("doctor").stdout


def unread(seconds: float = 1.0, *, attempts: int = 0, error: str | None = None) -> Unread:
    mark = Todo("0190aaaa-0000-7000-8000-000000001111", READ, utcnow() - timedelta(seconds=seconds), attempts, error)
    return Unread.of("ann", "ann", [mark])


async def test_a_task_that_was_put_off_tells_why(tmp_path: Path) -> None:
    queue = SqliteTaskQueue(tmp_path)
    try:
        assert "no task stands for it" in (await waiting_for_models(queue, [unread()], "stub"))[0]
        await queue.enqueue([NewTask(READ, "ann", "read:ann", "ann")])
        assert await waiting_for_models(queue, [unread()], "stub") == []
        (long,) = await waiting_for_models(queue, [unread(7_300)], "stub")
        assert "waits for 2 h" in long
        lease = await queue.lease("w", [READ])
        assert lease is not None
        why = "stub failed 3 times in a row; it will be asked again in 15 s"
        await queue.settle(lease, [Outcome(t.id, Verdict.RELEASED, error=why, delay=60) for t in lease.tasks])
        (put_off,) = await waiting_for_models(queue, [unread()], "stub")
        assert put_off.startswith(
            "cube ann: 1 message waits for 1 s to be read by a model: stub failed 3 times in a row"
        )
        (rests,) = await waiting_for_models(queue, [unread(attempts=99, error="bad answer")], "stub")
        assert "could not be read by a model and rest, last reason: bad answer" in rests and "memos reread" in rests
        assert "none is configured here" in (await waiting_for_models(queue, [unread()], ""))[0]
    finally:
        await queue.close()
