"""URLs as they may be shown."""

from __future__ import annotations


def without_password(url: str) -> str:
    """A URL without what may be secret in it (user, password, everything behind a `?`), also when it cannot be read."""
    scheme, between, rest = url.rpartition("://")
    who, at, place = rest.rpartition("@")
    if "?" in who:
        return f"{scheme}{between}***"
    return f"{scheme}{between}{'***@' if at else ''}{place.partition('?')[0]}"
