"""The filter language: a typed boolean expression over memory fields, parsed once, compiled by each storage.

`matches` is the specification: every compiled form gives the same answer. One rule for what is missing, everywhere: a
missing key, a null and an empty tag list are the same; they equal only null, so `ne`, `nin` and `not` are true of them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from memos.errors import InvalidFilter
from memos.memory.fields import (
    WIRE_TYPES,
    Field,
    Op,
    Scalar,
    Value,
    checked_value,
    closest,
    comparable_number,
    field_named,
)
from memos.memory.model import Memory

__all__ = ["And", "Compare", "Field", "Filter", "Not", "Op", "Or", "asks_for", "matches", "parse_filter", "to_json"]

MAX_DEPTH = 32
MAX_CONDITIONS = 500


@dataclass(frozen=True, slots=True)
class Compare:
    """One condition. The value is checked and normalised on construction; InvalidFilter says what does not fit.

    Times compare as instants (a date or a time without zone means UTC), numbers with numbers, strings by code point.
    In `info` and `body`, comparing with a value of another type is false, not an error, and true is not 1.
    """

    field: Field
    op: Op
    value: Value

    def __post_init__(self) -> None:
        object.__setattr__(self, "op", Op(self.op))
        object.__setattr__(self, "value", checked_value(self.field, self.op, self.value))


@dataclass(frozen=True, slots=True)
class And:
    """True when all items are. Needs at least one."""

    items: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_items("and", self.items)


@dataclass(frozen=True, slots=True)
class Or:
    """True when any item is. Needs at least one."""

    items: tuple[Filter, ...]

    def __post_init__(self) -> None:
        _check_items("or", self.items)


@dataclass(frozen=True, slots=True)
class Not:
    """True when the item is not."""

    item: Filter


Filter = And | Or | Not | Compare


def parse_filter(obj: object, *, bare_info: bool = False) -> Filter | None:
    """Read MemOS filter JSON (or pass a filter through); None means no filter.

    Forms: ``{"and": [...]}``, ``{"or": [...]}``, ``{"not": {...}}`` (of a list: none of them), nested up to 32 deep;
    ``{"field": value}`` is equality, ``{"field": {"gte": 1, "lt": 5}}`` one condition per operator; several keys are
    ANDed. Operators may be written ``gt``, ``$gt`` or ``>``. With `bare_info` unknown bare names are keys of `info`.
    Raises InvalidFilter naming the field or operator at fault; an empty filter is an error, not a match of everything.
    """
    if obj is None:
        return None
    parsed = _parse(obj, bare_info, depth=1)
    conditions = _count(parsed, depth=1)
    if conditions > MAX_CONDITIONS:
        raise InvalidFilter(
            f"the filter has {conditions} conditions, at most {MAX_CONDITIONS} are possible; use in: [...]"
        )
    return parsed


def asks_for(where: Filter | None, name: str) -> bool:
    """Whether a filter has a condition on the field of this name, anywhere."""
    if where is None:
        return False
    if isinstance(where, Compare):
        return where.field.name == name
    if isinstance(where, Not):
        return asks_for(where.item, name)
    return any(asks_for(item, name) for item in where.items)


def to_json(filter: Filter) -> dict[str, Any]:
    """The filter as JSON that `parse_filter` reads back to an equal filter."""
    match filter:
        case And(items):
            return {"and": [to_json(item) for item in items]}
        case Or(items):
            return {"or": [to_json(item) for item in items]}
        case Not(item):
            return {"not": to_json(item)}
        case Compare(field, op, value):
            written = [_written(item) for item in value] if isinstance(value, tuple) else _written(value)
            return {str(field): {op.value: written}}


def matches(filter: Filter | None, memory: Memory) -> bool:
    """Whether the memory passes the filter (None passes everything). This function defines what filters mean."""
    match filter:
        case None:
            return True
        case And(items):
            return all(matches(item, memory) for item in items)
        case Or(items):
            return any(matches(item, memory) for item in items)
        case Not(item):
            return not matches(item, memory)
        case Compare():
            return _holds(filter, memory)


# --- reading JSON -----------------------------------------------------------------------------------------------------

_OPERATORS: Mapping[str, Op] = MappingProxyType(
    {op.value: op for op in Op}
    | {f"${op.value}": op for op in Op}
    | {"=": Op.EQ, "==": Op.EQ, "!=": Op.NE, "<>": Op.NE, ">": Op.GT, ">=": Op.GTE, "<": Op.LT, "<=": Op.LTE}
    | {"not_in": Op.NIN, "$not_in": Op.NIN}
)
_LOGIC = frozenset({"and", "or", "not", "AND", "OR", "NOT", "$and", "$or", "$not"})


def _parse(obj: object, bare_info: bool, depth: int) -> Filter:
    if isinstance(obj, (And, Or, Not, Compare)):
        return obj
    if depth > MAX_DEPTH:
        raise InvalidFilter(f"the filter is nested more than {MAX_DEPTH} deep")
    if not isinstance(obj, Mapping):
        raise InvalidFilter(f"a filter is an object such as {{'tags': 'work'}}, not {type(obj).__name__} {obj!r:.80}")
    if not obj:
        raise InvalidFilter("the filter is empty; leave it out (null) to match everything")
    parts = [
        _parse_logic(key, value, bare_info, depth) if key in _LOGIC else _parse_field(key, value, bare_info)
        for key, value in obj.items()
    ]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _parse_logic(key: str, value: object, bare_info: bool, depth: int) -> Filter:
    word = key.lstrip("$").lower()
    if word == "not" and not isinstance(value, (list, tuple)):
        return Not(_parse(value, bare_info, depth + 1))
    if not isinstance(value, (list, tuple)):
        raise InvalidFilter(f"{key!r} takes a list of filters, not {value!r:.80}")
    if not value:
        raise InvalidFilter(f"{key!r} has an empty list; give at least one filter or leave it out")
    items = tuple(_parse(item, bare_info, depth + 1) for item in value)
    if word == "and":
        return And(items)
    if word == "or":
        return Or(items)
    return Not(items[0] if len(items) == 1 else Or(items))


def _parse_field(name: object, value: object, bare_info: bool) -> Filter:
    if not isinstance(name, str):
        raise InvalidFilter(f"{name!r} is not the name of a field")
    if name.startswith("$"):
        raise InvalidFilter(f"unknown operator {name!r}{closest(name, _LOGIC)}")
    field = field_named(name, bare_info=bare_info)
    if not isinstance(value, Mapping):
        return _condition(field, Op.EQ, value)
    if not value:
        raise InvalidFilter(f"{name!r} has no operator; write {{{name!r}: value}} or {{{name!r}: {{'eq': value}}}}")
    parts = [_condition(field, _operator(name, written), operand) for written, operand in value.items()]
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _operator(field: str, written: object) -> Op:
    if op := _OPERATORS.get(written) if isinstance(written, str) else None:
        return op
    near = closest(written, _OPERATORS) if isinstance(written, str) else ""
    raise InvalidFilter(f"unknown operator {written!r} on {field!r}{near or '; known are ' + ', '.join(Op)}")


def _condition(field: Field, op: Op, value: object) -> Compare:
    if field.name == "kind":
        op, value = _our_kinds(op, value)
    return Compare(field, op, value)  # type: ignore[arg-type]  # checked and narrowed by Compare


def _our_kinds(op: Op, value: object) -> tuple[Op, object]:
    """MemOS's memory types as our kinds; one type can be several kinds."""
    items = value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    if not any(isinstance(item, str) and item in WIRE_TYPES for item in items):
        return op, value
    kinds = [kind for item in items for kind in (WIRE_TYPES.get(item, (item,)) if isinstance(item, str) else (item,))]
    if len(kinds) == 1 and value is not items:
        return op, kinds[0]
    return {Op.EQ: Op.IN, Op.NE: Op.NIN}.get(op, op), kinds


