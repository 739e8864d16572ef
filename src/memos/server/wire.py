"""What the middlewares share: reading headers of a raw ASGI scope, and answering instead of the application."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = "memos.headers"  # key in the scope: headers that `Observed` adds to whatever is answered
REQUEST_ID = "memos.request_id"
CALLER = "memos.caller"
_BY_NAME = "memos.by_name"  # the headers of the request, which every middleware looks into
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header (lower-case name), several joined with a comma; None when it is not there."""
    by_name: dict[bytes, str] | None = scope.get(_BY_NAME)
    if by_name is None:
        by_name = scope[_BY_NAME] = {}
        for key, value in scope["headers"]:
            text = value.decode("latin-1")
            by_name[key] = f"{by_name[key]}, {text}" if key in by_name else text
    return by_name.get(name)


def content_type(value: str | None) -> str:
    """What a Content-Type header names, in lower case and without its parameters; empty when there is none."""
    return (value or "").partition(";")[0].strip().lower()


def add_header(scope: Scope, name: str, value: str) -> None:
    """Have a header added to the answer."""
    scope.setdefault(HEADERS, []).append((name.lower().encode("latin-1"), value.encode("latin-1")))


async def answer(scope: Scope, receive: Receive, send: Send, make: Callable[[Request], Response]) -> None:
    """Answer a request here and now."""
    await make(Request(scope))(scope, receive, send)
