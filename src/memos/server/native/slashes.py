"""Names with a slash in paths: `%2F` is a part of the name, not a separator.

The server decodes a path before it is matched, so routes that take names match the path anew, from the raw one, with every
`%2F` as NUL (which no name holds); `with_slashes` puts the slash back.
"""

from __future__ import annotations

from urllib.parse import unquote

from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope


def with_slashes(name: str) -> str:
    """A name from such a path, with the slashes it had."""
    return name.replace("\0", "/")


class SlashRoute(APIRoute):
    """A route whose path parameters may hold slashes."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is for this route."""
        raw: bytes = scope.get("raw_path") or b""
        if b"%00" in raw:  # no name holds one, and it must not stand for a slash
            return Match.NONE, {}
        if b"%2" not in raw or b"%2f" not in raw.lower():
            return super().matches(scope)
        path = unquote(raw.replace(b"%2F", b"%00").replace(b"%2f", b"%00").decode("ascii", "replace"))
        return super().matches({**scope, "path": path})
