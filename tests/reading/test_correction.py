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
