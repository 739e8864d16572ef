"""How users, keys and grants look in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from memos.cli.render import safe, table, when
from memos.memory.time import utcnow

if TYPE_CHECKING:
    from memos.storage.accounts import ApiKey, Grant, User


def users(found: Sequence[User]) -> Table | str:
    """A table of users."""
    if not found:
        return "no users yet"
    rows = [(u.name, when(u.created_at), "yes" if u.active else "no") for u in found]
    return table(("name", "created", "active"), rows)


def keys(found: Sequence[ApiKey]) -> Table | str:
    """A table of keys."""
    if not found:
        return "no keys"
    rows = [
        (
            k.prefix,
            k.user,
            _scopes(k),
            _state(k),
            when(k.created_at),
            when(k.expires_at) or "never",
            when(k.last_used_at) or "never",
            k.description,
        )
        for k in found
    ]
    return table(("key", "user", "scopes", "state", "created", "expires", "last used", "for"), rows)


def new_key(out: Console, key: ApiKey, secret: str, home: Path, *, first: bool) -> None:
    """A key that was just made in a data folder, with its secret."""
    until = f", until {when(key.expires_at)}" if key.expires_at else ""
    out.print(Text(safe(f"created key {key.prefix} of {key.user!r}: {_scopes(key)}{until}")))
    out.print(secret, soft_wrap=True, style="bold")
    out.print("This is the secret. Keep it now: it is not stored and will not be shown again.")
    closing = f"From now on servers on {home} need a key (auth auto)." if first else f"It is for servers on {home}."
    out.print(Text(safe(closing)), soft_wrap=True)


def grants(found: Sequence[Grant]) -> Table | str:
    """A table of grants."""
    if not found:
        return "no grants"
    rows = [(g.cube, g.user, g.level, when(g.granted_at), g.granted_by) for g in found]
    return table(("cube", "user", "may", "since", "given by"), rows)


def _scopes(key: ApiKey) -> str:
    return ", ".join(s for s in ("read", "write", "act", "admin") if s in key.scopes)


def _state(key: ApiKey) -> str:
    if key.revoked_at is not None:
        return f"revoked {when(key.revoked_at)}"
    return "works" if key.usable(utcnow()) else "expired"
