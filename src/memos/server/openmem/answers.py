"""What the routes tell the OpenAPI description of their answers."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


class Envelope(BaseModel, Generic[T]):
    """Every answer: `code` 0 and `message` "ok" with the data, or the number and message of an error with null."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    code: int
    message: str
    data: T | None


class Problem(BaseModel):
    """An error: its number in the cloud's numbering, and what to do about it."""

    code: int
    message: str
    data: None


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in (
        (400, "The body cannot be read (40000)."),
        (401, "No API key, or a bad one (40100, 40132)."),
        (403, "The key may not do this, or not for this user (40306)."),
        (408, "The body came too slowly (40000)."),
        (413, "The body is too large (40305)."),
        (415, "The body is of another kind (40000)."),
        (429, "Too many requests, or too much is waiting (40309)."),
        (503, "Not configured, or not able to just now (50002)."),
        (507, "The disk is full (50004)."),
    )
}


@lru_cache
def _envelope(data: Any) -> Any:
    return Envelope[data]


def answers(data: Any, summary: str, *, streams: bool = False) -> dict[str, Any]:
    """The keywords of a route that answers with `data` in the envelope; `streams`: or with events, where that is asked for."""
    found = "The answer; or, with a `code` that is not 0, what was wrong with the request or is not there (40xxx)."
    model = _envelope(Any if data is None else data)
    events = {"content": {"text/event-stream": {"schema": {"type": "string"}}}} if streams else {}
    return {
        "summary": summary,
        "response_model": None,
        "responses": {200: {"model": model, "description": found, **events}, **_PROBLEMS},
    }
