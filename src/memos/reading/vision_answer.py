"""What a model that sees is asked to answer."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from memos.reading.fine.answer import Named


def _text(value: object) -> object:
    return "" if value is None else value


def _names(value: object) -> object:
    """Names, also where they are bare words or one alone."""
    listed = value if isinstance(value, list) else [] if value in (None, "") else [value]
    return [{"name": name} if isinstance(name, str) else name for name in listed]


class Description(BaseModel):
    """What an image shows."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    description: str = Field(min_length=1)
    text: Annotated[str, BeforeValidator(_text)] = ""
    names: Annotated[list[Named], BeforeValidator(_names)] = Field(default_factory=list)

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema without titles and defaults, which would be paid for at each call."""
        text = {"type": "string"}
        kind = {"type": "string", "enum": ["person", "place", "organisation", "product", "other"]}
        name = {"type": "object", "properties": {"name": text, "type": kind}, "required": ["name", "type"]}
        fields = {"description": text, "text": text, "names": {"type": "array", "items": name}}
        return {"type": "object", "properties": fields, "required": list(fields)}
