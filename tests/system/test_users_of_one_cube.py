"""Several users write in one cube: "my" and "the user" are whoever speaks, and nobody's words are over by another's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memos import AsyncMemOS
from memos.memory.model import Layer, Status


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as made:
        await made.create_cube("team", user="u1")
        for user in ("u2", "carol"):
            await made.share("team", user, "write", user="u1")
        yield made


async def add(memos: AsyncMemOS, user: str, *texts: str) -> None:
    await memos.add(list(texts), user=user, cube="team", wait=True)


async def facts(memos: AsyncMemOS) -> set[tuple[str, str]]:
    page = await memos.list(user="u1", cube="team", limit=500)
    return {
        (m.owner or "", m.text)
        for m in page.items
        if m.layer is Layer.DERIVED and m.status is Status.ACTIVE and m.text.startswith(("The user", "Carol"))
    }


@pytest.mark.parametrize("user", ["u2", "carol"])
@pytest.mark.parametrize(
    "words",
    ["Forget my phone number.", "Forget that I like tea.", "Forget everything about my ex.", "忘掉我的电话号码"],
)
async def test_my_means_nothing_that_another_user_said_of_herself(memos: AsyncMemOS, user: str, words: str) -> None:
    await add(memos, "u1", "My phone number is 555 0001.", "I like tea.", "My ex is called Tom.")
    before = await memos.count(user="u1", cube="team")
    done = await memos.feedback(words, user=user, cube="team")
    assert (done.understood, done.operations) == (False, ())
    assert await memos.count(user="u1", cube="team") == before + 1  # the words of the feedback


async def test_what_two_users_said_of_themselves_is_not_forgotten_for_one(memos: AsyncMemOS) -> None:
    await add(memos, "u1", "I like tea.")
    await add(memos, "u2", "I like tea.")
    await memos.feedback("Forget that I like tea.", user="u2", cube="team")
    assert ("u1", "The user likes tea.") in await facts(memos)
    assert len((await memos.search("I like tea.", user="u1", cube="team")).hits) >= 2


async def test_where_one_user_lives_is_not_over_because_another_moved(memos: AsyncMemOS) -> None:
    await add(memos, "u1", "I live in Oslo.", "I work at Acme.")
    await add(memos, "u2", "I moved to Bergen.", "I no longer work at Acme.")
    homes = {("u1", "The user lives in Oslo."), ("u2", "The user lives in Bergen.")}
    assert homes | {("u1", "The user works at Acme.")} <= await facts(memos)
    await add(memos, "u2", "I moved to Rome.")
    assert await facts(memos) >= {("u1", "The user lives in Oslo."), ("u2", "The user lives in Rome.")}
    await add(memos, "u1", "I moved to Paris.")
    now = {fact for fact in await facts(memos) if "lives" in fact[1]}
    assert now == {("u1", "The user lives in Paris."), ("u2", "The user lives in Rome.")}


async def test_a_refusal_puts_right_what_is_known_of_who_speaks(memos: AsyncMemOS) -> None:
    await add(memos, "u1", "I live in Oslo.")
    await add(memos, "u2", "I live in Bergen.")
    await memos.feedback("No, I live in Lima.", user="u2", cube="team")
    now = {fact for fact in await facts(memos) if "lives" in fact[1]}
    assert now == {("u1", "The user lives in Oslo."), ("u2", "The user lives in Lima.")}
