"""The cloud's filters: plain, or one for each of user memory, knowledge bases and public memory; in its names of fields.

A plain filter holds for everything that is searched. There is no public memory here, so what is asked of it finds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memos.memory.filter import Filter
from memos.server.filters import read_filter

_CATEGORIES = frozenset({"user", "knowledgebase", "public"})
_NAMES: Mapping[str, str] = {
    "create_time": "created_at",
    "update_time": "updated_at",
    "memory_time": "happened_at",
    "memory_value": "text",
    "memory_key": "title",
    "preference": "text",
    "memory_id": "id",
}


@dataclass(frozen=True, slots=True)
class Scoped:
    """What a filter asks of a user's memory, and of knowledge bases; None asks nothing."""

    user: Filter | None = None
    knowledgebase: Filter | None = None


def scoped(given: Mapping[str, Any] | None) -> Scoped:
    """A filter of the wire as ours. `{}` is no filter. Raises InvalidFilter."""
    if not given:
        return Scoped()
    if set(given) <= _CATEGORIES and all(value is None or isinstance(value, Mapping) for value in given.values()):
        return Scoped(_parsed(given.get("user")), _parsed(given.get("knowledgebase")))
    both = _parsed(given)
    return Scoped(both, both)


def _parsed(given: Any) -> Filter | None:
    return read_filter(given, _NAMES) if given else None


def users_named(given: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The users and agents that a filter to delete by names beyond doubt: as equal (or in a list) at its top."""
    conditions: list[Any] = [given, *(given["and"] if isinstance(given.get("and"), list) else [])]
    users, agents = (
        next((found for c in conditions if isinstance(c, Mapping) and (found := _names(c.get(field)))), [])
        for field in ("user_id", "agent_id")
    )
    return users, agents


def _names(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        value = value.get("eq", value.get("=", value.get("in")))
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [name for name in found if isinstance(name, str) and name]
