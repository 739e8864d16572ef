"""Our answers as strict JSON: dataclasses become objects, times ISO 8601, and a number that is not finite becomes
null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from enum import Enum
from pathlib import Path
from typing import Any


def jsonable(value: Any) -> Any:
    """The value made of dicts, lists, texts, finite numbers, booleans and None only. Raises TypeError for what it
    does not know.
    """
    match value:
        case None | bool():
            return value
        case Enum():
            return jsonable(value.value)
        case str():
            return value.encode("utf-8", "replace").decode()
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else None
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
        case date():
            return value.isoformat()
        case Path():
            return str(value)
        case bytes():
            return value.hex()
        case Mapping():
            return {str(jsonable(k)): jsonable(v) for k, v in value.items()}
        case set() | frozenset():
            return sorted((jsonable(v) for v in value), key=str)
        case list() | tuple():
            return [jsonable(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in fields(value)}
    if hasattr(value, "item") and getattr(value, "shape", None) == ():  # a number of numpy
        return jsonable(value.item())
    raise TypeError(f"a {type(value).__name__} has no form in JSON here")


def to_json(value: Any) -> str:
    """JSON text of a value, readable and valid by the standard (no NaN)."""
    return json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, indent=2)
