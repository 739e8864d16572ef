"""Routers that look at their routes only for paths of their own: the wires have a hundred routes, and each request one."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.routing import Match

from memos.server.wire import Scope


class Prefixed(APIRouter):
    """A router with a prefix, which it checks first."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether one of the routes matches."""
        if not scope["path"].startswith(self.prefix):
            return Match.NONE, {}
        return super().matches(scope)
