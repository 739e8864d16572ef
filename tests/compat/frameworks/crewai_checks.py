"""CrewAI's memory over a cube, by the real package: a crew with a scripted model, and every verb of its unified memory. Run by
`tests/compat/test_compat_frameworks.py` in an environment that has CrewAI.
"""

from __future__ import annotations

import asyncio
import copy
from datetime import datetime, timedelta
from typing import Any

import pytest
from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.unified_memory import Memory
from pydantic import PrivateAttr

from memos import MemOS
from memos.client import Client
from memos.compat.crewai import MemosMemory
from memos.errors import InvalidInput, Unavailable
from memos.memory.model import Status


class Scripted(BaseLLM):
    """A model that says what it is told to, and keeps what it was shown. More than that it must not be asked."""

    _answers: list[str] = PrivateAttr(default_factory=list)
    _shown: list[str] = PrivateAttr(default_factory=list)

    def __init__(self, *answers: str) -> None:
        super().__init__(model="scripted")
        self._answers = list(answers)

    def call(self, messages: Any, *args: Any, **kwargs: Any) -> str:
        self._shown.append(messages if isinstance(messages, str) else "\n".join(str(m["content"]) for m in messages))
        return self._answers.pop(0)

    def supports_function_calling(self) -> bool:
        return False

    def supports_stop_words(self) -> bool:
        return False

    def get_context_window_size(self) -> int:
        return 100_000


async def run(memory: Any, work: Any) -> Any:
    """Asynchronous memories serve CrewAI from other threads than theirs."""
    return await asyncio.to_thread(work)


async def ask(memory: Any, verb: str, *args: Any, **options: Any) -> Any:
    answer = getattr(memory, verb)(*args, **options)
    return await answer if asyncio.iscoroutine(answer) else answer


def crew(model: Scripted, memory: Memory, what: str) -> Crew:
    agent = Agent(role="Helper", goal="help", backstory="helps", llm=model, max_iter=3)
    return Crew(
        agents=[agent], tasks=[Task(description=what, expected_output="one sentence", agent=agent)], memory=memory
    )


async def test_a_crew_recalls_and_remembers(memory: Any, ada: str) -> None:
    await ask(memory, "add", "The keys hang behind the door.", user=ada, session="chat")
    model = Scripted(
        "Thought: I know.\nFinal Answer: They hang behind the door.", "Final Answer: Behind the door, as I said."
    )
    kept = MemosMemory(memory, user=ada)
    done = await run(memory, crew(model, kept, "Where are the keys of the house?").kickoff)
    assert done.raw == "They hang behind the door."
    assert "Relevant memories" in model._shown[0] and "hang behind the door" in model._shown[0]

    records = await run(memory, kept.list_records)
    assert len(records) == 1 and "Result:" in records[0].content and "Helper" in records[0].content
    assert (await ask(memory, "get", records[0].id, user=ada)).text == records[0].content

    second = await run(memory, crew(model, MemosMemory(memory, user=ada), "What was said about the keys?").kickoff)
    assert second.raw == "Behind the door, as I said." and "Where are the keys of the house?" in model._shown[-1]
    other = MemosMemory(memory, user=f"{ada}-other")
    assert await run(memory, lambda: other.recall("Where are the keys?")) == []


def test_an_agent_uses_the_tools_of_the_memory(memos: MemOS) -> None:
    model = Scripted(
        'Thought: keep it\nAction: save_to_memory\nAction Input: {"contents": ["The boiler was repaired in May."]}',
        'Thought: look\nAction: search_memory\nAction Input: {"queries": ["boiler repaired"]}',
        "Thought: I know.\nFinal Answer: In May.",
    )
    done = crew(model, MemosMemory(memos, user="ada"), "When was the boiler repaired?").kickoff()
    assert done.raw == "In May." and "Found memories:" in model._shown[-1] and "repaired in May" in model._shown[-1]
    assert any(m.text == "The boiler was repaired in May." for m in memos.list(user="ada").items)


