"""The demo answers its own questions, within its budget, and leaves nothing behind."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from conftest import Answer, Memos

from memos.cli.demo import BUDGET, QUESTIONS, conversation


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_conversation_spans_several_days_and_two_languages() -> None:
    sessions = conversation()
    messages = [m for one in sessions for m in one["messages"]]
    assert len(messages) >= 60
    assert len({m["chat_time"][:10] for m in messages}) >= 5
    assert any("林小姐" in m["content"] for m in messages)


def test_answers_stay_in_the_budget_and_the_first_hits_are_right(answer: Answer, temporary: Path, home: Path) -> None:
    answers: dict[tuple[str, str | None], dict[str, Any]] = {
        (a["question"], a["as_of"]): a["result"] for a in answer("demo")
    }
    assert len(answers) == len(QUESTIONS)
    for result in answers.values():
        assert result["status"] == "found"
        assert len(result["context"]) <= 4 * BUDGET
        assert result["tokens"] < result["history_tokens"] / 5
    assert "E-7731" in answers["How did we fix the console crash E-7731?", None]["hits"][0]["text"]
    assert "乌龙茶" in answers["林小姐喜欢喝什么？", None]["hits"][0]["text"]
    then = answers["Where does Mara live?", "2025-04-01"]
    assert "Bergen" in then["context"]
    assert "Oslo" not in then["context"]
    assert "Oslo" in answers["Where does Mara live?", None]["context"]
    assert list(temporary.iterdir()) == []
    assert not home.exists()


def test_the_demo_shows_source_reason_and_savings(memos: Memos, temporary: Path) -> None:
    shown = memos("demo").stdout
    for wanted in ("? Where does Mara live?", "2025-03-04 09:06 Mara:", "why: lexical +", "% saved)"):
        assert wanted in shown
