"""What a server that refuses, or a connection that breaks, means: the error for the caller, and whether to try again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from memos import errors
from memos.errors import Busy, MemosError, Unavailable
from memos.models.resilience import retry_after_seconds

_EXCERPT = 200
_BY_STATUS: Mapping[int, type[MemosError]] = {
    400: errors.InvalidInput,
    401: errors.Unauthorized,
    403: errors.AccessDenied,
    404: errors.NotFound,
    405: errors.InvalidInput,
    409: errors.Conflict,
    412: errors.Conflict,
    413: errors.InvalidInput,
    415: errors.InvalidInput,
    422: errors.InvalidInput,
    429: Busy,
    502: Unavailable,
    503: Unavailable,
    504: errors.TimedOut,
    507: errors.StorageFull,
}
_GATEWAY = frozenset({502, 504})
_PASSING = frozenset({errors.StorageBusy.code, Unavailable.code})  # reasons of a 503 that may be gone a moment later


def _tree(base: type[MemosError]) -> Iterator[type[MemosError]]:
    yield base
    for kind in base.__subclasses__():
        yield from _tree(kind)


# Those that a caller can meet; what rooms of the library say among themselves is loaded here or not.
_BY_CODE: Mapping[str, type[MemosError]] = {
    kind.code: kind for kind in _tree(MemosError) if kind.__module__ == errors.__name__
}


_OURS = frozenset({400, 405, 415, 422})  # that our server never gives without words of its own


class Elsewhere(errors.InvalidInput):
    """What answers at the address is no MemOS server, or the address is not its root: nothing was refused for what it is."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one attempt failed. `harmless`: nothing was done, so that any call may be sent again; `passing`: one that may be done
    twice may. `wait`: seconds the server asked for.
    """

    error: MemosError
    harmless: bool = False
    passing: bool = False
    wait: float | None = None


def refused(status: int, headers: Mapping[str, str], content: bytes, where: str, base_url: str = "") -> Failure:
    """What an answer that is no success means. `where` names the call, for answers that are not the server's own words;
    `base_url` is what may be the wrong address.
    """
    code, message, request_id = _told(content)
    path = urlsplit(base_url).path
    if status in (404, 405) and path and (code is None or (message or "").startswith("no route ")):
        return Failure(Elsewhere(f"{base_url} is not the root of a MemOS server; leave out {path}"))
    foreign = code is None and status in _OURS
    kind = Elsewhere if foreign else _BY_CODE.get(code or "") or _BY_STATUS.get(status, MemosError)
    if message is None:
        message = f"{where} was answered with status {status}: {_excerpt(content)}"
        if 300 <= status < 400:
            message = f"{where} is redirected to {headers.get('location', '?')!r:.200}; use the address it points to"
    wait = retry_after_seconds(headers.get("retry-after"))
    if issubclass(kind, Busy):
        return _noted(Failure(kind(message, 1.0 if wait is None else wait), harmless=True, wait=wait), request_id)
    passing = status in _GATEWAY or (status == 503 and (code is None or code in _PASSING or code.startswith("http_")))
    busy = issubclass(kind, errors.ModelBusy) and wait is not None
    return _noted(Failure(kind(message, wait) if busy else kind(message), passing=passing, wait=wait), request_id)


def _noted(failure: Failure, request_id: str | None) -> Failure:
    if request_id:
        failure.error.add_note(f"request {request_id} in the server's log")
    return failure


def _told(content: bytes) -> tuple[str | None, str | None, str | None]:
    """Code, message and request id of our own error envelope; None for what is not there."""
    try:
        body: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None, None, None
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None, None, None
    return _text(error.get("code")), _text(error.get("message")), _text(body.get("request_id"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _excerpt(content: bytes) -> str:
    return " ".join(content[: 4 * _EXCERPT].decode("utf-8", "replace").split())[:_EXCERPT] or "nothing"
