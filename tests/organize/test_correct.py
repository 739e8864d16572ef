"""A message given as a correction wins over what it corrects, and over nothing else; it can be undone and deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.memory.model import Layer


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path / "home", embedder="none", background=False) as made:
        yield made


def facts(memos: MemOS, status: str = "active") -> list[str]:
    page = memos.list(include_inactive=True)
    return sorted(m.text for m in page.items if m.layer is Layer.DERIVED and m.status.value == status)


def correct(memos: MemOS, text: str, *said: str, about: Sequence[str] = (), **more: Any) -> str:
    context = [{"role": "user" if n % 2 else "assistant", "content": t} for n, t in enumerate(said)]
    return memos.add(text, context=context, corrects=about, wait=True, **more).ids[0]


@pytest.mark.parametrize(
    ("told", "said", "correction", "now", "was", "question"),
    [
        ("I live in Oslo.", ["You live in Oslo."], "No, it's Bergen, not Oslo", "The user lives in Bergen.", "The user lives in Oslo.", "Where do I live?"),
        ("I live in Oslo.", ["You live in Oslo."], "No, Bergen.", "The user lives in Bergen.", "The user lives in Oslo.", "Where do I live?"),
        ("I live in Oslo.", [], "No, I live in Bergen, not Oslo.", "The user lives in Bergen.", "The user lives in Oslo.", "Where do I live?"),
        ("I have a cat called Lia.", [], "My cat is called Mia, not Lia.", "The user has a pet named Mia.", "The user has a pet named Lia.", "What is my cat called?"),
        ("My kayak is teal and lives in shed 4.", ["Your kayak is teal."], "It is green, not teal", "My kayak is green and lives in shed 4.",
         "My kayak is teal and lives in shed 4.", "What colour is my kayak?"),
        ("我住在北京。", ["您住在北京。"], "不对，是上海。", "用户住在上海。", "用户住在北京。", "我住在哪里？"),
    ],
)  # fmt: skip
def test_the_right_words_take_the_place_of_the_wrong(
    memos: MemOS, told: str, said: list[str], correction: str, now: str, was: str, question: str
) -> None:
    memos.add(told, wait=True)
    id = correct(memos, correction, *said)
    assert now in facts(memos)
    assert was not in facts(memos)
    assert was in facts(memos, "superseded")
    hits = memos.search(question).hits
    assert hits[0].id == id
    assert [f.text for f in hits[0].facts] == [now]
    assert all(hit.stale for hit in hits if hit.text == told)


def test_what_was_wrong_never_was_true(memos: MemOS) -> None:
    memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2025-01-01"}, wait=True)
    correct(memos, "It's Bergen, not Oslo.")
    told = [m.text for m in memos.list(as_of="2025-02-01", kinds=["profile"]).items]
    assert told == ["The user lives in Bergen."]


def test_a_correction_dated_before_what_it_corrects_wins_all_the_same(memos: MemOS) -> None:
    memos.add({"role": "user", "content": "I live in Oslo.", "chat_time": "2025-06-01"}, wait=True)
    message = {"role": "user", "content": "It's Bergen, not Oslo.", "chat_time": "2025-01-01"}
    memos.add(message, corrects=[], wait=True)
    assert facts(memos) == ["The user lives in Bergen."]


def test_only_what_was_talked_about_is_corrected(memos: MemOS) -> None:
    memos.add(["I live in Oslo.", "My sister lives in Oslo."], wait=True)
    correct(memos, "It's Bergen, not Oslo", "Your sister lives in Oslo.")
    assert facts(memos) == ["The user lives in Oslo.", "The user's sister lives in Bergen."]


def test_what_the_caller_names_is_what_is_meant(memos: MemOS) -> None:
    mine, hers = memos.add(["I live in Oslo.", "My sister lives in Oslo."], wait=True).ids
    correct(memos, "It's Bergen, not Oslo", about=[mine])
    assert facts(memos) == ["The user lives in Bergen.", "The user's sister lives in Oslo."]
    correct(memos, "It's Tromsø, not Oslo", about=[hers])
    assert facts(memos) == ["The user lives in Bergen.", "The user's sister lives in Tromsø."]


@pytest.mark.parametrize(
    "text", ["It's Bergen, not Paris", "Great answer!", "No, Bergen.", "Please answer shorter, not so long"]
)
def test_what_fits_nothing_corrects_nothing_and_is_kept(memos: MemOS, text: str) -> None:
    memos.add("I live in Oslo.", wait=True)
    id = correct(memos, text)
    assert facts(memos) == ["The user lives in Oslo."]
    assert memos.get(id).text == text


def test_of_two_things_just_told_neither_is_guessed_at(memos: MemOS) -> None:
    memos.add(["I live in Oslo.", "I have a cat called Lia."], wait=True)
    before = facts(memos)
    correct(memos, "No, Bergen.", "You live in Oslo and your cat is called Lia.")
    assert facts(memos) == before


def test_an_ordinary_message_in_the_same_words_corrects_nothing(memos: MemOS) -> None:
    memos.add("I live in Oslo.", wait=True)
    memos.add("No, it's Bergen, not Oslo", wait=True)
    assert facts(memos) == ["The user lives in Oslo."]


def test_a_correction_can_be_deleted_and_what_it_replaced_is_back(memos: MemOS) -> None:
    memos.add("I live in Oslo.", wait=True)
    id = correct(memos, "No, it's Bergen, not Oslo")
    memos.delete(id)
    assert facts(memos) == ["The user lives in Oslo."]


def test_a_correction_can_be_taken_back_and_undone(memos: MemOS) -> None:
    memos.add("I live in Oslo.", wait=True)
    id = correct(memos, "No, it's Bergen, not Oslo")
    memos.delete(id, hard=False)
    assert facts(memos) == ["The user lives in Oslo."]
    memos.undo(id)
    assert facts(memos) == ["The user lives in Bergen."]


def test_later_news_still_supersede_a_correction(memos: MemOS) -> None:
    memos.add("I live in Oslo.", wait=True)
    correct(memos, "No, it's Bergen, not Oslo")
    memos.add("I moved to Trondheim.", wait=True)
    assert [f for f in facts(memos) if "lives in" in f] == ["The user lives in Trondheim."]


def test_a_correction_and_what_it_corrects_in_one_digest(memos: MemOS) -> None:
    memos.add("I live in Oslo.")
    correct(memos, "No, it's Bergen, not Oslo")
    assert facts(memos) == ["The user lives in Bergen."]


def test_the_raw_record_stays_as_it_was(memos: MemOS) -> None:
    (id,) = memos.add("My kayak is teal.", wait=True).ids
    before = memos.get(id)
    correct(memos, "The kayak is green, not teal")
    assert memos.get(id) == before


def test_context_that_is_given_counts_more_than_what_was_stored_before(memos: MemOS) -> None:
    memos.add("Nice weather today, the lake was full of boats.", wait=True)
    memos.add("Oslo.", context=[{"role": "assistant", "content": "Which city do you live in?"}], wait=True)
    assert facts(memos) == ["The user lives in Oslo."]


def test_context_helps_to_understand_and_is_not_stored(memos: MemOS) -> None:
    memos.add("Oslo.", context=[{"role": "assistant", "content": "Which city do you live in?"}], wait=True)
    assert facts(memos) == ["The user lives in Oslo."]
    assert memos.count(kinds=["trace"]) == 1


@pytest.mark.parametrize("name", [None, "Ann"])
def test_what_i_say_of_me_corrects_nothing_of_others(memos: MemOS, name: str | None) -> None:
    who, by = (name or "The user"), {"name": name} if name else {}
    for told in ("I like tea.", "My wife likes tea."):
        memos.add({"role": "user", "content": told, **by}, wait=True)
    memos.add({"role": "user", "content": "No, I like coffee, not tea.", **by}, corrects=(), wait=True)
    assert f"{who} likes coffee." in facts(memos)
    assert f"{who}'s wife likes tea." in facts(memos)
    assert facts(memos, "superseded") == [f"{who} likes tea."]
