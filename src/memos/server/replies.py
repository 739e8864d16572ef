"""JSON answers made once, quickly, and strictly: no NaN, no lone surrogate, UTF-8."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError
from starlette.responses import Response

_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_SUBCLASS


def json_reply(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON response of plain values, dataclasses, datetimes and pydantic models."""
    return Response(to_json(body), status, dict(headers or {}), media_type="application/json")


def to_json(body: Any) -> bytes:
    """The JSON text of a value, NaN and infinities as null, a lone surrogate as a question mark."""
    try:
        if isinstance(body, BaseModel):
            return body.model_dump_json(by_alias=True).encode()
        return orjson.dumps(body, default=_plain, option=_OPTIONS)
    except (
        orjson.JSONEncodeError,
        PydanticSerializationError,
        UnicodeEncodeError,
    ):  # a lone surrogate or a huge integer: rare, so done in the slow way
        return json.dumps(_tame(body), ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    """What is no plain value as one."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (tuple, set, frozenset)):
        return list(value)
    if isinstance(value, int):
        return int(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _tame(value: Any) -> Any:
    """The same value in what the slow encoder can write."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_tame(k) if isinstance(k, str) else str(k): _tame(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_tame(v) for v in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _tame(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, BaseModel):
        return _tame(value.model_dump(by_alias=True))
    return json.loads(orjson.dumps(value, default=_plain, option=_OPTIONS))
