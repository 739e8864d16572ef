"""What counts as a correction, and which words are wrong and right in it."""

from __future__ import annotations

import time

import pytest

from memos.reading.correction import corrections_of


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("No, it's Bergen, not Oslo", "Oslo", "Bergen"),
        ("No, I live in Bergen, not Oslo.", "Oslo", "Bergen"),
        ("not Oslo but Bergen", "Oslo", "Bergen"),
        ("It isn't Oslo. It's Bergen.", "Oslo", "Bergen"),
        ("It's not Oslo, it's Bergen!", "Oslo", "Bergen"),
        ("I said Bergen, not Oslo!", "Oslo", "Bergen"),
        ("Change Oslo to Bergen", "Oslo", "Bergen"),
        ('Please replace "Oslo" with "Bergen".', "Oslo", "Bergen"),
        ("That's wrong. My cat is called Mia, not Lia.", "Lia", "Mia"),
        ("no, my dog's name is Rex Junior, not Rex", "Rex", "Rex Junior"),
        ("The meeting is on Friday instead of Thursday", "Thursday", "Friday"),
        ("My favourite restaurant in the old town is Nonna, not Luigi", "Luigi", "Nonna"),
        ("the right year is 2019, not 2018", "2018", "2019"),
        ("The kayak is green, not teal.", "teal", "green"),
        ("不对，我住在上海，不是北京。", "北京", "上海"),
        ("是上海，不是北京", "北京", "上海"),
        ("不是北京，是上海", "北京", "上海"),
        ("应该是周五而不是周四", "周四", "周五"),
        ("把北京改成上海", "北京", "上海"),
        ("No, Bergen.", None, "Bergen"),
        ("It's Bergen", None, "Bergen"),
        ("Wrong: it's Bergen!", None, "Bergen"),
        ("不对，是上海。", None, "上海"),
    ],
)
def test_corrections(text: str, old: str | None, new: str) -> None:
    assert [(c.old, c.new) for c in corrections_of(text)] == [(old, new)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thanks, that is right.",
        "Great answer!",
        "No.",
        "Actually I moved to Bergen",
        "I don't live in Oslo.",
        "It was a very long and pleasant evening with friends.",
        "No, please do not answer in such long sentences any more",
        "谢谢，很好。",
    ],
)
def test_what_corrects_nothing(text: str) -> None:
    assert corrections_of(text) == ()


def test_hostile_text_takes_no_time() -> None:
    begun = time.process_time()
    for text in (
        "not " * 5_000,
        "x" * 190 + ", not y",
        ("a " * 90 + ", not b. ") * 10,
        "it's " * 39 + ", not b",
        "it's " + "a, not " * 3_000,
        "a " * 20_000 + ", not b",
        "不是" * 5_000,
        "no, " * 5_000,
    ):
        corrections_of(text)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("text", "new", "before", "about"),
    [
        ("no, it's at 8, not 7", "8", "at", ""),
        ("no, it's 8, not at 7", "8", "at", ""),
        ("No, I live in Bergen, not Oslo.", "Bergen", "in", "I"),
        ("No, I said Bergen, not Oslo.", "Bergen", "", ""),
        ("My sister is called Mia, not Lia", "Mia", "", "sister"),
        ("the right year is 2019, not 2018", "2019", "", ""),
        ("Change Oslo to Bergen", "Bergen", "", ""),
        ("no, it's at 7:30, not 7", "7:30", "at", ""),
        ("no, it's $1,250.50, not $1,200", "$1,250.50", "", ""),
        ("不对，我妹妹住在上海，不是北京", "上海", "", "妹妹"),
        ("不对，我住在上海，不是北京", "上海", "", "我"),
        ("不对，是上海，不是北京", "上海", "", ""),
    ],
)
def test_how_and_of_whom_the_right_words_were_said(text: str, new: str, before: str, about: str) -> None:
    assert [(c.new, c.before, c.about) for c in corrections_of(text)] == [(new, before, about)]


@pytest.mark.parametrize(
    "text",
    [
        "no, it was shellfish I'm allergic to, not nuts",
        "no, it was 8 apples on day 7, not 7",
        "no, it was shellfish and the sauce, not nuts",
        "It's not Oslo",
        "It isn't Oslo. Thanks!",
        "It isn't Oslo, thanks",
        "It isn't Oslo. Where did you get that?",
        "No, the flight at 10 is at 8, not 7",
        "No, it's at 8, not on 7",
        "I'm not allergic to nuts but shellfish",
        "I don't like coffee but tea",
        "No, thanks.",
        "No, that is wrong.",
        "No, never mind.",
        "不是北京，是我住在上海",
        "不对，我们去上海。",
    ],
)
def test_what_may_be_a_piece_of_a_clause_is_no_correction(text: str) -> None:
    assert corrections_of(text) == ()
