"""Stemming joins the forms of one word and keeps different words apart."""

from __future__ import annotations

import pytest

from memos.text.stem import stem_cyrillic, stem_english


@pytest.mark.parametrize(
    "family",
    [
        "go goes went gone going", "buy buys bought buying", "child children", "study studies studied studying",
        "run runs running ran",
        "make makes making made", "hope hopes hoped hoping", "stop stops stopped stopping",
        "call calls called calling",
        "box boxes boxed", "bus buses", "class classes", "wish wishes wished", "city cities", "person people",
        "wife wives", "use used using",
        "live lives lived living", "paint painting paintings painted", "think thought thinking", "quick quickly",
        "create creation created",
        "educate education", "kind kindness", "travel traveled travelling", "tie ties tied tying", "movie movies",
        "hero heroes",
        "adopt adoption adopting", "plan plans planned planning", "teach teaches taught teaching",
    ],
)  # fmt: skip
def test_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len({stem_english(word) for word in family.split()}) == 1


@pytest.mark.parametrize(
    "words",
    [
        "thing think",
        "bring bread",
        "bus busy",
        "red read",
        "news new",
        "sing single",
        "string strong",
        "need knee",
        "king kin",
    ],
)
def test_different_words_keep_different_stems(words: str) -> None:
    assert len({stem_english(word) for word in words.split()}) == 2


def test_russian_endings_are_removed_but_never_the_word() -> None:
    assert len({stem_cyrillic(word) for word in ("книга", "книги", "книгу", "книгами", "книгах")}) == 1
    assert stem_cyrillic("дом") == "дом"
