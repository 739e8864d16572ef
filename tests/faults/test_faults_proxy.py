"""What people met in proxies before a model: one slow answer keeps the others waiting, and more is asked than will be answered."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

sys.path.append(str(Path(__file__).parents[1] / "server"))

from serving import Live, Starter

from llm_server import Answer, LlmServer

STREAMS = 20


@pytest.fixture(scope="module")
def upstream() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory, upstream: LlmServer) -> Iterator[Live]:
    start = Starter(tmp_path_factory.mktemp("proxied"))
    try:
        there = {"MEMOS_LLM_CHAT": "openai-compatible:stub", "MEMOS_LLM_CHAT_URL": upstream.url}
        yield start(MEMOS_SERVER_STREAMS=str(STREAMS), **there)
    finally:
        start.end()


def asked(number: int, stream: bool = True) -> dict[str, Any]:
    said = [{"role": "user", "content": f"Boat {number} is called Wren."}]
    return {"json": {"model": "stub", "stream": stream, "messages": said}, "headers": {"X-Memory-User": f"u{number}"}}


def test_twenty_slow_streams_all_begin_at_once(live: Live, upstream: LlmServer, wait_for: Callable[..., None]) -> None:
    """Proxied calls took the slots of MEMOS_LLM_CONCURRENCY: the fifth waited until one of the first four had ended."""
    upstream.otherwise = Answer("x" * 300, piece=1, pause=0.1)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(live.client())
        heard = []  # what nobody holds is closed
        for number in range(STREAMS):
            answer = stack.enter_context(client.stream("POST", "/v1/chat/completions", **asked(number)))
            heard.append(answer.iter_bytes())
            assert answer.status_code == 200 and next(heard[-1])
        assert upstream.at_once == STREAMS
        refused = client.post("/v1/chat/completions", **asked(STREAMS))
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
        upstream.otherwise = "Hello."
        whole = client.post("/v1/chat/completions", **asked(STREAMS, stream=False))
        assert whole.status_code == 200, "what is no stream is not counted as one"
    wait_for(lambda: upstream.at_once == 0)


def test_no_more_is_asked_of_the_model_than_will_be_answered(
    live: Live, upstream: LlmServer, wait_for: Callable[..., None]
) -> None:
    """Streams that had not begun yet were not counted: all were asked for, and paid, and those above the limit thrown away."""
    upstream.requests.clear()
    upstream.otherwise = Answer("one two three", delay=1.5)
    told: list[int] = []

    def ask(number: int) -> None:
        told.append(httpx2.post(f"{live.url}/v1/chat/completions", timeout=30, **asked(number)).status_code)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2 * STREAMS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told.count(200) == len(upstream.requests) >= STREAMS
    assert told.count(200) + told.count(429) == 2 * STREAMS and told.count(429) > 0
    upstream.otherwise = "Hello."
    with live.client() as client:
        assert client.post("/v1/chat/completions", **asked(0)).status_code == 200, "and their places are free again"
