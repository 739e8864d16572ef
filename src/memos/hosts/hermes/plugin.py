"""What Hermes loads: the entry point `hermes_agent.memory_providers`, and `plugins/memos` in its home, both end here."""

from __future__ import annotations

from typing import Any


def provider() -> Any:
    """A memory provider, of the class that this Hermes takes: its own base where it can be imported."""
    from memos.hosts.hermes.provider import Provider, host

    base = getattr(host(), "MemoryProvider", None)
    if not isinstance(base, type):
        return Provider()
    kind: type[Any] = type("MemosProvider", (Provider, base), {"__doc__": Provider.__doc__})
    return kind()


def missing() -> list[str]:
    """Packages that MemOS needs and this Python does not have."""
    from memos.hosts.hermes.options import missing as lacking

    return lacking()


def register(ctx: Any) -> None:
    """Give Hermes the provider."""
    ctx.register_memory_provider(provider())
