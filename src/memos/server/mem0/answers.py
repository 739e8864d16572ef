"""What the routes tell the OpenAPI description of their answers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class Problem(BaseModel):
    """An error, and what to do about it."""

    detail: str | list[Any]
    code: str


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in (
        (400, "The request means nothing here, or cannot be done."),
        (401, "No API key, or a bad one."),
        (403, "The key may not do this."),
        (404, "There is no such memory, entity or event for this key."),
        (408, "The body came too slowly."),
        (409, "Somebody else was quicker."),
        (413, "The body is too large."),
        (415, "The body is of another kind."),
        (422, "The body does not fit."),
        (429, "Too many requests, or too much is waiting."),
        (503, "Not able to just now."),
        (507, "The disk is full."),
    )
}


def answers(summary: str, status: int = 200) -> dict[str, Any]:
    """The keywords of a route."""
    found: dict[str, Any] = {"description": "The answer."}
    return {
        "summary": summary,
        "response_model": None,
        "status_code": status,
        "responses": {status: found, **_PROBLEMS},
    }
