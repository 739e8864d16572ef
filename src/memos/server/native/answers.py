"""How the routes answer: with the core's own values, and the small frames of `memos.frames` around several of them, as JSON.

One serializer per type is made once; nothing is validated again on the way out.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError
from starlette.responses import Response

from memos.server.replies import to_json as to_json_slowly

_adapters: dict[type[Any], TypeAdapter[Any]] = {}


def to_json(value: object) -> bytes:
    """The JSON of a dataclass of ours, field by field; times in ISO 8601 with `Z`, NaN and infinities as null."""
    kind = type(value)
    if (adapter := _adapters.get(kind)) is None:
        adapter = _adapters[kind] = TypeAdapter(kind)
    try:
        # `warnings`: read-only mappings are serialized by `fallback`, which is no reason to warn.
        return adapter.dump_json(value, fallback=_plain, warnings="none")
    except (PydanticSerializationError, ValueError):  # nested deeper than it goes, as an archive of others may be
        return to_json_slowly(value)


def reply(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A dataclass of ours as the JSON answer."""
    return Response(to_json(value), status, headers, media_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
