"""The errors of mem0, under its names and with its attributes, for programs that catch them. Each is an error of ours, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memos.errors import InvalidInput, MemosError, NotFound, Unavailable


class MemoryError(MemosError):
    """Base of mem0's errors. `error_code` is for programs, `suggestion` for people; `details` and `debug_info` say more."""

    def __init__(
        self,
        message: str,
        error_code: str = "MEM_001",
        details: Mapping[str, Any] | None = None,
        suggestion: str | None = None,
        debug_info: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.error_code, self.suggestion = message, error_code, suggestion
        self.details, self.debug_info = dict(details or {}), dict(debug_info or {})


class ValidationError(MemoryError, InvalidInput):
    """What was asked means nothing, or cannot be done."""


class AuthenticationError(MemoryError):
    """No API key, a bad one, or one that may not do this."""


class MemoryNotFoundError(MemoryError, NotFound):
    """There is no such memory, for this key."""


class RateLimitError(MemoryError):
    """Too many requests; `debug_info["retry_after"]` says how many seconds to wait, where the server does."""


class MemoryQuotaExceededError(MemoryError):
    """More than the server takes."""


class NetworkError(MemoryError, Unavailable):
    """The server could not be reached, or is not able to just now."""


_OF_STATUS: Mapping[int, tuple[type[MemoryError], str]] = {
    400: (ValidationError, "check what was asked"),
    401: (AuthenticationError, "check the API key"),
    403: (AuthenticationError, "use a key that may do this"),
    404: (MemoryNotFoundError, "check the id, and whose key it is"),
    408: (NetworkError, "try again"),
    409: (ValidationError, "read it again, and retry"),
    413: (MemoryQuotaExceededError, "send less at a time"),
    422: (ValidationError, "check what was asked"),
    429: (RateLimitError, "wait, and try again"),
    502: (NetworkError, "try again later"),
    503: (NetworkError, "try again later"),
    504: (NetworkError, "try again later"),
}


def refused(
    status: int, message: str, details: Mapping[str, Any] | None = None, debug_info: Mapping[str, Any] | None = None
) -> MemoryError:
    """The error for an answer of a server."""
    kind, suggestion = _OF_STATUS.get(status, (MemoryError, "try again later"))
    return kind(message or f"the server answered {status}", f"HTTP_{status}", details, suggestion, debug_info)
