"""`memos entities`: the commands do what the verbs do, and say it."""

from __future__ import annotations

import pytest
from cli_helpers import Answer, Memos


@pytest.fixture(autouse=True)
def named(memos: Memos) -> None:
    memos("add", "We met Robert Chen in Oslo.")
    memos("add", "Then Bob Miller called us.")


def test_entities_are_listed_and_found_by_name(memos: Memos, answer: Answer) -> None:
    assert {e["name"] for e in answer("entities", "list")["items"]} == {"Robert Chen", "Oslo", "Bob Miller"}
    assert [e["name"] for e in answer("entities", "list", "--type", "place")["items"]] == ["Oslo"]
    assert "Robert Chen" in memos("entities", "list", "--name", "chen").stdout
    assert "nobody and nothing is called 'Eve'" in memos("entities", "resolve", "Eve").stdout
    first = memos("entities", "list", "--limit", "1").stdout
    assert "more: memos entities list --cursor" in first


def test_an_alias_is_given_and_taken(memos: Memos, answer: Answer) -> None:
    assert answer("entities", "alias", "Robert Chen", "Bobby")["aliases"] == ["Bobby"]
    assert [e["name"] for e in answer("entities", "resolve", "bobby")] == ["Robert Chen"]
    assert answer("entities", "alias", "Robert Chen", "Bobby", "--remove")["aliases"] == []


def test_a_merge_is_told_and_taken_back(memos: Memos, answer: Answer) -> None:
    assert (
        "Bob Miller is Robert Chen now (1 link moved)" in memos("entities", "merge", "Robert Chen", "Bob Miller").stdout
    )
    assert "merged into" in memos("entities", "list", "--merged").stdout
    assert [e["name"] for e in answer("entities", "resolve", "Bob Miller")] == ["Robert Chen"]
    text = memos("entities", "unmerge", "Bob Miller").stdout
    assert "Bob Miller stands alone again, with 1 link it had" in text


def test_what_cannot_be_done_is_one_line(memos: Memos) -> None:
    assert "cannot be merged with itself" in memos("entities", "merge", "Oslo", "Oslo", code=2).stderr
    assert "no entity is called 'Eve'" in memos("entities", "alias", "Eve", "E", code=1).stderr
