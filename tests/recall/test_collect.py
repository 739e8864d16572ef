"""From a ranking to hits: repetitions fold, facts are shown by their record, what was replaced gives way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memos import Kind, MemOS


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path / "home", embedder="none", background=False) as made:
        yield made


def said(day: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, "chat_time": f"{day}T10:00:00Z", **more}


def test_the_same_words_of_one_speaker_are_one_hit_in_any_case_and_spacing(memos: MemOS) -> None:
    ids = [
        memos.add(said(f"2024-01-0{n}", text), session=f"s{n}").ids[0]
        for n, text in enumerate(("The teal kayak is long", "the TEAL  kayak\nis long", "The teal kayak is long"), 1)
    ]
    (hit,) = memos.search("teal kayak").hits
    assert {hit.id, *hit.also} == set(ids)


def test_the_same_words_of_two_speakers_are_two_hits(memos: MemOS) -> None:
    for name in ("Ann", "Bo"):
        memos.add(said("2024-01-01", "The teal kayak is long", name=name))
    assert {h.memory.speaker for h in memos.search("teal kayak")} == {"Ann", "Bo"}


def test_short_words_are_not_taken_for_repetitions(memos: MemOS) -> None:
    for n in (1, 2):
        memos.add(said(f"2024-01-0{n}", "kayak, yes"), session=f"s{n}")
    assert [h.also for h in memos.search("kayak")] == [(), ()]


def test_folding_frees_places_for_others(memos: MemOS) -> None:
    for n in range(30):
        memos.add(said("2024-01-01", "The teal kayak is long and fast"), session=f"s{n}")
    memos.add([said("2024-01-01", f"The kayak of guest {n} is red") for n in range(6)], session="guests")
    hits = memos.search("teal kayak long fast", limit=7).hits
    assert len(hits) == 7 and len(hits[0].also) == 29


def test_several_facts_of_one_record_are_one_hit_with_both(memos: MemOS) -> None:
    (id,) = memos.add("I live in Rome. I like chess very much.", wait=True).ids
    (hit,) = memos.search("Where do I live and what do I like, Rome or chess?").hits
    assert hit.id == id
    assert {f.text for f in hit.facts} == {"The user lives in Rome.", "The user likes chess."}


def test_with_kinds_the_facts_themselves_are_hits(memos: MemOS) -> None:
    memos.add("I live in Rome. I like chess very much.", wait=True)
    hits = memos.search("Rome chess", kinds=["profile", "preference"]).hits
    assert {h.memory.kind for h in hits} == {Kind.PROFILE, Kind.PREFERENCE}
    assert all(h.facts == () for h in hits)


def test_a_fact_whose_record_the_filter_hides_is_shown_itself(memos: MemOS) -> None:
    memos.add("I live in Rome near the river.", wait=True)
    hits = memos.search("Rome", filter={"kind": "profile"}).hits
    assert [h.text for h in hits] == ["The user lives in Rome."]


def test_each_record_of_a_fact_that_many_records_say_is_found(memos: MemOS) -> None:
    ids = memos.add(["I live in Rome near the river.", "Well, I live in Rome, as you know."], wait=True).ids
    hits = memos.search("Where do I live? Rome").hits
    assert {h.id for h in hits} == set(ids)
    assert all([f.text for f in h.facts] == ["The user lives in Rome."] for h in hits)


def test_the_record_of_what_holds_now_is_found_even_by_the_words_of_what_it_replaced(memos: MemOS) -> None:
    old, new = memos.add(
        [said("2023-01-10", "I live in Rome in a small flat."), said("2024-01-10", "I moved to Oslo.")], wait=True
    ).ids
    hits = memos.search("small flat Rome").hits
    by_id = {h.id: h for h in hits}
    assert by_id[new].rank < by_id[old].rank
    assert (by_id[old].stale, by_id[new].stale) == (True, False)
    assert [f.text for f in by_id[old].outdated] == ["The user lives in Rome."]


def test_what_was_told_as_past_is_not_stale(memos: MemOS) -> None:
    memos.add(
        [said("2024-01-10", "I lived in Paris until 2019."), said("2024-01-11", "I live in Lyon now.")], wait=True
    )
    assert not any(h.stale for h in memos.search("Paris Lyon"))


def test_scores_and_ranks_of_hits_agree(memos: MemOS) -> None:
    memos.add(
        [
            said("2024-01-01", f"The {colour} kayak number {n} is {n} feet long")
            for n, colour in enumerate(["teal", "red", "blue"] * 8)
        ]
    )
    hits = memos.search("blue kayak number 8", limit=12).hits
    assert [h.rank for h in hits] == list(range(1, 13))
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    assert all(0 <= h.score <= 1 and sum(h.why.values()) > 0 for h in hits)
    assert hits[0].text.startswith("The blue kayak number 8")


def test_a_plan_whose_day_is_past_is_no_current_fact(memos: MemOS) -> None:
    memos.add(said("2024-05-01", "I'm going to the jazz concert on May 10."), wait=True)
    before, after = (memos.search("jazz concert", reference_time=day) for day in ("2024-05-02", "2024-05-20"))
    assert [f.text for f in before.facts] == ["The user is going to the jazz concert on May 10."]
    assert after.hits and not after.facts and "Current facts" not in after.context
    assert not memos.profile(reference_time="2024-05-20").items  # the same rule
    listed = memos.search("jazz concert", kinds=["commitment"], reference_time="2024-05-20")
    assert listed.hits and "Current facts" not in listed.context


def test_replies_that_say_nothing_come_after_all_that_says_something(memos: MemOS) -> None:
    for n, text in enumerate(("The teal kayak is long", "My kayak is kept in the shed", "The kayak cost 900 euros")):
        for reply in ("Noted.", "好的。", "Sure, I'll remember that."):
            memos.add(
                [said(f"2024-01-0{n + 1}", text), {"role": "assistant", "content": reply}], session=f"s{n}{reply}"
            )
    hits = memos.search("Do you remember where my teal kayak is kept and what it cost?", limit=20).hits
    roles = [h.memory.role for h in hits]
    assert roles == sorted(roles, reverse=True) and roles.count("user") == 3
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    assert [h.rank for h in hits] == list(range(1, len(hits) + 1))
    few = memos.search("Do you remember where my teal kayak is kept and what it cost?", limit=3).hits
    assert {h.memory.role for h in few} == {"user"}


@pytest.mark.parametrize("reply", ["Noted.", "好的，我记住了。"])
def test_a_reply_that_says_nothing_is_found_where_it_is_asked_for(memos: MemOS, reply: str) -> None:
    memos.add([said("2024-01-01", "The teal kayak is long"), {"role": "assistant", "content": reply}])
    assert memos.search(reply).hits[0].text == reply
