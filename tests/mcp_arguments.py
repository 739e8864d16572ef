"""Arguments made of a tool's own schema: some that it allows, some that it does not."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

FREE = ("info", "filter")  # objects of the caller's own


def sample(name: str, schema: dict[str, Any], seeds: dict[str, Any]) -> Any:
    """A value that the schema allows."""
    if name in seeds:
        return copy.deepcopy(seeds[name])
    if "anyOf" in schema:
        return sample(name, schema["anyOf"][0], seeds)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "string":
        pattern = schema.get("pattern", "")
        return "2031-03-01T09:30:00Z" if pattern.startswith(r"^\d{4}") else "kayak"
    if kind == "integer":
        return schema.get("minimum", 1)
    if kind == "number":
        return schema.get("maximum", 0.5)
    if kind == "boolean":
        return True
    if kind == "array":
        return [sample("", schema["items"], seeds)] if schema.get("items") else []
    return {
        key: sample(key, one, {})
        for key, one in schema.get("properties", {}).items()
        if key in schema.get("required", ())
    }


def optional(schema: dict[str, Any]) -> list[str]:
    return [name for name in schema["properties"] if name not in schema.get("required", ())]


def integers(schema: dict[str, Any]) -> list[str]:
    return [n for n, s in schema["properties"].items() if "integer" in (s.get("type"), *_kinds(s))]


def _kinds(schema: dict[str, Any]) -> list[str]:
    kind = schema.get("type")
    return kind if isinstance(kind, list) else []


def valid(schema: dict[str, Any], seeds: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Argument sets that the schema allows."""
    needed = {name: sample(name, schema["properties"][name], seeds) for name in schema.get("required", ())}
    every = {name: sample(name, one, seeds) for name, one in schema["properties"].items()}
    yield "optional ones absent", needed
    yield "all present", every
    yield "optional ones null", {**needed, **dict.fromkeys(optional(schema))}
    for name in optional(schema):
        yield f"only {name}", {**needed, name: every[name]}
    for name in integers(schema):
        if name not in seeds:
            bounds = schema["properties"][name]
            yield f"{name} at its least", {**needed, name: bounds["minimum"]}
            yield f"{name} at its most", {**needed, name: bounds["maximum"]}
            yield f"{name} as 3.0", {**needed, name: float(min(max(3, bounds["minimum"]), bounds["maximum"]))}


def invalid(schema: dict[str, Any], seeds: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Argument sets that it does not allow, with the field that is wrong."""
    needed = {name: sample(name, schema["properties"][name], seeds) for name in schema.get("required", ())}
    yield "nonsense", {**needed, "nonsense": 1}
    for name in schema.get("required", ()):
        yield name, {key: value for key, value in needed.items() if key != name}
        yield name, {**needed, name: None}
    for name, one in schema["properties"].items():
        if name in ("input", "output"):
            continue  # anything goes
        yield name, {**needed, name: {"of": ["another", "kind"]} if name not in FREE else "text"}
        kinds = {one.get("type"), *_kinds(one)} if not isinstance(one.get("type"), list) else {*_kinds(one)}
        if "integer" in kinds or "number" in kinds:
            yield name, {**needed, name: "5"}
            yield name, {**needed, name: True}
            yield name, {**needed, name: 10**12}
            yield name, {**needed, name: -(10**12)}
        if "integer" in kinds:
            yield name, {**needed, name: 1.5}
        if "boolean" in kinds:
            yield name, {**needed, name: "true"}
        if "string" in kinds:
            yield name, {**needed, name: 5}
            if one.get("pattern"):
                yield name, {**needed, name: " "}
