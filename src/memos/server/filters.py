"""Filters in the words of MemOS's wires, as ours: their names of statuses and types, and bare names for keys of `info`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from memos.errors import InvalidFilter
from memos.memory.filter import MAX_DEPTH, Filter, parse_filter
from memos.server.translate import ALL_SUMMARY, STATUS_OF, SUMMARY

_OF_FILES = ("file_ids", "sources")
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


def read_filter(given: Mapping[str, Any] | None, names: Mapping[str, str] = _NO_NAMES) -> Filter | None:
    """A filter of a wire, None for none. `names`: what the wire calls fields, and what we do. Raises InvalidFilter."""
    return parse_filter(_rewritten(given, names), bare_info=True) if given is not None else None


def _rewritten(given: Any, names: Mapping[str, str], depth: int = 0) -> Any:
    """The filter with our fields, the wire's statuses and its one pseudo type in our words."""
    if depth > 2 * MAX_DEPTH:
        raise InvalidFilter(f"the filter is nested more than {MAX_DEPTH} deep")
    if isinstance(given, (list, tuple)):
        return [_rewritten(item, names, depth + 1) for item in given]
    if not isinstance(given, Mapping):
        return given
    for name in _OF_FILES:
        if any(str(key).split(".")[0] == name for key in given):
            raise InvalidFilter(f"{name} cannot be asked of a filter; files are deleted by their ids")
    return {names.get(str(key), key): _value(str(key), value, names, depth) for key, value in given.items()}


def _value(key: str, value: Any, names: Mapping[str, str], depth: int) -> Any:
    if key == "status":
        return _in_our_words(value, _our_statuses)
    if key == "memory_type":
        return _in_our_words(value, lambda name: SUMMARY if name == ALL_SUMMARY else (name,))
    return _rewritten(value, names, depth + 1)


def _our_statuses(name: Any) -> tuple[Any, ...]:
    return tuple(status.value for status, wire in STATUS_OF.items() if wire == name) or (name,)


def _in_our_words(value: Any, ours: Callable[[Any], tuple[Any, ...]]) -> Any:
    """A value, or the values of operators, each replaced by what it stands for here."""
    if isinstance(value, Mapping):
        return {_several(op): _listed(v, ours) if _several(op) in ("in", "nin") else v for op, v in value.items()}
    return {"in": _listed(value, ours)}


def _several(op: str) -> str:
    return {"eq": "in", "=": "in", "==": "in", "ne": "nin", "!=": "nin"}.get(op, op)


def _listed(value: Any, ours: Callable[[Any], tuple[Any, ...]]) -> list[Any]:
    items = value if isinstance(value, (list, tuple)) else (value,)
    return [one for item in items for one in ours(item)]
