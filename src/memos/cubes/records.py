"""The lines of an archive: stored versions, edges, keys and marks to JSON and back, every field checked on the way in.

Times are microseconds since 1970 (UTC). Whatever does not fit is an ArchiveError that names the field.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from memos.errors import ArchiveError, InvalidInput
from memos.memory.image import Image
from memos.memory.model import EMPTY, Edge, EdgeType, Kind, Memory, Origin, Source, Status
from memos.memory.time import from_micros, to_micros, utcnow
from memos.storage.ports import Todo
from memos.storage.sqlite.transfer import StoredEdge, StoredImage, StoredKey, StoredVersion

E = TypeVar("E", bound=StrEnum)
Read = Callable[[Any, str], Any]

MAX_LINE = 64 << 20
MAX_AHEAD = timedelta(days=1)
_INT64 = 1 << 63
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KEY = re.compile(r"(?:[0-9a-f]{2}){1,64}")
_WORD = re.compile(r"[a-z][a-z_]{0,63}")


# -- values ----------------------------------------------------------------------------------------------------


def bad(what: str, value: Any, wanted: str) -> ArchiveError:
    """That a field holds something else than is wanted."""
    shown = repr(value)
    return ArchiveError(f"{what} is {shown if len(shown) <= 60 else shown[:57] + '…'}, not {wanted}")


def text(value: Any, what: str) -> str:
    """A text that can be stored."""
    if not isinstance(value, str):
        raise bad(what, value, "a text")
    return value


def ident(value: Any, what: str) -> str:
    """A UUID in its canonical form."""
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise bad(what, value, "a UUID")
    return value


def whole(value: Any, what: str, low: int = 0) -> int:
    """A whole number that SQLite can hold, at least `low`."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value < _INT64:
        raise bad(what, value, f"a whole number from {low}")
    return value


def instant(value: Any, what: str) -> Any:
    """A time, of µs since 1970."""
    try:
        return from_micros(whole(value, what, -_INT64))
    except InvalidInput:
        raise bad(what, value, "a time in the years 1 to 9999") from None


def clock(value: Any, what: str) -> Any:
    """A time at which something was stored. One in the future would stand before all that is stored from now on."""
    found = instant(value, what)
    if found > utcnow() + MAX_AHEAD:
        raise bad(what, value, "a time that has been; it was written by a machine whose clock is wrong")
    return found


