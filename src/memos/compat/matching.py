"""LangGraph's filters and namespace conditions, as its own stores decide them, and the part of them that a cube can decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memos.compat.items import NAME, places

_PUSHED = 20  # conditions of a filter that are asked of the cube; all are decided here


class Condition(Protocol):
    """LangGraph's `MatchCondition`: `match_type` is "prefix" or "suffix", and "*" in the path is any label."""

    @property
    def match_type(self) -> str:
        """Which end of a namespace is compared."""
        ...

    @property
    def path(self) -> tuple[str, ...]:
        """The labels."""
        ...


def pushed_down(prefix: tuple[str, ...], filter: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Conditions on memories that are true of every item that is asked for, and of few others."""
    out = [places(prefix)]
    for name, wanted in (filter or {}).items():
        if isinstance(wanted, Mapping) and set(wanted) == {"$eq"}:
            wanted = wanted["$eq"]
        if isinstance(wanted, str) and name and "." not in name and len(out) < _PUSHED:
            out.append({f"info.{NAME}.value.{name}": {"eq": wanted}})
    return out


def fits(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Whether a value passes a filter. Raises ValueError for an unknown operator."""
    return all(_same(value.get(name), wanted) for name, wanted in (filter or {}).items())


def begins_with(condition: Condition) -> tuple[str, ...]:
    """The labels before the first "*" of a prefix."""
    path = condition.path
    return path[: path.index("*")] if "*" in path else path


def namespace_fits(condition: Condition, namespace: tuple[str, ...]) -> bool:
    """Whether a namespace begins, or ends, with the path of a condition."""
    path = condition.path
    if condition.match_type not in ("prefix", "suffix"):
        raise ValueError(f"match_type is prefix or suffix, got {condition.match_type!r}")
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def _same(have: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_holds(have, operator, value) for operator, value in wanted.items())
        return isinstance(have, Mapping) and all(_same(have.get(name), item) for name, item in wanted.items())
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(have, (list, tuple))
            and len(have) == len(wanted)
            and all(_same(a, b) for a, b in zip(have, wanted, strict=True))
        )
    return bool(have == wanted)


def _holds(have: Any, operator: str, wanted: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _equal(have, wanted) is (operator == "$eq")
    if operator not in ("$gt", "$gte", "$lt", "$lte"):
        raise ValueError(f"Unsupported operator: {operator}; known are $eq, $ne, $gt, $gte, $lt and $lte")
    both = _comparable(have, wanted)
    if both is None:
        return False
    left, right = both
    if operator in ("$gt", "$lt"):
        return bool(left > right if operator == "$gt" else left < right)
    return bool(left >= right if operator == "$gte" else left <= right)


def _equal(have: Any, wanted: Any) -> bool:
    return bool(_plain(have) == _plain(wanted))


def _plain(value: Any) -> Any:
    """The value with the lists and dictionaries that JSON has."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _comparable(have: Any, wanted: Any) -> tuple[Any, Any] | None:
    """Both as numbers, else both as texts (dates are in order as texts), else nothing to compare."""
    try:
        return float(have), float(wanted)
    except (TypeError, ValueError):
        return (have, wanted) if isinstance(have, str) and isinstance(wanted, str) else None
