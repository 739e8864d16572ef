"""What can be set of the server. Each field is also the environment variable `MEMOS_SERVER_<FIELD>`."""

from __future__ import annotations

import ipaddress
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from memos import settings
from memos.errors import InvalidInput

AuthMode = Literal["auto", "on", "off"]
PREFIX = "MEMOS_SERVER_"
BUSINESS_KEYS = "BUSINESS_CHAT_KEYS"
LOG_LEVELS = ("debug", "info", "warning", "error")
_WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104 - recognised, not bound

# (least, most) of each number
_BOUNDS: Mapping[str, tuple[float, float]] = {
    "port": (0, 65_535),
    "processes": (1, 64),
    "body_mb": (1, 4_096),
    "archive_mb": (1, 1_048_576),
    "files_mb": (1, 1_024),
    "messages_per_add": (1, 1_000_000),
    "text_chars": (1, 100_000_000),
    "streams": (0, 100_000),
    "connections": (1, 1_000_000),
    "read_seconds": (0.1, 3_600),
    "idle_seconds": (1, 3_600),
    "rate_per_minute": (0, 1_000_000),
    "rate_burst": (0, 1_000_000),
    "shutdown_seconds": (0, 3_600),
}


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Address, access and limits of the server.

    `auth`: `auto` (API keys are needed from the first that was ever made, and always when the host is not loopback), `on`, `off`.
    `cors_origins`: web pages that may call, as `https://app.example`. `allowed_hosts`: further names that requests may
    carry in `Host`. `body_mb`: largest body. `archive_mb`: largest archive to import. `files_mb`: largest form of
    files. `messages_per_add` and `text_chars` (characters of one message): largest add.
    `streams`: event streams at once. `connections`: connections at once. `read_seconds`: until the head of a request
    is there, and that a body may come slowly. `idle_seconds`: until an idle connection is closed. `rate_per_minute`: requests
    of one key (without keys: of one address), 0 for no limit; `rate_burst`: how many of them at once, 0 for as many
    as in a minute. `fetch_urls`: fetch files that are given by URL. `metrics`: answer `/metrics`. `mcp`: answer `/mcp`.
    `proxy`: answer `/v1/chat/completions`, `/v1/responses`, `/v1/models`; `proxy_any_model`: there, models may be named that are
    not configured. `shutdown_seconds`: how long the end waits for requests and tasks. `business_keys`: those that
    `/product/chat/stream/business_user` takes; without them, those of the variable BUSINESS_CHAT_KEYS, a JSON list or
    object. `port` 0 takes a free one. `processes`: how many answer requests behind the one port; rate limits, limits of
    streams and connections, and `/metrics` are those of each.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    processes: int = 1
    auth: AuthMode = "auto"
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    body_mb: int = 16
    archive_mb: int = 1_024
    files_mb: int = 310
    messages_per_add: int = 1_000
    text_chars: int = 200_000
    streams: int = 100
    connections: int = 1_000
    read_seconds: float = 30.0
    idle_seconds: float = 75.0
    rate_per_minute: int = 0
    rate_burst: int = 0
    fetch_urls: bool = False
    metrics: bool = True
    mcp: bool = True
    proxy: bool = True
    proxy_any_model: bool = True
    log_level: str = "info"
    shutdown_seconds: float = 20.0
    business_keys: tuple[str, ...] = field(default=(), repr=False, metadata={"secret": True})

    def __post_init__(self) -> None:
        if not isinstance(self.host, str):
            raise InvalidInput(f"host is a name or an address, got {self.host!r:.60}")
        for name, (least, most) in _BOUNDS.items():
            _number(name, getattr(self, name), least, most)
        for name in ("fetch_urls", "metrics", "mcp", "proxy", "proxy_any_model"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} is True or False, got {getattr(self, name)!r:.60}")
        if self.auth not in ("auto", "on", "off"):
            raise InvalidInput(f"auth is auto, on or off, got {self.auth!r:.60}")
        if self.log_level not in LOG_LEVELS:
            raise InvalidInput(f"log_level is one of {', '.join(LOG_LEVELS)}, got {self.log_level!r:.60}")
        object.__setattr__(self, "cors_origins", tuple(_origin(o) for o in _texts("cors_origins", self.cors_origins)))
        object.__setattr__(self, "business_keys", _texts("business_keys", self.business_keys))
        hosts = (h.strip().lower().strip("[]") for h in _texts("allowed_hosts", self.allowed_hosts))
        object.__setattr__(self, "allowed_hosts", tuple(hosts))

    @classmethod
    def load(cls, env: Mapping[str, str] | None = None, **given: Any) -> ServerOptions:
        """Options from arguments (those that are not None), then the environment, then defaults.

        Raises InvalidInput naming the variable for a value that cannot be used.
        """
        env = os.environ if env is None else env
        loaded = settings.load(cls, PREFIX, env, given)
        keys = _business_keys(env.get(BUSINESS_KEYS, ""))
        return replace(loaded, business_keys=keys) if keys and not loaded.business_keys else loaded

    def rows(self) -> list[tuple[str, str, str]]:
        """(name, value, environment variable) of every option, for `memos config`."""
        return [(f"server_{name}", value, variable) for name, value, variable in settings.rows(self, PREFIX)]

    @property
    def loopback(self) -> bool:
        """Whether only programs of this machine reach the server."""
        return is_loopback(self.host)

    @property
    def everywhere(self) -> bool:
        """Whether it listens at every address of the machine, so that its name is not known."""
        return self.host in _WILDCARDS


def is_loopback(host: str) -> bool:
    """Whether a host name or address, without port and brackets, is this machine and nothing else."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def _number(name: str, value: object, least: float, most: float) -> None:
    fits = isinstance(value, int) or (isinstance(value, float) and name.endswith("_seconds") and math.isfinite(value))
    if isinstance(value, bool) or not fits or not least <= cast("float", value) <= most:
        what = "a number of seconds" if name.endswith("_seconds") else "a whole number"
        raise InvalidInput(f"{name} is {what} from {least:,} to {most:,}, got {value!r:.60}")


def _texts(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(v, str) and v.strip() for v in value):
        raise InvalidInput(f"{name} is a list of texts, got {value!r:.60}")
    return tuple(value)


def _business_keys(text: str) -> tuple[str, ...]:
    """The keys of the variable that MemOS has for them."""
    if not text.strip():
        return ()
    try:
        keys = json.loads(text)
    except ValueError:
        keys = None
    if not isinstance(keys, (list, dict)) or not all(isinstance(key, str) and key.strip() for key in keys):
        raise InvalidInput(f'{BUSINESS_KEYS} is a JSON list of keys, such as ["k1", "k2"]')
    return tuple(keys)


def _origin(text: str) -> str:
    parts = urlsplit(text.strip().lower())
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or parts.query:
        raise InvalidInput(
            f"cors_origins lists origins such as https://app.example ('*' would open the memory to every page), got {text!r:.60}"
        )
    return f"{parts.scheme}://{parts.netloc}"
