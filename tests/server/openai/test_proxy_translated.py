"""The proxy before models of other protocols (an object, Anthropic), and what of the server's options concerns it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
from serving import in_process

from llm_models import ScriptedModel
from llm_server import LlmServer
from memos import AsyncMemOS
from memos.errors import ModelBusy, ModelTimeout
from memos.models.llm.port import ChatReply, ChatRequest, TokenUsage
from memos.server.app import create_app
from memos.server.options import ServerOptions

ASKED: Any = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "My boat is called Wren."}]


@contextlib.asynccontextmanager
async def before(memos: AsyncMemOS, **options: Any) -> AsyncIterator[openai.AsyncOpenAI]:
    """OpenAI's client of an application in this process."""
    app = create_app(memos, ServerOptions(**options))
    async with app.router.lifespan_context(app), in_process(app) as http:
        yield openai.AsyncOpenAI(base_url="http://127.0.0.1:8000/v1", api_key="any", max_retries=0, http_client=http)


async def said(memos: AsyncMemOS, user: str = "default") -> list[tuple[str, str]]:
    page = await memos.list(user=user, kinds=["trace"])
    return [(m.role or "", m.text) for m in page.items[::-1]]


def scripted(*answers: Any, name: str = "scripted:model") -> ScriptedModel:
    """A model that answers these to what it is asked through the proxy; what else it is asked, it fails."""
    left = list(answers)

    def answer(request: ChatRequest) -> Any:
        return left.pop(0) if request.messages[0].content.startswith("Be brief.") else ModelTimeout("late")

    return ScriptedModel(answer, name=name)


def asked_of(model: ScriptedModel) -> list[ChatRequest]:
    return [request for request in model.requests if request.messages[0].content.startswith("Be brief.")]


