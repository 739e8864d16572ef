"""The types of fields that several requests share, with their bounds and examples.

What a text means (a time, a filter, a message) is read by the core; here is only what shape it has.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict, WithJsonSchema

from memos.memory.fields import storable
from memos.memory.model import EdgeType, Kind
from memos.memory.number import MOST_AT_ONCE
from memos.server.native.filters import FilterShape
from memos.server.native.slashes import with_slashes

MAX_IDS = 1_000
MAX_TOKENS = 1 << 53

# Without control characters, and not of spaces alone.
NAME = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"
NAME_BOUNDS: dict[str, Any] = {"min_length": 1, "max_length": 256, "pattern": NAME}
NOT_BLANK = r"\S"


def _whole(value: object) -> object:
    return storable(value) if isinstance(value, str) else value


# What is said, as it is stored: half an emoji, which programs that cut texts leave, is no reason to refuse all the rest.
Said = Annotated[str, BeforeValidator(_whole), Field(min_length=1, pattern=NOT_BLANK)]


def _no_text(value: object) -> object:
    if isinstance(value, (str, bool)):
        raise ValueError("Input should be a number")
    return value


# In bodies: true and 1 and "1" are three things.
Flag = Annotated[bool, Strict()]
A_NUMBER = BeforeValidator(_no_text)  # bounds come before it, or the documentation does not know them
Limited = Annotated[int, Field(ge=1, le=MOST_AT_ONCE), A_NUMBER]

Name = Annotated[str, Field(**NAME_BOUNDS)]
Session = Annotated[Name, Field(description="The conversation.", examples=["trip-to-oslo"])]
Tag = Annotated[Name, Field(examples=["travel"])]
Tags = Annotated[list[Tag], Field(max_length=100, description="Words to find memories by.", examples=[["travel"]])]
Info = Annotated[
    dict[str, Any],
    Field(description="Free metadata of your own, as JSON. Filters read it as `info.key`.", examples=[{"app": "crm"}]),
]
Id = Annotated[
    str,
    AfterValidator(lambda value: str(UUID(value))),
    Field(
        pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
        examples=["019a1f3c-77aa-7c31-8a2f-2b6d0f9f3f11"],
        json_schema_extra={"format": "uuid"},
    ),
]
Ids = Annotated[list[Id], Field(min_length=1, max_length=MAX_IDS, description="Ids of memories.")]
WhereFilter = Annotated[FilterShape, Field(examples=[{"tags": "travel", "happened_at": {"gte": "2026-01-01"}}])]
Kinds = Annotated[
    list[Kind], Field(min_length=1, max_length=len(Kind), description="Only these kinds.", examples=[["fact", "trace"]])
]
Share = Annotated[float, Field(ge=0, le=1), A_NUMBER]
Threshold = Annotated[Share, Field(description="The lowest score a hit may have.", examples=[0.2])]
Limit = Annotated[Limited, Field(description="Hits at most (10; 200 with `max_tokens`).", examples=[5])]
Tokens = Annotated[
    int,
    Field(ge=1, le=MAX_TOKENS),
    A_NUMBER,
    Field(description="Hard budget of `context` (a token: 4 characters).", examples=[800]),
]
QueryText = Annotated[Said, Field(description="What to find, in plain words.", examples=["Where do I live?"])]


def _number_or_text(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("a time is a text (ISO 8601) or a number (seconds since 1970)")
    return value


_TIME_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "format": "date-time"},
        {"type": "string", "format": "date"},
        {"type": "number", "description": "Seconds (or milliseconds) since 1970."},
    ],
}
When = Annotated[
    str | float,
    BeforeValidator(_number_or_text),
    WithJsonSchema({**_TIME_SCHEMA, "examples": ["2026-03-01T09:00:00+01:00"]}),
]
AsOf = Annotated[When, Field(description="What was true then.")]
KnownAt = Annotated[When, Field(description="What was known then.")]

# -- of paths and query strings ----------------------------------------------------------------------------------

PathId = Annotated[UUID, Path(description="The id.", examples=["019a1f3c-77aa-7c31-8a2f-2b6d0f9f3f11"])]


def _path_name(of: str, example: str) -> Any:
    schema = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": NAME}
    return Path(description=f"{of}, percent-encoded; a slash is %2F.", examples=[example], json_schema_extra=schema)


PathCube = Annotated[str, BeforeValidator(with_slashes), _path_name("The cube's name", "team/notes")]
PathUser = Annotated[str, BeforeValidator(with_slashes), _path_name("The user's name", "ada")]
PathSession = Annotated[str, BeforeValidator(with_slashes), _path_name("The session", "deploy-42")]

_USER = "Who this is for: the user of the API key, or `default`, when it is left out."
_CUBE = "Which cube: the user's own when it is left out (a memory id alone is looked up in all the user may read)."
UserQuery = Annotated[Name | None, Query(description=_USER, examples=["ada"])]
CubeQuery = Annotated[Name | None, Query(description=_CUBE, examples=["ada"])]
HiddenUser = Annotated[Name | None, Query(alias="user", include_in_schema=False)]
HiddenCube = Annotated[Name | None, Query(alias="cube", include_in_schema=False)]
KindsQuery = Annotated[
    list[Kind] | None, Query(description="Only these kinds; may be given several times.", examples=[["fact"]])
]
TypesQuery = Annotated[
    list[EdgeType] | None,
    Query(description="Only these links; may be given several times.", examples=[["DERIVED_FROM"]]),
]
LimitQuery = Annotated[int, Query(ge=1, le=MOST_AT_ONCE, description="Items of a page at most.")]
CursorQuery = Annotated[
    str | None, Query(max_length=512, description="The `cursor` of the page before, to go on after it.")
]
AsOfQuery = Annotated[AsOf | None, Query(description="What was true then.")]
KnownAtQuery = Annotated[KnownAt | None, Query(description="What was known then.")]
Order = Literal["newest", "oldest"]
OrderField = Annotated[Order, Field(description="In order of creation, which end first.")]
Way = Literal["out", "in", "both"]


class Wire(BaseModel):
    """A request body: unknown fields are refused, so that a misspelt one is not a silent default."""

    model_config = ConfigDict(extra="forbid")


class Scoped(Wire):
    """A request body that names whose memory it is about."""

    user: Name | None = Field(None, description=_USER, examples=["ada"])
    cube: Name | None = Field(None, description=_CUBE, examples=["ada"])
