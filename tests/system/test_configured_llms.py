"""The language models of a system: by purpose, each at its own server with its own key, and how they are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from llm_models import ScriptedModel
from llm_server import Answer, LlmServer, failing
from memos import AsyncMemOS
from memos.cli.doctor import examine
from memos.errors import InvalidInput, ModelUnavailable
from memos.health import Condition
from memos.models.llm.factory import make_chat_model
from memos.models.llm.port import PURPOSES, ChatRequest
from memos.models.llm.purposes import Call
from memos.settings import Settings
from memos.system.models import configured_llms

ASK = ChatRequest.of("Be short.", "Where?")


def no_ledger(call: Call) -> None:
    pass


async def test_every_purpose_has_the_main_model_unless_it_has_its_own() -> None:
    with LlmServer() as main, LlmServer() as other:
        settings = Settings(
            llm="openai-compatible:big",
            llm_url=main.url,
            llm_key="sk-main",
            llm_reading="openai-compatible:small",
            llm_feedback="openai-compatible:far",
            llm_feedback_url=other.url,
        )
        llms = configured_llms(settings, None, no_ledger)
        for purpose in PURPOSES:
            model = llms.of(purpose)
            assert model is not None
            await model.complete(ASK)
        asked = [
            (r.body["model"], {k.lower(): v for k, v in r.headers.items()}.get("authorization")) for r in main.requests
        ]
        assert asked == [("small", "Bearer sk-main"), *[("big", "Bearer sk-main")] * 3]
        keys = [{k.lower() for k in r.headers} for r in other.requests]
        assert len(keys) == 1
        assert "authorization" not in keys[0], "the key of one server is not sent to another"
        await llms.aclose()


async def test_calls_are_told_to_the_ledger_also_those_that_fail(llm_server: LlmServer) -> None:
    calls: list[Call] = []
    llm_server.say("Hello.", failing(400, "no"))
    llms = configured_llms(Settings(llm="openai-compatible:m", llm_url=llm_server.url), None, calls.append)
    model = llms.of("reading", "ann")
    assert model is not None
    await model.complete(ASK)
    with pytest.raises(Exception, match="400"):
        await model.complete(ASK)
    assert [(c.user, c.purpose, c.model, c.answered) for c in calls] == [
        ("ann", "reading", "openai-compatible:m", True),
        ("ann", "reading", "openai-compatible:m", False),
    ]


async def test_a_chat_takes_its_own_turns_before_the_calls_of_others() -> None:
    """Through the models of a system, as the verbs use them: with one call at a time, it is the next."""
    with LlmServer(Answer(delay=0.1)) as server:
        settings = Settings(llm="openai-compatible:m", llm_url=server.url, llm_concurrency=1)
        llms = configured_llms(settings, None, no_ledger)
        reading, chat = llms.of("reading"), llms.of("chat")
        assert reading is not None
        assert chat is not None
        readings = [asyncio.create_task(reading.complete(ASK)) for _ in range(8)]
        async with asyncio.timeout(10):
            while not server.requests:
                await asyncio.sleep(0.01)
        before = sum(task.done() for task in readings)
        await chat.complete(ASK)
        assert sum(task.done() for task in readings) - before <= 2
        await asyncio.gather(*readings)
        await llms.aclose()


async def test_a_model_of_our_own_that_is_given_is_used_as_it_is(tmp_path: Path, llm_server: LlmServer) -> None:
    made = make_chat_model("openai-compatible:m", base_url=llm_server.url)
    async with AsyncMemOS(tmp_path, llm=made) as m:
        assert m._parts().llms.models["chat"] is made


async def test_an_object_stands_above_what_variables_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOS_CHAT_MODEL", "gpt-4o")
    monkeypatch.setenv("MEMRADER_MODEL", "reader")
    async with AsyncMemOS(tmp_path, llm=ScriptedModel(name="own")) as m:
        assert set(m._parts().llms.configured.values()) == {"own"}


def test_an_object_that_is_no_model_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="language model"):
        AsyncMemOS(tmp_path, llm=object())  # type: ignore[arg-type]


async def test_health_says_how_the_model_is_without_asking_it(tmp_path: Path, llm_server: LlmServer) -> None:
    async with AsyncMemOS(tmp_path / "none") as m:
        assert [(c.condition, c.detail) for c in (await m.health()).checks if c.name == "llm"] == [
            (Condition.READY, "none: everything by rules")
        ]
    async with AsyncMemOS(tmp_path / "one", llm="openai-compatible:m", llm_url=llm_server.url) as m:
        model = m._parts().llms.of("chat")
        assert model is not None
        assert [c.detail for c in (await m.health()).checks if c.name == "llm"] == ["openai-compatible:m"]
        assert not llm_server.requests
        llm_server.otherwise = failing(500)
        with pytest.raises(ModelUnavailable):
            await model.complete(ASK)
        found = next(c for c in (await m.health()).checks if c.name == "llm")
        assert (found.condition, "asked again in" in found.detail) == (Condition.DEGRADED, True)


def test_the_doctor_names_the_models_and_what_keeps_them(tmp_path: Path) -> None:
    assert examine(Settings(home=tmp_path)).llm == "none: everything is done by rules"
    found = examine(Settings(home=tmp_path, llm="ollama:a", llm_chat="ollama:b"))
    assert (found.healthy, "chat: ollama:b" in found.llm, "reading: ollama:a" in found.llm) == (True, True, True)
    broken = examine(Settings(home=tmp_path, llm="openai:a"))
    assert not broken.healthy
    assert "MEMOS_LLM_KEY or OPENAI_API_KEY" in broken.problems[0]
