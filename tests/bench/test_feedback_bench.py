"""The corpus of feedback: large enough, and understood by rules well enough, without one wrong deletion."""

from __future__ import annotations

import re

import pytest

from memos.bench.feedback import judge_all, measure
from memos.bench.feedback_corpus import DEV, HELD, Case


def test_the_corpus_is_large_in_both_languages_and_has_much_that_must_change_nothing() -> None:
    cases = [*DEV, *HELD]
    chinese = [c for c in cases if re.search("[\u4e00-\u9fff]", c.say)]
    assert len(cases) >= 140
    assert 0.4 <= len(chinese) / len(cases) <= 0.6
    assert sum(not c.does for c in cases) >= 30
    assert 0.35 <= len(HELD) / len(cases) <= 0.45
    assert len({(c.say, c.knows, c.history) for c in cases}) == len(cases)


@pytest.mark.parametrize("cases", [DEV, HELD], ids=["built on", "held back"])
async def test_the_rules_do_what_is_meant_and_delete_nothing_else(cases: tuple[Case, ...]) -> None:
    judged = await judge_all(cases)
    wrong = [j.case.say for j in judged if not j.right]
    assert sum(j.deleted for j in judged) == 0
    assert 1 - len(wrong) / len(cases) >= 0.9, wrong


async def test_the_judge_sees_a_wrong_answer() -> None:
    cases = [
        Case("No, it's Bergen, not Oslo.", ("I live in Oslo.",), ("forget",), (0,)),
        Case("No, it's Bergen, not Oslo.", ("I live in Oslo.", "I like tea."), ("correct",), (1,), ("Bergen",)),
        Case("Forget that I like tea.", ("I live in Oslo.", "I like tea."), ("forget",), (0,)),
        Case("No, it's Bergen, not Oslo.", ("I live in Oslo.",)),
    ]
    judged = await judge_all(cases)
    assert [j.right for j in judged] == [False] * 4
    assert [j.deleted for j in judged] == [0, 0, 2, 0]


@pytest.mark.slow
async def test_the_table_tells_both_halves() -> None:
    table = await measure()
    assert "| built on |" in table and "| held back |" in table and "must change nothing" in table
