"""Questions about how things are connected: the way is the answer, everything on it can be read, and the work is bounded."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS
from memos.memory.acting import WorldPath
from memos.memory.ids import new_id
from memos.memory.model import Edge, EdgeType, Kind, Memory
from memos.recall.paths import paths_in, wanted_of
from memos.storage.ports import View


def said(speaker: str, text: str, day: str, role: str = "user") -> dict[str, str]:
    return {"role": role, "name": speaker, "content": text, "time": day}


@pytest.fixture
async def story(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    """Ana agreed to things, and asked for the parser later; Ben did too."""
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.add(
            [
                said("Ana", "I agreed to write the release notes for Carol.", "2026-01-05"),
                said("Ben", "I agreed to water the plants of Dora.", "2026-01-06"),
                said("Ana", "My manager is Carol. Carol works at Globex.", "2026-01-07"),
                said("Ana", "Please replace the parser by a faster one.", "2026-02-01"),
                said("Ana", "I agreed to present the parser in Berlin.", "2026-03-05"),
            ]
        )
        await memos.flush()
        yield memos


async def ask(memos: AsyncMemOS, question: str, **options: Any) -> list[WorldPath]:
    async with memos._cube("default", None, "read") as (_, store):
        found: list[WorldPath] = await store.read_lived(lambda db: paths_in(db, question, **options))
        return found


async def test_who_asked_for_a_thing_and_what_they_agreed_to_before(story: AsyncMemOS) -> None:
    best = (await ask(story, "Who asked for the faster parser, and what did they agree to before?"))[0]
    assert "Please replace the parser" in best.memories[0].text
    assert "release notes" in best.memories[-1].text
    assert "before that agreed to" in best.text and "Ana" in best.text
    for memory in best.memories:
        assert f"[{memory.id}]" in best.text
    assert all(hop.text in best.text or hop.text for hop in best.hops)
    assert not any("plants" in m.text for m in best.memories)


async def test_what_came_later_is_not_before(story: AsyncMemOS) -> None:
    found = await ask(story, "Who asked for the faster parser, and what did they agree to before?")
    for path in found:
        later = [m for m in path.memories if "Berlin" in m.text and m.kind is Kind.COMMITMENT]
        assert not later or path.score < found[0].score


async def test_a_named_thing_is_reached_over_several_hops(story: AsyncMemOS) -> None:
    found = await ask(story, "How is Carol connected with Globex?")
    assert any({"Carol", "Globex"} <= {m.text for m in p.memories} for p in found)


async def test_a_question_that_names_nothing_known_has_no_path(story: AsyncMemOS) -> None:
    assert await ask(story, "Which quasar did Zelda photograph?") == []


async def test_hops_bound_the_length(story: AsyncMemOS) -> None:
    for hops in (1, 2, 4):
        found = await ask(story, "Who asked for the parser and what did they agree to before?", hops=hops)
        assert found and all(len(p.hops) <= hops for p in found)
        assert all(len(p.memories) == len(p.hops) + 1 == len({m.id for m in p.memories}) for p in found)


async def test_what_was_taken_back_is_on_no_path(story: AsyncMemOS) -> None:
    question = "Who asked for the faster parser, and what did they agree to before?"
    (kept,) = [m for m in (await story.list(limit=100)).items if m.kind is Kind.COMMITMENT and "release" in m.text]
    await story.delete(kept.id, hard=False)
    assert all(kept.id not in {m.id for m in p.memories} for p in await ask(story, question))
    assert any(
        kept.id in {m.id for m in p.memories} for p in await ask(story, question, view=View(known_at=kept.recorded_at))
    )


async def test_chinese_names_are_found_without_spaces(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.add(
            [said("王芳", "我在北京大学工作。", "2026-01-05"), said("王芳", "张伟是我的经理。", "2026-01-06")]
        )
        await memos.flush()
        found = await ask(memos, "王芳和北京大学有什么关系？")
        assert any("北京大学" in p.text and "王芳" in p.text for p in found)


async def test_a_hub_with_thousands_of_mentions_costs_no_more(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as memos:
        await memos.add([said("Ana", "Rome is far. Rome has the Trevi fountain, said Zoe.", "2026-01-05")])
        await memos.flush()
        async with memos._cube("default", None, "write") as (_, store):
            rome = next(m for m in (await store.list(limit=50)).items if m.kind is Kind.ENTITY and m.text == "Rome")

            def fill(tx: Any) -> None:
                for n in range(3_000):
                    memory = Memory(new_id(), Kind.TRACE, f"Note {n} on Rome and the weather", role="user")
                    tx.put(memory)
                    tx.link(Edge(memory.id, rome.id, EdgeType.MENTIONS))

            await store.write(fill)
            began = time.process_time()
            found = await store.read_lived(lambda db: paths_in(db, "Which fountain has Rome?", seconds=30.0))
            assert time.process_time() - began < 1.0
        assert "Trevi" in found[0].text


def test_a_question_is_read_for_what_it_wants_of_people_and_times() -> None:
    wanted = wanted_of("Who asked for this, and what did they agree to before?")
    assert (wanted.who, wanted.asked, wanted.agreed, wanted.before, wanted.this) == (True, True, True, True, True)
    assert not wanted.words
    assert wanted_of("谁提出的这个要求，他之前答应过什么？").agreed
    plain = wanted_of("parser design")
    assert not (plain.who or plain.asked or plain.agreed or plain.before or plain.this)
