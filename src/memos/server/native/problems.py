"""Errors as the documentation shows them, and which operation answers which."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ErrorInfo(BaseModel):
    """What was wrong. `code` is stable and machine-readable; `message` says what was wrong, with which value, and what to do."""

    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["memory 019a1f3c-77aa-7c31-8a2f-2b6d0f9f3f11 does not exist in this cube"])
    details: Any = Field(
        None, description="For invalid requests: a list of `type`, `loc` and `msg`, one for each fault."
    )


class ErrorAnswer(BaseModel):
    """Every answer that is not a success."""

    model_config = ConfigDict(title="Error")

    error: ErrorInfo
    request_id: str | None = Field(None, description="The id under which the server's log has this request.")


_SECONDS: dict[str, Any] = {"schema": {"type": "integer", "minimum": 1}, "description": "Seconds to wait."}
_TEXTS: dict[int, tuple[str, str, str]] = {
    400: (
        "Cannot be used: a value that no schema can refuse (a filter, a time, a cursor).",
        "invalid_input",
        "the query is empty",
    ),
    401: ("No API key, or one that is unknown, expired or revoked.", "unauthorized", "an API key is needed"),
    403: (
        "The key or the user may not do this.",
        "access_denied",
        "user 'bob' may read cube 'ada', but this needs write",
    ),
    404: ("There is none, or not for this user.", "not_found", "cube 'notes' does not exist for user 'ada'"),
    408: ("The body came too slowly.", "too_slow", "the body did not come within 30 s"),
    409: ("It exists already, or changed meanwhile.", "conflict", "a cube named 'notes' exists already"),
    412: ("The memory has another version than `If-Match` says.", "conflict", "the memory is at version 3, not 2"),
    413: ("The body is too large.", "too_large", "a body may have 16 MB"),
    415: ("The body is of another kind.", "not_json", "send the header 'Content-Type: application/json'"),
    422: (
        "The request has not the documented shape.",
        "invalid_request",
        "body.limit: Input should be less than or equal to 10000",
    ),
    429: (
        "Too many requests, or too much waiting work. Nothing was stored.",
        "busy",
        "too many requests; try again in 2 s",
    ),
    500: ("A defect of the server.", "internal", "an internal error; the log has it under the request id"),
    503: ("Not possible now: a part is missing, busy or read-only.", "unavailable", "no chat model is configured"),
    507: ("The disk is full. Nothing was stored.", "storage_full", "the disk is full"),
}
_READ = (400, 401, 403, 404, 422, 429, 500, 503)
_BODY = (408, 413, 415)
_WRITE = (*_READ, *_BODY, 409, 507)


def _documented(status: int) -> dict[str, Any]:
    text, code, message = _TEXTS[status]
    shown: dict[str, Any] = {"description": text, "model": ErrorAnswer}
    shown["content"] = {
        "application/json": {"example": {"error": {"code": code, "message": message}, "request_id": "01J9ZK3V7Q"}}
    }
    if status == 429:
        shown["headers"] = {"Retry-After": _SECONDS}
    return shown


def reads(*more: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of an operation that reads."""
    return {status: _documented(status) for status in sorted({*_READ, *more})}


def asks() -> dict[int | str, dict[str, Any]]:
    """The error answers of an operation that reads what its body asks for."""
    return reads(*_BODY)


def writes(*more: int) -> dict[int | str, dict[str, Any]]:
    """The error answers of an operation that changes something."""
    return {status: _documented(status) for status in sorted({*_WRITE, *more})}
