"""Who there is and who may do what: the plain values of users, API keys, grants and the audit trail.

A secret is no part of any of them: it exists where it was made, and with whoever was told it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memos.errors import InvalidInput
from memos.memory.model import EMPTY

SCOPES = ("read", "write", "act", "admin")
LEVELS = ("read", "write", "admin")
_IMPLIED = {"act": ("read", "write"), "admin": ("read", "write", "act")}


class Secret(str):
    """The secret of an API key. It is a text like any other, but does not show itself in a `repr`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<secret of {self[:11]}…>"


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with memories. The keys of a user who is not `active` do not work. `created_at` is aware UTC."""

    name: str
    created_at: datetime
    active: bool = True
    info: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it can be shown to anybody: `prefix` is what its secret begins with. Times are aware UTC.

    `expires_at`: None for never. `last_used_at` is exact to a minute, None when it was not used yet.
    """

    id: str
    prefix: str
    user: str
    scopes: frozenset[str]
    description: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None

    def may(self, scope: str) -> bool:
        """Whether the key has a scope, or one that implies it: `act` implies read and write, `admin` everything."""
        return scope in self.scopes or any(scope in _IMPLIED.get(s, ()) for s in self.scopes)

    def usable(self, now: datetime) -> bool:
        """Whether the key is neither revoked nor expired. (Whether its user is active is not known here.)"""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class Grant:
    """A right on a cube that somebody gave a user: `read`, `write` or `admin`."""

    cube: str
    user: str
    level: str
    granted_at: datetime
    granted_by: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who did what to which user, key or cube. `object` is a user's or cube's name, or the prefix of a key.

    `action`: `user.create`, `user.activate`, `user.deactivate`, `user.delete`, `key.create`, `key.revoke`, `grant.give`,
    `grant.take`, `cube.set` or `retention.run`. `user`: whom it concerns. `detail`: scopes, level, the key of what was set, or
    what a run did. Names that exist no more are replaced by a stand-in.
    """

    at: datetime
    actor: str
    action: str
    object: str
    user: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Entries, newest first. `cursor` continues after the last one; None when there is no more."""

    items: tuple[AuditEntry, ...]
    cursor: str | None


def checked_scopes(scopes: object) -> frozenset[str]:
    """Scopes of a new key. Raises InvalidInput for none, and for one that does not exist."""
    if isinstance(scopes, str) or not isinstance(scopes, Iterable):
        raise InvalidInput(f"scopes is a list of {', '.join(SCOPES)}, got {scopes!r:.60}")
    found = list(scopes)
    if not found:
        raise InvalidInput(f"a key needs at least one scope: {', '.join(SCOPES)}")
    for scope in found:
        if scope not in SCOPES:
            raise InvalidInput(f"unknown scope {scope!r:.60}; one of {', '.join(SCOPES)}")
    return frozenset(found)
