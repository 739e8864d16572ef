"""The shape of a filter, for the documentation: the same closed sets of fields and operators that the core checks.

A request keeps the JSON it came as; `memos.memory.filter` reads it, once.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from memos.memory.fields import _CHOICES as CHOICES
from memos.memory.fields import FIELDS, OPS_OF, FieldType, Op

JsonSchema = dict[str, Any]

_TIME: JsonSchema = {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]}
_SCALAR: dict[FieldType, JsonSchema] = {
    FieldType.ID: {"type": "string", "format": "uuid"},
    FieldType.STRING: {"type": "string"},
    FieldType.STRINGS: {"type": "string"},
    FieldType.NUMBER: {"type": "number"},
    FieldType.TIME: _TIME,
    FieldType.JSON: {"type": ["string", "number", "boolean"]},
}
_NULL: JsonSchema = {"type": "null"}
_ORDERED_JSON: JsonSchema = {"type": ["string", "number"]}


def _or_null(schema: JsonSchema) -> JsonSchema:
    return {"anyOf": [schema, _NULL]}


def _many(schema: JsonSchema, least: int = 1) -> JsonSchema:
    return {"type": "array", "items": schema, "minItems": least}


def _operand(kind: FieldType, op: Op, scalar: JsonSchema) -> JsonSchema:
    match op:
        case Op.EQ | Op.NE:
            return _or_null(scalar)
        case Op.IN | Op.NIN:
            return _many(_or_null(scalar), 0 if op is Op.IN else 1)
        case Op.EXISTS:
            return {"type": "boolean"}
        case Op.LIKE:
            return {"type": "string"}
        case Op.CONTAINS:
            return {"anyOf": [scalar, _many(scalar)]}
        case _:
            return _ORDERED_JSON if kind is FieldType.JSON else scalar


def _condition(kind: FieldType, scalar: JsonSchema) -> JsonSchema:
    """What may stand beside a field: a value (equality), or one operand per operator."""
    operands = {op.value: _operand(kind, op, scalar) for op in Op if op in OPS_OF[kind]}
    asked = {"type": "object", "properties": operands, "additionalProperties": False, "minProperties": 1}
    return {"anyOf": [*_or_null(scalar)["anyOf"], asked]}


def _condition_of(field: str) -> JsonSchema:
    kind = FIELDS[field]
    if kind is FieldType.CHOICE:
        return _condition(kind, {"type": "string", "enum": [c.value for c in CHOICES[field]]})
    return _condition(kind, _SCALAR[kind])


def _finish(schema: JsonSchema) -> None:
    logic = {name: schema["properties"][name] for name in ("and", "or", "not")}
    for shown in logic.values():
        shown.pop("default", None)
        shown.pop("title", None)
    schema["properties"] = {**logic, **{name: _condition_of(name) for name in FIELDS}}
    free = _condition(FieldType.JSON, _SCALAR[FieldType.JSON])
    schema["patternProperties"] = {r"^(info|body)(\.[^.\s]+){1,8}$": free}
    schema["additionalProperties"] = False
    schema["minProperties"] = 1


class Filter(BaseModel):
    """Conditions on memories. Several keys must all hold. `{"field": value}` asks for equality, `{"field": {"gte": 1,
    "lt": 5}}` names operators; `and`, `or` and `not` nest (32 deep, 500 conditions at most). Keys of `info` and `body`
    are written `info.key.nested`. The names that MemOS has for fields (`created_at`, `memory_type`, …) are understood too.
    """

    model_config = ConfigDict(json_schema_extra=_finish)

    and_: list[Filter] = Field([], alias="and", min_length=1)
    or_: list[Filter] = Field([], alias="or", min_length=1)
    not_: Filter | list[Filter] = Field([], alias="not")


class _Raw:
    """Lets a JSON object through as it is, and shows the shape of a filter."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        return handler(Filter.__pydantic_core_schema__)


FilterShape = Annotated[dict[str, Any], _Raw]