def _check_items(word: str, items: tuple[Filter, ...]) -> None:
    if not items:
        raise InvalidFilter(f"{word!r} has no items; give at least one filter")


def _count(filter: Filter, depth: int) -> int:
    if depth > MAX_DEPTH + 2:  # the level of several keys in the innermost object
        raise InvalidFilter(f"the filter is nested more than {MAX_DEPTH} deep")
    match filter:
        case And(items) | Or(items):
            return sum(_count(item, depth + 1) for item in items)
        case Not(item):
            return _count(item, depth + 1)
        case _:
            return 1


def _written(value: Scalar) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


# --- evaluating -------------------------------------------------------------------------------------------------------

_ORDER: Mapping[Op, Callable[[Any, Any], bool]] = MappingProxyType(
    {Op.GT: operator.gt, Op.GTE: operator.ge, Op.LT: operator.lt, Op.LTE: operator.le}
)


def _holds(condition: Compare, memory: Memory) -> bool:
    have, want = _value_of(condition.field, memory), condition.value
    match condition.op:
        case Op.EXISTS:
            return (have is not None) is want
        case Op.EQ | Op.IN:
            return _is_any(have, want)
        case Op.NE | Op.NIN:
            return not _is_any(have, want)
        case Op.CONTAINS:
            return all(_contains(have, item) for item in (want if isinstance(want, tuple) else (want,)))
        case Op.LIKE:
            return _like(have, str(want).casefold())
        case _:
            return _same_type(have, want) and _ORDER[condition.op](_plain(have), _plain(want))


def _value_of(field: Field, memory: Memory) -> Any:
    """The field's value; None for everything that counts as missing."""
    if field.name == "tags":
        return memory.tags or None
    if not field.path:
        return getattr(memory, field.name)
    node: Any = memory.info if field.name == "info" else memory.body
    for part in field.path:
        node = node.get(part) if isinstance(node, Mapping) else None
    # JSON has no NaN: stores keep it as null.
    return None if isinstance(node, float) and math.isnan(node) else node


def _is_any(have: Any, want: Value) -> bool:
    wanted = want if isinstance(want, tuple) else (want,)
    if have is None:
        return None in wanted
    items = have if isinstance(have, (list, tuple)) else (have,)
    return any(_equal(item, one) for item in items for one in wanted)


def _equal(have: Any, want: Scalar) -> bool:
    return want is not None and _same_type(have, want) and bool(_plain(have) == _plain(want))


def _contains(have: Any, want: Scalar) -> bool:
    if isinstance(have, (list, tuple)):
        return any(_equal(item, want) for item in have)
    return isinstance(have, str) and isinstance(want, str) and want in have


def _like(have: Any, folded: str) -> bool:
    items = have if isinstance(have, (list, tuple)) else (have,)
    return any(isinstance(item, str) and folded in item.casefold() for item in items)


def _same_type(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool)
    return any(isinstance(left, kind) and isinstance(right, kind) for kind in (str, (int, float), datetime))


def _plain(value: Any) -> Any:
    return comparable_number(value) if isinstance(value, (int, float)) else value
