"""Models handed over as objects: whatever they do, a search is answered."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memos import AsyncMemOS
from memos.errors import InvalidInput, ModelError
from memos.models.given import GivenEmbedder, GivenReranker


class Odd:
    """Answers what it is told to, or raises it."""

    model_id = "odd/1"
    dim = 8

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    async def embed(self, texts: Sequence[str], *, purpose: str) -> Any:
        return self._say(len(texts))

    async def rerank(self, query: str, texts: Sequence[str]) -> Any:
        return self._say(len(texts))

    def _say(self, count: int) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(count) if callable(self.answer) else self.answer


ODD: list[Any] = [RuntimeError("no"), KeyError("x"), None, "text", [], [1.0], [[1.0], [2.0, 3.0]], np.zeros((9, 8)),
                  lambda n: np.full((n, 8), np.nan), lambda n: np.full((n, 8), 1e9)]  # fmt: skip


@pytest.mark.parametrize("answer", ODD)
async def test_every_failure_of_an_embedder_is_a_model_error(answer: Any) -> None:
    with pytest.raises(ModelError):
        await GivenEmbedder(Odd(answer)).embed(["a", "b"], purpose="query")


@pytest.mark.parametrize("answer", [RuntimeError("no"), None, 5, ["x"], [[1.0]]])
async def test_every_failure_of_a_reranker_is_a_model_error(answer: Any) -> None:
    with pytest.raises(ModelError):
        await GivenReranker(Odd(answer)).rerank("q", ["a"])


@pytest.mark.parametrize("answer", ODD)
async def test_search_and_add_live_with_it_and_say_so(tmp_path: Path, answer: Any) -> None:
    async with AsyncMemOS(tmp_path, embedder=Odd(answer), reranker=Odd(answer)) as memos:
        added = await memos.add("The kayak is teal", wait=True)
        assert len(added) == 1 and added.pending
        assert any("not embedded" in n for n in added.notices)
        found = await memos.search("teal kayak")
        assert [h.text for h in found] == ["The kayak is teal"]
        assert any("without vectors" in r for r in found.reasons)


async def test_a_question_of_another_length_is_answered_by_words(tmp_path: Path) -> None:
    class Two(Odd):
        async def embed(self, texts: Sequence[str], *, purpose: str) -> Any:
            return np.eye(8 if purpose == "document" else 5, dtype=np.float32)[: len(texts)]

    async with AsyncMemOS(tmp_path, embedder=Two(None)) as memos:
        await memos.add("The kayak is teal", wait=True)
        found = await memos.search("teal kayak")
        assert found.status == "found" and any("without vectors" in r for r in found.reasons)


class Nameless:
    async def embed(self, texts: Sequence[str], *, purpose: str) -> Any: ...


class NotAsync:
    model_id = "x"

    def embed(self, texts: Sequence[str], *, purpose: str) -> Any: ...


@pytest.mark.parametrize("given", [Nameless(), NotAsync(), object()])
def test_what_is_no_embedder_is_refused_when_it_is_given(tmp_path: Path, given: Any) -> None:
    with pytest.raises(InvalidInput):
        AsyncMemOS(tmp_path, embedder=given)
