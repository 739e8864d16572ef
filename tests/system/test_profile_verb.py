"""`profile`: what a cube knows of its user or of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from memos import AsyncMemOS
from memos.errors import InvalidInput
from memos.memory.profile import Section


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncMemOS:
    return AsyncMemOS(tmp_path / "home", embedder="none")


async def said(
    memos: AsyncMemOS, text: str, day: str = "2026-03-01", name: str = "", role: str = "user", id: str = "m1"
) -> None:
    message = {"role": role, "content": text, "chat_time": f"{day}T09:00:00Z", "message_id": id}
    await memos.add([message | ({"name": name} if name else {})], user="ann")


async def test_what_was_replaced_is_left_out(memos: AsyncMemOS) -> None:
    async with memos:
        await said(memos, "I live in Oslo. I love rowing. Always answer in French, please.")
        await said(memos, "I moved to Bergen in April 2026. My brother lives in Rome.", "2026-05-01", id="m2")
        found = await memos.profile(user="ann")
        assert "Oslo" not in found.text
        assert [(i.section, i.text) for i in found][:3] == [
            (Section.WISHES, "Ann wants the assistant to always answer in French."),
            (Section.FACTS, "Ann lives in Bergen."),
            (Section.FACTS, "Ann's brother lives in Rome."),
        ]
        (home,) = [i for i in found if i.text == "Ann lives in Bergen."]
        assert home.message_ids == ("m2",)
        assert [(await memos.get(id, user="ann")).kind for id in home.memory_ids] == ["trace"]


async def test_somebody_else_is_found_by_name_and_by_kinship(memos: AsyncMemOS) -> None:
    async with memos:
        await said(memos, "I love rowing. My brother lives in Rome.", name="Ines")
        await said(memos, "I love chess.", name="Melanie", role="assistant", id="m2")
        assert [i.text for i in await memos.profile(about="Melanie", user="ann")] == ["Melanie likes chess."]
        assert [i.text for i in await memos.profile(about="brother", user="ann")] == ["Ines's brother lives in Rome."]
        assert {i.text for i in await memos.profile(user="ann")} == {
            "Ines likes rowing.",
            "Ines's brother lives in Rome.",
        }
        assert (await memos.profile(about="Zoe", user="ann")).text == ""


async def test_reference_time_is_what_is_now(memos: AsyncMemOS) -> None:
    async with memos:
        await said(memos, "Remind me to call Bo tomorrow.")
        assert [i.section for i in await memos.profile(user="ann", reference_time="2026-03-01")] == []  # not said yet
        assert [i.section for i in await memos.profile(user="ann", reference_time="2026-03-01T10:00:00Z")] == [
            Section.PLANS
        ]
        assert not await memos.profile(user="ann", reference_time="2026-03-05")


async def test_the_text_is_the_same_until_something_is_learned(memos: AsyncMemOS) -> None:
    async with memos:
        await said(memos, "I live in Oslo. I love rowing.")
        first = await memos.profile(user="ann")
        assert await memos.profile(user="ann") == first
        assert (await memos.profile(user="nobody")).text == ""


@pytest.mark.parametrize("wrong", [{"max_tokens": 0}, {"max_tokens": 100_001}, {"about": " "}, {"about": "x" * 201}])
async def test_what_cannot_be_asked_is_refused(memos: AsyncMemOS, wrong: dict[str, object]) -> None:
    async with memos:
        with pytest.raises(InvalidInput):
            await memos.profile(user="ann", **wrong)


async def test_what_contradicts_is_marked(memos: AsyncMemOS) -> None:
    async with memos:
        await said(memos, "I was born in Oslo. I was born in Rome.")
        found = await memos.profile(user="ann")
        assert [(i.text, i.against) for i in found] == [
            ("Ann was born in Rome.", ("Ann was born in Oslo.",)),
            ("Ann was born in Oslo.", ("Ann was born in Rome.",)),
        ] or [(i.text, i.against) for i in found] == [
            ("Ann was born in Oslo.", ("Ann was born in Rome.",)),
            ("Ann was born in Rome.", ("Ann was born in Oslo.",)),
        ]
        assert found.text.count("[contradicted by:") == 2
