"""`/docs`: the API on one page, made of `/openapi.json` without scripts. (The usual page loads its scripts from elsewhere, and
they would run in the origin of the memories.)
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_METHODS = ("get", "post", "put", "patch", "delete")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "summary{cursor:pointer;padding:.3rem 0}b{display:inline-block;min-width:4.5rem;text-transform:uppercase}"
    "code{font-size:.95em}details{border-bottom:1px solid #8884}dl{margin:.3rem 0 1rem 1.5rem}dd{margin:0 0 .3rem 1.5rem}"
)


def page(openapi: Mapping[str, Any]) -> str:
    """The page of an OpenAPI document."""
    groups: dict[str, list[str]] = {}
    for path, item in openapi["paths"].items():
        for method in _METHODS:
            if method in item:
                tag = (item[method].get("tags") or ["Other"])[0]
                groups.setdefault(tag, []).append(_operation(method, path, item[method], openapi))
    parts = (f"<h2>{_text(tag)}</h2>{''.join(rows)}" for tag, rows in groups.items())
    info = openapi["info"]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{_text(info['title'])} API</title><style>{_STYLE}</style>"
        f"<h1>{_text(info['title'])} {_text(info['version'])}</h1><p>{_text(info.get('summary', ''))} "
        f"The same for programs: <a href=openapi.json>openapi.json</a>.</p>{''.join(parts)}"
    )


def _operation(method: str, path: str, operation: Mapping[str, Any], openapi: Mapping[str, Any]) -> str:
    rows = "".join(
        f"<dt><code>{_text(name)}</code> {_text(kind)}</dt><dd>{_text(what)}</dd>"
        for name, kind, what in _inputs(operation, openapi)
    )
    return (
        f"<details><summary><b>{method}</b><code>{_text(path)}</code> {_text(operation.get('summary', ''))}</summary>"
        f"<p>{_text(operation.get('description', ''))}</p><dl>{rows}</dl></details>"
    )


def _inputs(operation: Mapping[str, Any], openapi: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(name, what it is, description) of every parameter and field of the body."""
    for one in operation.get("parameters", ()):
        yield one["name"], f"({one['in']}{', needed' if one.get('required') else ''})", one.get("description", "")
    content = operation.get("requestBody", {}).get("content", {})
    for kind, media in content.items():
        schema = _resolved(media.get("schema", {}), openapi)
        if "properties" not in schema and "anyOf" in schema:
            schema = {"properties": _merged(schema["anyOf"], openapi), "required": ()}
        if "properties" not in schema:
            yield "body", f"({kind})", str(schema.get("description", ""))
        for name, field in schema.get("properties", {}).items():
            needed = ", needed" if name in schema.get("required", ()) else ""
            yield name, f"(body{needed})", str(field.get("description", ""))


def _merged(shapes: Any, openapi: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for shape in shapes for k, v in _resolved(shape, openapi).get("properties", {}).items()}


def _resolved(schema: Mapping[str, Any], openapi: Mapping[str, Any]) -> Mapping[str, Any]:
    found = re.fullmatch(r"#/components/schemas/(.+)", str(schema.get("$ref", "")))
    resolved: Mapping[str, Any] = openapi["components"]["schemas"].get(found[1], {}) if found else schema
    return resolved


def _text(value: object) -> str:
    return html.escape(str(value)).replace("\n\n", "<br>")
