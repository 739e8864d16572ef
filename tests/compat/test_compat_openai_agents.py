"""The OpenAI Agents SDK's session over a cube, by the real package: its protocol, and a Runner with a scripted model."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents.memory", reason="needs memos[openai-agents]: the OpenAI Agents SDK is not installed")

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from agents.memory import Session, SQLiteSession
from openai import AsyncOpenAI

from llm_server import Answer, LlmServer
from memos import AsyncMemOS, MemOS
from memos.compat.openai_agents import MemosSession
from memos.errors import InvalidInput
from memos.memory.model import Status

ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather in Oslo?"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I have to look."}]},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "Rain, 4 degrees"},
    {"type": "message", "role": "assistant", "id": "m1", "status": "completed",
     "content": [{"type": "output_text", "text": "It rains.", "annotations": [], "logprobs": None}]},
    {"role": "user", "content": [{"type": "input_text", "text": "And this?"}, {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0K"}]},
    {"role": "user", "content": ""},
    {"role": "user", "content": "What is the weather in Oslo?"},
]  # fmt: skip


async def test_items_come_back_as_they_were_in_order(memory: Any, ada: str) -> None:
    session = MemosSession("trip", memory, user=ada)
    assert isinstance(session, Session) and session.session_id == "trip"
    assert await session.get_items() == [] and await session.pop_item() is None
    await session.add_items([])
    await session.add_items(ITEMS[:3])
    await session.add_items(ITEMS[3:])
    assert await session.get_items() == ITEMS
    assert await session.get_items(limit=2) == ITEMS[-2:] and await session.get_items(limit=99) == ITEMS
    assert await session.get_items(limit=0) == [] and await session.get_items(limit=-1) == ITEMS
    assert await MemosSession("trip", memory, user=ada, session_settings={"limit": 3}).get_items() == ITEMS[-3:]
    assert await session.pop_item() == ITEMS[-1] and await session.pop_item() == ITEMS[-2]
    assert await session.get_items() == ITEMS[:-2]
    again = MemosSession("trip", memory, user=ada)
    await again.add_items([ITEMS[0]])
    assert await session.get_items(1) == [ITEMS[0]]
    await session.clear_session()
    assert await again.get_items() == [] and await again.pop_item() is None
    await session.clear_session()


async def test_sessions_and_users_are_apart(memory: Any, ada: str) -> None:
    one, two = MemosSession("one", memory, user=ada), MemosSession("two", memory, user=ada)
    other = MemosSession("one", memory, user=f"{ada}-other")
    for number, session in enumerate((one, two, other)):
        await session.add_items([{"role": "user", "content": f"message {number}"}])
    await one.clear_session()
    assert await one.get_items() == []
    assert await two.get_items() == [{"role": "user", "content": "message 1"}]
    assert await other.get_items() == [{"role": "user", "content": "message 2"}]


async def test_what_was_said_is_known_afterwards(memory: Any, ada: str) -> None:
    session = MemosSession("trip", memory, user=ada)
    await session.add_items(
        [
            {"role": "user", "content": "I moved to Bergen and my dog is called Bruno."},
            {"type": "function_call", "call_id": "c", "name": "note", "arguments": '{"text": "I live in Paris."}'},
            {"type": "function_call_output", "call_id": "c", "output": "I live in London."},
        ]
    )

    async def ask(verb: str, *args: Any, **options: Any) -> Any:
        answer = getattr(memory, verb)(*args, user=ada, **options)
        return await answer if asyncio.iscoroutine(answer) else answer

    await ask("flush")
    facts = [m.text for m in (await ask("list", kinds=["fact", "event", "profile"])).items]
    assert any("Bergen" in f for f in facts) and not any("Paris" in f or "London" in f for f in facts)
    assert "Bruno" in (await ask("search", "what is my dog called?")).hits[0].text
    await session.clear_session()
    assert await ask("count", include_inactive=True) == 0  # with what was read from it


async def test_other_records_of_the_session_stay(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.add("said elsewhere in this session", session="trip")
        session = MemosSession("trip", memos, derive=False, hard=False)
        await session.add_items([{"role": "user", "content": "I live in Rome."}])
        assert len(await session.get_items()) == 1
        await session.pop_item()
        kept = (await memos.list(include_inactive=True)).items
        assert {(m.text, m.status) for m in kept} == {
            ("said elsewhere in this session", Status.ACTIVE),
            ("I live in Rome.", Status.RETRACTED),
        }
        await session.add_items([{"role": "user", "content": "I live in Rome."}])
        assert await session.get_items() == [{"role": "user", "content": "I live in Rome."}]


async def test_answers_are_those_of_the_sdks_own_session(memos: MemOS) -> None:
    theirs, ours = SQLiteSession("s"), MemosSession("s", memos)
    for step in (*ITEMS, None, *ITEMS[:2], None, None):
        if step is None:
            assert await theirs.pop_item() == await ours.pop_item()
        else:
            await theirs.add_items([step, step])
            await ours.add_items([step, step])
        for limit in (None, 0, 1, 3):
            assert await theirs.get_items(limit) == await ours.get_items(limit)
    theirs.close()


def test_a_session_needs_a_name(memos: MemOS) -> None:
    for bad in ("", "a\nb", "x" * 300):
        with pytest.raises(InvalidInput):
            MemosSession(bad, memos)


async def test_a_runner_goes_on_where_the_conversation_was(memory: Any, ada: str, llm_server: LlmServer) -> None:
    @function_tool
    def weather(city: str) -> str:
        """The weather in a city."""
        return f"rain in {city}"

    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    asked = {
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", "logprobs": None}],
    }  # fmt: skip
    llm_server.say(Answer(raw=json.dumps(asked).encode()), "It rains in Oslo.", "You asked about Oslo.")
    model = OpenAIChatCompletionsModel("m", AsyncOpenAI(api_key="x", base_url=llm_server.url))
    agent = Agent(name="helper", model=model, tools=[weather])
    quiet = RunConfig(tracing_disabled=True)
    first = await Runner.run(
        agent, "What is the weather in Oslo?", session=MemosSession("w", memory, user=ada), run_config=quiet
    )
    assert first.final_output == "It rains in Oslo."
    later = await Runner.run(agent, "What did I ask?", session=MemosSession("w", memory, user=ada), run_config=quiet)
    assert later.final_output == "You asked about Oslo."
    sent = llm_server.requests[-1].body["messages"]
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[2]["content"] == "rain in Oslo" and sent[-1]["content"] == "What did I ask?"
    assert len(await MemosSession("w", memory, user=ada).get_items()) == 6
