"""Sentences and passages cover every character and never tear what is seen as one."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memos.errors import InvalidInput
from memos.text.spans import inside_grapheme, passages, sentences

TEXTS = st.text(max_size=200) | st.text(alphabet="ab .!?\n`。！茶é\u0301\u200d👩👧🏽🇳🇴\ud83d\ude00\r각ᄀ", max_size=200)


def cut(text: str, spans: list[tuple[int, int]]) -> list[str]:
    return [text[start:end] for start, end in spans]


@pytest.mark.parametrize(
    "expected",
    [
        ["Hello Dr. Smith. ", "How are you?  ", "Fine!\n", "It cost 3.5 kr, e.g. at J. Doe's. ", "Bye"],
        ["你好。", "今天去哪？", "“好！”", "周五。"],
        ["He said “stop.” ", "Then he left."],
        ["Look:\n", "```py\na = 1. \n\nb!\n```\n", "Done. ", "Yes"],
        ["# Title\n\n", "Text…", "more"],
    ],
)
def test_sentences(expected: list[str]) -> None:
    text = "".join(expected)
    assert cut(text, sentences(text)) == expected


def test_passages_are_packed_sentences() -> None:
    text = "One two three. " * 10
    assert cut(text, passages(text, 32)) == ["One two three. One two three. "] * 5
    assert passages("", 10) == []
    assert passages("short") == [(0, 5)]


def test_long_sentences_are_cut_between_words() -> None:
    text = "word " * 100
    assert all(part.startswith("word") and part.endswith("word ") for part in cut(text, passages(text, 33)))


def test_emoji_families_flags_and_marks_are_never_torn() -> None:
    for whole in ("👨‍👩‍👧‍👦", "🇳🇴", "👍🏽", "e\u0301\u0302", "\ud83d\ude00", "각", "❤️"):
        for part in cut(whole * 30, passages(whole * 30, 17)):
            assert len(part) % len(whole) == 0
        assert cut(whole * 2, passages(whole * 2, 1)) == [whole, whole]


def test_a_passage_needs_a_length() -> None:
    with pytest.raises(InvalidInput, match="max_chars"):
        passages("text", 0)


@given(TEXTS, st.integers(1, 60))
def test_spans_cover_every_character_in_order(text: str, size: int) -> None:
    for spans in (sentences(text), passages(text, size)):
        assert [0, *(end for _, end in spans)] == [*(start for start, _ in spans), len(text)]
        assert all(start < end for start, end in spans)


@given(TEXTS, st.integers(1, 60))
def test_no_passage_is_too_long_or_begins_inside_a_grapheme(text: str, size: int) -> None:
    for start, end in passages(text, size):
        assert end - start <= size or all(inside_grapheme(text, at) for at in range(start + size, end))
        assert not inside_grapheme(text, start) or end - start >= 64 or start >= 64


@pytest.mark.parametrize(
    "junk", ["a", ". ", "\n", "```\n", "\u0301", "🇳", "\u200d", "! ", "。", "a.b. ", '"', "~~~", "\ud83d"]
)
def test_a_megabyte_takes_linear_time(junk: str) -> None:
    text = junk * (1_000_000 // len(junk))
    start = time.perf_counter()
    spans = passages(text, 1000)
    assert time.perf_counter() - start < 15
    assert spans[-1][1] == len(text)
    assert all(end - start <= 1064 for start, end in spans)
