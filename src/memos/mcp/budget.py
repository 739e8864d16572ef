"""A result never takes more than its budget of characters: previews get shorter first, then what stands last is left out, and the
result says so. The whole of a memory is had with `memos_get`, piece by piece.
"""

from __future__ import annotations

import json
from typing import Any

from memos.mcp.args import Shown

PREVIEW = 1_200  # characters of a snippet, as the local plugin shows them
_LENGTHS = (600, 300, 160, 80)
_PREVIEWS = frozenset({"snippet", "text", "preview", "output", "input", "description", "error"})
CUT = "…"


def preview(text: str, most: int = PREVIEW) -> str:
    """The beginning of a text."""
    return text if len(text) <= most else text[: most - 1].rstrip() + CUT


def fitted(shown: Shown, budget: int) -> tuple[str, dict[str, Any]]:
    """A result as JSON text of at most `budget` characters, and as the object it tells."""
    value = shown.model_dump(mode="json", exclude_none=True)
    text = _json(value)
    if len(text) <= budget:
        return text, value
    for length in _LENGTHS:
        value = _shortened(value, length)
        if len(text := _json(value)) <= budget:
            return text, value
    return _cut(value, budget)


def _cut(value: dict[str, Any], budget: int) -> tuple[str, dict[str, Any]]:
    """The same with fewer items in its lists, the longest list first; `left_out` counts them."""
    lists = {name: len(_json(held)) for name, held in value.items() if isinstance(held, list) and held}
    left = int(value.get("left_out") or 0)
    while len(text := _json(value)) > budget and lists:
        name = max(lists, key=lambda one: lists[one])
        over = len(text) - budget
        held = value[name]
        gone = 0
        while held and over > 0:
            over -= len(_json(held.pop())) + 1
            gone += 1
        left += gone
        if "left_out" in value or "items" in lists or True:
            value["left_out"] = left
        lists = {one: len(_json(value[one])) for one in lists if value[one]}
    if len(text := _json(value)) > budget:
        value = {k: preview(v, max(80, budget // 4)) if isinstance(v, str) else v for k, v in value.items()}
        text = _json(value)
    return text, value


def _shortened(value: Any, length: int) -> Any:
    """The value with its previews cut; texts on top (a block for a prompt, a whole memory) have a budget of their own."""
    if isinstance(value, dict):
        return {
            key: preview(one, length)
            if isinstance(one, str) and key in _PREVIEWS
            else (_shortened(one, length) if isinstance(one, (dict, list)) else one)
            for key, one in value.items()
        }
    return [_shortened(one, length) for one in value] if isinstance(value, list) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
