"""LlamaIndex's memory over a cube, by the real package: the chat store next to its own, an agent and a chat engine with a
scripted model. Run by `tests/compat/test_compat_frameworks.py` in an environment that has LlamaIndex.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ImageBlock, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus
from llama_index.core.storage.chat_store.sql import SQLAlchemyChatStore

from memos import AsyncMemOS, MemOS
from memos.client import AsyncClient, Client
from memos.compat.llama_index import MemosChatStore, MemosMemoryBlock, memos_memory
from memos.errors import InvalidInput, Unavailable
from memos.memory.model import Status

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
MESSAGES = [
    ChatMessage(role="user", content="What is the weather in Oslo?"),
    ChatMessage(
        role="assistant", blocks=[ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Oslo"})]
    ),
    ChatMessage(role="tool", content="Rain, 4 degrees", additional_kwargs={"tool_call_id": "c1"}),
    ChatMessage(role="assistant", content="It rains."),
    ChatMessage(role="user", blocks=[TextBlock(text="And this?"), ImageBlock(image=PIXEL, image_mimetype="image/png")]),
    ChatMessage(role="user", content=""),
    ChatMessage(role=MessageRole.CHATBOT, content="Nothing to see."),
    ChatMessage(role="user", content="What is the weather in Oslo?"),
]


async def ask(memory: Any, verb: str, *args: Any, **options: Any) -> Any:
    answer = getattr(memory, verb)(*args, **options)
    return await answer if asyncio.iscoroutine(answer) else answer


def dumps(messages: Sequence[ChatMessage]) -> list[Any]:
    return [m.model_dump(mode="json") for m in messages]


async def test_a_store_keeps_what_llama_indexes_own_store_keeps(memory: Any, ada: str) -> None:
    theirs, ours = SQLAlchemyChatStore("t"), MemosChatStore(memory, user=ada)

    async def both(verb: str, *args: Any, **options: Any) -> None:
        one, two = await getattr(theirs, verb)(*args, **options), await getattr(ours, verb)(*args, **options)
        assert (dumps(one) if isinstance(one, list) and verb != "get_keys" else one) == (
            dumps(two) if isinstance(two, list) and verb != "get_keys" else two
        ), verb

    async def same() -> None:
        for status in (MessageStatus.ACTIVE, MessageStatus.ARCHIVED, None):
            await both("get_messages", "trip", status=status)
            await both("count_messages", "trip", status=status)

    await same()
    await both("add_messages", "trip", MESSAGES[:5])
    await both("add_message", "trip", MESSAGES[5])
    await both("add_messages", "trip", MESSAGES[6:])
    await both("add_messages", "other", MESSAGES[:1])
    await same()
    await both("get_messages", "trip", limit=2, offset=1)
    await both("get_keys")
    await both("archive_oldest_messages", "trip", 3)
    await same()
    await both("delete_oldest_messages", "trip", 2)
    await same()
    await both("set_messages", "trip", [*MESSAGES[:2], MESSAGES[6]])
    await same()
    await both("delete_messages", "trip", status=MessageStatus.ARCHIVED)
    await both("delete_messages", "trip")
    await same()
    await both("get_keys")
    assert await ours.delete_message("other", 3) is None
    assert dumps([await ours.delete_message("other", 0)]) == dumps(MESSAGES[:1])


async def test_setting_the_same_history_again_reads_nothing_again(memos: MemOS) -> None:
    store = MemosChatStore(memos)
    await store.set_messages("s", MESSAGES[:4])
    before = [m.id for m in memos.list(kinds=["trace"]).items]
    await store.set_messages("s", [*MESSAGES[:4], MESSAGES[6]])
    after = memos.list(kinds=["trace"]).items
    assert [m.id for m in after][1:] == before and after[0].text == "Nothing to see."
    await store.set_messages("s", MESSAGES[:1])
    assert [m.id for m in memos.list(kinds=["trace"]).items] == before[-1:]


async def test_a_history_that_cannot_be_kept_takes_nothing_away(memos: MemOS, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise Unavailable("the disk is full")

    store = MemosChatStore(memos)
    await store.set_messages("s", MESSAGES[:4])
    monkeypatch.setattr(memos, "add", full)
    with pytest.raises(Unavailable):
        await store.set_messages("s", MESSAGES[6:])
    assert await store.count_messages("s") == 4


class Scripted:
    """A model that says what it is told to, and keeps what it was shown."""

    def __init__(self, *answers: str | ToolCallBlock) -> None:
        self.answers, self.shown = list(answers), list[list[ChatMessage]]()
        self.llm = MockFunctionCallingLLM(response_generator=self.say, is_chat_model=True)

    def say(self, messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        self.shown.append(list(messages))
        answer = self.answers.pop(0)
        return ChatMessage(
            role="assistant", **({"content": answer} if isinstance(answer, str) else {"blocks": [answer]})
        )

    def known(self) -> str:
        """What stood in the system's part of the last prompt."""
        return "\n".join(str(m.content) for m in self.shown[-1] if m.role == MessageRole.SYSTEM)


def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


