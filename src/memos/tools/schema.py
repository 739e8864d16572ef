"""JSON Schemas of tools: without titles, definitions put where they are used, and `null` beside a type instead of as a branch,
which is what the hosts' models read best.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

_NAMED = {"ge": "minimum", "le": "maximum"}  # as pydantic leaves them of a type with a validator of its own
_PLAIN = frozenset({"string", "integer", "number", "boolean", "array", "object"})


def schema_of(model: type[BaseModel], *, answers: bool = False) -> dict[str, Any]:
    """The schema of a model: of what it takes, or of what it `answers` with."""
    made = model.model_json_schema(mode="serialization" if answers else "validation")
    definitions = made.pop("$defs", {})
    tidy: dict[str, Any] = _tidied(made, definitions)
    tidy.pop("description", None)  # the tool has one
    if not answers:
        tidy.setdefault("properties", {})
    return tidy


def _tidied(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_tidied(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _tidied({**definitions[node["$ref"].rpartition("/")[2]], **rest}, definitions)
    out: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties":  # whose keys are names, not keywords
            out[key] = {name: _tidied(one, definitions) for name, one in value.items()}
        elif key in ("enum", "const", "required"):
            out[key] = value
        elif key in _NAMED:
            out[_NAMED[key]] = value
        elif key != "title" and not (key == "default" and value is None):
            out[key] = _tidied(value, definitions)
    return _flat(out)


def _flat(node: dict[str, Any]) -> dict[str, Any]:
    """`anyOf` of one plain type and null as `type: [that, "null"]`."""
    branches = node.get("anyOf")
    if not isinstance(branches, list) or {"type": "null"} not in branches or len(branches) != 2:
        return node
    other = next(one for one in branches if one != {"type": "null"})
    kind = other.get("type")
    if kind not in _PLAIN:
        return node
    rest = {key: value for key, value in node.items() if key != "anyOf"}
    flat = {**other, "type": [kind, "null"], **rest}
    if "enum" in flat:
        flat["enum"] = [*flat["enum"], None]
    if "const" in flat:
        flat["enum"] = [flat.pop("const"), None]
    return flat
