"""`memos profile`: the text of a profile, or JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos import MemOS


@pytest.fixture
def known(home: Path) -> None:
    with MemOS(home, embedder="none") as memos:
        memos.add("I live in Oslo. My brother lives in Rome. Always answer in French.", user="ann")


def test_the_text_is_printed_as_it_goes_into_a_prompt(memos: Memos, known: None) -> None:
    shown = memos("profile", "--user", "ann").stdout.splitlines()
    assert shown[0] == "<memos-context>" and shown[-1] == "</memos-context>"
    assert any(line.startswith("- Ann lives in Oslo. (since ") for line in shown)
    assert "lives in Rome" in memos("profile", "brother", "--user", "ann").stdout
    assert "nothing is known" in memos("profile", "Zoe", "--user", "ann").stdout


def test_json_holds_the_items(answer: Answer, known: None) -> None:
    found = answer("profile", "--user", "ann")
    assert [item["section"] for item in found["items"]] == ["wishes", "facts", "facts"]


def test_what_does_not_fit_is_counted(memos: Memos, known: None) -> None:
    assert "3 more did not fit" in memos("profile", "--user", "ann", "--max-tokens", "5").stderr
