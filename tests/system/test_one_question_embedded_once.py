"""Searches at once that ask the same have the question embedded once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memos import AsyncMemOS
from memos.errors import ModelError
from memos.models.embed import Embedder, Purpose, Vectors
from memos.recall.engine import Recall


class Held:
    """Notes the questions it is asked, and answers when every search (`searches`) that is to share them has come to asking."""

    model_id = "test:held"
    dim = 4

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.questions: list[str] = []
        self.broken = False
        self.searches = 0
        asked = Recall._asked

        def counting(recall: Recall, embedder: Embedder, query: str) -> asyncio.Task[Vectors]:
            self.searches -= 1
            return asked(recall, embedder, query)

        monkeypatch.setattr(Recall, "_asked", counting)

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if purpose == "query" and texts != ["first"]:
            self.questions += texts
            while self.searches > 0:
                await asyncio.sleep(0.001)
            if self.broken:
                raise ModelError("gone")
        return np.full((len(texts), 4), 0.5, np.float32)


async def test_the_same_question_is_embedded_once_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Held(monkeypatch)
    async with AsyncMemOS(tmp_path, embedder=model) as memos:
        await memos.add("My boat is called Wren.", wait=True)
        model.searches = 3
        both = await asyncio.gather(memos.search("boat"), memos.search("boat"), memos.search("ship"))
        assert sorted(model.questions) == ["boat", "ship"]
        assert [len(found.hits) for found in both[:2]] == [1, 1]
        model.broken = True
        model.questions.clear()
        model.searches = 2
        failed = await asyncio.gather(memos.search("boat 2"), memos.search("boat 2"))
        assert model.questions == ["boat 2"]
        assert all("gone" in " ".join(found.reasons) for found in failed)
        model.broken = False
        assert not (await memos.search("boat 2")).reasons
