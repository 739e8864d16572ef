"""The errors of this wire, as the OpenAPI description tells them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class ProductError(BaseModel):
    """Every answer that is not a success: the status again as `code`, and what to do about it."""

    code: int
    message: str
    data: None
    error: str = Field(description="What was wrong, machine-readable.", examples=["not_found"])
    detail: list[dict[str, Any]] | None = Field(None, description="For requests of another shape: each fault.")


_TEXTS = {
    400: "Cannot be used.",
    401: "No API key, or a bad one.",
    403: "The key or the user may not do this.",
    404: "There is none, or not for this user.",
    409: "It changed meanwhile.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "The request has another shape.",
    429: "Too many requests, or too much is waiting. Nothing was stored.",
    503: "Not configured, or not able to just now.",
    507: "The disk is full. Nothing was stored.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProductError, "description": text} for status, text in _TEXTS.items()
}
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events: the `data` of each is JSON.",
        "content": {"text/event-stream": {"schema": {"type": "object", "properties": {"data": {"type": "string"}}}}},
    }
}
