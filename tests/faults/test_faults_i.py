"""I. Delete, reset, update."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memos import MemOS
from memos.errors import InvalidInput, NotFound
from stubs import Words

TOKEN = "PURGE-31"


def files_with(home: Path, *tokens: str) -> list[str]:
    needles = [t.encode() for t in tokens] + [t.lower().encode() for t in tokens]
    return [f.name for f in home.rglob("*") if f.is_file() and any(n in f.read_bytes() for n in needles)]


@pytest.mark.parametrize("how", ["everything", "ids", "session", "filter", "cube"])
def test_r124_after_delete_nothing_answers_from_it(home: Path, how: str, wait_for: Callable[..., None]) -> None:
    """After delete-all something still answers from a second store or cache."""
    with MemOS(home, embedder=Words()) as memos:
        ids = memos.add([f"{TOKEN} marmalade is mine", "I live in Marmaladetown."], session="s").ids
        wait_for(lambda: not any(memos.stats().waiting.values()))
        assert memos.search(f"{TOKEN} marmalade").hits
        memos.update(ids[0], text=f"{TOKEN} marmalade is yours")
        {
            "everything": lambda: memos.delete(everything=True),
            "ids": lambda: memos.delete(ids),
            "session": lambda: memos.delete(session="s"),
            "filter": lambda: memos.delete(filter={"kind": "trace"}),
            "cube": lambda: memos.delete_cube("default"),
        }[how]()
        for _ in range(2):
            assert memos.search(f"what about marmalade {TOKEN}?").hits == ()
            assert memos.list(include_inactive=True).items == ()
        for id in ids:
            with pytest.raises(NotFound):
                memos.get(id)
        assert files_with(home, TOKEN, "marmalade") == []
    with MemOS(home, embedder=Words()) as memos:
        assert memos.search(f"what about marmalade {TOKEN}?").hits == ()
    assert files_with(home, TOKEN, "marmalade") == []


def test_r124_what_waits_to_be_read_when_it_is_deleted_does_not_come_back(home: Path) -> None:
    """An add that is still in the queue comes back after the deletion."""
    for hard in (True, False):
        with MemOS(home, embedder=Words()) as memos:
            ids = [memos.add(f"My cat is called Tom{i}.", session="s").ids[0] for i in range(30)]
            memos.delete(session="s", hard=hard)
            memos.flush()
            assert memos.list(kinds=["profile"]).items == ()
            assert memos.search("cat Tom3").hits == ()
            assert not any(memos.stats().waiting.values())
            assert len(ids) == 30


def test_r126_a_delete_never_matches_loosely(memos: MemOS) -> None:
    """Forget by pattern matches any of the words, and so deletes far too much."""
    items = {text: memos.add(text).ids[0] for text in ("blue canoe", "blue hat", "red canoe")}
    for refused in ("", "*", "%", " ", "blue canoe"):
        with pytest.raises((InvalidInput, NotFound)):
            memos.delete(refused)
    for nothing in ({"text": "blue"}, {"text": "*"}, {"text": "%"}, {"text": {"like": "%"}}, {"text": {"like": "b_ue"}}, {"text": {"like": "*"}},
                    {"text": "canoe blue"}, {"text": {"contains": "BLUE"}}):  # fmt: skip
        assert memos.delete(filter=nothing).asked == 0
    for everything in ({"text": {"like": ""}}, {"text": {"contains": ""}}, {"session": {"like": ""}}):
        with pytest.raises(InvalidInput):
            memos.delete(filter=everything)
    with pytest.raises(InvalidInput):
        memos.delete()
    assert memos.delete(filter={"text": "blue canoe"}, dry_run=True).asked == 1
    assert len(memos.list().items) == 3
    assert memos.delete(filter={"text": "blue canoe"}).asked == 1
    assert {m.id for m in memos.list().items} == {items["blue hat"], items["red canoe"]}


def test_r130_after_a_reset_nothing_is_read_again(home: Path) -> None:
    """A reset leaves the table of recent messages, which feeds later extraction with dead content."""
    with MemOS(home, embedder=Words(), background=False) as memos:
        (id,) = memos.add("My code word is FENNEL-6. What is the number of the locker?", wait=True).ids
        memos.delete(everything=True)
        memos.add(["hello", "58"], wait=True)
        everything = memos.list(include_inactive=True).items
        assert sorted(m.text for m in everything) == ["58", "hello"]
        with pytest.raises(NotFound):
            memos.history(id)
        assert files_with(home, "FENNEL-6") == []
