"""An item of a LangGraph store as a memory: what is kept of it in `info`, where, and the text it is searched by."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memos.memory.model import Memory

NAME = "langgraph"
_WHOLE = {"namespace", "key", "created_at", "updated_at"}
_LONGEST = 200  # characters of a session's name; a longer one is told by its hash


@dataclass(frozen=True, slots=True)
class Entry:
    """An item. `expires` is in seconds since 1970, `ttl` in minutes; `raw` is what is in `info`."""

    id: str
    namespace: tuple[str, ...]
    key: str
    value: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    ttl: float | None
    expires: float | None
    raw: Mapping[str, Any]


def read(memory: Memory) -> Entry | None:
    """The item that a memory is; None for other memories."""
    kept = memory.info.get(NAME)
    if not isinstance(kept, Mapping) or not isinstance(kept.get("value"), Mapping) or not set(kept) >= _WHOLE:
        return None
    return Entry(
        id=memory.id,
        namespace=tuple(kept["namespace"]),
        key=str(kept["key"]),
        value=kept["value"],
        created_at=datetime.fromtimestamp(float(kept["created_at"]), UTC),
        updated_at=datetime.fromtimestamp(float(kept["updated_at"]), UTC),
        ttl=kept.get("ttl"),
        expires=kept.get("expires"),
        raw=kept,
    )


def place(namespace: tuple[str, ...]) -> str:
    """The session that the items of a namespace are kept in, by which they are found quickly."""
    path = ".".join(namespace)
    if len(path) > _LONGEST or not path.isprintable():
        path = "#" + hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()
    return f"{NAME}:{path}"


def places(prefix: tuple[str, ...]) -> dict[str, Any]:
    """A filter for the sessions of the namespaces that begin so, and of all those with long names."""
    if not prefix:
        return {"session": {"gte": f"{NAME}:", "lt": f"{NAME};"}}  # ";" comes right after ":"
    here = place(prefix)
    hashed: dict[str, Any] = {"session": {"gte": f"{NAME}:#", "lt": f"{NAME}:$"}}
    return {"or": [{"session": here}, {"session": {"gte": f"{here}.", "lt": f"{here}/"}}, hashed]}


def expiry(ttl: float | None) -> float | None:
    """When something ends that lives for so many minutes from now."""
    return None if ttl is None else time.time() + ttl * 60


def searchable(value: Mapping[str, Any], paths: Sequence[str] | bool | None) -> str | None:
    """The text an item is searched by: what stands at the paths (None: everything), or None where nothing does (False)."""
    if paths is False:
        return None
    if paths is None or paths is True:
        leaves = list(_leaves(value, ()))
        if len(leaves) == 1:
            return leaves[0][1].strip() or None
        return "\n".join(f"{path}: {text}" if path else text for path, text in leaves).strip() or None
    from langgraph.store.base import get_text_at_path, tokenize_path

    texts = [text for path in paths for text in get_text_at_path(value, tokenize_path(path))]
    return "\n".join(text for text in texts if text.strip()) or None


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The texts and numbers in a value, with the names on the way to them."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaves(item, (*path, str(name)))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item, path)
    elif value is not None:
        yield " ".join(path), str(value)
