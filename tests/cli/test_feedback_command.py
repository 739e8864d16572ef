"""`memos feedback`: what was done, a line each, and how to take it back."""

from __future__ import annotations

from cli_helpers import Answer, Memos


def test_a_correction_is_shown_and_can_be_taken_back(memos: Memos, answer: Answer) -> None:
    memos("add", "I live in Oslo.")
    shown = memos("feedback", "no, it's Bergen, not Oslo", "--answer", "You live in Oslo.").stdout
    assert "The user lives in Oslo. -> The user lives in Bergen." in shown
    record = shown.rpartition("memos undo ")[2].strip()
    memos("undo", record)
    assert "Oslo" in memos("list", "--kind", "profile").stdout


def test_what_is_over_is_news_and_what_is_not_understood_is_told_as_it_is(memos: Memos) -> None:
    memos("add", "I live in Oslo.")
    told = memos("feedback", "I don't live in Oslo any more, I live in Bergen", "--dry-run").stdout
    assert "The user lives in Oslo. -> The user lives in Bergen." in told
    asked = memos("feedback", "no, it's Bergen, not Rome", "--dry-run", code=1).stdout
    assert not asked.startswith("would have")


def test_as_json(memos: Memos, answer: Answer) -> None:
    memos("add", "I live in Oslo.")
    told = answer("feedback", "also note that I have two kids")
    assert (told["understood"], [one["operation"] for one in told["operations"]]) == (True, ["supplement"])


def test_what_is_unclear_is_an_error_that_shows_what_may_be_meant(memos: Memos) -> None:
    memos("add", "My boss is Tom.")
    memos("add", "My brother is called Tom.")
    told = memos("feedback", "forget Tom", code=1)
    assert "more than one" in told.stdout and "The user has a boss named Tom." in told.stdout


def test_a_rehearsal_changes_nothing(memos: Memos) -> None:
    memos("add", "My phone number is 555-1234.")
    assert "- My phone number is 555-1234." in memos("feedback", "forget my phone number", "--dry-run").stdout
    assert "555-1234" in memos("list").stdout


def test_forgetting_for_good_needs_a_yes(memos: Memos) -> None:
    memos("add", "My phone number is 555-1234.")
    assert "--yes" in memos("feedback", "forget my phone number", "--hard", code=2).stderr
    memos("feedback", "forget my phone number", "--hard", "--yes")
    assert "555-1234" not in memos("list", "--inactive").stdout


def test_a_thumb(memos: Memos, answer: Answer) -> None:
    added = answer("add", "I like tea.")
    told = answer("feedback", "--rating", "up", "--target", added["records"][0]["id"])
    assert [one["operation"] for one in told["operations"]] == ["rate"]


def test_nothing_said_is_an_error(memos: Memos) -> None:
    assert "say what is right" in memos("feedback", code=2).stderr
