"""`memos usage`: a table with totals, or JSON."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos import MemOS
from memos.memory.spending import LlmUse
from memos.memory.time import utcnow
from memos.storage.sqlite.registry import SqliteRegistry

TODAY = utcnow().date()


@pytest.fixture
def used(home: Path) -> None:
    with MemOS(home, embedder="none", background=False) as memos:
        memos.add("I live in Oslo.", user="ann")
    registry = SqliteRegistry(home)
    rows = [
        LlmUse(TODAY, "ann", "chat", "openai:big", 3, 1, 0, 0, 12_000, 340, 2_500_000, 4.2),
        LlmUse(TODAY, "bob", "reading", "ollama:small", 2, 0, 1, 2, 500, 50, None, 1.0),
        LlmUse(TODAY - timedelta(days=3), "ann", "reading", "openai:big", 1, 0, 0, 0, 1_000, 60, 500_000, 1.0),
    ]
    registry.llm_usage.add(rows)
    registry.close()


def test_a_table_ends_with_the_total(memos: Memos, used: None) -> None:
    lines = [line.split() for line in memos("usage").stdout.splitlines()]
    assert lines[0] == ["user", "purpose", "model", "calls", "failed", "in", "out", "seconds", "cost"]
    assert lines[1] == ["ann", "chat", "openai:big", "3", "1", "12,000", "340", "4.2", "2.5000"]
    assert ["bob", "reading", "ollama:small", "2", "500", "50", "1.0", "?"] in lines
    assert ["total", "6", "1", "13,500", "450", "6.2", "3.0000+"] in lines
    assert "no price is known for 2 calls" in memos("usage").stdout
    assert "the tokens of 1 calls are estimated" in memos("usage").stdout


def test_it_is_narrowed_and_told_apart_as_asked(memos: Memos, answer: Answer, used: None) -> None:
    found = answer("usage", "--by", "model,day")
    first = found["items"][0]
    assert (first["model"], first["day"], first["calls"], first["user"]) == ("openai:big", TODAY.isoformat(), 3, None)
    assert found["total"]["calls"] == 6
    assert answer("usage", "--user", "ann", "--by", "user")["items"][0]["calls"] == 4
    assert answer("usage", "--since", TODAY.isoformat(), "--purpose", "reading")["total"]["calls"] == 2
    assert answer("usage", "--until", "2020-01-01") == {"items": [], "total": None}
    assert "no language model was asked" in memos("usage", "--until", "2020-01-01").stdout
    shown = memos("usage", "--limit", "1")
    assert "at most 1 rows" in shown.stderr and "13,500" in shown.stdout


def test_what_cannot_be_asked_is_said(memos: Memos) -> None:
    assert "--by names day, user, purpose, model" in memos("usage", "--by", "colour", code=2).stderr
    assert "purpose is one of" in memos("usage", "--purpose", "fun", code=2).stderr
    assert "is not a time" in memos("usage", "--since", "5/8/2023", code=2).stderr
