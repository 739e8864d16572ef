"""A result never takes more than its budget of characters: previews get shorter first, then what stands last is left out, and the
result says so. The whole of a memory is had with `memos_get`, piece by piece.
"""

from __future__ import annotations

import json
from typing import Any

from memos.tools.args import Shown

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
    text = as_json(value)
    if len(text) <= budget:
        return text, value
    for length in _LENGTHS:
        value = {key: _shortened(one, length) if isinstance(one, (dict, list)) else one for key, one in value.items()}
        if len(text := as_json(value)) <= budget:
            return text, value
    return _cut(value, budget)


def _cut(value: dict[str, Any], budget: int) -> tuple[str, dict[str, Any]]:
    """The same with fewer items in its lists, the longest list first, counted in `left_out`; then with shorter texts."""
    left = int(value.get("left_out") or 0)
    while len(text := as_json(value)) > budget:
        sizes = {name: len(as_json(held)) for name, held in value.items() if isinstance(held, list) and held}
        if not sizes:
            break
        held, over = value[max(sizes, key=lambda name: sizes[name])], len(text) - budget + len('"left_out":1000000,')
        while held and over > 0:
            over -= len(as_json(held.pop())) + 1
            left += 1
        value["left_out"] = left
    for length in (budget // 2, budget // 4, budget // 10):
        if len(text) <= budget:
            break
        value = {key: preview(one, length) if isinstance(one, str) else one for key, one in value.items()}
        text = as_json(value)
    return text, value


def piece(text: str, start: int, room: int) -> int:
    """Where the piece of a text that begins at `start` ends, so that it takes at most `room` characters as JSON."""
    end = min(len(text), start + room)
    while end - start > 1 and (over := len(as_json(text[start:end])) - room) > 0:
        end -= max(1, min(over // 6, (end - start) // 2))
    return end


def _shortened(value: Any, length: int) -> Any:
    """The value with its previews cut."""
    if isinstance(value, dict):
        return {
            key: preview(one, length) if isinstance(one, str) and key in _PREVIEWS else _shortened(one, length)
            for key, one in value.items()
        }
    return [_shortened(one, length) for one in value] if isinstance(value, list) else value


def as_json(value: Any) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
