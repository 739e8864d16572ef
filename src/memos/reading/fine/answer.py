"""What a model is asked to answer, as pydantic models with short field names: schema and answer are paid for at each call.

Forgiving where a model is usually careless (an object in the place of a list, numbers as text, one bad item among good ones);
what an answer is worth is judged elsewhere (`understand`).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

FactKind = Literal["profile", "fact", "event", "plan", "love", "like", "dislike", "hate", "always", "never"]
NameType = Literal["person", "place", "organisation", "product", "other"]
MOST = 200  # items of one list; a model that says more is not answering

_MEANT: dict[str, FactKind] = {
    "preference": "like",
    "likes": "like",
    "loves": "love",
    "dislikes": "dislike",
    "hates": "hate",
    "commitment": "plan",
    "todo": "plan",
    "reminder": "plan",
    "events": "event",
    "facts": "fact",
    "personal": "profile",
}


def _kind(value: object) -> object:
    word = str(value).strip().casefold()
    return _MEANT.get(word, word if word in get_args(FactKind) else "fact")


def _type(value: object) -> object:
    word = str(value).strip().casefold().replace("organization", "organisation")
    return word if word in get_args(NameType) else {"company": "organisation", "location": "place"}.get(word, "other")


def _text(value: object) -> object:
    return "" if value is None else value


def _numbers(value: object) -> list[int]:
    """Message numbers as models write them: 3, "3", "m3", [1, "2"], "1, 2". What is none is left out."""
    found = value if isinstance(value, list) else [value]
    out: list[int] = []
    for one in found:
        if isinstance(one, str):
            out += map(int, re.findall(r"(?<![\w.-])[#m]?(\d{1,6})(?![\w.])", one))
        elif isinstance(one, (int, float)) and not isinstance(one, bool) and one == one // 1:
            out.append(int(one))
    return out


def _sure(value: object) -> float:
    try:
        number = float(str(value).strip().rstrip("%"))
    except ValueError:
        return 0.8
    number = number / 100 if number > 1 else number
    return min(1.0, max(0.0, number)) if number == number else 0.8


def _yes(value: object) -> bool:
    return value is True or str(value).strip().casefold() in ("true", "yes", "1")


def _items(value: object) -> object:
    """A list where nothing, or one item alone, was given."""
    if value is None or value == "":
        return []
    return value[:MOST] if isinstance(value, list) else [value]


Text = Annotated[str, BeforeValidator(_text)]
Numbers = Annotated[list[int], BeforeValidator(_numbers)]
Sure = Annotated[float, BeforeValidator(_sure)]
Yes = Annotated[bool, BeforeValidator(_yes)]


class _Item(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, str_strip_whitespace=True)
    needed: ClassVar[tuple[str, ...]] = ()


class Fact(_Item):
    """Something that is so: `who` - `what` - `value`, said by the messages `by`. Between two names it is a relation."""

    needed = ("kind", "who", "what", "value", "text", "by")

    kind: Annotated[FactKind, BeforeValidator(_kind)] = "fact"
    who: Text
    what: Text = ""
    value: Text = ""
    text: Text
    by: Numbers
    start: Text = ""
    end: Text = ""
    over: Yes = False
    implied: Yes = False
    sure: Sure = 0.8
    tags: list[str] = Field(default_factory=list)


class Named(_Item):
    """A name and what bears it."""

    needed = ("name", "type")

    name: Text
    type: Annotated[NameType, BeforeValidator(_type)] = "other"


class Run(_Item):
    """A use of a tool: what it is for, what was tried, whether it worked, and what to learn from it."""

    needed = ("tool", "ok", "by")

    tool: Text
    use: Text = ""
    tried: Text = ""
    ok: Yes = False
    error: Text = ""
    lesson: Text = ""
    by: Numbers


class Skill(_Item):
    """A way of doing something that a document describes."""

    needed = ("name", "when", "steps", "by")

    name: Text
    when: Text = ""
    steps: list[str]
    by: Numbers


class Read(BaseModel):
    """Everything a model read in a segment. Subclasses ask for a part of it (`asking`); all of it is understood."""

    model_config = ConfigDict(extra="ignore")
    asked: ClassVar[frozenset[str]] = frozenset(("facts", "names", "runs", "skills", "wrong", "tags"))

    facts: Annotated[list[Fact], BeforeValidator(_items)] = Field(default_factory=list)
    names: Annotated[list[Named], BeforeValidator(_items)] = Field(default_factory=list)
    runs: Annotated[list[Run], BeforeValidator(_items)] = Field(default_factory=list)
    skills: Annotated[list[Skill], BeforeValidator(_items)] = Field(default_factory=list)
    wrong: Numbers = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _wrapped(cls, given: object) -> object:
        """A bare list is what should have been in `facts`."""
        return {"facts": given} if isinstance(given, list) else given

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema of what is asked for, without titles, defaults and references: a third of the tokens."""
        whole = super().model_json_schema(*args, **kwargs)
        kept = {name: _slim(part, whole.get("$defs", {}), cls.asked) for name, part in whole["properties"].items()}
        kept = {name: part for name, part in kept.items() if name in cls.asked}
        return {"type": "object", "properties": kept, "required": list(kept)}


_NEEDED = {item.__name__: item.needed for item in (Fact, Named, Run, Skill)}


def _slim(part: dict[str, Any], defs: dict[str, Any], asked: Collection[str]) -> dict[str, Any]:
    if "$ref" in part:
        name = part["$ref"].rsplit("/", 1)[-1]
        fields = {k: _slim(v, defs, asked) for k, v in defs[name]["properties"].items() if k != "tags" or k in asked}
        return {"type": "object", "properties": fields, "required": list(_NEEDED[name])}
    if "enum" in part:
        return {"type": "string", "enum": part["enum"]}
    slim = {"type": part["type"]}
    if "items" in part:
        slim["items"] = _slim(part["items"], defs, asked)
    return slim


@lru_cache(64)
def asking(*parts: str) -> type[Read]:
    """The answer that asks for these lists only ("facts", "names", "runs", "skills", "wrong"; "tags" of facts)."""

    class Asked(Read):
        asked = frozenset(parts)

    Asked.__name__ = Asked.__qualname__ = "Read"
    return Asked
