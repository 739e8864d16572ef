"""What is said again after it was taken back or edited is stored anew; a repetition of the very same message is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memos.system import AsyncMemOS

TEXT = "The tuna of Rex stood on the shelf behind the door"


@pytest.fixture
async def memos(tmp_path: Path) -> Any:
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as made:
        yield made


async def found(memos: AsyncMemOS) -> list[str]:
    return [h.memory.text for h in (await memos.search("tuna Rex", kinds=["trace", "fact", "preference"])).hits]


@pytest.mark.parametrize("how", ["retract", "undo", "edit"])
async def test_words_said_again_are_found_again(memos: AsyncMemOS, how: str) -> None:
    (first,) = (await memos.add(TEXT)).ids
    if how == "retract":
        await memos.delete(first, hard=False)
    elif how == "undo":
        await memos.undo(first)
    else:
        await memos.update(first, text="The bones of Bo are in the garden")
    (again,) = (await memos.add(TEXT)).records
    assert (again.new, again.id == first) == (True, False)
    assert (await found(memos))[0] == TEXT
    (third,) = (await memos.add(TEXT)).records
    assert (third.id, third.new, third.seen) == (again.id, False, 2)


@pytest.mark.parametrize("named", [{"message_id": "m1"}, {"chat_time": "2026-03-01T10:00:00Z"}])
async def test_the_same_message_sent_again_stays_taken_back(memos: AsyncMemOS, named: dict[str, str]) -> None:
    message = {"role": "user", "content": TEXT, **named}
    (first,) = (await memos.add([message])).ids
    await memos.delete(first, hard=False)
    (again,) = (await memos.add([message])).records
    assert (again.id, again.new) == (first, False)
    assert await found(memos) == []


async def test_a_call_repeated_with_its_key_stays_taken_back(memos: AsyncMemOS) -> None:
    (first,) = (await memos.add(TEXT, idempotency_key="k")).ids
    await memos.delete(first, hard=False)
    assert (await memos.add(TEXT, idempotency_key="k")).ids == (first,)
    assert await found(memos) == []


async def test_after_a_hard_delete_the_same_words_are_new(memos: AsyncMemOS) -> None:
    (first,) = (await memos.add(TEXT)).ids
    await memos.delete(first)
    (again,) = (await memos.add(TEXT)).records
    assert (again.new, again.id == first, await found(memos)) == (True, False, [TEXT])
