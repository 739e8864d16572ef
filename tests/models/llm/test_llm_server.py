"""The scripted server speaks the protocol: its vendor's own client understands it, where that is installed."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx2
import pytest

from llm_server import Answer, LlmServer, busy, bytewise, cut, failing, hang


@pytest.fixture
def openai() -> Any:
    return pytest.importorskip("openai")


@pytest.fixture
def client(openai: Any, llm_server: LlmServer) -> Any:
    return openai.AsyncOpenAI(base_url=llm_server.url, api_key="k", max_retries=0, timeout=5)


MESSAGES = [{"role": "user", "content": "hi"}]


async def test_the_real_client_reads_a_whole_answer(llm_server: LlmServer, client: Any) -> None:
    llm_server.say(Answer('{"a": 1}', reasoning="hm"))
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    got = await client.chat.completions.create(model="m", messages=MESSAGES, response_format=schema)
    assert got.choices[0].message.content == '{"a": 1}'
    assert got.choices[0].message.reasoning_content == "hm"
    assert got.choices[0].finish_reason == "stop"
    assert got.usage.prompt_tokens == 1
    assert llm_server.requests[0].body["response_format"] == schema
    assert (
        llm_server.requests[0].headers[
            "authorization" if "authorization" in llm_server.requests[0].headers else "Authorization"
        ]
        == "Bearer k"
    )


async def test_the_real_client_reads_a_stream_byte_by_byte(llm_server: LlmServer, client: Any) -> None:
    text = '你好世界🦀 {"city":"杭州"}'
    llm_server.say(bytewise(text))
    events = await client.chat.completions.create(
        model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in events]
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == text
    assert chunks[-1].usage.completion_tokens > 0


async def test_the_real_client_names_the_failures(llm_server: LlmServer, client: Any, openai: Any) -> None:
    llm_server.say(busy(2), failing(500))
    with pytest.raises(openai.RateLimitError) as caught:
        await client.chat.completions.create(model="m", messages=MESSAGES)
    assert caught.value.response.headers["retry-after"] == "2"
    with pytest.raises(openai.InternalServerError):
        await client.chat.completions.create(model="m", messages=MESSAGES)
    llm_server.say(cut(3))
    stream = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    with pytest.raises((openai.APIError, httpx2.HTTPError)):
        _ = [chunk async for chunk in stream]


async def test_models_are_listed(llm_server: LlmServer, client: Any) -> None:
    assert [m.id async for m in client.models.list()] == ["stub"]


async def test_a_hanging_answer_does_not_keep_the_server_from_closing() -> None:
    server = LlmServer()
    server.say(hang())
    async with httpx2.AsyncClient() as http:
        with pytest.raises(httpx2.TimeoutException):
            await http.post(f"{server.url}/chat/completions", json={"messages": []}, timeout=0.2)
    begun = time.monotonic()
    server.close()
    assert time.monotonic() - begun < 2


def test_a_refused_field_is_answered_400(llm_server: LlmServer) -> None:
    llm_server.refuses.add("temperature")
    answer = httpx2.post(f"{llm_server.url}/chat/completions", json={"messages": [], "temperature": 0})
    assert answer.status_code == 400
    assert "temperature" in json.loads(answer.text)["error"]["message"]
