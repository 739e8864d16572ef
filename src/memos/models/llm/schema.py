"""A JSON schema as providers take it: in the strict form that they can hold a model to, or in words for those that cannot.

Pure functions over the schemas that pydantic writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from memos.models.llm.port import ChatMessage, ChatRequest

_HELD = frozenset({"type", "properties", "items", "enum", "const", "anyOf", "$ref", "$defs", "description"})
_TOLD = "Answer with JSON alone, no other words, in this form (a comment says what a field is; `?` marks what may be left out):\n"
_DEEPEST = 12


def strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema as models are held to it: every field named, none besides, and no rule but of form (ranges become remarks; who
    asks checks them). None if it has free mappings, which no model is held to.
    """
    defs = schema.get("$defs", {})
    if "$ref" in schema:  # of a form that holds itself; the outermost must be an object
        schema = {**defs.get(str(schema["$ref"]).rpartition("/")[2], {}), "$defs": defs}
    try:
        return _strict(schema)
    except _Free:
        return None


class _Free(Exception):
    pass


def _strict(node: Mapping[str, Any]) -> dict[str, Any]:
    if "$ref" in node:
        return {"$ref": node["$ref"]}
    if len(node.get("allOf", ())) == 1:
        return _strict(node["allOf"][0])
    if node.get("type") == "object" and not node.get("properties"):
        raise _Free
    out: dict[str, Any] = {}
    for name, value in node.items():
        name = "anyOf" if name == "oneOf" else name
        if name not in _HELD:
            continue
        if name in ("properties", "$defs"):
            out[name] = {key: _strict(inner) for key, inner in value.items()}
        elif name == "anyOf":
            out[name] = [_strict(inner) for inner in value]
        else:
            out[name] = _strict(value) if name == "items" else value
    if "properties" in out:
        out["required"] = list(out["properties"])
        out["additionalProperties"] = False
    if out.get("type") == "array" and "items" not in out:
        raise _Free
    if limits := _range(node):
        out["description"] = f"{out.get('description', '')} ({limits.strip()})".strip()
    return out


def in_words(request: ChatRequest) -> ChatRequest:
    """The request with its schema told at the end of the system message instead."""
    if request.schema is None:
        return request
    told = _TOLD + form_of(request.schema)
    first, *rest = request.messages or (ChatMessage("system", ""),)
    if first.role == "system":
        messages = (replace(first, content=f"{first.content}\n\n{told}".strip()), *rest)
    else:
        messages = (ChatMessage("system", told), first, *rest)
    return replace(request, messages=messages, schema=None)


def form_of(schema: Mapping[str, Any]) -> str:
    """A schema as a short example of its form: `{"name": string, "kind": "a"|"b", "tags"?: [string, …]}`."""
    return _form(schema, schema.get("$defs", {}), 0)


def _form(node: Any, defs: Mapping[str, Any], depth: int) -> str:
    if not isinstance(node, Mapping) or depth > _DEEPEST:
        return "any"
    if "$ref" in node:
        return _form(defs.get(str(node["$ref"]).rpartition("/")[2], {}), defs, depth + 1)
    if "enum" in node or "const" in node:
        return "|".join(json.dumps(value, ensure_ascii=False) for value in node.get("enum", [node.get("const")]))
    for several in ("anyOf", "oneOf"):
        if several in node:
            return "|".join(dict.fromkeys(_form(inner, defs, depth + 1) for inner in node[several]))
    if len(node.get("allOf", ())) == 1:
        return _form(node["allOf"][0], defs, depth + 1)
    kind = node.get("type")
    if kind == "array":
        return f"[{_form(node.get('items', {}), defs, depth + 1)}, …]"
    if kind == "object" and "properties" in node:
        needed = set(node.get("required", ()))
        fields = [
            f'"{name}"{"" if name in needed else "?"}: {_form(inner, defs, depth + 1)}{_remark(inner)}'
            for name, inner in node["properties"].items()
        ]
        return "{" + ", ".join(fields) + "}"
    if kind == "object":
        return f"{{name: {_form(node.get('additionalProperties', {}), defs, depth + 1)}, …}}"
    return f"{kind}{_range(node)}" if isinstance(kind, str) else "any"


def _range(node: Mapping[str, Any]) -> str:
    least, most = node.get("minimum", node.get("exclusiveMinimum")), node.get("maximum", node.get("exclusiveMaximum"))
    return (
        "" if least is None and most is None else f" {'' if least is None else least}..{'' if most is None else most}"
    )


def _remark(node: Mapping[str, Any]) -> str:
    about = node.get("description")
    return f" /* {' '.join(str(about).split())} */" if about else ""
