"""What a user asked to forget of a message that says other things too is not read from it again, by rules or by a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from llm_models import ScriptedModel
from memos import AsyncMemOS
from memos.memory.forgotten import readable
from memos.memory.model import Kind
from memos.models.llm.port import ChatRequest, text_of

NOTHING = {"facts": []}
MIXED = "I live in Oslo. My ex is called Tom."


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as made:
        yield made


async def facts(core: AsyncMemOS) -> set[str]:
    page = await core.list(limit=100)
    return {m.text for m in page.items if m.kind not in (Kind.TRACE, Kind.ENTITY)}


def shown(requests: list[ChatRequest]) -> str:
    return "\n".join(text_of(request.messages) for request in requests)


async def test_a_model_that_reads_the_message_anew_is_not_shown_it(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as core:
        [id] = (await core.add(MIXED, wait=True)).ids
        await core.feedback("forget what I said about my ex")
        assert (await core.get(id)).text == MIXED
    model = ScriptedModel(NOTHING)
    async with AsyncMemOS(tmp_path, embedder="none", background=False, llm=model) as core:
        await core.reread(everything=True, wait=True)
        assert "Oslo" in shown(model.requests) and "Tom" not in shown(model.requests)
        model.requests.clear()
        await core.add("She moved.", wait=True)
        assert model.requests and "Tom" not in shown(model.requests), "nor as what was said before"
        assert not any("Tom" in text for text in await facts(core))


@pytest.mark.parametrize("hard", [True, False])
async def test_rules_that_read_the_message_anew_do_not_find_it(tmp_path: Path, hard: bool) -> None:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as core:
        [id] = (await core.add(MIXED, wait=True)).ids
        await core.feedback("forget what I said about my ex", hard=hard)
        assert await facts(core) == {"The user lives in Oslo."}
        [home] = [m for m in (await core.list(limit=100)).items if "Oslo" in m.text and m.kind is Kind.PROFILE]
        await core.delete(id, hard=False)
        await core.delete(home.id, hard=True)  # its record is read again when it comes back
        await core.undo(id)
        await core.flush()
        assert await facts(core) == {"The user lives in Oslo."}


async def test_with_the_feedback_undone_it_is_read_again(core: AsyncMemOS) -> None:
    [id] = (await core.add(MIXED, wait=True)).ids
    record = (await core.feedback("forget what I said about my ex")).record
    assert record is not None
    await core.undo(record)
    assert readable(await core.get(id)).text == MIXED
    assert "The user's ex is called Tom." in await facts(core)


async def test_a_message_that_is_edited_is_read_whole(core: AsyncMemOS) -> None:
    [id] = (await core.add(MIXED, wait=True)).ids
    await core.feedback("forget what I said about my ex")
    await core.update(id, text="My ex is called Tim.")
    assert readable(await core.get(id)).text == "My ex is called Tim."


@pytest.mark.parametrize(
    ("text", "words", "left"),
    [
        (MIXED, "forget what I said about my ex", "I live in Oslo."),
        ("I live in Oslo and my sister's name is Ann.", "forget about my sister", "I live in Oslo and"),
        ("My phone number is 555 1234. I love hiking.", "forget my phone number", "I love hiking."),
    ],
)
async def test_what_else_the_message_says_is_read(core: AsyncMemOS, text: str, words: str, left: str) -> None:
    [id] = (await core.add(text, wait=True)).ids
    await core.feedback(words)
    assert readable(await core.get(id)).text.strip() == left
