"""The cloud's envelope, and its numbers for what goes wrong.

What the caller asked wrongly, or what is not there, is told as the cloud does: HTTP 200 with a `code` that is not 0. Whether the
caller may come in (401, 403), and how the server is (429, 5xx), is in the HTTP status too, where clients, proxies and monitors
look for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from starlette.responses import Response

from memos.errors import InvalidInput, NotFound
from memos.server import errors
from memos.server.replies import json_reply

PREFIX = "/api/openmem/v1"
_IN_BAND = frozenset({400, 404, 409, 422})


class MissingParameter(InvalidInput):
    """A field that is needed was not given."""

    code = "missing_parameter"


class MemoryGone(NotFound):
    """A memory to be deleted does not exist, or not for this caller."""

    code = "memory_not_found"


class UserGone(NotFound):
    """A user to be deleted has no memories."""

    code = "user_not_found"


class NoSuchBase(NotFound):
    """A knowledge base does not exist, or not for this caller."""

    code = "knowledgebase_not_found"


class NoSuchTask(NotFound):
    """A task does not exist, or not for this caller."""

    code = "task_not_found"


class NotSupported(InvalidInput):
    """An endpoint of the cloud that this server has nothing for."""

    code = "not_supported"


class BadBase64(InvalidInput):
    """The content of a file is no base64."""

    code = "bad_base64"


class TooManyFiles(InvalidInput):
    """More files in one request than are allowed."""

    code = "too_many_files"


class FilesTooLarge(InvalidInput):
    """The files of one request are too large together."""

    code = "files_too_large"


NUMBER_OF: Mapping[str, int] = {
    "missing_parameter": 40002,
    "not_found": 40001,
    "memory_not_found": 40307,
    "user_not_found": 40308,
    "knowledgebase_not_found": 50120,
    "task_not_found": 50131,
    "access_denied": 40306,
    "unauthorized": 40132,
    "busy": 40309,
    "unknown_file_type": 40007,
    "bad_base64": 40008,
    "too_many_files": 50103,
    "file_too_large": 50104,
    "files_too_large": 50105,
    "unreadable_file": 50107,
    "storage_full": 50004,
    "not_supported": 50005,
}
_BY_STATUS: Mapping[int, int] = {401: 40100, 403: 40306, 404: 40001, 413: 40305, 429: 40309, 500: 50000}
_IDS_TOO_LONG: Mapping[str, int] = {"user_id": 40010, "conversation_id": 40011}


def ok(data: Any) -> Response:
    """A success."""
    return json_reply({"code": 0, "message": "ok", "data": data})


def number_of(status: int, code: str, details: Any = None) -> int:
    """The cloud's number for an error."""
    if code == "invalid_request" and isinstance(details, list) and details:
        return _of_validation(details[0])
    return NUMBER_OF.get(code) or _BY_STATUS.get(status) or (40000 if status < 500 else 50002)


def _of_validation(detail: Mapping[str, Any]) -> int:
    """The number for the first field that does not fit: missing, empty, too long an id, of another type, or else wrong."""
    kind, where = str(detail.get("type", "")), str(next(reversed(detail.get("loc", ())), ""))
    if kind == "missing":
        return 40002
    if kind in ("string_too_short", "too_short"):
        return 40003
    if kind == "string_too_long":
        return _IDS_TOO_LONG.get(where, 40010)
    return 40006 if kind.endswith(("_type", "_parsing")) else 40000


def _shape(status: int, code: str, message: str, details: Any, request: Request) -> tuple[int, Mapping[str, Any]]:
    number = number_of(status, code, details)
    if code == "unauthorized" and not request.headers.get("authorization"):
        number = 40100
    body: dict[str, Any] = {"code": number, "message": message, "data": None}
    if details is not None:
        body["detail"] = details
    in_band = status in _IN_BAND and not (status == 404 and errors.is_unrouted(request))
    return 200 if in_band else status, body


def install() -> None:
    """Have the errors of this wire answered in its envelope."""
    errors.shape(PREFIX, _shape)
