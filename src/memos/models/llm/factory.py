"""From a spec such as `openai:gpt-4o-mini` to a chat model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import quote, urlsplit

from memos.errors import InvalidInput
from memos.memory.url import without_password
from memos.models.address import usual_address
from memos.models.http import JsonClient
from memos.models.llm.anthropic import VERSION, AnthropicMessages
from memos.models.llm.dialect import Dialect
from memos.models.llm.openai_chat import OpenAIChat
from memos.models.llm.port import ChatModel
from memos.models.llm.providers import PROVIDERS, REPLAY, TRANSFORMERS, Provider, parse_spec
from memos.models.llm.remote import RemoteChatModel, patience
from memos.models.llm.servers import server_at

_AZURE_VERSION = "2024-10-21"
_AZURE_VERSIONS = ("AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION", "AZURE_API_VERSION")


def make_chat_model(
    spec: str, *, base_url: str = "", api_key: str = "", timeout: float = 60.0, concurrency: int = 4
) -> ChatModel | None:
    """The chat model called `spec` (`provider:model`), or None for `none`. Nothing is sent.

    Args:
        spec: see `providers`.
        base_url: of the server; what the provider's usual variable says by default, else its own.
        api_key: what the provider's usual variable says by default.
        timeout: seconds of one attempt, and of each piece of a stream.
        concurrency: calls at a time that the server gets from this process.

    Raises InvalidInput: no such provider, no model named, no address, or no key for a server that wants one.
    """
    provider, model = parse_spec(spec)
    if provider == "none":
        return None
    if provider == TRANSFORMERS:
        from memos.models.llm.transformers import TransformersChatModel

        return TransformersChatModel(model, timeout=timeout)
    if provider == REPLAY:
        from memos.models.llm.replay import ReplayModel

        return ReplayModel(model)
    about = PROVIDERS[provider]
    at = usual_address(about.usual, "llm", base_url, api_key, bare_host=about.bare_host)
    url = _completed(at.url or about.url, about)
    if not url:
        variables = " or ".join(("MEMOS_LLM_URL", *about.usual.urls))
        raise InvalidInput(f"where is the server of {spec!r}? Set {variables}")
    model_id = f"{provider}:{model}"
    dialect = _dialect(provider, about, model_id, model, url, os.environ)
    headers = VERSION if about.protocol == "anthropic" else None
    http = JsonClient(url, api_key=at.key, hint=about.hint, key_header=about.key_header, headers=headers)
    server = server_at(url, at.key or "", without_password(url), concurrency, http)
    return RemoteChatModel(model_id, model, dialect, http, server, patience(timeout))


def _completed(url: str, about: Provider) -> str:
    """The address with what belongs below it: servers are often given as a host, or down to the last word of the path."""
    url = url.rstrip("/").removesuffix("/chat/completions").removesuffix("/v1/messages")
    if about.protocol == "anthropic":
        return url.removesuffix("/v1")
    return url + about.below if about.below and not urlsplit(url).path else url


def _dialect(provider: str, about: Provider, name: str, model: str, url: str, env: Mapping[str, str]) -> Dialect:
    if about.protocol == "anthropic":
        return AnthropicMessages(name, model)
    # Only a provider's own servers are known to want the newer name of the field.
    own = about.protocol == "azure" or urlsplit(url).hostname == about.usual.hosted
    tokens = about.tokens if own else "max_tokens"
    path = "/chat/completions"
    if about.protocol == "azure" and not url.endswith("/openai/v1"):
        version = next((env[v] for v in _AZURE_VERSIONS if env.get(v)), _AZURE_VERSION)
        below = "" if "/deployments/" in url else f"/openai/deployments/{quote(model, safe='')}"
        path = f"{below}/chat/completions?api-version={quote(version, safe='')}"
    return OpenAIChat(name, model, path, about.holds, tokens, about.extra)
