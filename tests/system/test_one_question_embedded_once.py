"""Searches at once that ask the same have the question embedded once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memos import AsyncMemOS
from memos.errors import ModelError
from memos.models.embed import Purpose, Vectors


class Slow:
    """Counts the questions it is asked."""

    model_id = "test:slow"
    dim = 4

    def __init__(self) -> None:
        self.questions: list[str] = []
        self.broken = False

    async def embed(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if purpose == "query" and texts != ["first"]:
            self.questions += texts
            await asyncio.sleep(0.05)
            if self.broken:
                raise ModelError("gone")
        return np.full((len(texts), 4), 0.5, np.float32)


async def test_the_same_question_is_embedded_once_at_a_time(tmp_path: Path) -> None:
    model = Slow()
    async with AsyncMemOS(tmp_path, embedder=model) as memos:
        await memos.add("My boat is called Wren.", wait=True)
        both = await asyncio.gather(memos.search("boat"), memos.search("boat"), memos.search("ship"))
        assert sorted(model.questions) == ["boat", "ship"]
        assert [len(found.hits) for found in both[:2]] == [1, 1]
        model.broken = True
        model.questions.clear()
        failed = await asyncio.gather(memos.search("boat 2"), memos.search("boat 2"))
        assert model.questions == ["boat 2"]
        assert all("gone" in " ".join(found.reasons) for found in failed)
        model.broken = False
        assert not (await memos.search("boat 2")).reasons
