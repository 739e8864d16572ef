"""Files as they come in: from JSON (base64, data URLs, http URLs) or from a form. Loaded one at a time, within limits."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from fastapi import FastAPI
from starlette.datastructures import UploadFile

from memos.errors import FileTooLarge, InvalidInput, UnknownFileType
from memos.reading.files import MAX_BYTES
from memos.server.fetch import Fetcher
from memos.server.openmem.bodies import FileItem
from memos.server.openmem.codes import BadBase64, FilesTooLarge, MissingParameter, TooManyFiles
from memos.server.options import ServerOptions

MAX_FILES = 20
MAX_TOTAL = 300 << 20
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?P<params>(?:;[^,;]*)*),", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ENDINGS = {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/html": "html",
    "text/csv": "csv",
    "application/json": "json",
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
}

OPENAPI: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "required": ["knowledgebase_id", "file"],
                    "properties": {
                        "knowledgebase_id": {"type": "string", "maxLength": 100},
                        "file": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": MAX_FILES,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "id": {
                                        "type": "string",
                                        "description": "An id of your own: replaces its former edition.",
                                    },
                                    "name": {"type": "string"},
                                    "type": {"type": "string", "enum": ["document"]},
                                    "content": {
                                        "type": "string",
                                        "description": "Base64, a data URL, or an http(s) URL.",
                                    },
                                },
                            },
                        },
                    },
                }
            },
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "array", "items": {"type": "string", "format": "binary"}}},
                }
            },
        },
    }
}


@dataclass(frozen=True, slots=True)
class Content:
    """The bytes of a file, and what they are said to be."""

    data: bytes
    media_type: str | None


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file to be read. `alone`: it is the only one of its request."""

    name: str
    load: Callable[[], Awaitable[Content]]
    id: str | None = None
    alone: bool = False


async def from_json(items: Sequence[FileItem], options: ServerOptions, app: FastAPI) -> list[Incoming]:
    """The files of a JSON request. Raises TooManyFiles, FilesTooLarge, BadBase64, and InvalidInput for what is no file."""
    _check_count(len(items))
    total = sum(len(item.content or "") * 3 // 4 for item in items)
    if total > MAX_TOTAL + 4096:
        raise FilesTooLarge(f"the files have {total >> 20} MB together; at most {MAX_TOTAL >> 20} are taken at once")
    fetcher: Fetcher = getattr(app.state, "fetcher", None) or Fetcher(enabled=options.fetch_urls, most_bytes=MAX_BYTES)
    return [_item(item, place, len(items) == 1, fetcher) for place, item in enumerate(items)]


async def from_form(uploads: Sequence[UploadFile]) -> list[Incoming]:
    """The files of a form, which lie on disk until they are read."""
    if not uploads:
        raise MissingParameter("the form has no file")
    _check_count(len(uploads))
    total = sum(upload.size or 0 for upload in uploads)
    if total > MAX_TOTAL:
        raise FilesTooLarge(f"the files have {total >> 20} MB together; at most {MAX_TOTAL >> 20} are taken at once")
    return [_upload(upload, len(uploads) == 1) for upload in uploads]


def _check_count(count: int) -> None:
    if count > MAX_FILES:
        raise TooManyFiles(f"{count} files in one request; at most {MAX_FILES} are taken")


def _upload(upload: UploadFile, alone: bool) -> Incoming:
    name = _plain_name(upload.filename or "")

    async def load() -> Content:
        if (upload.size or 0) > MAX_BYTES:
            raise FileTooLarge(f"{name!r:.80} has {(upload.size or 0) >> 20} MB; at most {MAX_BYTES >> 20} are read")
        return Content(await upload.read(), upload.content_type)

    return Incoming(name, load, alone=alone)


def _item(item: FileItem, place: int, alone: bool, fetcher: Fetcher) -> Incoming:
    where = f"file[{place}]"
    if item.type not in (None, "", "document"):
        raise UnknownFileType(f"{where}.type is {item.type!r:.40}; only documents can be added, skills cannot yet")
    url = item.url
    content = item.content or ""
    if url is None and re.match(r"https?://", content, re.IGNORECASE):
        url = content
    if url is not None:
        return _by_url(item, url.strip(), alone, fetcher)
    if not content.strip():
        raise MissingParameter(f"{where} has neither content nor url")
    data_url = _DATA_URL.match(content)
    if data_url is None and _SCHEME.match(content):
        raise InvalidInput(f"{where}: only http and https URLs can be fetched; files of the server are never read")
    media_type = data_url["type"] if data_url else None
    ending = _ENDINGS.get((media_type or "").lower(), "")
    name = _plain_name(item.name or (f"file.{ending}" if ending else ""))

    async def load() -> Content:
        payload = content[data_url.end() :] if data_url else content
        if data_url is not None and "base64" not in data_url["params"].lower():
            return Content(unquote_to_bytes(payload), media_type)
        return Content(decoded(payload, where), media_type)

    return Incoming(name, load, item.id, alone)


def _by_url(item: FileItem, url: str, alone: bool, fetcher: Fetcher) -> Incoming:
    fetcher.check(url)  # before anything is stored
    try:
        name = unquote(urlsplit(url).path).rstrip("/").rsplit("/", 1)[-1]
    except ValueError:
        name = ""

    async def load() -> Content:
        found = await fetcher.get(url)
        return Content(found.data, found.media_type)

    return Incoming(_plain_name(item.name or name), load, item.id, alone)


def decoded(text: str, where: str) -> bytes:
    """The bytes of base64 text, with or without line breaks, in either alphabet. Raises BadBase64."""
    plain = "".join(text.split()).replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError) as e:
        raise BadBase64(f"{where}.content is no base64 ({e}); paths and plain text are not taken") from None


def _plain_name(name: str) -> str:
    """A file's name without folders and control characters."""
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return (
        "".join(c for c in last if ord(c) >= 32 and ord(c) != 127 and not 0xD800 <= ord(c) <= 0xDFFF).strip()[:255]
        or "file"
    )
