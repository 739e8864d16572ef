from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import numpy as np
import pytest

from memos.errors import InvalidInput, ModelUnavailable
from memos.models.bundled import BundledEmbedder
from memos.models.cache import CachedEmbedder, CachedLocalEmbedder
from memos.models.factory import known_prefixes, make_embedder, make_reranker
from memos.models.remote import Prefixes, RemoteEmbedder
from memos.models.resilience import CircuitState
from memos.models.sentence_transformers import SentenceTransformersEmbedder


def test_none_means_text_search_only():
    assert make_embedder("none") is None
    assert make_reranker("none") is None


def test_default_is_the_bundled_one_with_a_cache(tmp_path):
    embedder = make_embedder(cache_dir=tmp_path)
    assert isinstance(embedder, CachedLocalEmbedder)
    assert isinstance(embedder.inner, BundledEmbedder)
    assert isinstance(make_embedder("default", cache_bytes=0), BundledEmbedder)


@pytest.mark.parametrize("spec", ["", "openai", "openai:", "ollama", "st:", "gpt:x", "none:x", "default:x"])
def test_an_unknown_spec_names_the_known_ones(spec):
    with pytest.raises(InvalidInput, match="default, none, openai:MODEL"):
        make_embedder(spec)


def test_a_spec_with_a_tag_keeps_its_colon():
    embedder = make_embedder("ollama:nomic-embed-text:v1.5", cache_bytes=0)
    assert embedder.model_id == "ollama:nomic-embed-text:v1.5"
    assert isinstance(embedder, RemoteEmbedder)
    assert embedder.circuit is CircuitState.CLOSED


def test_options_reach_the_server(server):
    embedder = make_embedder("openai:emb-1", base_url=server.url, api_key="k", dimensions=8)
    assert isinstance(embedder, CachedEmbedder)
    assert (embedder.model_id, embedder.dim) == ("openai:emb-1@8", 8)

    async def twice():
        first = await embedder.embed(["one"], purpose="query")
        again = await embedder.embed(["one"], purpose="query")
        await embedder.aclose()
        return first, again

    first, again = asyncio.run(twice())
    np.testing.assert_array_equal(first, again)
    assert len(server.requests) == 1
    assert server.requests[0].headers["Authorization"] == "Bearer k"


def test_a_search_does_not_wait_long(server, reply):
    embedder = make_embedder("ollama:m", base_url=server.url, query_timeout=0.1, cache_bytes=0)
    server.script = [reply(delay=0.5)] * 3
    with pytest.raises(ModelUnavailable.__mro__[1], match=r"within 0\.\d s"):
        asyncio.run(embedder.embed(["one"], purpose="query"))


def test_known_models_get_their_prefixes():
    assert known_prefixes("nomic-embed-text:v1.5").query == "search_query: "
    assert known_prefixes("intfloat/multilingual-e5-small") == Prefixes("passage: ", "query: ")
    assert known_prefixes("text-embedding-3-small") == Prefixes()


def test_rerankers_by_name():
    assert make_reranker("cohere:rerank-x", api_key="k").model_id == "cohere:rerank-x"
    assert make_reranker("tei", base_url="http://127.0.0.1:1").model_id == "tei"
    for spec in ("tei", "cohere", "best"):
        with pytest.raises(InvalidInput):
            make_reranker(spec)


def test_sentence_transformers_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    embedder = make_embedder("st:BAAI/bge-m3", cache_bytes=0)
    assert embedder.model_id == "st:BAAI/bge-m3"
    with pytest.raises(ModelUnavailable, match=r"pip install '\.\[sentence-transformers\]'"):
        asyncio.run(embedder.embed(["one"], purpose="query"))


class StandIn:
    """Has the three members of a SentenceTransformer that we use."""

    max_seq_length = 64
    made: dict[str, object] = {}

    def __init__(self, name, **options):
        if name == "missing":
            raise OSError("not in the cache")
        StandIn.made = {"name": name, **options}
        self.seen: list[str] = []

    def get_sentence_embedding_dimension(self):
        return 4

    def encode(self, texts, **options):
        self.seen += texts
        return np.array([[len(text), 1, 2, 3] for text in texts], np.float32)


@pytest.fixture
def stand_in(monkeypatch):
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = StandIn
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


def test_sentence_transformers_reads_windows_with_prefixes_and_downloads_nothing(stand_in):
    embedder = SentenceTransformersEmbedder("m", prefixes=Prefixes("d: ", "q: "), device="cpu")
    text = "word " * 100
    rows = embedder.embed_sync(["", text, "short"], purpose="query")
    assert rows.shape == (3, 4)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [0, 1, 1], atol=1e-6)
    seen = embedder._model.seen
    assert all(part.startswith("q: ") for part in seen)
    assert "".join(part[3:] for part in seen[:-1]) == text
    assert StandIn.made == {"name": "m", "device": "cpu", "local_files_only": True}


def test_a_model_that_is_not_here_says_how_to_get_it(stand_in):
    with pytest.raises(ModelUnavailable, match="hf download missing"):
        SentenceTransformersEmbedder("missing").embed_sync(["x"], purpose="query")
