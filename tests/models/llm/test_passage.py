"""The way to a server that requests are passed on to: whose it is, by which name, and what it has not."""

from __future__ import annotations

import pytest

from llm_models import ScriptedModel
from llm_server import Answer, LlmServer, failing
from memos.errors import InvalidInput, ModelTimeout, ModelUnavailable
from memos.models.llm.factory import make_chat_model
from memos.models.llm.passage import Head
from memos.models.llm.port import ChatModel, TokenUsage
from memos.models.llm.purposes import Call, Llms
from memos.models.resilience import NotAsked


def made(spec: str, url: str) -> ChatModel:
    model = make_chat_model(spec, base_url=url, api_key="sk-of-the-server", timeout=5)
    assert model is not None
    return model


def test_a_name_chooses_among_the_configured_models_and_others_go_to_that_of_the_purpose() -> None:
    models = {
        "chat": made("openai-compatible:a", "http://127.0.0.1:1/v1"),
        "reading": made("openai-compatible:b", "http://127.0.0.1:2/v1"),
    }
    llms = Llms(models)
    for name, others, model in (
        (None, False, "a"),
        ("b", False, "b"),
        ("openai-compatible:b", True, "b"),
        ("c", True, "c"),
    ):
        passage = llms.passage(name, "chat", "ada", others=others)
        assert passage is not None and passage.model == model and passage.model_id == f"openai-compatible:{model}"
    assert llms.passage("c", "chat", "ada") is None


def test_a_model_of_another_protocol_has_none() -> None:
    for model in (made("anthropic:claude", "http://127.0.0.1:1"), ScriptedModel("Hello.")):
        assert Llms({"chat": model}).passage(None, "chat", "ada", others=True) is None


async def test_a_deployment_in_the_address_is_one_model_and_one_path() -> None:
    llms = Llms({"chat": made("azure:gpt", "http://127.0.0.1:1")})
    assert llms.passage("other", "chat", "ada", others=True) is None
    passage = llms.passage("gpt", "chat", "ada")
    assert passage is not None
    with pytest.raises(InvalidInput, match="chat/completions only"):
        await anext(passage.ask("/responses", b"{}", {}))


async def test_an_answer_comes_as_it_is_whatever_its_status_and_is_counted(llm_server: LlmServer) -> None:
    told: list[Call] = []
    passage = Llms({"chat": made("openai-compatible:a", llm_server.url)}, told.append).passage(None, "chat", "ada")
    assert passage is not None
    llm_server.say(failing(418, "no tea"))
    head, *rest = [part async for part in passage.ask("/chat/completions", b'{"model": "a"}', {"OpenAI-Beta": "x"})]
    assert (
        isinstance(head, Head) and head.status == 418 and b"no tea" in b"".join(p for p in rest if isinstance(p, bytes))
    )
    sent = llm_server.requests[0].headers
    assert sent["Authorization"] == "Bearer sk-of-the-server" and sent["OpenAI-Beta"] == "x"
    passage.tell(TokenUsage(3, 4), True, 0.1)
    assert (told[0].user, told[0].model, told[0].usage) == ("ada", "openai-compatible:a", TokenUsage(3, 4))


def test_a_name_that_nobody_answered_to_has_no_row_of_its_own() -> None:
    told: list[Call] = []
    llms = Llms({"chat": made("openai-compatible:a", "http://127.0.0.1:1")}, told.append)
    for name in ("made-up-1", "made-up-2", "a", "b"):
        passage = llms.passage(name, "chat", "ada", others=True)
        assert passage is not None
        passage.tell(TokenUsage(), name == "b", 0.1)
    assert [call.model.partition(":")[2] for call in told] == ["other", "other", "a", "b"]


async def test_who_asks_what_takes_long_does_not_shut_the_server_for_others(llm_server: LlmServer) -> None:
    model = make_chat_model("openai-compatible:a", base_url=llm_server.url, api_key="sk-x", timeout=0.2)
    assert model is not None
    passage = Llms({"chat": model}).passage(None, "chat", "ada")
    assert passage is not None
    llm_server.say(*(Answer("late", delay=2) for _ in range(4)))
    for _ in range(4):
        with pytest.raises(ModelTimeout):
            await anext(passage.ask("/chat/completions", b'{"model": "a"}', {}))
    head, *_ = [part async for part in passage.ask("/chat/completions", b'{"model": "a"}', {})]
    assert isinstance(head, Head) and head.status == 200


async def test_a_server_that_is_away_is_told_and_not_asked_again_and_again() -> None:
    passage = Llms({"chat": made("openai-compatible:a", "http://127.0.0.1:9/v1")}).passage(None, "chat", "ada")
    assert passage is not None
    said = []
    for _ in range(8):
        with pytest.raises(ModelUnavailable) as caught:
            await anext(passage.ask("/chat/completions", b"{}", {}))
        said.append(type(caught.value))
    assert said[0] is ModelUnavailable and said[-1] is NotAsked