async def test_records_in_scopes_categories_and_metadata(memory: Any, ada: str) -> None:
    kept = MemosMemory(memory, user=ada)

    def work() -> None:
        assert isinstance(kept._storage, StorageBackend)
        oslo = kept.remember(
            "Oslo was rainy in March.", scope="/trips/oslo", categories=["weather"], metadata={"n": 1}, importance=0.9
        )
        kept.remember("The hotel in Oslo was noisy.", scope="trips/oslo", categories=["hotel"])
        kept.remember("The hotel in Rome was quiet.", scope="/trips/rome", categories=["hotel", "good"])
        kept.remember("Buy milk.", scope="/tripsters")
        assert oslo is not None and oslo.importance == 0.9
        assert kept.list_scopes() == ["/trips", "/tripsters"] and kept.list_scopes("/trips") == [
            "/trips/oslo",
            "/trips/rome",
        ]
        assert kept.list_categories("/trips") == {"hotel": 2, "good": 1, "weather": 1}
        info = kept.info("/trips")
        assert (info.record_count, info.categories, info.child_scopes) == (
            3,
            ["good", "hotel", "weather"],
            ["/trips/oslo", "/trips/rome"],
        )
        assert (
            info.oldest_record is not None
            and info.newest_record is not None
            and info.oldest_record <= info.newest_record
        )
        assert kept.tree().splitlines()[0] == "/ (4 records)"
        assert [r.content for r in kept.list_records("/trips", limit=1, offset=1)] == ["The hotel in Oslo was noisy."]

        def found(**options: Any) -> set[str]:
            return {m.record.content for m in kept.recall("hotel", **options)}

        assert found(scope="/trips/rome") == {"The hotel in Rome was quiet."}
        assert found(scope="/trips", categories=["hotel"]) == {
            "The hotel in Rome was quiet.",
            "The hotel in Oslo was noisy.",
        }
        assert {m.record.scope for m in kept.scope("/trips/oslo").recall("noisy hotel")} == {"/trips/oslo"}
        best = kept.recall("Which hotel was quiet?", scope="/trips", limit=2)
        assert best[0].record.content == "The hotel in Rome was quiet." and len(best) == 2

        changed = kept.update(oslo.id, content="Oslo was rainy in April.", categories=["climate"])
        stored = kept._storage.get_record(oslo.id)
        assert stored is not None and stored.content == changed.content == "Oslo was rainy in April."
        assert (stored.categories, stored.metadata, stored.scope, stored.importance) == (
            ["climate"],
            {"n": 1},
            "/trips/oslo",
            0.9,
        )
        with pytest.raises(ValueError, match="not found"):
            kept.update("nothing-of-that-id", content="x")

        assert kept.forget(metadata_filter={"n": 1}, older_than=datetime.utcnow() - timedelta(hours=1)) == 0
        assert kept.forget(metadata_filter={"n": 1}) == 1 and kept._storage.get_record(oslo.id) is None
        assert kept.forget(scope="/trips", categories=["good"]) == 1
        kept.reset("/trips")
        assert [r.content for r in kept.list_records()] == ["Buy milk."]

    await run(memory, work)
    versions = [
        v.cause
        for m in (await ask(memory, "list", user=ada, kinds=["trace"])).items
        for v in await ask(memory, "history", m.id, user=ada)
    ]
    assert versions == ["add"]


async def test_asynchronous_calls_stop_no_event_loop(memory: Any, ada: str) -> None:
    kept = MemosMemory(memory, user=ada)
    record = await kept.aremember("The keys hang behind the door.", scope="/home")
    assert record is not None and await kept.aremember_many(["Tea is in the kitchen."]) == []
    found = await kept.arecall("where are the keys?", limit=1)
    assert [m.record.content for m in found] == ["The keys hang behind the door."]
    assert [m.record.id for m in await kept.arecall("where are the keys?", scope="/home")] == [record.id]


def test_chinese_is_recalled(memos: MemOS) -> None:
    kept = MemosMemory(memos, derive=False)
    kept.remember("钥匙挂在门后面。")
    kept.remember("茶在厨房里。")
    assert kept.recall("钥匙在哪里？", limit=1)[0].record.content == "钥匙挂在门后面。"


def test_the_root_scope_holds_everything_in(memos: MemOS) -> None:
    memos.add("The keys hang behind the door.", user="ada")
    kept = MemosMemory(memos, user="ada", root_scope="/crew/house")
    kept.remember("The keys lie in the bowl.", scope="hall")
    assert [m.record.scope for m in kept.recall("Where are the keys?")] == ["/crew/house/hall"]
    kept.reset()
    assert kept.list_records() == [] and memos.count(user="ada", kinds=["trace"]) == 1


def test_private_records_are_for_their_source(memos: MemOS) -> None:
    kept = MemosMemory(memos, user="ada")
    kept.remember("My PIN is 4711 and I live in Bergen.", source="bob", private=True)
    memos.flush(user="ada")
    assert kept.recall("What is the PIN?") == [] == kept.recall("Bergen", source="carl")
    assert len(kept.recall("What is the PIN?", source="bob")) == 1 == len(kept.recall("PIN", include_private=True))


def test_what_is_remembered_is_read_for_facts(memos: MemOS) -> None:
    MemosMemory(memos, user="ada").remember("I moved to Bergen.")
    MemosMemory(memos, user="bob", derive=False, hard=False).remember("I moved to Bergen.")
    for user in ("ada", "bob"):
        memos.flush(user=user)
    assert memos.count(user="ada") > 1 == memos.count(user="bob")
    MemosMemory(memos, user="bob", hard=False).reset()
    assert [m.status for m in memos.list(user="bob", include_inactive=True).items] == [Status.RETRACTED]


def test_many_are_saved_in_the_background_and_read_only_saves_none(memos: MemOS) -> None:
    kept = MemosMemory(memos, user="ada")
    kept.remember_many(["One is a number.", "Two is a number.", "One is a number."])
    assert len(kept.recall("number", limit=5)) >= 2  # waits for what is under way
    assert len(kept.list_records()) == 3
    silent = MemosMemory(memos, user="bob", read_only=True)
    assert silent.remember("hello") is None and silent.remember_many(["hello"]) == [] and silent.list_records() == []
    assert copy.deepcopy(kept._storage) is kept._storage  # a copied crew keeps its memory
    kept.close()


def test_what_cannot_be_is_said(memos: MemOS) -> None:
    with pytest.raises(InvalidInput, match="no memory"):
        MemosMemory(object())
    with pytest.raises(InvalidInput, match="vector"):
        MemosMemory(memos)._storage.search([0.1, 0.2])
    with Client("http://127.0.0.1:9", attempts=1, timeout=5) as away:
        with pytest.raises(Unavailable):
            MemosMemory(away).recall("Where are my keys?")
        with pytest.raises(Unavailable):
            MemosMemory(away).remember("The keys hang behind the door.")
