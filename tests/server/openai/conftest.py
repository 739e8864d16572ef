"""A running `memos serve` in front of a model's server on this machine, and the real `openai` client."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest
from proxied import Front
from serving import Starter

from llm_server import LlmServer


@pytest.fixture(scope="session")
def upstream() -> Iterator[LlmServer]:
    with LlmServer() as running:
        yield running


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, upstream: LlmServer) -> Iterator[Front]:
    start = Starter(tmp_path_factory.mktemp("proxied"))
    try:
        live = start(
            MEMOS_LLM_CHAT="openai-compatible:stub",
            MEMOS_LLM_CHAT_URL=upstream.url,
            MEMOS_LLM_CHAT_KEY="sk-upstream-secret",
            MEMOS_LLM_TIMEOUT="5",
            MEMOS_LLM_CONCURRENCY="16",
            MEMOS_SERVER_BODY_MB="1",
            MEMOS_SERVER_TEXT_CHARS="50000",
            MEMOS_SERVER_AUTH="on",
        )
        yield Front(live, upstream)
    finally:
        start.end()


@pytest.fixture
def front(served: Front) -> Front:
    """The server, with nothing scripted and nothing heard yet."""
    served.upstream.script.clear()
    served.upstream.requests.clear()
    served.upstream.otherwise = "Hello."
    served.users += 1
    return served


@pytest.fixture
def client(front: Front) -> Iterator[openai.OpenAI]:
    with front.client(front.user) as made:
        yield made
