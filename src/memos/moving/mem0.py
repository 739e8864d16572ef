"""What mem0 gives out: the answer of `get_all` or of an export, as JSON: a list of memories, or one under `results` or
`memories`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memos.moving import shape
from memos.moving.files import members
from memos.moving.items import Bad, Item, Left, Source, Told
from memos.moving.json_stream import elements
from memos.moving.looks import first_elements

_FILES = re.compile(r".*\.json")
_LISTS = ("", "results", "memories")
_OWN = ("hash", "user_id", "agent_id", "run_id", "categories", "metadata")


def _fits(path: Path) -> bool:
    if path.is_dir():
        return False
    for element in first_elements(path, _FILES):
        value = element.value
        if element.key in _LISTS and isinstance(value, dict):
            return (
                isinstance(value.get("memory"), str)
                and any(key in value for key in _OWN)
                and "embedding" not in (value.get("metadata") or {})
            )
    return False


def _read(path: Path) -> Iterator[Item]:
    relations = 0
    for name, file in members(path, _FILES):
        for element in elements(file, name):
            where = f"{name}: {element.where}"
            if element.key in ("relations", "graph"):
                relations += 1
            elif element.key in _LISTS and element.index >= 0:
                yield _memory(element.value, where)
    if relations:
        yield Left("relations of the graph", relations, "names and ties are found in what is taken in")


def _memory(value: Any, where: str) -> Item:
    text = shape.text(value.get("memory")) if isinstance(value, dict) else None
    if text is None:
        return Bad(where, "it is no memory: it has no text under 'memory'")
    at = shape.time(value.get("created_at")) or shape.time(value.get("updated_at"))
    about: Mapping[str, Any] = value["metadata"] if isinstance(value.get("metadata"), dict) else {}
    kept = {key: found for key in ("agent_id", "updated_at") if (found := shape.text(value.get(key))) is not None}
    return Told(
        text,
        at,
        shape.name(value.get("id")),
        shape.name(value.get("run_id")) or "",
        {**about, **kept},
        shape.tags(value.get("categories")),
        shape.name(value.get("user_id")),
    )


SOURCE = Source("mem0", "mem0: what get_all or an export gives, as JSON", _fits, _read)
