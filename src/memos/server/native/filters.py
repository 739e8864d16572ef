"""The shape of a filter, for the documentation. A request keeps the JSON it came as; `memos.memory.filter` reads it, once.

Which operator and which value goes with which field is told in words: as a schema it would be a thousand lines.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from memos.memory.fields import FIELDS, OPS_OF

JsonSchema = dict[str, Any]
Value = str | float | bool | None


class Asked(BaseModel):
    """What is asked of a field: one operand per operator, all of which must hold."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra=lambda schema: _undefaulted(schema, minProperties=1),
        title="Operators",
    )

    eq: Value = None
    ne: Value = None
    in_: list[Value] = Field([], alias="in")
    nin: list[Value] = Field([], min_length=1)
    gt: str | float = 0
    gte: str | float = 0
    lt: str | float = 0
    lte: str | float = 0
    contains: str | float | bool | list[str | float | bool] = Field(
        "", description="Of a text, a part; of tags, a tag."
    )
    like: str = Field("", description="A part of the text, in capitals or not.")
    exists: bool = True


def _undefaulted(schema: JsonSchema, **more: Any) -> None:
    for shown in schema["properties"].values():
        shown.pop("default", None)
        shown.pop("title", None)
    schema.update(more)


def _fields() -> str:
    """A line for each type of field: its operators and its names."""
    by_type = defaultdict(list)
    for name, kind in FIELDS.items():
        by_type[kind].append(f"`{name}`")
    lines = [f"{', '.join(names)}: {', '.join(sorted(OPS_OF[kind]))}" for kind, names in by_type.items()]
    return "\n".join(f"- {line}" for line in lines)


def _finish(schema: JsonSchema) -> None:
    condition = schema["properties"].pop("condition")
    for gone in ("default", "title"):
        condition.pop(gone, None)
    _undefaulted(schema, minProperties=1, additionalProperties=condition)
    schema["description"] = f"{schema['description']}\n\nFields and their operators:\n\n{_fields()}"


class Filter(BaseModel):
    """Conditions on memories, all of which must hold. `{"field": value}` asks for equality, `{"field": {"gte": 1, "lt": 5}}`
    names operators; `and`, `or` and `not` nest (32 deep, 500 conditions at most). Keys of `info` and `body` are written
    `info.key.nested`, and take every operator. Names that MemOS has for fields (`created_at`, `memory_type`, …) are understood
    too.
    """

    model_config = ConfigDict(json_schema_extra=_finish)

    and_: list[Filter] = Field([], alias="and", min_length=1)
    or_: list[Filter] = Field([], alias="or", min_length=1)
    not_: Filter | list[Filter] = Field([], alias="not")
    condition: Value | Asked = None


class _Raw:
    """Lets a JSON object through as it is, and shows the shape of a filter."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        return handler(Filter.__pydantic_core_schema__)


FilterShape = Annotated[dict[str, Any], _Raw]
