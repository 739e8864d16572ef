"""Judging texts that are not stored: by words, by meaning, by a reranker, and without what fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from memos import AsyncMemOS
from memos.errors import InvalidInput, ModelError
from memos.recall.judge import by_words, judge

TEXTS = ["The weather is fine.", "Refunds take fourteen days.", "A refund needs a receipt."]


class Vectors:
    """An embedder for which only what has "days" in it is near the question."""

    model_id, dim = "stub", 2

    def __init__(self, fail: bool = False) -> None:
        self.fail = fail

    async def embed(self, texts: Sequence[str], *, purpose: str) -> np.ndarray:
        if self.fail:
            raise ModelError("down")
        rows = [[1, 0] if purpose == "query" or "days" in t else [0, 1] for t in texts]
        return np.asarray(rows, np.float32)


class Opinions:
    model_id = "stub"

    def __init__(self, fail: bool = False) -> None:
        self.fail = fail

    async def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        if self.fail:
            raise ModelError("down")
        return [1.5, 0.5, -1.0]


def test_rare_words_of_the_question_count_more() -> None:
    scores = by_words("refund receipt", TEXTS)
    assert scores[0] == 0
    assert scores[2] == 1
    assert 0 < scores[1] < 0.5
    assert by_words("保修多久", ["保修十二个月", "营业时间"])[0] > by_words("保修多久", ["保修十二个月", "营业时间"])[1]
    assert by_words("the", ["the", "a"])[0] == 1
    assert by_words("?", ["x"]) == [0.0]
    assert by_words("x", []) == []


async def test_meaning_counts_half_where_an_embedder_answers() -> None:
    words = by_words("refund", TEXTS)
    scores = await judge("refund", TEXTS, Vectors())
    assert scores == pytest.approx([w / 2 + near / 2 for w, near in zip(words, (0, 1, 0), strict=True)])


async def test_what_fails_is_done_without() -> None:
    words = by_words("refund", TEXTS)
    assert await judge("refund", TEXTS, Vectors(fail=True)) == words
    assert await judge("refund", TEXTS, None, Opinions(fail=True)) == words
    assert await judge("refund", TEXTS, Vectors(), Opinions()) == [1.0, 0.5, 0.0]


async def test_the_verb_needs_a_question(tmp_path: object) -> None:
    async with AsyncMemOS(tmp_path / "home", embedder="none") as memos:
        assert len(await memos.judge("refund", TEXTS)) == 3
        with pytest.raises(InvalidInput):
            await memos.judge(" ", TEXTS)
