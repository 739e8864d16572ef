"""Questions by rules: about names and memories in turn, of the conversation first, three at most, in two languages."""

from __future__ import annotations

import pytest

from memos.chat.suggestions import LENGTH, by_rules
from memos.memory.ids import new_id
from memos.memory.model import Kind, Memory


def memory(text: str, kind: Kind = Kind.FACT, **body: str) -> Memory:
    return Memory(new_id(), kind, text, body=body)


def test_names_and_memories_in_turn_then_general_ones() -> None:
    asked = by_rules([memory("Oslo", Kind.ENTITY, type="place")], [memory("Ada likes tea.", Kind.PREFERENCE)], "", "en")
    assert asked == (
        "What else may suit me, given that “Ada likes tea”?",
        "What happened in Oslo?",
        "What did we talk about last?",
    )


def test_what_is_talked_about_comes_first() -> None:
    names = [memory("Oslo", Kind.ENTITY, type="place"), memory("Bo", Kind.ENTITY, type="person")]
    facts = [memory("A.", value="tea"), memory("B.", value="Rome")]
    assert by_rules(names, facts, "Tell me of Bo and Rome", "en")[:2] == (
        "What else do you know around “B”?",
        "What do you know about Bo?",
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_three_at_most_and_long_memories_cut(language: str) -> None:
    asked = by_rules([], [memory("word " * 100)] * 5, "", language)  # type: ignore[arg-type]
    assert len(asked) == 3 == len(set(asked)) and all(len(question) < LENGTH + 60 for question in asked)
