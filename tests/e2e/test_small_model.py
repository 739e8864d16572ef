"""Everything that uses a language model, with a real one, over HTTP. It is a small one (0.5 billion weights), so what is asserted is
what must hold for any model: forms are kept, what is stored stays, failures are visible. What it says well is asserted loosely.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from memos import AsyncMemOS
from memos.memory.model import Layer, Status
from memos.models.llm.factory import make_chat_model
from memos.models.llm.port import ChatMessage, ChatRequest
from memos.models.llm.structured import ask_for

pytestmark = pytest.mark.slow


class Person(BaseModel):
    name: str
    city: str


@pytest.fixture
async def memos(model_url: str, tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    made = AsyncMemOS(tmp_path, llm="openai-compatible:small", llm_url=model_url, llm_timeout=300.0, llm_concurrency=1)
    async with made as system:
        yield system


async def test_a_model_answers_and_counts_its_tokens(model_url: str) -> None:
    model = make_chat_model("openai-compatible:small", base_url=model_url, timeout=300.0)
    assert model is not None
    reply = await model.complete(
        ChatRequest((ChatMessage("user", "Say the word hello."),), max_tokens=20, temperature=0)
    )
    assert "hello" in reply.text.lower()
    assert 5 < reply.usage.input_tokens < 200 and 0 < reply.usage.output_tokens <= 20 and not reply.usage.estimated


async def test_a_stream_is_the_whole_answer_in_pieces(model_url: str) -> None:
    model = make_chat_model("openai-compatible:small", base_url=model_url, timeout=300.0)
    assert model is not None
    pieces = [
        piece
        async for piece in model.stream(
            ChatRequest((ChatMessage("user", "Count from one to five in words."),), max_tokens=40, temperature=0)
        )
    ]
    assert len(pieces) > 3
    assert pieces[-1].reply is not None
    assert "".join(piece.text for piece in pieces).strip() == pieces[-1].reply.text.strip()
    assert "\ufffd" not in pieces[-1].reply.text and not pieces[-1].reply.usage.estimated


async def test_an_answer_keeps_the_form_asked_for(model_url: str) -> None:
    model = make_chat_model("openai-compatible:small", base_url=model_url, timeout=300.0)
    assert model is not None
    request = ChatRequest.of("Read the sentence.", "Alice moved to Berlin in May.", max_tokens=60, temperature=0)
    answered = await ask_for(model, request, Person)
    assert answered.value.name == "Alice" and "Berlin" in answered.value.city


async def test_what_is_added_is_read_by_the_model_and_stays_as_it_was_said(memos: AsyncMemOS) -> None:
    said = ["I moved to Berlin in May and work at Siemens now.", "My dog Rex loves the parks here."]
    added = await memos.add([{"role": "user", "content": text} for text in said], user="alice", reading="fine")
    await memos.flush(user="alice")
    raw = [await memos.get(id, user="alice") for id in added.ids]
    assert [m.text for m in raw] == said and all(m.status is Status.ACTIVE for m in raw)
    page = await memos.list(user="alice")
    derived = [m for m in page.items if m.layer is not Layer.TRACE]
    assert any("Berlin" in m.text for m in derived)
    assert all(m.sources and {s.memory_id for s in m.sources} <= set(added.ids) for m in derived if m.slot)


async def test_chat_answers_from_what_is_remembered_and_remembers_the_turn(memos: AsyncMemOS) -> None:
    await memos.add("My dog is called Rex.", user="alice", reading="fast")
    answer = await memos.chat("What is my dog called?", user="alice", max_tokens=40, temperature=0.0)
    assert "Rex" in answer.text
    assert any("Rex" in hit.text for hit in answer.references)
    await memos.flush(user="alice")
    assert any("What is my dog called" in m.text for m in (await memos.list(user="alice")).items)


async def test_feedback_through_the_model_never_deletes_what_it_is_not_about(memos: AsyncMemOS) -> None:
    kept = await memos.add("My sister lives in Bergen.", user="alice", reading="fast")
    await memos.add("I live in Oslo.", user="alice", reading="fast", wait=False)
    result = await memos.feedback("No, I live in Trondheim, not Oslo.", user="alice")
    assert (await memos.get(kept.ids[0], user="alice")).status is Status.ACTIVE
    assert result.record is not None
    now = [m.text for m in (await memos.list(user="alice")).items if m.status is Status.ACTIVE]
    assert not result.understood or any("Trondheim" in text for text in now)
