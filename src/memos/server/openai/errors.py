"""Errors as OpenAI's clients read them, and the event that ends a stream which broke."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request

from memos.errors import MemosError
from memos.server import errors
from memos.server.replies import to_json
from memos.server.wording import in_http_words

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/conversations", "/v1/models")
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}


def body(status: int, code: str, message: str) -> dict[str, Any]:
    """An error in OpenAI's envelope."""
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def event(error: MemosError, *, named: bool) -> bytes:
    """The last event of a stream that broke: `named` as the Responses API names its events. It begins with an empty line, for
    what came before may have ended anywhere.
    """
    told = body(errors.status_of(error), error.code, in_http_words(str(error)))
    if not named:
        return b"\n\ndata: " + to_json(told) + b"\n\n"
    value = {"type": "error", "code": error.code, "message": told["error"]["message"], "param": None, **told}
    return b"\n\nevent: error\ndata: " + to_json(value) + b"\n\n"


def _shape(status: int, code: str, message: str, details: Any, request: Request) -> tuple[int, Mapping[str, Any]]:
    told = body(status, code, message)
    if details is not None:
        told["error"]["details"] = details
    return status, told | {"request_id": request.scope.get("memos.request_id")}


for _path in PATHS:
    errors.shape(_path, _shape)
