"""The arguments and results of tools as types: the published schema is made of them, and they check what comes in, so that the
two cannot disagree.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from memos.reading.parts import is_blank

MOST_TEXT = 200_000  # characters of one text, as the server takes it by default
_DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?"


class Args(BaseModel):
    """The arguments of a tool: exactly these, of exactly these types. An optional one may be null, which is as if it were left
    out.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Shown(BaseModel):
    """What a tool answers with, or a part of it."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Listing(Shown):
    """An answer with a list in it."""

    left_out: int | None = Field(
        default=None, description="How many more there were that did not fit; ask for fewer, or narrow it down."
    )


def _whole(value: Any) -> Any:
    """In JSON, 3.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53 else value


def _seen(value: str) -> str:
    if is_blank(value):
        raise ValueError("nothing of the text can be seen")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
Text = Annotated[str, Field(min_length=1, max_length=MOST_TEXT, pattern=r"\S"), AfterValidator(_seen)]
Name = Annotated[str, Field(max_length=128, pattern=r"^[^\x00- \x7f][^\x00-\x1f\x7f]*$"), AfterValidator(_seen)]
Id = Annotated[str, Field(pattern=r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
Time = Annotated[
    str,
    Field(
        pattern=rf"^{_DAY}([T ]{_CLOCK})?$",
        description="A day (2031-03-01) or a moment (2031-03-01T09:30:00Z).",
    ),
]
Share = Annotated[float, Field(ge=0, le=1)]
Cube = Annotated[Name | None, Field(description="By default this connection's.")]
