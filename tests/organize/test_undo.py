"""Undoing a change also undoes what was read from it meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memos import MemOS


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path, embedder="none", background=False) as m:
        yield m


def _facts(memos: MemOS) -> set[str]:
    return {f.text for f in memos.list(kinds=["profile"]).items}


def test_undoing_a_new_text_takes_back_the_facts_that_were_read_from_it(memos: MemOS) -> None:
    added = memos.add({"role": "user", "name": "Cy", "content": "I live in Paris."}, wait=True)
    memos.update(added.ids[0], text="I live in Nice.")
    memos.flush()
    assert _facts(memos) == {"Cy lives in Nice."}
    memos.undo(added.ids[0])
    memos.flush()
    assert _facts(memos) == {"Cy lives in Paris."}


def test_undoing_an_add_takes_back_the_facts_that_were_read_from_it(memos: MemOS) -> None:
    added = memos.add({"role": "user", "name": "Cy", "content": "I live in Paris."}, wait=True)
    assert _facts(memos) == {"Cy lives in Paris."}
    memos.undo(added.ids[0])
    assert _facts(memos) == set()


def test_undoing_an_undo_brings_the_new_text_and_its_facts_back(memos: MemOS) -> None:
    added = memos.add({"role": "user", "name": "Cy", "content": "I live in Paris."}, wait=True)
    memos.update(added.ids[0], text="I live in Nice.")
    memos.flush()
    memos.undo(added.ids[0])
    memos.undo(added.ids[0])
    memos.flush()
    assert _facts(memos) == {"Cy lives in Nice."}