async def test_a_model_given_as_an_object_answers_in_openais_words(tmp_path: Path) -> None:
    usage = TokenUsage(5, 2)
    model = ScriptedModel(
        ChatReply("Noted.", usage=usage), ChatReply("It is Wren.", finish="length", usage=usage), name="mine:m"
    )
    memos = AsyncMemOS(tmp_path / "home", embedder="none", llm=model, reading="fast")
    async with before(memos) as client:
        first = await client.chat.completions.create(
            model="m", messages=ASKED, temperature=0.5, stop=["X"], max_tokens=9
        )
        assert (first.choices[0].message.content, first.choices[0].finish_reason, first.model) == (
            "Noted.",
            "stop",
            "mine:m",
        )
        assert first.usage is not None and first.usage.total_tokens == 7
        asked = asked_of(model)[0]
        assert (asked.temperature, asked.stop, asked.max_tokens) == (0.5, ("X",), 9)
        stream = await client.chat.completions.create(
            model="mine:m", messages=[ASKED[0], {"role": "user", "content": "What is my boat called?"}], stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        got = [chunk async for chunk in stream]
        assert "".join(c.choices[0].delta.content or "" for c in got if c.choices) == "It is Wren."
        assert got[-2].choices[0].finish_reason == "length" and got[-1].usage is not None
        assert "called Wren" in asked_of(model)[1].messages[0].content
        assert [text for _, text in await said(memos)] == [
            "My boat is called Wren.", "Noted.", "What is my boat called?", "It is Wren.",
        ]  # fmt: skip
        used = await memos.llm_usage(by=(), purpose="chat")
        assert (used[0].calls, used[0].input_tokens) == (2, 10)


@pytest.mark.parametrize("more", [
    {"tools": [{"type": "function", "function": {"name": "f"}}]}, {"n": 2}, {"logprobs": True}, {"temperature": "hot"},
    {"response_format": {"type": "json_object"}}, {"messages": [{"role": "tool", "content": "x", "tool_call_id": "c"}]},
    {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, {"stop": 5}, {"stop": {"a": 1}},
    {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": "y"}}},
    {"messages": [{"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]}]},
])  # fmt: skip
async def test_what_it_cannot_be_told_is_refused(tmp_path: Path, more: Any) -> None:
    model = ScriptedModel("Noted.")
    memos = AsyncMemOS(tmp_path / "home", embedder="none", llm=model, reading="fast")  # it reads nothing meanwhile
    async with before(memos) as client:
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(**{"model": "model", "messages": ASKED, **more})
        with pytest.raises(openai.BadRequestError, match="/v1/chat/completions only"):
            await client.responses.create(model="model", input="Hi.")
    assert model.calls == 0


async def test_its_errors_have_a_status_or_end_the_stream(tmp_path: Path) -> None:
    model = scripted(ModelBusy("later", 3.0), ModelTimeout("late"), "one two three")
    memos = AsyncMemOS(tmp_path / "home", embedder="none", llm=model, reading="fast")
    async with before(memos) as client:
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model="model", messages=ASKED)
        assert caught.value.code == "model_busy" and caught.value.response.headers["retry-after"] == "3"
        with pytest.raises(openai.APIStatusError) as caught:
            await client.chat.completions.create(model="model", messages=ASKED, stream=True)
        assert caught.value.code == "model_timeout"
        model.broken_after = (1, ModelTimeout("late"))
        stream = await client.chat.completions.create(model="model", messages=ASKED, stream=True)
        with pytest.raises(openai.APIError, match="late"):
            _ = [chunk async for chunk in stream]
        assert await said(memos) == [("user", "My boat is called Wren."), ("assistant", "one t")]


async def test_anthropic_is_asked_in_its_own_words(tmp_path: Path, llm_server: LlmServer) -> None:
    llm_server.say("Hello there.")
    memos = AsyncMemOS(
        tmp_path / "home", embedder="none", llm_chat="anthropic:claude", llm_chat_url=llm_server.origin, llm_chat_key="sk-anthropic"
    )  # fmt: skip
    async with before(memos) as client:
        stream = await client.chat.completions.create(model="claude", messages=ASKED, stream=True)
        assert "".join([c.choices[0].delta.content or "" async for c in stream]) == "Hello there."
    assert llm_server.requests[0].path.endswith("/messages") and llm_server.requests[0].body["system"].startswith(
        "Be brief."
    )


async def test_other_models_can_be_closed_off_and_the_whole_proxy_too(tmp_path: Path, llm_server: LlmServer) -> None:
    there: Any = {"embedder": "none", "llm_chat": "openai-compatible:stub", "llm_chat_url": llm_server.url}
    async with before(AsyncMemOS(tmp_path / "a", **there), proxy_any_model=False) as client:
        with pytest.raises(openai.BadRequestError, match="no chat model is called 'dear-model'"):
            await client.chat.completions.create(model="dear-model", messages=ASKED)
        assert (await client.chat.completions.create(model="stub", messages=ASKED)).choices
    async with before(AsyncMemOS(tmp_path / "b", **there), proxy=False) as client:
        for call in (client.chat.completions.create(model="stub", messages=ASKED), client.models.retrieve("stub")):
            with pytest.raises(openai.InternalServerError, match="switched off"):
                await call
    async with before(AsyncMemOS(tmp_path / "c", embedder="none")) as client:
        with pytest.raises(openai.InternalServerError, match="no chat model is configured"):
            await client.chat.completions.create(model="stub", messages=ASKED)
        assert (await client.models.list()).data == []


async def test_who_has_used_up_the_tokens_of_the_day_is_told(tmp_path: Path, llm_server: LlmServer) -> None:
    there: Any = {"embedder": "none", "llm_chat": "openai-compatible:stub", "llm_chat_url": llm_server.url}
    memos = AsyncMemOS(tmp_path / "a", **there, llm_tokens_per_user_per_day=5)
    async with before(memos) as client:
        await client.chat.completions.create(model="stub", messages=ASKED, user="ada")
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="stub", messages=ASKED, user="ada")
        assert caught.value.code == "over_budget"
        await client.chat.completions.create(model="stub", messages=ASKED, user="bob")


async def test_too_many_streams_are_refused_before_the_model_is_asked(tmp_path: Path, llm_server: LlmServer) -> None:
    there: Any = {"embedder": "none", "llm_chat": "openai-compatible:stub", "llm_chat_url": llm_server.url}
    async with before(AsyncMemOS(tmp_path / "a", **there), streams=0) as client:
        with pytest.raises(openai.RateLimitError):
            await client.chat.completions.create(model="stub", messages=ASKED, stream=True)
    assert llm_server.requests == []
