"""Chat through a real server with a model behind a real socket: readers who leave, models that die, bytes that come one by one.

R043 (a turn whose reader left is kept), R081 (characters are never cut), R064 (stored text cannot speak as instructions).
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import Live, Starter

from llm_server import Answer, LlmServer, busy, bytewise, cut, failing
from memos.client import AsyncClient, Client
from memos.errors import ModelBusy

BYTES = '你好世界🦀 {"city":"杭州"}'
STREAMS = {
    "/v1/chat": {"user": "u", "stream": True},
    "/product/chat/stream": {"user_id": "u"},
    "/product/chat/stream/playground": {"user_id": "u"},
    "/api/openmem/v1/chat": {"user_id": "u", "stream": True},
}


@pytest.fixture(scope="module")
def llm() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.fixture(scope="module")
def chatting(llm: LlmServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    start = Starter(tmp_path_factory.mktemp("chat"))
    try:
        yield start(**of(llm))
    finally:
        start.end()


def of(llm: LlmServer) -> dict[str, str]:
    """The settings of a server that uses this model for chat."""
    return {"MEMOS_LLM": "openai-compatible:stub", "MEMOS_LLM_URL": llm.url, "MEMOS_READING": "fast"}


def streamed(live: Live, path: str, query: str, user: str) -> list[dict[str, Any]]:
    with live.client() as client:
        answer = client.post(path, json=asked(path, query, user))
    assert answer.status_code == 200, answer.text
    return [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n\n") if line.startswith("data: ")]


def asked(path: str, query: str, user: str) -> dict[str, Any]:
    body = {name: user if value == "u" else value for name, value in STREAMS[path].items()}
    return {"query": query, **body}


def text_of(frames: list[dict[str, Any]], kind: str = "text") -> str:
    return "".join(frame.get("data", frame.get("text")) for frame in frames if frame["type"] == kind)


def kept(live: Live, user: str, least: int) -> list[tuple[str, str, str | None]]:
    """Role, text and mark of what a user's memory holds, once there are so many."""
    until = time.monotonic() + 15
    while True:
        with live.client() as client:
            items = client.post("/v1/memories/list", json={"user": user, "kinds": ["trace"], "order": "oldest"}).json()[
                "items"
            ]
        if len(items) >= least or time.monotonic() > until:
            return [(item["role"], item["text"], item["info"].get("incomplete")) for item in items]
        time.sleep(0.05)


@pytest.mark.parametrize("path", STREAMS)
def test_who_leaves_after_one_chunk_is_remembered(chatting: Live, llm: LlmServer, path: str) -> None:
    llm.say(Answer("Your boat is called Wren. " * 40, pause=0.02))
    user = f"leaver {path}"
    with (
        chatting.client() as client,
        client.stream("POST", path, json=asked(path, "Remember my boat is Wren", user)) as answer,
    ):
        for line in answer.iter_lines():
            if '"text"' in line and "Your" in line:
                break
    question, partial = kept(chatting, user, 2)
    assert question == ("user", "Remember my boat is Wren", None)
    assert partial[0] == "assistant" and partial[2] == "left" and "Your boat" in partial[1] + " boat"
    with chatting.client() as client:
        found = client.post("/v1/memories/search", json={"user": user, "query": "what is the boat called"}).json()
    assert "Wren" in found["context"]


@pytest.mark.parametrize("path", STREAMS)
def test_a_model_that_dies_in_the_middle_is_an_event(chatting: Live, llm: LlmServer, path: str) -> None:
    llm.say(cut(4, "an answer that is cut in the middle"))
    user = f"cut {path}"
    frames = streamed(chatting, path, "Remember my boat is Wren", user)
    types = [frame["type"] for frame in frames]
    assert "error" in types and text_of(frames)
    if path in ("/v1/chat", "/product/chat/stream/playground"):
        assert types[-1] == "end"
    question, partial = kept(chatting, user, 2)
    assert question[1] == "Remember my boat is Wren" and partial[1:] == (text_of(frames).strip(), "failed")


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("write", [1, 3])
def test_bytes_one_by_one_lose_no_character(chatting: Live, llm: LlmServer, path: str, write: int) -> None:
    llm.say(bytewise(BYTES, write, piece=1))
    user = f"bytes {write} {path}"
    frames = streamed(chatting, path, "城市？", user)
    assert text_of(frames) == BYTES
    assert kept(chatting, user, 2) == [("user", "城市？", None), ("assistant", BYTES, None)]


