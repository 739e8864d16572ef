"""Against web pages that reach for a server on this machine: the Host, the Origin and the kind of body are checked before
anything else, and other origins get no permission to read (CORS) unless they are listed.
"""

from __future__ import annotations

import ipaddress

from starlette.responses import Response

from memos.server.errors import Refused, refusal
from memos.server.options import ServerOptions, is_loopback
from memos.server.wire import HEADERS, SAFE_METHODS, App, Receive, Scope, Send, add_header, answer, content_type, header

# What a page may send to another origin without asking first. Not JSON, so no route takes it.
_SIMPLE_TYPES = frozenset({"", "text/plain", "application/x-www-form-urlencoded"})
_EXPOSED = "X-Request-ID, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Content-Disposition"
_EXPOSED += ", ETag, Repr-Digest, X-Memory-Status, X-Memory-Reason"
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


class Guarded:
    """ASGI middleware: refuses foreign Hosts (421), what foreign pages would change (403) and bodies that are no JSON (415)."""

    def __init__(self, app: App, options: ServerOptions) -> None:
        self._app, self._options = app, options
        self._hosts = frozenset({options.host.lower().strip("[]"), *options.allowed_hosts})
        self._any_host = options.everywhere and not options.allowed_hosts
        self._origins = frozenset(options.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        scope.setdefault(HEADERS, []).extend(_SECURITY)
        try:
            preflight = self._check(scope)
        except Refused as error:
            return await answer(scope, receive, send, refusal(error))
        if preflight:
            return await answer(scope, receive, send, lambda request: Response(status_code=204))
        return await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> bool:
        """Whether this is a preflight of a listed origin. Raises Refused."""
        host = header(scope, b"host") or ""
        self._check_host(host)
        origin = header(scope, b"origin")
        asks = scope["method"] == "OPTIONS" and header(scope, b"access-control-request-method") is not None
        if origin is not None:
            add_header(scope, "Vary", "Origin")
        if origin is not None and origin.lower() in self._origins:
            add_header(scope, "Access-Control-Allow-Origin", origin)
            add_header(scope, "Access-Control-Expose-Headers", _EXPOSED)
            if asks:
                add_header(scope, "Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
                add_header(
                    scope,
                    "Access-Control-Allow-Headers",
                    "Authorization, Content-Type, Idempotency-Key, If-Match, X-Request-ID, MCP-Protocol-Version, MCP-Method, "
                    "MCP-Name, X-Memory-User, X-Memory-Cube, X-Memory-Session, X-Memory-Mode, X-Memory-Tokens",
                )
                add_header(scope, "Access-Control-Max-Age", "600")
                return True
        elif asks:
            raise Refused(403, "foreign_origin", f"pages of {origin!r:.80} may not call; list them in cors_origins")
        elif scope["method"] not in SAFE_METHODS:
            self._check_origin(scope, origin, host)
        if scope["method"] not in SAFE_METHODS:
            _check_type(scope)
        return False

    def _check_host(self, value: str) -> None:
        name = _name(value)
        if name is None:
            raise Refused(400, "bad_host", "the request has no Host, or one that is none")
        if self._any_host or name in self._hosts or is_loopback(name):
            return
        raise Refused(
            421,
            "unknown_host",
            f"this server is not called {name!r:.80}; add the name to allowed_hosts (MEMOS_SERVER_ALLOWED_HOSTS)",
        )

    def _check_origin(self, scope: Scope, origin: str | None, host: str) -> None:
        """Raise Refused for a change that a page of another origin asks for. What is no browser sends neither header."""
        if origin is not None:
            own = origin.lower().partition("://")[2] == host.lower() and bool(host)
            if not own:
                raise Refused(403, "foreign_origin", f"pages of {origin!r:.80} may not call; list them in cors_origins")
        elif (header(scope, b"sec-fetch-site") or "none").strip().lower() not in ("none", "same-origin"):
            raise Refused(403, "foreign_origin", "pages of other sites may not call; list their origin in cors_origins")


def _check_type(scope: Scope) -> None:
    """Raise Refused for a body of a kind that pages send without a preflight."""
    if header(scope, b"content-length") in (None, "0") and header(scope, b"transfer-encoding") is None:
        return
    kind = content_type(header(scope, b"content-type"))
    if kind in _SIMPLE_TYPES or "," in kind:  # the comma: several headers, of which readers may take another one
        bytes_wanted = scope["path"] == "/v1/files" or scope["path"].endswith("/archive")
        code, wanted = ("wrong_type", "octet-stream") if bytes_wanted else ("not_json", "json")
        raise Refused(415, code, f"send the header 'Content-Type: application/{wanted}'; got {kind or 'none'!r:.60}")


def _name(value: str) -> str | None:
    """The host of a Host header without port and brackets, None when it is none."""
    text = value.strip().lower()
    if text.startswith("["):
        address, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not _is_port(rest)):
            return None
        try:
            return str(ipaddress.IPv6Address(address))
        except ValueError:
            return None
    name, colon, port = text.partition(":")
    if not name or (colon and not port.isdigit()) or any(c in "/@?#\\, " for c in name):
        return None
    return name.rstrip(".")


def _is_port(rest: str) -> bool:
    return rest.startswith(":") and rest[1:].isdigit()
