"""Makes the embedder or reranker that a setting names. Providers are imported only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from memos.errors import InvalidInput
from memos.models.address import address_of
from memos.models.cache import CachedEmbedder, CachedLocalEmbedder
from memos.models.embed import Embedder
from memos.models.llm.port import ChatModel
from memos.models.remote import EmbeddingApi, Prefixes, RemoteEmbedder
from memos.models.rerank import Dialect, HttpReranker, Reranker
from memos.models.resilience import QUERIES, RetryPolicy
from memos.models.windows import Limits

EMBEDDERS = "default, none, openai:MODEL, ollama:MODEL, st:MODEL"
_NOBODY = "system"  # whom calls count for that no user asked for
RERANKERS = "none, cohere:MODEL, jina:MODEL, tei, bge:MODEL, ce:MODEL, llm"

_DIALECTS: dict[str, Dialect] = {dialect: dialect for dialect in get_args(Dialect)}

# What the model cards ask for. Longest match wins; a model that is not listed gets no prefix.
_PREFIXES = {
    "nomic-embed-text": Prefixes("search_document: ", "search_query: "),
    "e5-": Prefixes("passage: ", "query: "),
    "mxbai-embed-large": Prefixes("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed": Prefixes("", "query: "),
}


def make_embedder(
    spec: str = "default",
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    dimensions: int | None = None,
    limits: Limits | None = None,
    query_timeout: float | None = None,
    cache_bytes: int = 32_000_000,
    cache_dir: Path | None = None,
    device: str | None = None,
    download: bool = False,
) -> Embedder | None:
    """Return the embedder called `spec`, or None for `none` (search by text only). Nothing is loaded or sent yet.

    Args:
        spec: `default`, `none`, `openai:MODEL`, `ollama:MODEL` or `st:MODEL` (sentence-transformers).
        api_key: for a server that wants one; what the provider's usual variable says by default (`models/address`).
        base_url: of the server; what the provider's usual variable says by default, else its own.
        dimensions: length to shorten vectors to (openai), or the declared length to hold a server to (ollama).
        limits: what one request to a server may hold.
        query_timeout: seconds that a search waits for a server, 3 by default.
        cache_bytes: size of the cache of vectors in memory; 0 for none.
        cache_dir: folder for what the default embedder remembers between runs; the user's cache folder by default.
        device: where sentence-transformers runs, in torch's words.
        download: allow sentence-transformers to fetch a model that is not on this machine.

    Raises:
        InvalidInput: no such spec, or no key for a provider's own server.
    """
    provider, _, model = spec.strip().partition(":")
    provider, model = provider.lower(), model.strip()
    if provider == "none" and not model:
        return None
    if provider == "default" and not model:
        from memos.models.bundled import BundledEmbedder

        local = BundledEmbedder(cache=cache_dir)
        return CachedLocalEmbedder(local, max_bytes=cache_bytes) if cache_bytes else local
    if provider == "st" and model:
        from memos.models.sentence_transformers import SentenceTransformersEmbedder

        st = SentenceTransformersEmbedder(model, prefixes=known_prefixes(model), device=device, download=download)
        return CachedLocalEmbedder(st, max_bytes=cache_bytes) if cache_bytes else st
    remote = RemoteEmbedder(
        _api(provider, model, spec, api_key, base_url, dimensions),
        dim=dimensions or 0,
        limits=limits,
        prefixes=known_prefixes(model),
        queries=QUERIES
        if query_timeout is None
        else RetryPolicy(2, query_timeout, query_timeout * 1.3, QUERIES.base, QUERIES.longest),
    )
    return CachedEmbedder(remote, max_bytes=cache_bytes) if cache_bytes else remote


def make_reranker(
    spec: str = "none",
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    headers: Mapping[str, str] | None = None,
    llm: Callable[[str], ChatModel | None] | None = None,
) -> Reranker | None:
    """Return the reranker called `spec`, or None for `none`.

    Args:
        spec: `none`, `cohere:MODEL`, `jina:MODEL` (both also name compatible servers, with `base_url`), `tei`, `bge:MODEL`,
            `ce:MODEL` (a cross-encoder in this process), or `llm`.
        api_key: for a server that wants one; what the provider's usual variable says by default.
        base_url: of the server; needed for `tei` and `bge`.
        headers: sent to the server, too.
        llm: the language model that `llm` asks in the name of a user.

    Raises:
        InvalidInput: no such spec, `tei` or `bge` without a base URL, `llm` without a model, or no key for a provider's
            own server.
    """
    provider, _, model = spec.strip().partition(":")
    if provider == "none" and not model:
        return None
    if provider == "ce" and model:
        from memos.models.cross_encoder import CrossEncoderReranker

        return CrossEncoderReranker(model)
    if provider == "llm" and not model:
        if llm is None or (model_of_all := llm(_NOBODY)) is None:
            raise InvalidInput(
                "the reranker 'llm' asks the language model for chat, but none is configured: set MEMOS_LLM or MEMOS_LLM_CHAT"
            )
        from memos.models.rerank_llm import LlmReranker

        return LlmReranker(model_of_all, of=llm)
    dialect = _DIALECTS.get(provider)
    if dialect and (model or dialect == "tei"):
        at = address_of(dialect, "reranker", base_url, api_key)
        return HttpReranker.of(dialect, model, base_url=at.url, api_key=at.key, headers=headers)
    if dialect:
        raise InvalidInput(f"the reranker {dialect!r} needs a model name: {dialect}:MODEL")
    raise InvalidInput(f"no reranker {spec!r}; one of: {RERANKERS}")


def known_prefixes(model: str) -> Prefixes:
    """Return the prefixes that `model` was trained with, as far as they are known here."""
    name = model.lower()
    matches = [part for part in _PREFIXES if part in name]
    return _PREFIXES[max(matches, key=len)] if matches else Prefixes()


def _api(
    provider: str, model: str, spec: str, api_key: str | None, base_url: str | None, dimensions: int | None
) -> EmbeddingApi:
    if provider == "openai" and model:
        from memos.models import openai

        at = address_of(provider, "embedder", base_url, api_key)
        return openai.OpenAIEmbeddings(model, base_url=at.url or openai.BASE_URL, api_key=at.key, dimensions=dimensions)
    if provider == "ollama" and model:
        from memos.models import ollama

        at = address_of(provider, "embedder", base_url, api_key)
        return ollama.OllamaEmbeddings(model, base_url=at.url or ollama.BASE_URL, api_key=at.key)
    raise InvalidInput(f"no embedder {spec!r}; one of: {EMBEDDERS}")