async def test_an_agent_goes_on_and_knows_what_was_said_elsewhere(memory: Any, ada: str) -> None:
    call = ToolCallBlock(tool_call_id="c1", tool_name="weather", tool_kwargs={"city": "Oslo"})
    model = Scripted(call, "It rains in Oslo.", "You asked about Oslo.", "Behind the door.")
    agent = FunctionAgent(tools=[weather], llm=model.llm, streaming=False)
    await agent.run(
        "The keys hang behind the door. What is the weather in Oslo?", memory=memos_memory(memory, "w", user=ada)
    )
    first = await memos_memory(memory, "w", user=ada).aget_all()
    assert [m.role.value for m in first] == ["user", "assistant", "tool", "assistant"]
    assert first[2].content == "rain in Oslo"

    again = await agent.run("What did I ask?", memory=memos_memory(memory, "w", user=ada))
    assert str(again) == "You asked about Oslo."
    assert [m.role.value for m in model.shown[-1] if m.role != MessageRole.SYSTEM] == [m.role.value for m in first] + [
        "user"
    ]
    assert model.known() == ""  # what stands in the window is not told again

    elsewhere = await agent.run("Where do the keys hang?", memory=memos_memory(memory, "another", user=ada))
    assert str(elsewhere) == "Behind the door." and "behind the door" in model.known()
    kept = (await ask(memory, "list", user=ada, kinds=["trace"])).items
    assert not any("memos-context" in m.text for m in kept)  # what was recalled is not learned


def test_a_chat_engine_runs_synchronously(memos: MemOS) -> None:
    memos.add("My dog is called Bruno.", user="ada")
    model = Scripted("Bruno.", "Still Bruno.")
    engine = SimpleChatEngine.from_defaults(llm=model.llm, memory=memos_memory(memos, "pets", user="ada"))
    assert str(engine.chat("What is my dog called?")) == "Bruno." and "Bruno" in model.known()
    assert str(engine.chat("And now?")) == "Still Bruno."
    assert [m.content for m in engine.chat_history] == ["What is my dog called?", "Bruno.", "And now?", "Still Bruno."]
    engine.reset()
    assert engine.chat_history == [] and memos.search("dog", user="ada").hits[0].text == "My dog is called Bruno."


async def test_what_leaves_the_window_is_recalled(memory: Any, ada: str) -> None:
    long = memos_memory(memory, "long", user=ada, token_limit=200, token_flush_size=60, max_tokens=100)
    await long.aput(ChatMessage(role="user", content="I live in Bergen, at the harbour."))
    await long.aput(ChatMessage(role="assistant", content="Nice to know."))
    for number in range(12):
        await long.aput(ChatMessage(role="user", content=f"Tell me a story about the number {number}, please."))
        await long.aput(ChatMessage(role="assistant", content=f"Once upon a time there was the number {number}."))
    shown = await long.aget(input="Where do I live?")
    assert "Bergen" in str(shown[0].content) and not any("Bergen" in str(m.content) for m in shown[1:])
    assert len(await long.aget_all()) == 26  # all of it is kept, once
    assert await ask(memory, "count", user=ada, kinds=["trace"]) == 26


async def test_a_block_alone_learns_what_leaves_the_window(memos: MemOS) -> None:
    block = MemosMemoryBlock(memos, user="ada", name="known")
    window = Memory.from_defaults("s", token_limit=120, token_flush_size=30, memory_blocks=[block])
    await window.aput(ChatMessage(role="user", content="I live in Bergen, at the harbour."))
    await window.aput(ChatMessage(role="assistant", content="Nice to know."))
    for number in range(8):
        await window.aput(ChatMessage(role="user", content=f"Tell me a story about the number {number}, please."))
        await window.aput(ChatMessage(role="assistant", content=f"Once upon a time there was {number}."))
    memos.flush(user="ada")
    assert any("Bergen" in m.text for m in memos.list(user="ada", kinds=["fact", "event", "profile"]).items)
    assert "Bergen" in str((await window.aget(input="Where do I live?"))[0].content)
    assert await block.aget([ChatMessage(role="assistant", content="Hello")]) == "" == await block.aget()


async def test_chinese_is_recalled(memos: MemOS) -> None:
    await memos_memory(memos, "one").aput(ChatMessage(role="user", content="我把钥匙挂在门后面了。"))
    shown = await memos_memory(memos, "two").aget(input="钥匙在哪里？")
    assert "钥匙挂在门后面" in str(shown[0].content)
    assert await MemosChatStore(memos).get_keys() == ["one"]


async def test_sessions_and_users_are_apart(memory: Any, ada: str) -> None:
    one, two = memos_memory(memory, "one", user=ada), memos_memory(memory, "one", user=f"{ada}-other")
    await one.aput(ChatMessage(role="user", content="The keys hang behind the door."))
    assert await two.aget_all() == [] and await memos_memory(memory, "two", user=ada).aget_all() == []
    assert await memos_memory(memory, "two", user=f"{ada}-other").aget(input="Where are the keys?") == []
    await one.areset()
    assert await one.aget_all() == []


async def test_other_records_of_the_session_stay(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.add("said elsewhere in this session", session="trip")
        store = MemosChatStore(memos, derive=False, hard=False)
        await store.add_message("trip", ChatMessage(role="user", content="I live in Rome."))
        await store.delete_messages("trip")
        kept = (await memos.list(include_inactive=True)).items
        assert {(m.text, m.status) for m in kept} == {
            ("said elsewhere in this session", Status.ACTIVE),
            ("I live in Rome.", Status.RETRACTED),
        }


async def test_a_memory_that_is_away_is_no_empty_memory() -> None:
    async with AsyncClient("http://127.0.0.1:9", attempts=1, timeout=5) as away:
        with pytest.raises(Unavailable):
            await memos_memory(away, "s").aget(input="Where are my keys?")
    with Client("http://127.0.0.1:9", attempts=1, timeout=5) as gone, pytest.raises(Unavailable):
        await MemosMemoryBlock(gone).aget([ChatMessage(role="user", content="Where are my keys?")])


async def test_the_wrong_thing_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no memory"):
        MemosChatStore(object())
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        memory = memos_memory(memos, "s")
        await memory.aput(ChatMessage(role="user", content="hello"))
        with pytest.raises(InvalidInput, match="event loop"):  # LlamaIndex runs it in a loop of its own
            await asyncio.to_thread(memory.get_all)
