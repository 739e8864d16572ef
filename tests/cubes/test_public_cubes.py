"""A cube is private, shared with those who were granted it, or public: read by everybody, and written by nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from memos import AsyncMemOS
from memos.errors import AccessDenied, InvalidInput, NotFound


async def test_a_public_cube_is_read_by_everybody_and_written_by_no_guest(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        await m.create_cube("handbook", user="ann")
        await m.add("the gate code is 4711", user="ann", cube="handbook")
        with pytest.raises(NotFound):
            await m.search("gate code", user="bob", cube="handbook")
        await m.share("handbook", "*", user="ann")
        found = await m.search("gate code", user="bob", cube="handbook")
        assert [hit.text for hit in found.hits] == ["the gate code is 4711"]
        assert "handbook" in [c.name for c in await m.list_cubes(user="somebody new")]
        with pytest.raises(AccessDenied):
            await m.add("mine", user="bob", cube="handbook")
        await m.share("handbook", "*", None, user="ann")
        with pytest.raises(NotFound):
            await m.search("gate code", user="bob", cube="handbook")
        assert await m.list_cubes(user="somebody new") == []


async def test_who_was_granted_more_than_everybody_keeps_it(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        await m.create_cube("handbook", user="ann")
        await m.share("handbook", "bob", "write", user="ann")
        await m.share("handbook", "*", user="ann")
        await m.add("by bob", user="bob", cube="handbook")


@pytest.mark.parametrize("level", ["write", "admin"])
async def test_everybody_can_be_given_nothing_but_read(tmp_path: Path, level: str) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        await m.create_cube("handbook", user="ann")
        with pytest.raises(InvalidInput, match="read only"):
            await m.share("handbook", "*", level, user="ann")


async def test_nobody_is_called_everybody(tmp_path: Path) -> None:
    async with AsyncMemOS(tmp_path, embedder="none") as m:
        for attempt in (m.add("x", user="*"), m.accounts.create_user("*"), m.search("x", user="*")):
            with pytest.raises(InvalidInput, match="everybody"):
                await attempt
