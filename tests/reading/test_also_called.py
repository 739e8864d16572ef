"""Other names that are told in so many words, and requests that only look like them."""

from __future__ import annotations

import pytest

from memos.reading.also_called import other_names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My name is Robert Chen, or Bob for short.", "Bob"),
        ("I'm Robert, or just Bob for short", "Bob"),
        ("You can call me Al from now on", "Al"),
        ("Please call me Bob.", "Bob"),
        ("everyone calls me Bobby", "Bobby"),
        ("They call me Ishmael.", "Ishmael"),
        ("从现在起叫我小王", "小王"),
        ("叫我小王就行", "小王"),
        ("以后请叫我Bob吧", "Bob"),
        ("大家都叫我阿强。", "阿强"),
        ("我的英文名叫Kevin", "Kevin"),
    ],
)
def test_names_of_the_speaker(text: str, name: str) -> None:
    assert [(o.name, o.of, text[o.start : o.end]) for o in other_names(text)] == [(name, None, name)]


@pytest.mark.parametrize(
    ("text", "of", "name"),
    [
        ("Robert Chen, also known as Bob, is here", "Robert Chen", "Bob"),
        ("Robert Chen (aka Bob) called.", "Robert Chen", "Bob"),
        ("Robert, or Bob for short", "Robert", "Bob"),
        ("Bob is short for Robert.", "Robert", "Bob"),
        ("王伟（又叫小王）来了", "王伟", "小王"),
    ],
)
def test_names_of_others(text: str, of: str, name: str) -> None:
    assert [(o.name, o.of) for o in other_names(text)] == [(name, of)]


@pytest.mark.parametrize(
    "text",
    [
        "call me when you can",
        "Call me tomorrow.",
        "别叫我起床",
        "妈妈叫我回家",
        "请叫我起床",
        "以后叫我早点",
        "We made a short trip.",
        "I'm short on time.",
        "他叫我一声。",
    ],
)
def test_what_is_no_name(text: str) -> None:
    assert list(other_names(text)) == []
