"""A whole cube taken back under a name, and brought back exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memos import MemOS
from memos.errors import NotFound


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path / "home", embedder="none", background=False) as made:
        yield made


def state(memos: MemOS) -> dict[str, tuple[str, str]]:
    page = memos.list(include_inactive=True, limit=1000)
    return {m.id: (m.text, m.status.value) for m in page.items}


@pytest.fixture
def told(memos: MemOS) -> dict[str, tuple[str, str]]:
    memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}, wait=True)
    memos.add({"role": "user", "content": "I live in Bergen.", "chat_time": "2025-02-01"}, wait=True)
    wrong = memos.add("A note that is taken back.", wait=True)
    memos.delete(wrong.ids, hard=False)
    return state(memos)


def test_everything_goes_and_exactly_that_comes_back(memos: MemOS, told: dict[str, tuple[str, str]]) -> None:
    standing = sum(status != "retracted" for _, status in told.values())
    assert memos.retire("r1") == standing
    assert {status for _, status in state(memos).values()} == {"retracted"}
    assert not memos.search("Where do I live?").hits
    assert memos.recover("r1") == standing
    assert state(memos) == told
    assert memos.search("Where do I live?").hits[0].text == "I live in Bergen."
    with pytest.raises(NotFound, match="r1"):
        memos.recover("r1")


def test_each_name_brings_back_its_own(memos: MemOS, told: dict[str, tuple[str, str]]) -> None:
    memos.retire("r1")
    later = memos.add("A note between the two.", wait=True).ids[0]
    memos.retire("r2")
    memos.recover("r1")
    assert {id: s for id, s in state(memos).items() if id in told} == told
    assert state(memos)[later][1] == "retracted"
    memos.recover("r2")
    assert state(memos)[later][1] == "active"


def test_the_same_name_twice_is_one_record(memos: MemOS, told: dict[str, tuple[str, str]]) -> None:
    memos.retire("r1")
    later = memos.add("A note between the two.", wait=True).ids[0]
    memos.retire("r1")
    memos.recover("r1")
    assert state(memos)[later][1] == "active"
    assert {id: s for id, s in state(memos).items() if id in told} == told


def test_what_was_changed_meanwhile_is_not_overwritten(memos: MemOS) -> None:
    (id,) = memos.add("I own a lute.", wait=True).ids
    memos.retire("r1")
    memos.undo(id)
    memos.update(id, text="I own two lutes.")
    with pytest.raises(NotFound):
        memos.recover("r1")
    assert memos.get(id).text == "I own two lutes."


def test_recovering_what_news_contradict_keeps_one_current_value(memos: MemOS) -> None:
    memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}, wait=True)
    memos.retire("r1")
    memos.add({"role": "user", "content": "I live in Bergen.", "chat_time": "2025-02-01"}, wait=True)
    memos.recover("r1")
    homes = [m.text for m in memos.list(kinds=["profile"]).items]
    assert homes == ["The user lives in Bergen."]


def test_an_empty_cube_is_nothing_to_retire(memos: MemOS) -> None:
    assert memos.retire("r1") == 0
    with pytest.raises(NotFound):
        memos.recover("r1")


def test_a_name_that_is_none(memos: MemOS) -> None:
    for name in ("", " ", "a\nb"):
        with pytest.raises(ValueError):
            memos.retire(name)
