"""Files in the messages of an add: what comes with its content is stored as a document whose pieces are found.

A file that is only named (by a path, an id or an address) stays a reference in its message: the server opens and fetches
nothing on behalf of a caller.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memos.errors import InvalidInput
from memos.memory.reading import ReadingMode
from memos.results import FileResult
from memos.server.product import wording
from memos.system import AsyncMemOS

_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?P<params>(?:;[^,;]*)*),", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{24,}={0,2}\s*")
UNNAMED = "file.txt"


@dataclass(frozen=True, slots=True)
class File:
    """A file that came with its content. `id`: the caller's own name for it; a file of the same id takes its place."""

    data: bytes
    name: str
    media_type: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What is left of the messages, the files that came with them, and a sentence for each file that was not read."""

    messages: Any
    files: tuple[File, ...] = ()
    notices: tuple[str, ...] = ()


def take_files(messages: Any) -> Taken:
    """The files of messages. Items that are nothing but such a file are no messages; others keep the file's name."""
    if not isinstance(messages, list):
        return Taken(messages)
    left: list[Any] = []
    files: list[File] = []
    notices: list[str] = []
    for i, item in enumerate(messages):
        raw = isinstance(item, Mapping) and "role" not in item and item.get("type") == "file"
        content = item.get("content") if isinstance(item, Mapping) and not raw else None
        parts = [item] if raw else content if isinstance(content, list) else [content]
        named = [part for part in parts if isinstance(part, Mapping) and part.get("type") in ("file", "input_file")]
        found = [_file(part, f"messages[{i}]") for part in named]
        files += [file for file in found if file is not None]
        notices += [wording.FILE_NOT_READ.format(where=f"messages[{i}]") for file in found if file is None]
        if not raw or found == [None]:
            left.append(item)
    return Taken(left, tuple(files), tuple(notices))


async def store_files(
    core: AsyncMemOS,
    files: Sequence[File],
    *,
    user: str,
    cube: str,
    tags: Sequence[str],
    info: Mapping[str, Any] | None,
    reading: ReadingMode | None = None,
    wait: bool = False,
    task_id: str | None = None,
) -> list[FileResult]:
    """Store the files as documents of a cube."""
    return [
        await core.add_file(
            file.data,
            name=file.name,
            media_type=file.media_type,
            document_id=file.id,
            tags=tags,
            info=info,
            user=user,
            cube=cube,
            reading=reading,
            wait=wait,
            task_id=task_id,
        )
        for file in files
    ]


def _file(part: Mapping[str, Any], where: str) -> File | None:
    """The file of a part, where its content is there."""
    inner = part.get("file", part)
    if not isinstance(inner, Mapping) or not inner.get("file_data"):
        return None
    given, name, id = inner["file_data"], inner.get("filename") or inner.get("name"), inner.get("file_id")
    if not isinstance(given, str) or not all(isinstance(v, str | None) for v in (name, id)):
        raise InvalidInput(f"{where}.file: file_data, filename and file_id are texts")
    data, media_type = _bytes(given)
    return File(data, name or id or UNNAMED, media_type, id)


def _bytes(given: str) -> tuple[bytes, str | None]:
    """The content of a file: a data URL, base64, or the text itself."""
    url = _DATA_URL.match(given)
    payload = given[url.end() :] if url else given
    encoded = "base64" in url["params"].lower() if url else _BASE64.fullmatch(given) is not None
    if encoded:
        try:
            return base64.b64decode("".join(payload.split()), validate=True), url["type"] if url else None
        except (binascii.Error, ValueError) as error:
            if url:
                raise InvalidInput(f"file_data is no valid base64 ({error})") from None
    return payload.encode("utf-8", "replace"), url["type"] if url else None
