"""Another embedding model: search works before, while and after everything is embedded again; a crash half-way loses nothing; and
the vectors of the former model go."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memos import vectors as making
from memos.errors import ModelUnavailable
from memos.models.embed import Purpose, ThreadedEmbedder, Vectors
from memos.storage.sqlite.cube import SqliteCube
from memos.system import AsyncMemOS
from memos.text.document import index_terms

TEXTS = [f"Message {i}: Ann {verb} {thing} number {i}" for i, (verb, thing) in enumerate(
    (v, t) for v in ("bought", "sold", "painted", "repaired", "lost") for t in ("a boat", "a house", "a kite", "a piano")
)]  # fmt: skip


class Hashing(ThreadedEmbedder):
    """Words hashed to dimensions: deterministic, and near means words in common. Fails after `limit` documents."""

    def __init__(self, name: str, dim: int, limit: int | None = None) -> None:
        self.model_id, self.dim, self.limit, self.documents, self.queries = name, dim, limit, 0, 0

    def embed_sync(self, texts: Sequence[str], *, purpose: Purpose) -> Vectors:
        if purpose == "document":
            self.documents += len(texts)
            if self.limit is not None and self.documents > self.limit:
                raise ModelUnavailable(f"{self.model_id} is gone")
        else:
            self.queries += len(texts)
        out = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(out, texts, strict=True):
            for term in index_terms(text):
                row[hashlib.blake2b(f"{self.model_id}{term}".encode(), digest_size=4).digest()[0] % self.dim] += 1.0
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-6)


def system(home: Path, embedder: Hashing, spec: str = "default") -> AsyncMemOS:
    memos = AsyncMemOS(home, embedder=embedder, background=False)
    object.__setattr__(memos.settings, "embedder", spec)
    return memos


async def vectors(memos: AsyncMemOS) -> dict[str, int]:
    return dict((await memos.stats()).store.vectors)


async def assert_finds(memos: AsyncMemOS, *, by_vector: bool) -> None:
    for text in (TEXTS[0], TEXTS[7], TEXTS[-1]):
        result = await memos.search(text, limit=3)
        assert result.hits[0].memory.text == text
        assert ("vector" in result.served_by) is by_vector, result.served_by


async def filled(home: Path, embedder: Hashing) -> None:
    async with system(home, embedder, "old") as memos:
        await memos.add([{"role": "user", "content": t, "message_id": f"{i}"} for i, t in enumerate(TEXTS)])
        await memos.flush()
        await assert_finds(memos, by_vector=True)
        assert (await vectors(memos))["old-24"] >= len(TEXTS)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "EMBED_BATCH", 4)


async def test_search_works_before_while_and_after_everything_is_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_batches: None
) -> None:
    old = Hashing("old-24", 24)
    await filled(tmp_path, old)
    monkeypatch.setattr("memos.system.parts.configured_embedder", lambda _, spec: {"old": old}[spec])
    async with system(tmp_path, Hashing("new-40", 40, limit=10), "new") as memos:
        asked = old.queries
        await assert_finds(memos, by_vector=True)
        assert old.queries > asked  # still answered by the model whose vectors are complete
        with pytest.raises(ModelUnavailable):
            await memos.flush()
        counts = await vectors(memos)
        assert 0 < counts["new-40"] < counts["old-24"]
        await assert_finds(memos, by_vector=True)
    new = Hashing("new-40", 40)
    async with system(tmp_path, new, "new") as memos:
        await assert_finds(memos, by_vector=True)
        await memos.flush()
        counts = await vectors(memos)
        assert set(counts) == {"new-40"}
        assert counts["new-40"] == 8 + new.documents  # what was done before the failure was not done again
        asked, mine = old.queries, new.queries
        await assert_finds(memos, by_vector=True)
        assert (old.queries, new.queries > mine) == (asked, True)
        await memos.add("Ann flew a kite over the harbour", wait=True)
        assert (await memos.search("harbour kite")).hits[0].memory.text == "Ann flew a kite over the harbour"
    async with system(tmp_path, Hashing("new-40", 40), "new") as memos:
        await assert_finds(memos, by_vector=True)
        assert (await memos.stats()).waiting["embed"] == 0


async def test_a_former_model_that_is_not_there_any_more_leaves_the_search_by_text(
    tmp_path: Path, small_batches: None
) -> None:
    await filled(tmp_path, Hashing("old-24", 24))
    async with system(tmp_path, Hashing("new-40", 40), "no such model") as memos:
        for text in (TEXTS[0], TEXTS[-1]):
            assert (await memos.search(text)).hits[0].memory.text == text
        await memos.flush()
        assert set(await vectors(memos)) == {"new-40"}
        await assert_finds(memos, by_vector=True)


async def test_killed_between_the_switch_and_the_drop_the_next_start_drops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(tmp_path, Hashing("old-24", 24))

    async def killed(*_: Any) -> int:
        raise ModelUnavailable("stands for a crash here")

    with monkeypatch.context() as crash:
        crash.setattr(SqliteCube, "drop_vectors", killed)
        async with system(tmp_path, Hashing("new-40", 40), "new") as memos:
            with pytest.raises(ModelUnavailable):
                await memos.flush()
            assert set(await vectors(memos)) == {"old-24", "new-40"}
    async with system(tmp_path, Hashing("new-40", 40), "new") as memos:
        await assert_finds(memos, by_vector=True)
        await memos.flush()
        assert set(await vectors(memos)) == {"new-40"}


async def test_without_an_embedder_the_vectors_stay_for_later(tmp_path: Path) -> None:
    old = Hashing("old-24", 24)
    await filled(tmp_path, old)
    async with AsyncMemOS(tmp_path, embedder="none", background=False) as memos:
        await assert_finds(memos, by_vector=False)
        await memos.flush()
        assert set(await vectors(memos)) == {"old-24"}
    async with system(tmp_path, old, "old") as memos:
        done = old.documents
        await memos.flush()
        assert old.documents == done
        await assert_finds(memos, by_vector=True)
