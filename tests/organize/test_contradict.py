"""Contradictions without a winner: both values stay, linked and shown, until something decides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memos import AsyncMemOS
from memos.memory.filter import Compare, Field, Op
from memos.memory.model import EdgeType, Memory, Status

DAY = datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as system:
        yield system


async def say(memos: AsyncMemOS, text: str, day: float, *, by: str | None = None, role: str = "user") -> None:
    message = {"role": role, "content": text, "chat_time": (DAY + timedelta(days=day)).isoformat()}
    await memos.add([message | ({"name": by} if by else {})], user="team", wait=True)


async def current(memos: AsyncMemOS, slot: str) -> list[Memory]:
    page = await memos.list(filter=Compare(Field("slot"), Op.EQ, slot), user="team", newest_first=False)
    return list(page.items)


async def values(memos: AsyncMemOS, slot: str) -> list[str]:
    return [str(m.body["value"]) for m in await current(memos, slot)]


async def edges(memos: AsyncMemOS, id: str) -> list[tuple[str, str]]:
    links = await memos.neighbors(id, types=[EdgeType.CONTRADICTS], user="team")
    return [(link.edge.src, link.edge.dst) for link in links]


GATE = "gate|is"


async def test_two_people_who_say_otherwise_of_a_third_thing_contradict_each_other(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    first, second = await current(memos, GATE)
    assert (first.body["value"], second.body["value"]) == ("B12", "C30")
    assert await edges(memos, first.id) == [(second.id, first.id)]


async def test_the_same_person_changes_her_mind(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Ann")
    assert await values(memos, GATE) == ["C30"]


async def test_who_speaks_of_herself_is_right_whoever_said_otherwise(memos: AsyncMemOS) -> None:
    await say(memos, "I live in Oslo.", 1, by="Ann")
    await say(memos, "I live in Bergen.", 2, by="Ann")
    assert await values(memos, "ann|home_city") == ["Bergen"]


async def test_words_that_tell_of_a_change_replace(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate has changed. The gate is C30.", 2, by="Bob")
    assert await values(memos, GATE) == ["C30"]


async def test_what_an_assistant_says_does_not_replace_what_the_user_said(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1)
    await say(memos, "The gate is C30.", 2, role="assistant")
    assert await values(memos, GATE) == ["B12", "C30"]


async def test_what_the_user_says_replaces_what_an_assistant_said(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is C30.", 1, role="assistant")
    await say(memos, "The gate is B12.", 2)
    assert await values(memos, GATE) == ["B12"]


async def test_one_message_that_says_two_things_contradicts_itself(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12. The gate is C30.", 1)
    assert await values(memos, GATE) == ["B12", "C30"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_the_order_of_arrival_does_not_matter(memos: AsyncMemOS, order: tuple[int, int]) -> None:
    said = [("The gate is B12.", 1, "Ann"), ("The gate is C30.", 2, "Bob")]
    for i in order:
        await say(memos, *said[i][:2], by=said[i][2])
    assert sorted(await values(memos, GATE)) == ["B12", "C30"]


async def test_both_are_shown_as_contradicted_in_hits_result_and_context(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    found = await memos.search("Which gate is it?", user="team")
    b12, c30 = await current(memos, GATE)
    assert {(c.of, c.by) for c in found.contradicts} == {(b12.id, c30.id), (c30.id, b12.id)}
    assert {c.text for h in found for c in h.contradicts} == {"The gate is B12.", "The gate is C30."}
    assert "B12. (since 2024-05-02) [contradicted by: The gate is C30.]" in found.context
    assert "C30. (since 2024-05-03) [contradicted by: The gate is B12.]" in found.context


async def test_one_told_again_by_a_third_person_wins_and_nothing_is_contested_any_more(memos: AsyncMemOS) -> None:
    for winner, loser in (("B12", "C30"), ("C30", "B12")):
        user_slot = GATE
        await memos.delete(everything=True, user="team") if await values(memos, user_slot) else None
        await say(memos, "The gate is B12.", 1, by="Ann")
        await say(memos, "The gate is C30.", 2, by="Bob")
        await say(memos, f"The gate is {winner}.", 3, by="Cleo")
        (stays,) = await current(memos, GATE)
        assert stays.body["value"] == winner and len(stays.sources) == 2
        assert not {"rival", "contested"} & set(stays.body)
        assert await edges(memos, stays.id) == []
        found = await memos.search("Which gate is it?", user="team")
        assert found.contradicts == () and "contradicted" not in found.context
        all_of_it = await memos.list(filter=Compare(Field("slot"), Op.EQ, GATE), include_inactive=True, user="team")
        assert {(m.body["value"], m.status) for m in all_of_it.items} == {
            (winner, Status.ACTIVE),
            (loser, Status.SUPERSEDED),
        }


async def test_one_who_only_repeats_herself_decides_nothing(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    await say(memos, "The gate is B12.", 3, by="Ann")
    assert await values(memos, GATE) == ["B12", "C30"]
    assert [len(m.sources) for m in await current(memos, GATE)] == [2, 1]


async def test_one_who_said_both_decides_by_saying_one_again(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12. The gate is C30.", 1)
    await say(memos, "The gate is C30.", 2)
    assert await values(memos, GATE) == ["C30"]


@pytest.mark.parametrize("text", ["It's C30, not B12.", "Yes, the gate is C30.", "No, the gate is C30, not B12."])
async def test_a_feedback_decides(memos: AsyncMemOS, text: str) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    await memos.feedback(text, user="team")
    assert [v.rstrip(".") for v in await values(memos, GATE)] == ["C30"]
    assert (await memos.search("Which gate is it?", user="team")).contradicts == ()


async def test_agreeing_with_a_memory_by_its_id_decides(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    first, _ = await current(memos, GATE)
    await memos.feedback("That's right.", targets=[first.id], user="team")
    assert await values(memos, GATE) == ["B12"]


async def test_a_third_value_that_replaces_replaces_both(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    await say(memos, "The gate is now A1.", 3, by="Bob")
    assert [v.casefold() for v in await values(memos, GATE)] == ["a1"]


async def test_the_user_decides_what_the_assistant_disputed(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1)
    await say(memos, "The gate is C30.", 2, role="assistant")
    await say(memos, "The gate is C30.", 3)
    assert await values(memos, GATE) == ["C30"]


async def test_undoing_the_contradiction_leaves_what_was_there(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    _, rival = await current(memos, GATE)
    await memos.undo(rival.id, user="team")
    (left,) = await current(memos, GATE)
    assert (left.body["value"], "contested" in left.body) == ("B12", False)
    history = await memos.history(left.id, user="team")
    assert [v.op for v in history] == ["derive", "contradict", "undo"]


async def test_deleting_one_record_leaves_the_other_uncontested(memos: AsyncMemOS) -> None:
    await say(memos, "The gate is B12.", 1, by="Ann")
    await say(memos, "The gate is C30.", 2, by="Bob")
    first, second = await current(memos, GATE)
    await memos.delete([str(first.sources[0].memory_id)], user="team")
    assert await values(memos, GATE) == ["C30"]
    found = await memos.search("Which gate is it?", user="team")
    assert found.contradicts == ()
    await say(memos, "The gate is D4.", 5, by="Bob")
    assert await values(memos, GATE) == ["D4"], second.id