def _share(value: Any, what: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise bad(what, value, "a number from 0 to 1")
    return float(value)


def _word(value: Any, what: str) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise bad(what, value, "a lower-case word")
    return value


def _member(enum: type[E]) -> Callable[[Any, str], E]:
    known: Mapping[str, E] = {m.value: m for m in enum}

    def read(value: Any, what: str) -> E:
        found = known.get(value) if isinstance(value, str) else None
        if found is None:
            raise bad(what, value, f"one of {', '.join(known)}")
        return found

    return read


def _object(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise bad(what, value, "an object")
    return value or EMPTY


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise bad(what, value, "a list of texts")
    return tuple(text(v, f"{what}[{i}]") for i, v in enumerate(value))


def _optional(read: Read) -> Read:
    return lambda value, what: None if value is None else read(value, what)


_SOURCE: Mapping[str, Read] = {
    **dict.fromkeys(("message_id", "role", "speaker", "uri"), text),
    **dict.fromkeys(("start", "end"), whole),
    "memory_id": ident,
    "time": instant,
}


def _sources(value: Any, what: str) -> tuple[Source, ...]:
    if not isinstance(value, list):
        raise bad(what, value, "a list of sources")
    return tuple(Source(**_fields(v, _SOURCE, f"{what}[{i}]")) for i, v in enumerate(value))


def _fields(value: Any, schema: Mapping[str, Read], what: str, needed: Collection[str] = ()) -> dict[str, Any]:
    """The values of an object whose keys must be among the schema's and hold the needed ones."""
    if not isinstance(value, dict):
        raise bad(what, value, "an object")
    for key in value:
        if key not in schema:
            raise ArchiveError(f"{what} has an unknown field {key!r:.60}")
    for key in needed:
        if key not in value:
            raise ArchiveError(f"{what} has no {key}")
    return {key: schema[key](v, f"{what}.{key}") for key, v in value.items()}


# -- records ---------------------------------------------------------------------------------------------------

_MEMORY: Mapping[str, Read] = {
    **dict.fromkeys(("title", "owner", "session", "role", "speaker", "message_id", "slot"), _optional(text)),
    **dict.fromkeys(("valid_from", "valid_to"), _optional(instant)),
    **dict.fromkeys(("retracted_at", "known_to"), _optional(clock)),
    **dict.fromkeys(("recorded_at", "known_from"), clock),
    **dict.fromkeys(("confidence", "importance", "trust"), _share),
    **dict.fromkeys(("info", "body"), _object),
    "id": ident,
    "kind": _member(Kind),
    "text": text,
    "tags": _texts,
    "sources": _sources,
    "status": _member(Status),
    "origin": _member(Origin),
    "version": lambda value, what: whole(value, what, 1),
    "seen": whole,
}
_VERSION: Mapping[str, Read] = {
    **_MEMORY,
    "op": _word,
    "actor": text,
    "cause": _optional(text),
    "change": ident,
    **dict.fromkeys(("text_version", "sources_kept"), lambda value, what: whole(value, what, 1)),
}
_VERSION_NEEDS = ("id", "kind", "text", "version", "known_from", "recorded_at", "op", "actor", "change")
_EDGE: Mapping[str, Read] = {
    **dict.fromkeys(("src", "dst", "opened"), ident),
    **dict.fromkeys(("valid_from", "valid_to"), _optional(instant)),
    "known_to": _optional(clock),
    "type": _member(EdgeType),
    "predicate": _optional(text),
    "weight": _share,
    "known_from": clock,
    "info": _object,
    "closed": _optional(ident),
}
_KEY_FIELDS: Mapping[str, Read] = {"key": text, "id": ident}
_TODO: Mapping[str, Read] = {
    "id": ident,
    "task": _word,
    "since": clock,
    "attempts": whole,
    "error": _optional(text),
}
_IMAGE: Mapping[str, Read] = {
    **dict.fromkeys(("id", "media_type", "data"), text),
    "records": lambda value, what: tuple(ident(id, what) for id in _texts(value, what)),
}
_MEMORY_DEFAULTS = Memory(id="", kind=Kind.TRACE, text="")


def version_line(v: StoredVersion) -> bytes:
    """The line of a stored version. Fields that have their usual value are left out."""
    m = v.memory
    out: dict[str, Any] = {}
    for name in _MEMORY:
        value = getattr(m, name)
        if name in _VERSION_NEEDS or value != getattr(_MEMORY_DEFAULTS, name):
            out[name] = _plain(value)
    out |= {"op": v.op, "actor": v.actor, "change": v.change}
    if v.cause is not None:
        out["cause"] = v.cause
    if v.text_version != m.version:
        out["text_version"] = v.text_version
    if v.sources_kept:
        out["sources_kept"] = v.sources_kept
    return json_line(out)


def read_version(value: Any) -> StoredVersion:
    """The stored version of a line's object."""
    found = _fields(value, _VERSION, "memory", _VERSION_NEEDS)
    op, actor, change = found.pop("op"), found.pop("actor"), found.pop("change")
    cause, text_version = found.pop("cause", None), found.pop("text_version", found["version"])
    kept = found.pop("sources_kept", 0)
    return StoredVersion(Memory(**found), op, actor, cause, change, text_version, kept)


def edge_line(stored: StoredEdge) -> bytes:
    """The line of an edge."""
    out: dict[str, Any] = {
        name: _plain(value)
        for name in _EDGE
        if name not in ("opened", "closed") and (value := getattr(stored.edge, name)) is not None and value != EMPTY
    }
    out["opened"] = stored.opened
    if stored.closed is not None:
        out["closed"] = stored.closed
    return json_line(out)


def read_edge(value: Any) -> StoredEdge:
    """The edge of a line's object."""
    found = _fields(value, _EDGE, "edge", ("src", "dst", "type", "weight", "known_from", "opened"))
    opened, closed = found.pop("opened"), found.pop("closed", None)
    if found.get("predicate") and found["type"] is not EdgeType.RELATES_TO:
        raise bad("edge.predicate", found["predicate"], f"possible for an edge of type {found['type']}")
    return StoredEdge(Edge(**found), opened, closed)


def key_line(key: StoredKey) -> bytes:
    """The line of a key."""
    return json_line({"key": key.key.hex(), "id": key.id})


def read_key(value: Any) -> StoredKey:
    """The key of a line's object."""
    found = _fields(value, _KEY_FIELDS, "key", tuple(_KEY_FIELDS))
    if not _KEY.fullmatch(found["key"]):
        raise bad("key.key", found["key"], "hexadecimal")
    return StoredKey(bytes.fromhex(found["key"]), found["id"])


def todo_line(todo: Todo) -> bytes:
    """The line of a mark."""
    return json_line({n: _plain(getattr(todo, n)) for n in _TODO})


def read_todo(value: Any) -> Todo:
    """The mark of a line's object."""
    return Todo(**_fields(value, _TODO, "todo", ("id", "task", "since")))


def image_line(stored: StoredImage) -> bytes:
    """The line of an image."""
    return json_line(
        {
            "id": stored.digits,
            "media_type": stored.image.media_type,
            "records": list(stored.records),
            "data": base64.b64encode(stored.image.data).decode(),
        }
    )


def read_image(value: Any) -> StoredImage:
    """The image of a line's object, whose bytes are what its id says."""
    found = _fields(value, _IMAGE, "image", tuple(_IMAGE))
    try:
        data = base64.b64decode(found["data"], validate=True)
    except ValueError:
        raise bad("image.data", found["data"], "base64") from None
    if hashlib.sha256(data).hexdigest() != found["id"]:
        raise ArchiveError(f"image {found['id']:.80} holds other bytes than its name says")
    kind = found["media_type"]
    if Image.of(data, kind).media_type != kind or not found["records"]:
        raise bad("image.media_type", kind, "what the image begins like")
    return StoredImage(found["id"], Image(data, kind), found["records"])


# -- JSON ------------------------------------------------------------------------------------------------------


def dump(value: Any) -> bytes:
    """JSON in the one form archives are written in."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()


def load(line: bytes, what: str) -> Any:
    """The value of a JSON text. Refuses what JSON allows and a store cannot hold: NaN, endless numbers, keys given
    twice.
    """
    try:
        value = json.loads(line.decode(), parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_once)
        if b"\\u" in line:
            json.dumps(value, ensure_ascii=False).encode()  # lone surrogates, written as escapes
    except (ValueError, RecursionError) as e:
        raise ArchiveError(f"{what} is not valid JSON ({e})") from None
    return value


def json_line(value: Mapping[str, Any]) -> bytes:
    """A line of an archive."""
    line = dump(value) + b"\n"
    if len(line) > MAX_LINE:
        raise ArchiveError(
            f"memory {value.get('id')} takes {len(line)} bytes, an archive holds at most {MAX_LINE} in one line"
        )
    return line


def _plain(value: Any) -> Any:
    if isinstance(value, Source):
        return {n: _plain(v) for n in Source.__slots__ if (v := getattr(value, n)) is not None}
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tzinfo"):
        return to_micros(value)
    return dict(value) if isinstance(value, Mapping) else value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits:.40} is too large")
    return value


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise ValueError(f"{key!r:.60} is given twice")
        out[key] = value
    return out
