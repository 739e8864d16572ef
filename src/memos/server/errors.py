"""How errors leave the server: a status for each kind, and for each wire its own envelope.

Only errors raised on purpose show their message; anything else is logged and answered as an internal error without details.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from memos import errors
from memos.errors import Busy, MemosError
from memos.server.replies import json_reply

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
    return status, {"error": error, "request_id": request.scope.get("memos.request_id")}


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
        code = error.code if isinstance(error, Refused) else f"http_{error.status_code}"
        return error_reply(request, error.status_code, code, str(error.detail), headers=error.headers)
    status = status_of(error)
    headers = {"Retry-After": str(max(1, math.ceil(error.retry_after)))} if isinstance(error, Busy) else {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status >= 500:
        log.error("request_failed", code=error.code, error=type(error).__name__, request_id=_id(request))
    return error_reply(request, status, error.code, str(error), headers=headers)


def refusal(error: MemosError | HTTPException) -> Callable[[Request], Response]:
    """What answers a request with an error, for middlewares."""
    return lambda request: reply_to(request, error)


def _id(request: Request) -> str | None:
    return cast("str | None", request.scope.get("memos.request_id"))


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


def install(app: FastAPI) -> None:
    """Register the handlers."""

    @app.exception_handler(MemosError)
    async def known(request: Request, error: MemosError) -> Response:
        return reply_to(request, error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        details = [{k: v for k, v in e.items() if k in ("type", "loc", "msg")} for e in error.errors()]
        where = "; ".join(f"{'.'.join(map(str, d['loc']))}: {d['msg']}" for d in details[:5])
        return error_reply(request, 422, "invalid_request", where, details)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        path = getattr(request.scope.get("route"), "path", None)
        if error.status_code == 405 and path is not None:
            error.headers = {"Allow": ", ".join(sorted(_methods_at(path, request.app.routes)))}
        return reply_to(request, error)
