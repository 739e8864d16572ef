"""The envelope of the MemOS wire: `{"code": 200, "message": ..., "data": ...}`, and the same for errors."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from starlette.responses import Response

from memos.server import errors
from memos.server.product import wording
from memos.server.replies import json_reply

PREFIX = "/product"
TOO_MANY = 40309  # the code by which clients of this wire know that they are to wait


def ok(message: str, data: Any, **more: Any) -> Response:
    """A success; what is not None of `more` stands beside `data`."""
    return json_reply(
        {"code": 200, "message": message, "data": data} | {k: v for k, v in more.items() if v is not None}
    )


def failure(status: int, code: str, message: str, details: Any, request: Request) -> tuple[int, dict[str, Any]]:
    """An error in the envelope of this wire, with the same status; `error` is our machine-readable code."""
    if status == 422:
        path = request.scope.get("path", "")
        message = wording.VALIDATION.format(method=request.method, path=path, message=message)
    if status == 404 and errors.is_unrouted(request):
        message = wording.NO_ROUTE
    body = {"code": TOO_MANY if status == 429 else status, "message": message, "data": None, "error": code}
    return status, body if details is None else body | {"detail": details}


errors.shape(PREFIX, failure)
