"""How mem0 tells of errors: the words under `detail`, as its clients look for them, and 400 where its cloud says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request
from starlette.responses import Response

from memos.errors import InvalidInput
from memos.server import errors
from memos.server.replies import json_reply

PREFIX = "/compat/mem0"
_CLOUD = (f"{PREFIX}/v", f"{PREFIX}/api/")


class NotSupported(InvalidInput):
    """A method of mem0's platform that this server has nothing for."""

    code = "not_supported"


def ok(body: Any, status: int = 200) -> Response:
    """A success."""
    return json_reply(body, status)


def _shape(status: int, code: str, message: str, details: Any, request: Request) -> tuple[int, Mapping[str, Any]]:
    """The cloud answers 400 to a body that does not fit, and the open-source server 422 with the faults one by one."""
    cloud = request.scope.get("path", "").startswith(_CLOUD)
    if status == 422 and not cloud:
        return 422, {"detail": details or message, "code": code}
    return 400 if status == 422 else status, {"detail": message, "code": code}


def install() -> None:
    """Have the errors of these wires answered in their words."""
    errors.shape(PREFIX, _shape)
