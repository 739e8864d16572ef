"""What language models used, through the client and a real server with a model behind a real socket."""

from __future__ import annotations

import time
from datetime import date

import pytest
from serving import Starter

from llm_server import LlmServer
from memos.client import Client
from memos.errors import AccessDenied, InvalidInput, OverBudget
from memos.sync import MemOS


def test_usage_and_budget_are_those_of_the_library(serve: Starter) -> None:
    with LlmServer() as llm:
        live = serve(
            MEMOS_LLM="openai-compatible:stub",
            MEMOS_LLM_URL=llm.url,
            MEMOS_LLM_PRICES="stub=1/2",
            MEMOS_LLM_TOKENS_PER_USER_PER_DAY="1",
            MEMOS_READING="fast",
        )
        with Client(live.url, timeout=30) as client:
            client.chat("Hi.", user="ann", add=False)
            (found,) = client.llm_usage()
            assert isinstance(found.day, date)
            assert (found.user, found.purpose, found.calls, found.failed) == ("ann", "chat", 1, 0)
            assert found.cost_micros == found.input_tokens + 2 * found.output_tokens > 0
            with MemOS(live.home, embedder="none", background=False) as library:
                assert library.llm_usage() == (found,)
                assert library.llm_usage(by=()) == client.llm_usage(by=())
            assert client.llm_usage(by=["model"], since=found.day, until=found.day)[0].user is None
            with pytest.raises(InvalidInput):
                client.llm_usage(purpose="fun")
        with MemOS(live.home, embedder="none", background=False) as library:
            _, secret = library.accounts.create_key("bob")
        with Client(live.url, secret, timeout=30) as bob:
            assert bob.llm_usage() == bob.llm_usage(by=()) == ()
            with pytest.raises(AccessDenied):
                bob.llm_usage(user="ann")
            bob.chat("Hi.", add=False)
            begun = time.monotonic()
            with pytest.raises(OverBudget, match="tokens") as caught:
                bob.chat("Hi.", add=False)
            assert caught.value.retry_after > 1 and time.monotonic() - begun < 20
