from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memos.errors import ModelError
from memos.models.cache import CachedEmbedder, CachedLocalEmbedder
from memos.models.embed import Embedder, LocalEmbedder, ThreadedEmbedder


class Counting(ThreadedEmbedder):
    """Embeds a text as its length and first character; remembers what it was asked."""

    model_id = "counting/1"
    dim = 2

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = False

    def embed_sync(self, texts, *, purpose):
        if self.broken:
            raise ModelError("broken")
        self.asked += texts
        rows = np.array([[len(t), ord(t[0]) + (purpose == "query")] for t in texts], np.float32).reshape(-1, 2)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_asks_for_each_text_once():
    inner = Counting()
    cached = CachedLocalEmbedder(inner)
    first = cached.embed_sync(["a", "bb", "a", "ccc"], purpose="document")
    assert inner.asked == ["a", "bb", "ccc"]
    again = asyncio.run(cached.embed(["ccc", "a", "new"], purpose="document"))
    assert inner.asked == ["a", "bb", "ccc", "new"]
    np.testing.assert_array_equal(again[:2], first[[3, 0]])
    assert (cached.hits, cached.misses) == (2, 5)


def test_a_question_and_a_document_are_not_mixed_up():
    cached = CachedLocalEmbedder(Counting())
    as_document = cached.embed_sync(["a"], purpose="document")
    assert not np.array_equal(as_document, cached.embed_sync(["a"], purpose="query"))


def test_forgets_the_least_recently_used():
    inner = Counting()
    cached = CachedLocalEmbedder(inner, max_bytes=2 * (8 + 250))
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed_sync([text], purpose="document")
    assert inner.asked == ["a", "b", "c", "b"]


def test_a_batch_larger_than_the_cache_is_answered_whole():
    cached = CachedLocalEmbedder(Counting(), max_bytes=10)
    assert cached.embed_sync([f"t{i}" for i in range(50)], purpose="document").shape == (50, 2)


def test_answers_are_copies():
    cached = CachedLocalEmbedder(Counting())
    cached.embed_sync(["a"], purpose="document")[:] = 9
    assert cached.embed_sync(["a"], purpose="document").max() <= 1


def test_a_failure_is_not_remembered():
    inner = Counting()
    cached = CachedLocalEmbedder(inner)
    inner.broken = True
    with pytest.raises(ModelError):
        cached.embed_sync(["a"], purpose="document")
    inner.broken = False
    assert cached.embed_sync(["a"], purpose="document").shape == (1, 2)


def test_threads_share_it():
    cached = CachedLocalEmbedder(Counting(), max_bytes=20 * 258)
    texts = [f"text {i % 37}" for i in range(400)]
    expected = Counting().embed_sync(texts, purpose="document")
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda t: cached.embed_sync([t], purpose="document")[0], texts))
    np.testing.assert_array_equal(np.stack(rows), expected)


def test_only_a_local_embedder_stays_callable_from_threads():
    assert isinstance(CachedLocalEmbedder(Counting()), LocalEmbedder)
    assert isinstance(CachedEmbedder(Counting()), Embedder)
    assert not isinstance(CachedEmbedder(Counting()), LocalEmbedder)
    assert CachedLocalEmbedder(Counting()).embed_sync([], purpose="query").shape == (0, 2)