@pytest.mark.parametrize("path", STREAMS)
def test_thinking_is_told_apart_and_not_kept(chatting: Live, llm: LlmServer, path: str) -> None:
    llm.say(Answer("<think>Is it Wren?</think>\n\nIt is Wren.", piece=3))
    user = f"thinks {path}"
    frames = streamed(chatting, path, "What is my boat?", user)
    assert text_of(frames).strip() == "It is Wren." and text_of(frames, "reasoning").strip() == "Is it Wren?"
    assert "Is it Wren?" not in str(kept(chatting, user, 2))


def test_thinking_of_a_whole_answer_too(chatting: Live, llm: LlmServer) -> None:
    llm.say("<think>Is it Wren?</think>\n\nIt is Wren.")
    with chatting.client() as client:
        told = client.post("/product/chat/complete", json={"user_id": "whole", "query": "My boat?"}).json()
    assert told["data"] == {"response": "It is Wren.", "reasoning": "Is it Wren?"}


def test_a_model_that_refuses_keeps_the_question(chatting: Live, llm: LlmServer) -> None:
    llm.say(failing(400, "bad request"))
    with chatting.client() as client:
        answer = client.post("/product/chat/complete", json={"user_id": "refused", "query": "Remember my boat is Wren"})
    assert answer.status_code == 503 and answer.json()["error"].startswith("model")
    assert kept(chatting, "refused", 1) == [("user", "Remember my boat is Wren", None)]


@pytest.mark.parametrize("path", ["/v1/chat", "/product/chat/complete", "/api/openmem/v1/chat"])
def test_a_busy_model_says_for_how_long(chatting: Live, llm: LlmServer, path: str) -> None:
    llm.say(busy(3600))
    with chatting.client() as client:
        answer = client.post(path, json={"user" if path == "/v1/chat" else "user_id": "busy", "query": "hi"})
    assert (answer.status_code, answer.headers.get("Retry-After")) == (503, "3600")


def test_a_busy_model_says_it_to_the_client_too(chatting: Live, llm: LlmServer) -> None:
    llm.say(busy(1800))
    with Client(chatting.url, user="busy") as client, pytest.raises(ModelBusy) as caught:
        client.chat("hi")
    assert caught.value.retry_after == 1800


def test_sampling_reaches_the_provider(chatting: Live, llm: LlmServer) -> None:
    with chatting.client() as client:
        for path in ("/product/chat/complete", "/product/chat/stream"):
            body = {"user_id": "s", "query": "hi", "temperature": 0.25, "top_p": 0.5, "max_tokens": 33}
            assert client.post(path, json=body).status_code == 200
            sent = llm.requests[-1].body
            assert (sent["temperature"], sent["top_p"], sent["max_tokens"]) == (0.25, 0.5, 33)
            assert [m["role"] for m in sent["messages"]] == ["system", "user"]


