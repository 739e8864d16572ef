"""Whether an embedder or a language model could work now, found out without asking it anything."""

from __future__ import annotations

from memos.errors import ModelError
from memos.models.bundled import MINILM, BundledEmbedder
from memos.models.cache import CachedEmbedder
from memos.models.embed import Embedder
from memos.models.llm.port import ChatModel
from memos.models.llm.remote import RemoteChatModel
from memos.models.remote import RemoteEmbedder
from memos.models.resilience import CircuitState


def why_not_ready(embedder: Embedder) -> str | None:
    """What keeps an embedder from working, as far as that can be seen from outside; None for nothing."""
    inner = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
    if isinstance(inner, RemoteEmbedder) and inner.circuit is CircuitState.OPEN:
        return f"{inner.model_id} failed several times in a row and is left alone for a while"
    if isinstance(inner, BundledEmbedder):
        try:
            MINILM.locate()
        except ModelError as error:
            return str(error)
    return None


def why_not_answering(model: ChatModel) -> str | None:
    """What keeps a language model from answering, likewise."""
    if isinstance(model, RemoteChatModel) and model.circuit is CircuitState.OPEN:
        when = (
            f"it is asked again in {model.retry_in:.0f} s" if model.retry_in else "it is asked again at the next call"
        )
        return f"{model.model_id} failed several times in a row; {when}"
    if isinstance(model, RemoteChatModel) and model.busy_for:
        return f"{model.model_id} has too much to do; it asked to be left alone for {model.busy_for:.0f} s"
    return None
