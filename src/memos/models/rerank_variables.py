"""The reranker that the variables of other installations name: values for our own settings, which stand above them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from memos.errors import InvalidInput
from memos.models.llm.variables import Sourced

_BACKEND = "MOS_RERANKER_BACKEND"
_SERVERS = ("http_bge", "http_bge_strategy")
_NONE = ("cosine_local", "noop")  # search has vectors of its own
_USUAL_MODEL = "bge-reranker-v2-m3"


def reranker_from(env: Mapping[str, str], reranker: str | None = None) -> dict[str, Sourced]:
    """Our settings as far as such variables say them; nothing when `reranker` was said already.

    Raises InvalidInput for a variable that cannot be understood.
    """
    backend, url = env.get(_BACKEND, "").strip().lower(), env.get("MOS_RERANKER_URL", "").strip()
    if reranker is not None or not backend or backend in _NONE:
        return {}
    if backend not in _SERVERS:
        raise InvalidInput(f"{_BACKEND}: no reranker {backend!r}; one of: {', '.join((*_SERVERS, *_NONE))}")
    if not url:
        raise InvalidInput(f"{_BACKEND} is set to {backend!r}; say the address of its server in MOS_RERANKER_URL")
    out = {
        "reranker": Sourced(f"bge:{env.get('MOS_RERANKER_MODEL', '').strip() or _USUAL_MODEL}", _BACKEND),
        "reranker_url": Sourced(url, "MOS_RERANKER_URL"),
    }
    if headers := env.get("MOS_RERANKER_HEADERS_EXTRA", "").strip():
        out["reranker_headers"] = Sourced(headers, "MOS_RERANKER_HEADERS_EXTRA")
    return out


def headers_of(text: str) -> dict[str, str]:
    """The headers that a JSON object names. Raises InvalidInput, which does not repeat them: they may hold a key."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(value, str) and part.isascii() and part.isprintable()
        for name, value in found.items()
        for part in (name, str(value))
    ):
        raise InvalidInput('reranker_headers is a JSON object of texts, such as {"X-Tenant": "notes"}')
    return dict(found)
