"""Bodies of requests: no larger and no slower than allowed, and JSON that is JSON (no NaN), before a route sees them."""

from __future__ import annotations

import asyncio
import json
import re
import time

import orjson

from memos.server.errors import Refused, refusal
from memos.server.options import ServerOptions
from memos.server.wire import App, Message, Receive, Scope, Send, answer, content_type, header

SLOWEST = 16_384  # bytes a second: a body that comes slower runs out of time
_ARCHIVE = re.compile(r"/v1/cubes/.+/archive", re.DOTALL)
_FILES = "/api/openmem/v1/add/knowledgebase-file"
_CLOSE = {"Connection": "close"}  # what is left of the body is not read


class Bodies:
    """ASGI middleware: refuses a body that is too large (413), comes too slowly (408) or is no JSON though it says so (400)."""

    def __init__(self, app: App, options: ServerOptions) -> None:
        self._app, self._seconds = app, options.read_seconds
        self._most, self._most_of_archive = options.body_mb << 20, options.archive_mb << 20
        self._most_of_files = options.files_mb << 20

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        declared = header(scope, b"content-length")
        if declared in (None, "0") and header(scope, b"transfer-encoding") is None:
            return await self._app(scope, receive, send)
        most = self._limit(scope)
        try:
            if declared is not None and not (declared.isascii() and declared.isdigit()):
                raise Refused(400, "bad_length", "Content-Length is no number", _CLOSE)
            if declared is not None and (len(declared) > 18 or int(declared) > most):
                raise _too_large(most)
            measured = self._measured(receive, most)
            if _is_json(header(scope, b"content-type")):
                measured = _replayed(await _read(measured), receive)
        except Refused as error:
            return await answer(scope, receive, send, refusal(error))
        return await self._app(scope, measured, send)

    def _limit(self, scope: Scope) -> int:
        """How many bytes a body may have. Archives and forms of files go to disk as they come, others are held in memory."""
        if _is_json(header(scope, b"content-type")):
            return self._most
        if scope["method"] == "PUT" and _ARCHIVE.fullmatch(scope["path"]) is not None:
            return self._most_of_archive
        is_form = (header(scope, b"content-type") or "").lower().startswith("multipart/form-data")
        return self._most_of_files if is_form and scope["path"] == _FILES else self._most

    def _measured(self, receive: Receive, most: int) -> Receive:
        got, until, whole = 0, time.monotonic() + self._seconds, False

        async def measured() -> Message:
            nonlocal got, until, whole
            if whole:  # from here on, the application waits for the client to leave
                return await receive()
            try:
                async with asyncio.timeout(until - time.monotonic()):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, "too_slow", f"the body did not come within {self._seconds:g} s", _CLOSE) from None
            size = len(message.get("body", b""))
            got, until = got + size, until + size / SLOWEST
            whole = not message.get("more_body", False)
            if got > most:
                raise _too_large(most)
            return message

        return measured


def _too_large(most: int) -> Refused:
    names = "MEMOS_SERVER_BODY_MB, for archives MEMOS_SERVER_ARCHIVE_MB, for forms of files MEMOS_SERVER_FILES_MB"
    text = f"a body may have {most >> 20} MB here ({names})"
    return Refused(413, "too_large", text, _CLOSE)


def _is_json(kind: str | None) -> bool:
    name = content_type(kind)
    return name == "application/json" or name.endswith("+json")


async def _read(receive: Receive) -> list[Message]:
    """The messages of a whole body. Raises Refused for what is called JSON and is not by the standard."""
    messages: list[Message] = []
    while True:
        message = await receive()
        messages.append(message)
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    if message["type"] == "http.request":
        _check_numbers(
            b"".join(m.get("body", b"") for m in messages) if len(messages) > 1 else message.get("body", b"")
        )
    return messages


def _check_numbers(body: bytes) -> None:
    """Raise Refused for NaN and infinities, which Python's parser would let through. Only a body with such a word is parsed."""
    if b"NaN" not in body and b"Infinity" not in body:
        return
    try:
        orjson.loads(body)
    except orjson.JSONDecodeError as error:  # also for half a character in a text, which the routes can take
        try:
            json.loads(body, parse_constant=_refused)
        except (ValueError, RecursionError):
            raise Refused(400, "bad_json", f"the body is not JSON: {error}") from None


def _refused(word: str) -> object:
    raise ValueError(word)


def _replayed(messages: list[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def replayed() -> Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return replayed
