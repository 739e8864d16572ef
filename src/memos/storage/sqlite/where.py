"""Filters as SQL over a memory row `m`: identifiers from the closed set of fields, everything else as parameters.

The SQL is true exactly where `memos.memory.filter.matches` is; elsewhere it is 0 or NULL, so use it as a condition of
WHERE. `like` needs `install_functions` on the connection once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import apsw

from memos.memory.fields import Field, FieldType, Op, Scalar, Value
from memos.memory.filter import And, Compare, Filter, Not, Or
from memos.memory.ids import id_to_bytes
from memos.memory.time import to_micros

_ORDER: Mapping[Op, str] = MappingProxyType({Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="})
_MAX_PARAMETERS = 1_000


def install_functions(connection: apsw.Connection) -> None:
    """Register `memos_fold(text)`, the case folding of `like`, on a connection. Cheap; once per connection."""
    connection.create_scalar_function("memos_fold", _fold, 1, deterministic=True)


def compile_where(filter: Filter | None) -> tuple[str, list[Any]]:
    """The SQL condition over the alias `m` and its parameters, in order. None gives a condition that is always true."""
    if filter is None:
        return "1", []
    params: list[Any] = []
    return _expression(filter, params), params


def _fold(*values: Any) -> str | None:
    (value,) = values
    return value.casefold() if isinstance(value, str) else None


def _expression(filter: Filter, params: list[Any]) -> str:
    match filter:
        case And(items):
            return "(" + " AND ".join([_expression(item, params) for item in items]) + ")"
        case Or(items):
            return "(" + " OR ".join([_expression(item, params) for item in items]) + ")"
        case Not(item):
            return f"({_expression(item, params)} IS NOT TRUE)"
        case Compare(field, op, value):
            # A condition may be NULL on a missing value; `ne` and `nin` are the plain negation, so true there.
            if op in (Op.NE, Op.NIN):
                return f"({_expression(Compare(field, Op.IN, _values(value)), params)} IS NOT TRUE)"
            if op in (Op.EQ, Op.IN):
                op, value = Op.IN, _values(value)
            compiled = {FieldType.JSON: _json, FieldType.STRINGS: _tags}.get(field.type, _column)
            return compiled(field, op, value, params)


def _values(value: Value) -> tuple[Scalar, ...]:
    return value if isinstance(value, tuple) else (value,)


# --- plain columns ----------------------------------------------------------------------------------------------------


def _column(field: Field, op: Op, value: Any, params: list[Any]) -> str:
    column = _COLUMNS.get(field.name) or f"m.{field.name}"
    match op:
        case Op.IN:
            return _column_in(column, field, value, params)
        case Op.EXISTS:
            return f"{column} IS {'NOT ' if value else ''}NULL"
        case Op.CONTAINS:
            params.extend(_values(value))
            return "(" + " AND ".join([f"instr({column}, ?) > 0" for _ in _values(value)]) + ")"
        case Op.LIKE:
            params.append(value.casefold())
            return f"instr(memos_fold({column}), ?) > 0"
        case _:
            params.append(_stored(field, value))
            return f"{column} {_ORDER[op]} ?"


_COLUMNS: Mapping[str, str] = MappingProxyType({"happened_at": "coalesce(m.valid_from, m.recorded_at)"})


def _column_in(column: str, field: Field, values: tuple[Scalar, ...], params: list[Any]) -> str:
    present = [_stored(field, value) for value in values if value is not None]
    parts = [_in(column, present, params)] if present or not values else []
    if None in values:
        parts.append(f"{column} IS NULL")
    return parts[0] if len(parts) == 1 else "(" + " OR ".join(parts) + ")"


def _stored(field: Field, value: Scalar) -> Any:
    if field.type is FieldType.ID:
        return id_to_bytes(str(value))
    return to_micros(value) if isinstance(value, datetime) else value


def _in(expression: str, values: list[Any], params: list[Any]) -> str:
    """`expression` is one of the values; a long list travels as one JSON parameter, since parameters are limited."""
    if len(values) == 1:
        params.append(values[0])
        return f"{expression} = ?"
    if len(values) <= _MAX_PARAMETERS:
        params.extend(values)
        return f"{expression} IN ({', '.join('?' * len(values))})"
    if isinstance(values[0], bytes):
        params.append(json.dumps([value.hex() for value in values]))
        return f"{expression} IN (SELECT unhex(value) FROM json_each(?))"
    params.append(json.dumps(values, ensure_ascii=False))
    return f"{expression} IN (SELECT value FROM json_each(?))"


# --- JSON columns -----------------------------------------------------------------------------------------------------


def _tags(field: Field, op: Op, value: Any, params: list[Any]) -> str:
    some = "json_array_length(coalesce(m.tags, '[]')) > 0"
    match op:
        case Op.EXISTS:
            return some if value else f"({some}) IS NOT TRUE"
        case Op.CONTAINS:
            return "(" + " AND ".join([_element("m.tags", (), (item,), params) for item in _values(value)]) + ")"
        case Op.LIKE:
            params.append(value.casefold())
            return "EXISTS (SELECT 1 FROM json_each(m.tags) AS e WHERE instr(memos_fold(e.value), ?) > 0)"
    element = _element("m.tags", (), value, params)
    return f"({element} OR ({some}) IS NOT TRUE)" if None in value else element


def _json(field: Field, op: Op, value: Any, params: list[Any]) -> str:
    column, path = f"m.{field.name}", _path(field)
    match op:
        case Op.EXISTS:
            params.append(path)
            return f"coalesce(json_type({column}, ?), 'null') {'<>' if value else '='} 'null'"
        case Op.IN:
            return _json_in(column, path, value, params)
        case Op.CONTAINS:
            return "(" + " AND ".join([_json_contains(column, path, item, params) for item in _values(value)]) + ")"
        case Op.LIKE:
            params.extend((path, path, value.casefold(), path, path, value.casefold()))
            return (
                f"((json_type({column}, ?) = 'text' AND instr(memos_fold(json_extract({column}, ?)), ?) > 0) OR "
                f"(json_type({column}, ?) = 'array' AND EXISTS (SELECT 1 FROM json_each({column}, ?) AS e "
                "WHERE e.type = 'text' AND instr(memos_fold(e.value), ?) > 0)))"
            )
    types = "('text')" if isinstance(value, str) else "('integer', 'real')"
    params.extend((path, path, value))
    return f"(json_type({column}, ?) IN {types} AND json_extract({column}, ?) {_ORDER[op]} ?)"


def _path(field: Field) -> str:
    return "$" + "".join(f".{json.dumps(part, ensure_ascii=False)}" for part in field.path)


def _json_in(column: str, path: str, values: tuple[Scalar, ...], params: list[Any]) -> str:
    same = _same(f"json_type({column}, ?)", f"json_extract({column}, ?)", (path,), values, params)
    parts = [same, _element(column, (path,), values, params)]
    if None in values:
        params.append(path)
        parts.append(f"coalesce(json_type({column}, ?), 'null') = 'null'")
    return "(" + " OR ".join(parts) + ")"


def _json_contains(column: str, path: str, value: Scalar, params: list[Any]) -> str:
    element = _element(column, (path,), (value,), params)
    if not isinstance(value, str):
        return element
    params.extend((path, path, value))
    return f"({element} OR (json_type({column}, ?) = 'text' AND instr(json_extract({column}, ?), ?) > 0))"


def _element(column: str, path: tuple[str, ...], values: tuple[Scalar, ...], params: list[Any]) -> str:
    """Some element of the array at `path` is one of the values."""
    at = ", ?" * len(path)
    params.extend((*path, *path))
    same = _same("e.type", "e.value", (), values, params)
    return f"(json_type({column}{at}) = 'array' AND EXISTS (SELECT 1 FROM json_each({column}{at}) AS e WHERE {same}))"


def _same(kind: str, value: str, path: tuple[str, ...], values: tuple[Scalar, ...], params: list[Any]) -> str:
    """A JSON value (its type and SQL value as expressions, each with the parameters `path`) is one of the scalars."""
    texts = [item for item in values if isinstance(item, str)]
    numbers = [item for item in values if isinstance(item, (int, float)) and not isinstance(item, bool)]
    parts = []
    for types, wanted in (("('text')", texts), ("('integer', 'real')", numbers)):
        if wanted:
            params.extend((*path, *path))
            parts.append(f"({kind} IN {types} AND {_in(value, wanted, params)})")
    for truth in (True, False):
        if any(item is truth for item in values):
            params.extend(path)
            parts.append(f"{kind} = '{str(truth).lower()}'")
    return "(" + " OR ".join(parts) + ")" if parts else "0"
