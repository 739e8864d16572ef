"""The embedder and the reranker that the settings name, at the address and with the key that they name."""

from __future__ import annotations

from collections.abc import Callable

from memos.models.embed import Embedder
from memos.models.factory import make_embedder, make_reranker
from memos.models.llm.port import ChatModel
from memos.models.rerank import Reranker
from memos.models.rerank_variables import headers_of
from memos.settings import Settings


def configured_embedder(settings: Settings, spec: str | None = None) -> Embedder | None:
    """The embedder of the settings, or (`spec`) another one: address and key are for models of the same provider only.

    Raises InvalidInput for one that cannot be made.
    """
    if spec is not None and spec.partition(":")[0] != settings.embedder.partition(":")[0]:
        return make_embedder(spec)
    url, key = settings.embedder_url or None, settings.embedder_key or None
    return make_embedder(spec or settings.embedder, base_url=url, api_key=key)


def configured_reranker(settings: Settings, llm: Callable[[str], ChatModel | None] | None = None) -> Reranker | None:
    """The reranker of the settings; `llm` is whom the one called so asks for a user.

    Raises InvalidInput for one that cannot be made.
    """
    url, key = settings.reranker_url or None, settings.reranker_key or None
    headers = headers_of(settings.reranker_headers)
    return make_reranker(settings.reranker, base_url=url, api_key=key, headers=headers, llm=llm)
