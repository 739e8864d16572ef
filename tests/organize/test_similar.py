"""Near-duplicates: what says the same in other words, and what only looks like it. No wrong merge is the bar."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from likeness_pairs import DIFFERENT, SAME

from memos.memory.model import Kind
from memos.organize.sense import pieces
from memos.organize.similar import Likeness, Said, alike, sense_key, shared, signature


def said(part: str, **changes: object) -> Said:
    attribute, text, value = (piece.strip() for piece in part.rsplit("|", 2))
    slot = attribute if "|" in attribute else f"user|{attribute}"
    fields: dict[str, object] = {"kind": Kind.FACT, "denied": False, "since": None, "until": None, "due": ()}
    return Said(slot=slot, text=text, value=value, **{**fields, **changes})  # type: ignore[arg-type]


def pairs(lines: str) -> list[tuple[str, str]]:
    return [tuple(line.split("::")) for line in lines.strip().splitlines()]  # type: ignore[misc]


@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_the_same_in_other_words_is_known_for_the_same(one: str, other: str) -> None:
    assert alike(said(one), said(other)) is alike(said(other), said(one)) is Likeness.SAME


@pytest.mark.parametrize(("one", "other"), pairs(DIFFERENT))
def test_what_only_looks_alike_is_never_merged(one: str, other: str) -> None:
    assert Likeness.SAME not in (alike(said(one), said(other)), alike(said(other), said(one)))
    assert alike(said(one), said(other), cosine=0.99) is not Likeness.SAME, "vectors alone never merge"


def test_the_list_is_as_long_and_as_dangerous_as_it_claims() -> None:
    assert len(pairs(SAME)) >= 30 and len(pairs(DIFFERENT)) >= 50


@pytest.mark.parametrize(("one", "other"), pairs(SAME))
def test_what_was_filed_under_another_attribute_is_found_by_its_sense(one: str, other: str) -> None:
    if said(one).slot != said(other).slot:
        assert sense_key(said(one)) == sense_key(said(other)) is not None


@pytest.mark.parametrize(("one", "other"), pairs(DIFFERENT))
def test_what_is_not_the_same_has_another_sense_key(one: str, other: str) -> None:
    assert sense_key(said(one)) != sense_key(said(other))


def test_a_little_difference_without_danger_is_a_tie_for_a_model_to_decide() -> None:
    assert alike(said("job | The user is a nurse. | nurse"), said("job | . | hospital nurse")) is Likeness.TIE
    cook = "likes | The user likes cooking Italian dishes at home. | cooking Italian dishes at home"
    home = "likes | The user likes cooking Italian meals at home. | cooking Italian meals at home"
    assert alike(said(cook), said(home)) is Likeness.TIE


def test_far_words_are_a_tie_only_by_their_vectors() -> None:
    one, other = said("pet | . | puppy"), said("pet | . | young dog")
    assert alike(one, other) is Likeness.DIFFERENT
    assert alike(one, other, cosine=0.9) is Likeness.TIE
    assert alike(said("n | . | 3 dogs"), said("n | . | 4 dogs"), cosine=0.99) is Likeness.DIFFERENT


def test_what_is_denied_what_falls_due_and_what_ended_must_agree() -> None:
    line = "job | The user is a nurse. | nurse"
    for change in ({"denied": True}, {"due": ("2024-01-01",)}, {"until": datetime(2024, 1, 1, tzinfo=UTC)}):
        assert alike(said(line), said(line, **change)) is Likeness.DIFFERENT


def test_what_happened_on_two_days_happened_twice() -> None:
    first, second = (datetime(2024, 5, n, 9, tzinfo=UTC) for n in (1, 2))
    one = said("event | The user bought a car. | bought a car", kind=Kind.EVENT, since=first)
    other = said("event | The user bought the car. | bought the car", kind=Kind.EVENT, since=second)
    again = said("event | The user bought the car. | bought the car", kind=Kind.EVENT, since=first.replace(hour=20))
    assert (alike(one, other), alike(one, again)) == (Likeness.DIFFERENT, Likeness.SAME)


def test_signatures_are_the_same_in_every_process_and_estimate_what_is_shared() -> None:
    assert signature(("nurse",))[:3].tolist() == signature(("nurse",))[:3].tolist()
    assert int(signature(("nurse", "oslo")).astype(np.uint64).sum()) == SUM_OF_NURSE_OSLO
    near, far = pieces("cooking Italian dishes at home"), pieces("repairing old motorbikes in winter")
    assert shared(near, near) == 1.0
    assert shared(near, pieces("cooking Italian meals at home")) > 0.4 > 0.1 > shared(near, far)


SUM_OF_NURSE_OSLO = 25596998950  # whatever it is, it stays
