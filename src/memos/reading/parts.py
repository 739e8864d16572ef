"""The content of a message, in every shape callers send it, as `Part`s.

Media become references: inline data a ``sha256:…`` one. The bytes of images go along where they are asked for, those of
others do not, with a notice. Guards law 1 (what came in is kept verbatim) and law 2 (whatever is skipped is said).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote_to_bytes

from memos.errors import InvalidInput
from memos.memory.image import reference_to
from memos.memory.message import Part, PartType

Notify = Callable[[str], None]

_SURROGATE = re.compile("[\ud800-\udfff]")
_VISIBLE = re.compile(r"[^\s\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\u00ad\x00-\x1f\x7f]")
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?P<params>(?:;[^,;]*)*),", re.IGNORECASE)
_NOT_STORED = "{where}: inline data was not stored; it is kept by reference as {uri}"
_URI = re.compile(r"[a-z][a-z0-9+.-]*://|file:|/|\./|~/", re.IGNORECASE)


def well_formed(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates replaced by U+FFFD; otherwise the same object."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def is_blank(text: str) -> bool:
    """Whether nothing in `text` can be seen: empty, white space, zero-width or control characters only."""
    return _VISIBLE.search(text) is None


def parse_content(content: object, where: str, notify: Notify, *, images: bool = False) -> tuple[Part, ...]:
    """The parts of a message's `content`: a string, a list of parts, one part, or None.

    `where` names the field in errors and notices, for example ``messages[2].content``. `images`: give the bytes of inline images
    along. Unknown part types are skipped with a notice; wrong types raise InvalidInput.
    """
    if content is None:
        return ()
    if isinstance(content, str):
        return (Part(PartType.TEXT, text=well_formed(content)),)
    if isinstance(content, Mapping):
        return _one(content, where, notify, images)
    if isinstance(content, (list, tuple)):
        found: list[Part] = []
        for i, item in enumerate(content):
            found.extend(_item(item, f"{where}[{i}]", notify, images))
        return tuple(found)
    raise InvalidInput(
        f"{where} is {_named(content)}; give a string, a list of parts such as {{'type': 'text', 'text': '…'}}, or null"
    )


def text_of(parts: tuple[Part, ...]) -> str:
    """The readable text of `parts`: text and refusals verbatim, media as ``[image: name]``, joined by newlines."""
    return "\n".join(line for part in parts if (line := _line(part)))


def _line(part: Part) -> str:
    if part.type in (PartType.TEXT, PartType.REFUSAL):
        return part.text
    label = part.text or part.name or _short(part.uri)
    return f"[{part.type}: {label}]" if label else f"[{part.type}]"


def _short(uri: str | None) -> str:
    """The file name of a reference, or what identifies it in a few characters."""
    if not uri:
        return ""
    if uri.startswith("sha256:"):
        return uri[:19]
    return uri.split("?", 1)[0].split("#", 1)[0].rstrip("/").rsplit("/", 1)[-1]


def _item(item: object, where: str, notify: Notify, images: bool) -> tuple[Part, ...]:
    if isinstance(item, str):
        notify(f"{where} is a bare string; read as a text part")
        return (Part(PartType.TEXT, text=well_formed(item)),)
    if isinstance(item, Part):
        return (item,)
    if isinstance(item, Mapping):
        return _one(item, where, notify, images)
    raise InvalidInput(
        f"{where} is {_named(item)}; a part is an object with a 'type', such as {{'type': 'text', 'text': '…'}}"
    )


def _one(item: Mapping[Any, Any], where: str, notify: Notify, images: bool) -> tuple[Part, ...]:
    kind = item.get("type")
    if kind is None:
        kind = next((key for key in _READERS if key in item), None)
    if not isinstance(kind, str):
        raise InvalidInput(f"{where}.type is missing or not a string; known part types: {', '.join(sorted(_READERS))}")
    reader = _READERS.get(kind)
    if reader is None:
        notify(f"{where}: part type {kind!r} is not known and was skipped")
        return ()
    part = reader(item, where, notify)
    if part is not None and part.data is not None and not images:
        part = replace(part, data=None)
        notify(_NOT_STORED.format(where=where, uri=part.uri))
    return () if part is None else (part,)


def _read_text(item: Mapping[Any, Any], where: str, notify: Notify) -> Part | None:
    value = item.get("text")
    if isinstance(value, Mapping):  # the shape of the Assistants API: {"text": {"value": "…"}}
        value = value.get("value")
    if value is None:
        notify(f"{where}: text part without text was skipped")
        return None
    return Part(PartType.TEXT, text=_string(value, f"{where}.text"))


def _read_refusal(item: Mapping[Any, Any], where: str, notify: Notify) -> Part | None:
    if item.get("refusal") is None:
        notify(f"{where}: refusal part without text was skipped")
        return None
    return Part(PartType.REFUSAL, text=_string(item["refusal"], f"{where}.refusal"))


def _read_image(item: Mapping[Any, Any], where: str, notify: Notify) -> Part | None:
    inner = item.get("image_url", item.get("image"))
    fields: Mapping[Any, Any] = inner if isinstance(inner, Mapping) else {"url": inner}
    source = item.get("source")
    given: Mapping[Any, Any] = source if isinstance(source, Mapping) else {}
    url = fields.get("url") or item.get("url") or item.get("file_id") or given.get("url") or given.get("data")
    if url is None:
        notify(f"{where}: image part without url or file_id was skipped")
        return None
    value = _string(url, f"{where}.image_url.url")
    found = _inline(value, inline=url is given.get("data"))
    data, media_type = found if found is not None else (None, None)
    uri = value if data is None else reference_to(data)
    media_type = media_type or _optional(given.get("media_type"), f"{where}.source.media_type")
    alt = _optional(fields.get("alt", item.get("alt")), f"{where}.alt")
    name = _optional(fields.get("name", item.get("name")), f"{where}.name")
    return Part(PartType.IMAGE, text=alt or "", uri=uri, name=name, media_type=media_type, data=data)


def _read_audio(item: Mapping[Any, Any], where: str, notify: Notify) -> Part | None:
    inner = item.get("input_audio", item.get("audio"))
    if not isinstance(inner, Mapping):
        raise InvalidInput(f"{where}.input_audio is {_named(inner)}; give an object with 'data' and 'format'")
    media = _optional(inner.get("format"), f"{where}.input_audio.format")
    text = _optional(inner.get("transcript"), f"{where}.input_audio.transcript") or ""
    source = inner.get("data") or inner.get("url") or inner.get("id")
    if source is None:
        notify(f"{where}: audio part without data was skipped")
        return None
    uri, media_type = _reference(_string(source, f"{where}.input_audio.data"), where, notify, inline="data" in inner)
    return Part(PartType.AUDIO, text=text, uri=uri, media_type=media_type or (f"audio/{media}" if media else None))


def _read_file(item: Mapping[Any, Any], where: str, notify: Notify) -> Part | None:
    inner = item.get("file", item)
    fields: Mapping[Any, Any] = inner if isinstance(inner, Mapping) else {"file_url": inner}
    name = _optional(fields.get("filename", fields.get("name")), f"{where}.file.filename")
    data = _optional(fields.get("file_data"), f"{where}.file.file_data")
    other = next((fields[key] for key in ("file_url", "url", "path", "file_path", "file_id") if fields.get(key)), None)
    if other is not None:
        uri, media_type = _reference(_string(other, f"{where}.file"), where, notify)
        if data:
            notify(f"{where}: the file's inline content was not stored; it is kept by reference as {uri}")
    elif data:
        uri, media_type = _reference(data, where, notify, inline=True)
    elif name:
        return Part(PartType.FILE, name=name)
    else:
        notify(f"{where}: file part without file_id, file_data, url or filename was skipped")
        return None
    return Part(PartType.FILE, uri=uri, name=name, media_type=media_type)


def _reference(value: str, where: str, notify: Notify, inline: bool = False) -> tuple[str, str | None]:
    """A reference for `value`, and its media type if told: a URL or id as it is, inline data as its SHA-256."""
    found = _inline(value, inline)
    if found is None:
        return value, None
    uri = reference_to(found[0])
    notify(_NOT_STORED.format(where=where, uri=uri))
    return uri, found[1]


def _inline(value: str, inline: bool = False) -> tuple[bytes, str | None] | None:
    """The bytes of a data URL, or (`inline`) of base64, and their media type if told; None for a URL or an id."""
    match = _DATA_URL.match(value)
    if match is None and (not inline or _URI.match(value)):
        return None
    media_type = match["type"] if match else None
    payload = value[match.end() :] if match else value
    if match is None or "base64" in match["params"].lower():
        return _decoded(payload), media_type
    return unquote_to_bytes(payload), media_type


def _decoded(payload: str) -> bytes:
    """The bytes of base64 text, or of the text itself where it is not base64."""
    try:
        return base64.b64decode("".join(payload.split()), validate=True)
    except (binascii.Error, ValueError):
        return payload.encode()


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{where} is {_named(value)}; give a string")
    return well_formed(value)


def _optional(value: object, where: str) -> str | None:
    return None if value is None else _string(value, where)


def _named(value: object) -> str:
    return "null" if value is None else f"of type {type(value).__name__}"


_READERS: Mapping[str, Callable[[Mapping[Any, Any], str, Notify], Part | None]] = {
    "text": _read_text,
    "input_text": _read_text,
    "output_text": _read_text,
    "refusal": _read_refusal,
    "image_url": _read_image,
    "input_image": _read_image,
    "image": _read_image,
    "input_audio": _read_audio,
    "audio": _read_audio,
    "file": _read_file,
    "input_file": _read_file,
}