class TestTheClient:
    def test_chats_in_ordinary_code(self, chatting: Live, llm: LlmServer) -> None:
        with Client(chatting.url, user="sdk") as client:
            client.add("I live in Bergen.", wait=True)
            llm.say("In Bergen.", Answer("In Bergen, still."))
            answer = client.chat("Where do I live?", session="s", history=[{"role": "user", "content": "hi"}])
            assert answer.text == "In Bergen." and answer.references[0].memory.text == "I live in Bergen."
            assert [client.get(id).session for id in answer.added] == ["s", "s"]
            events = list(client.chat_stream("Where do I live?"))
            assert "".join(e.text for e in events if e.type == "text") == "In Bergen, still."
            assert events[-1].type == "end" and events[-1].finish == "stop"
            assert client.chat_models() == ("openai-compatible:stub",)
            assert len(client.suggest([{"role": "user", "content": "hi"}], language="en")) == 3

    def test_that_leaves_a_stream_is_remembered(self, chatting: Live, llm: LlmServer) -> None:
        llm.say(Answer("Wren, a fine name. " * 40, pause=0.02))
        with Client(chatting.url, user="sdk leaver") as client:
            for event in client.chat_stream("Remember my boat is Wren"):
                if event.type == "text":
                    break
        assert kept(chatting, "sdk leaver", 2)[1][2] == "left"

    async def test_chats_in_asyncio(self, chatting: Live, llm: LlmServer) -> None:
        llm.say("Hello.", cut(3))
        async with AsyncClient(chatting.url, user="sdk async") as client:
            assert (await client.chat("hi")).text == "Hello."
            events = [event async for event in client.chat_stream("hi")]
            assert [e.type for e in events][-4:] == ["error", "time", "added", "end"]


def test_a_server_that_stops_in_the_middle_keeps_the_turn(serve: Starter, llm: LlmServer, tmp_path: Path) -> None:
    live = serve(home=tmp_path / "stopping", **of(llm))
    llm.say(Answer("Your boat is called Wren. " * 400, pause=0.05))
    body = asked("/product/chat/stream", "Remember my boat is Wren", "stopped")
    with live.client() as client, client.stream("POST", "/product/chat/stream", json=body) as answer:
        next(answer.iter_lines())
        assert live.stop() == 0
    again = serve(home=tmp_path / "stopping", **of(llm))
    assert kept(again, "stopped", 1)[0][:2] == ("user", "Remember my boat is Wren")


def test_a_server_that_stops_tells_every_reader_that_the_answer_is_not_whole(
    serve: Starter, llm: LlmServer, tmp_path: Path
) -> None:
    """Most of these streams just end after their last word: a half answer could be taken for a whole one."""
    live = serve(home=tmp_path / "telling", **of(llm))
    llm.otherwise = Answer("Your boat is called Wren. " * 400, pause=0.05)
    try:
        with live.client() as client, contextlib.ExitStack() as open_streams:
            lines: dict[str, Iterator[str]] = {}
            for path in STREAMS:
                body = asked(path, "Remember my boat is Wren", f"told {path}")
                answer = open_streams.enter_context(client.stream("POST", path, json=body))
                lines[path] = (line for line in answer.iter_lines() if line.startswith("data: "))
                next(line for line in lines[path] if '"text"' in line and '"type"' in line)
            live.process.send_signal(signal.SIGTERM)
            last = {path: json.loads(list(rest)[-1].removeprefix("data: ")) for path, rest in lines.items()}
        assert live.stop() == 0
    finally:
        llm.otherwise = "Hello."
    assert {path: event["type"] for path, event in last.items()} == dict.fromkeys(STREAMS, "error")
    assert all("stopping" in str(event) for event in last.values())


@pytest.mark.parametrize("path", ["/v1/chat", "/product/chat/stream", "/api/openmem/v1/chat"])
def test_a_prompt_of_the_callers_has_a_limit_too(chatting: Live, llm: LlmServer, path: str) -> None:
    before = len(llm.requests)
    with chatting.client() as client:
        answer = client.post(path, json=asked(path, "hi", "long") | {"system_prompt": "a" * 200_001})
    assert "system_prompt has 200,001 characters" in answer.text
    assert len(llm.requests) == before


def test_what_is_wrong_in_a_history_is_said_by_its_name(chatting: Live) -> None:
    with chatting.client() as client:
        answer = client.post("/v1/chat", json={"user": "h", "query": "hi", "history": ["hello", 1]})
    assert answer.status_code == 400 and "history[1]" in answer.text


def test_a_page_of_another_site_may_not_read_it(chatting: Live) -> None:
    headers = {"Origin": "https://evil.example"}
    body = {"user_id": "s", "query": "hi"}
    answer = httpx2.post(f"{chatting.url}/product/chat/stream", json=body, headers=headers, timeout=30)
    assert answer.headers.get("access-control-allow-origin") not in ("*", "https://evil.example")
