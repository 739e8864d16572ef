"""Paths of mem0: with a slash at the end or without, and with a slash inside of a name as `%2F`."""

from __future__ import annotations

from starlette.routing import Match
from starlette.types import Scope

from memos.server.native.slashes import SlashRoute


class EitherRoute(SlashRoute):
    """A route that is declared without a slash at its end, and asked with one just as well."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is for this route."""
        path, raw = scope["path"], scope.get("raw_path") or b""
        if path.endswith("/"):
            scope = {**scope, "path": path.rstrip("/"), "raw_path": raw.rstrip(b"/")}
        return super().matches(scope)
