"""Where a model's server is and with which key it is asked: what was given, else what the provider's usual variables say.

Keys go into requests only; they are no part of a model's name, of messages or of logs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from memos.errors import InvalidInput
from memos.memory.url import without_password

OLLAMA_PORT = 11434


@dataclass(frozen=True, slots=True)
class Address:
    """A server and the key for it; None: the provider's usual one, and no key."""

    url: str | None
    key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Usual:
    """The variables of a provider, the first that is set counts. `hosted`: the usual server, which wants a key."""

    urls: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    hosted: str = ""


_USUAL = {
    "openai": Usual(
        ("MOS_EMBEDDER_API_BASE", "OPENAI_BASE_URL", "OPENAI_API_BASE"),
        ("MOS_EMBEDDER_API_KEY", "OPENAI_API_KEY"),
        "api.openai.com",
    ),
    "ollama": Usual(("OLLAMA_HOST", "OLLAMA_API_BASE")),
    "cohere": Usual((), ("COHERE_API_KEY",), "api.cohere.com"),
    "jina": Usual((), ("JINA_API_KEY",), "api.jina.ai"),
}


def address_of(
    provider: str, what: str, url: str | None, key: str | None, env: Mapping[str, str] | None = None
) -> Address:
    """The address of a provider's server. `what` is `embedder` or `reranker`, for the message.

    Raises InvalidInput when the provider's own server would be asked without a key.
    """
    return usual_address(_USUAL.get(provider, Usual()), what, url, key, env, bare_host=provider == "ollama")


def usual_address(
    usual: Usual,
    what: str,
    url: str | None,
    key: str | None,
    env: Mapping[str, str] | None = None,
    *,
    bare_host: bool = False,
) -> Address:
    """The address of a server: what is given, else what its usual variables say. `bare_host`: it may be a host alone, as
    `OLLAMA_HOST`. Raises InvalidInput like `address_of`.
    """
    env = os.environ if env is None else env
    url = url or _first(env, usual.urls)
    key = key or _first(env, usual.keys)
    try:
        if bare_host and url:
            url = _of_ollama(url)
        host = _host_of(url) if url else usual.hosted
    except ValueError:
        raise InvalidInput(f"{without_password(url or '')!r} is not the address of the {what}'s server") from None
    if usual.hosted and not key and host == usual.hosted:
        variable = usual.urls[1] if len(usual.urls) > 1 else usual.urls[0] if usual.urls else ""
        raise InvalidInput(
            f"{usual.hosted} wants a key: set MEMOS_{what.upper()}_KEY or {usual.keys[-1]}; "
            f"for another server with the same protocol set MEMOS_{what.upper()}_URL"
            + (f" or {variable}" if variable else "")
        )
    return Address(url, key)


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := env.get(name, "").strip())), None)


def _host_of(url: str) -> str | None:
    """Raises ValueError, also for a port that is none."""
    parts = urlsplit(url)
    return parts.hostname if parts.port is None or parts.port >= 0 else None


def _of_ollama(url: str) -> str:
    """`OLLAMA_HOST` may be a bare host, with or without a port, or the address that the server listens at."""
    bare = "://" not in url
    parts = urlsplit(f"http://{url}" if bare else url)
    host = parts.hostname or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - where to ask, not where to listen
    port = parts.port or (OLLAMA_PORT if bare else None)
    name = f"[{host}]" if ":" in host else host
    who, at, _ = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{who}{at}{name}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
