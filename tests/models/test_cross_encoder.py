"""A cross-encoder in this process: scores from 0 to 1, long texts by their best part, clear words when it cannot be."""

from __future__ import annotations

import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from memos.errors import InvalidInput, ModelError, ModelTimeout, ModelUnavailable
from memos.models.cross_encoder import CrossEncoderReranker
from memos.models.factory import make_reranker


class FakePackage(ModuleType):
    """As much of sentence-transformers as is used: a logit of 5 for texts with the word of the question, else -5."""

    def __init__(self) -> None:
        super().__init__("sentence_transformers")
        self.missing, self.seconds, self.loads = False, 0.0, 0
        self.rows: Any = None
        outer = self

        class CrossEncoder:
            def __init__(self, name: str, device: str | None, local_files_only: bool) -> None:
                assert local_files_only
                if outer.missing:
                    raise OSError("offline")
                outer.loads += 1

            def predict(
                self, pairs: list[tuple[str, str]], batch_size: int, show_progress_bar: bool, activation_fn: object
            ) -> Any:
                assert activation_fn == "identity"
                time.sleep(outer.seconds)
                if isinstance(outer.rows, Exception):
                    raise outer.rows
                return [5.0 if query in text else -5.0 for query, text in pairs] if outer.rows is None else outer.rows

        self.CrossEncoder = CrossEncoder


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> FakePackage:
    fake, torch = FakePackage(), ModuleType("torch")
    torch.nn = SimpleNamespace(Identity=lambda: "identity")  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    monkeypatch.setitem(sys.modules, "torch", torch)
    return fake


async def test_texts_that_answer_come_first_and_blank_ones_last(package: FakePackage) -> None:
    model = make_reranker("ce:some/model")
    assert model is not None
    scores = await model.rerank("crab", ["a fish", "the crab", " ", "word " * 3000 + "crab"])
    assert scores[1] > 0.99
    assert scores[3] > 0.99, "the best window of a long text counts"
    assert 0 < scores[0] < 0.01
    assert scores[2] == 0
    assert await model.rerank("crab", []) == []
    assert (package.loads, model.model_id) == (1, "ce:some/model")


@pytest.mark.parametrize("rows", [[1.0], [1.0, float("nan")], RuntimeError("CUDA"), [[1.0], [2.0, 3.0]]])
async def test_what_it_answers_wrong_is_a_model_error(package: FakePackage, rows: object) -> None:
    package.rows = rows
    with pytest.raises(ModelError, match="ce:m"):
        await CrossEncoderReranker("m").rerank("q", ["a", "b"])


async def test_a_search_does_not_wait_for_it_forever(package: FakePackage) -> None:
    package.seconds = 0.5
    with pytest.raises(ModelTimeout, match="ce:m"):
        await CrossEncoderReranker("m", seconds=0.05).rerank("q", ["a"])


async def test_what_is_missing_is_said(package: FakePackage, monkeypatch: pytest.MonkeyPatch) -> None:
    package.missing = True
    with pytest.raises(ModelUnavailable, match="hf download m"):
        await CrossEncoderReranker("m").rerank("q", ["a"])
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelUnavailable, match="extra 'sentence-transformers'"):
        await CrossEncoderReranker("m").rerank("q", ["a"])
    with pytest.raises(InvalidInput, match="ce:MODEL"):
        make_reranker("ce:")
