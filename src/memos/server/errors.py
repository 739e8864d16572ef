"""How errors leave the server: a status for each kind, and for each wire its own envelope.

Only errors raised on purpose show their message; anything else is logged and answered as an internal error without details.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast
from uuid import UUID

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memos import errors
from memos.errors import MemosError
from memos.server.replies import json_reply
from memos.server.wire import REQUEST_ID
from memos.server.wording import in_http_words

log = structlog.get_logger(__name__)

# The most specific class comes first.
STATUS: tuple[tuple[type[MemosError], int], ...] = (
    (errors.InvalidInput, 400),
    (errors.ArchiveError, 400),
    (errors.Unauthorized, 401),
    (errors.AccessDenied, 403),
    (errors.NotFound, 404),
    (errors.Conflict, 409),
    (errors.Busy, 429),
    (errors.StorageFull, 507),
    (errors.StorageBusy, 503),
    (errors.StorageReadOnly, 503),
    (errors.Unavailable, 503),
    (errors.ModelError, 503),
    (errors.LeaseLost, 409),
)

_LONGEST_ROUTE = 8  # parts of a path
_CODES = {404: "not_found", 405: "method_not_allowed"}  # of what the framework refuses

# status, machine-readable code, message, details, request -> body
Shape = Callable[[int, str, str, Any, Request], tuple[int, Mapping[str, Any]]]
_shapes: dict[str, Shape] = {}  # by path prefix, filled by the wires


def status_of(error: MemosError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def shape(prefix: str, make: Shape) -> None:
    """Have errors under a path prefix answered in a wire's own envelope."""
    _shapes[prefix] = make


def _native(status: int, code: str, message: str, details: Any, request: Request) -> tuple[int, Mapping[str, Any]]:
    error: dict[str, Any] = {"code": code, "message": message}
    if details is not None:
        error["details"] = details
    return status, {"error": error, "request_id": _id(request)}


def error_reply(
    request: Request,
    status: int,
    code: str,
    message: str,
    details: Any = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """An error in the envelope of the wire that the request came by."""
    path = request.scope.get("path", "")
    make = next((s for prefix, s in _shapes.items() if path.startswith(prefix)), _native)
    status, body = make(status, code, message, details, request)
    return json_reply(body, status, headers)


class Refused(HTTPException):
    """A request that is not even handed to a route."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, dict(headers or {}))
        self.code = code


def reply_to(request: Request, error: MemosError | HTTPException) -> Response:
    """The answer to an error that was raised on purpose."""
    if isinstance(error, HTTPException):
        code = error.code if isinstance(error, Refused) else _CODES.get(error.status_code, f"http_{error.status_code}")
        return error_reply(request, error.status_code, code, str(error.detail), headers=error.headers)
    status = status_of(error)
    wait = getattr(error, "retry_after", None)  # of ours, and of a model that is busy or left alone
    headers = {} if wait is None else {"Retry-After": str(max(1, math.ceil(wait)))}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status >= 500:
        log.error("request_failed", code=error.code, error=type(error).__name__, request_id=_id(request))
    return error_reply(request, status, error.code, in_http_words(str(error)), headers=headers)


def refusal(error: MemosError | HTTPException) -> Callable[[Request], Response]:
    """What answers a request with an error, for middlewares."""
    return lambda request: reply_to(request, error)


def _id(request: Request) -> str | None:
    return cast("str | None", request.scope.get(REQUEST_ID))


def _methods_at(path: str, routes: Iterable[Any]) -> set[str]:
    """What may be asked of a path: each method has a route of its own, and the framework tells of the first one's only."""
    found: set[str] = set()
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            found |= _methods_at(path, inner.routes)
        elif getattr(route, "path", None) == path:
            found |= getattr(route, "methods", None) or set()
    return found


def _no_id(path: str, routes: Iterable[Any]) -> str | None:
    """The part of a path without a route that would have one if it were an id."""
    parts = path.split("/")
    if len(parts) > _LONGEST_ROUTE:
        return None
    with_id = [route.path_regex for route in routes if ":uuid}" in getattr(route, "path", "")]
    for at, part in enumerate(parts):
        tried = "/".join([*parts[:at], str(UUID(int=0)), *parts[at + 1 :]])
        if part and any(regex.match(tried) for regex in with_id):
            return part
    return None


def install(app: FastAPI) -> None:
    """Register the handlers."""

    @app.exception_handler(MemosError)
    async def known(request: Request, error: MemosError) -> Response:
        return reply_to(request, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        details = [{k: v for k, v in e.items() if k in ("type", "loc", "msg")} for e in error.errors()]
        where = "; ".join(_fault(e) for e in error.errors()[:5])
        first = error.errors()[0]
        if first["type"] in _NO_ID and first["loc"][0] == "path":  # it names nothing, like one that is not in use
            return error_reply(request, 404, "not_found", f"{first['input']!r:.80} is not an id", details)
        return error_reply(request, 422, "invalid_request", where, details)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        path = getattr(request.scope.get("route"), "path", None)
        if error.status_code == 405 and path is not None:
            allowed = ", ".join(sorted(_methods_at(path, request.app.routes)))
            error.headers = {"Allow": allowed}
            error.detail = f"{request.method} is not possible here; allowed: {allowed}"
        elif is_unrouted(request) and error.status_code == 404 and not isinstance(error, Refused):
            path = request.scope.get("path", "")
            odd = _no_id(path, request.app.routes)
            said = f"no route {request.method} {path[:200]}; see /docs" if odd is None else f"{odd!r:.80} is not an id"
            error.detail = said
        return reply_to(request, error)


_NO_ID = frozenset({"uuid_parsing", "uuid_type", "uuid_version"})


def is_unrouted(request: Request) -> bool:
    """Whether no route has the path of the request."""
    return request.scope.get("route") is None


def _fault(error: Mapping[str, Any]) -> str:
    """One fault of a request in a few words."""
    loc = error["loc"]
    if error["type"] == "json_invalid":
        why = (error.get("ctx") or {}).get("error", error["msg"])
        return f"the body is not JSON: {why} at character {loc[-1]}"
    said = f"{error['input']!r:.80} is not an id" if error["type"] in _NO_ID else error["msg"]
    return f"{'.'.join(map(str, loc))}: {said}"
