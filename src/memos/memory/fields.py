"""The closed set of memory fields a filter can name: their types, their other names, and the values each compares to.

Values are normalised here, once: times become UTC instants, ids canonical text, strings storable text. What is not
known is an error with a suggestion, never a guess (law 4: no query can forget its filter).
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from types import MappingProxyType

from memos.errors import InvalidFilter, InvalidInput
from memos.memory.model import Kind, Layer, Origin, Status
from memos.memory.time import parse_time

Scalar = str | int | float | bool | datetime | None
Value = Scalar | tuple[Scalar, ...]


class Op(StrEnum):
    """What a condition asks. `ne` and `nin` are true where `eq` and `in` are not, also on a missing field.

    `like` is a case-insensitive substring, `contains` a case-sensitive one, or the membership of one or all values in a
    list. `eq` and `in` on a list ask for membership. `exists` asks for a value that is not null (for tags: any tag).
    """

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NIN = "nin"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"
    EXISTS = "exists"
    LIKE = "like"


class FieldType(StrEnum):
    """What a field holds, and so what it can be compared to."""

    ID = "id"
    CHOICE = "choice"
    STRING = "string"
    STRINGS = "strings"
    NUMBER = "number"
    TIME = "time"
    JSON = "json"


ORDERED = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})
_SETS = frozenset({Op.EQ, Op.NE, Op.IN, Op.NIN, Op.EXISTS})
OPS_OF: Mapping[FieldType, frozenset[Op]] = MappingProxyType(
    {
        FieldType.ID: _SETS | ORDERED,
        FieldType.CHOICE: _SETS,
        FieldType.STRING: frozenset(Op),
        FieldType.STRINGS: _SETS | {Op.CONTAINS, Op.LIKE},
        FieldType.NUMBER: _SETS | ORDERED,
        FieldType.TIME: _SETS | ORDERED,
        FieldType.JSON: frozenset(Op),
    }
)

FIELDS: Mapping[str, FieldType] = MappingProxyType(
    {
        "id": FieldType.ID,
        **dict.fromkeys(("kind", "layer", "status", "origin"), FieldType.CHOICE),
        **dict.fromkeys(
            ("text", "title", "session", "owner", "role", "speaker", "message_id", "slot"), FieldType.STRING
        ),
        "tags": FieldType.STRINGS,
        **dict.fromkeys(("trust", "confidence", "importance", "version", "seen"), FieldType.NUMBER),
        **dict.fromkeys(("valid_from", "valid_to", "recorded_at", "known_from", "happened_at"), FieldType.TIME),
    }
)
_CHOICES: Mapping[str, type[StrEnum]] = MappingProxyType(
    {"kind": Kind, "layer": Layer, "status": Status, "origin": Origin}
)

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "created_at": "recorded_at",
        "updated_at": "known_from",
        "memory_type": "kind",
        "type": "kind",
        "session_id": "session",
        "conversation_id": "session",
        "user_id": "owner",
        "memory": "text",
        "key": "title",
    }
)

# What the wire of MemOS calls our kinds. Policies, entities and world models have no name there.
WIRE_TYPES: Mapping[str, tuple[Kind, ...]] = MappingProxyType(
    {
        "UserMemory": (Kind.PROFILE,),
        "LongTermMemory": (Kind.FACT, Kind.EVENT, Kind.COMMITMENT, Kind.TRACE),
        "PreferenceMemory": (Kind.PREFERENCE,),
        "SkillMemory": (Kind.SKILL,),
        "ToolSchemaMemory": (Kind.TOOL_SCHEMA,),
        "ToolTrajectoryMemory": (Kind.TOOL_CALL,),
        "WorkingMemory": (Kind.WORKING,),
        "RawFileMemory": (Kind.DOCUMENT, Kind.CHUNK, Kind.IMAGE),
        "OuterMemory": (Kind.OUTER,),
    }
)

_MAX_PATH = 32
_INT64 = 1 << 63
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a memory: a name of `FIELDS`, or `info`/`body` with the path of a nested key.

    Raises InvalidFilter for an unknown name, and for a path that is empty or whose parts are empty or hold a dot.
    """

    name: str
    path: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.name in ("info", "body"):
            if not self.path or len(self.path) > _MAX_PATH or not all(part and "." not in part for part in self.path):
                raise InvalidFilter(f"{str(self)!r} names no key; write {self.name}.name or {self.name}.name.nested")
            object.__setattr__(self, "path", tuple(map(storable, self.path)))
        elif self.path or self.name not in FIELDS:
            raise InvalidFilter(_unknown_field(str(self)))

    @property
    def type(self) -> FieldType:
        """The type of the field's values; `JSON` for everything in `info` and `body`."""
        return FIELDS.get(self.name, FieldType.JSON)

    def __str__(self) -> str:
        return ".".join((self.name, *self.path))


def field_named(name: str, *, bare_info: bool = False) -> Field:
    """The field of a written name, MemOS's names included. With `bare_info` an unknown name is a key of `info`."""
    known = ALIASES.get(name, name)
    if known in FIELDS:
        return Field(known)
    root, _, rest = name.partition(".")
    if root in ("info", "body"):
        return Field(root, tuple(rest.split(".")) if rest else ())
    if bare_info:
        return Field("info", tuple(name.split(".")))
    raise InvalidFilter(_unknown_field(name))


def closest(word: str, words: Iterable[str]) -> str:
    """A ready clause "; did you mean 'x'?" for the most similar of the words, or nothing."""
    near = difflib.get_close_matches(word, list(words), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def checked_value(field: Field, op: Op, value: object) -> Value:
    """The value as comparisons use it. Raises InvalidFilter when field, operator and value do not go together."""
    kind = field.type
    if op not in OPS_OF[kind]:
        allowed = ", ".join(sorted(OPS_OF[kind]))
        raise InvalidFilter(f"{op} cannot be asked of {field} (a {kind} field); possible are {allowed}")
    if op is Op.EXISTS:
        if not isinstance(value, bool):
            raise InvalidFilter(f"{field} exists takes true or false, not {value!r}")
        return value
    if op in (Op.IN, Op.NIN) or (op is Op.CONTAINS and isinstance(value, (list, tuple, set, frozenset))):
        return _checked_list(field, op, value)
    return _checked_scalar(field, op, value)


def storable(text: str) -> str:
    """The text with lone surrogates, which no store can hold, as U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)


def _checked_list(field: Field, op: Op, value: object) -> Value:
    if not isinstance(value, (list, tuple, set, frozenset)):
        raise InvalidFilter(f"{field} {op} takes a list, not {value!r}")
    if not value and op is not Op.IN:
        raise InvalidFilter(f"{field} {op} [] would be true of everything; leave the condition out")
    return tuple(_checked_scalar(field, op, item) for item in value)


def _checked_scalar(field: Field, op: Op, value: object) -> Scalar:
    if value is None:
        if op in _SETS:
            return None
        raise InvalidFilter(f"{field} {op} takes a value, not null; ask for missing fields with exists: false")
    if op is Op.LIKE and not isinstance(value, str):
        raise InvalidFilter(f"{field} like takes a string, not {value!r}")
    return _SCALARS[field.type](field, op, value)


def _checked_id(field: Field, op: Op, value: object) -> Scalar:
    if isinstance(value, str) and _ID.fullmatch(value.lower()):
        return value.lower()
    raise InvalidFilter(f"{field} {op} takes a memory id (a UUID), not {value!r}")


def _checked_choice(field: Field, op: Op, value: object) -> Scalar:
    choices = [str(choice) for choice in _CHOICES[field.name]]
    if isinstance(value, str) and value in choices:
        return str(value)
    near = closest(value, choices) if isinstance(value, str) else ""
    raise InvalidFilter(f"{field} is never {value!r}{near or '; it is one of ' + ', '.join(choices)}")


def _checked_string(field: Field, op: Op, value: object) -> Scalar:
    if isinstance(value, str):
        return storable(str(value))
    hint = "; use in or contains for lists" if isinstance(value, (list, tuple, set)) else ""
    raise InvalidFilter(f"{field} {op} takes a string, not {value!r}{hint}")


def _checked_number(field: Field, op: Op, value: object) -> Scalar:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InvalidFilter(f"{field} {op} takes a number, not {value!r}")
    number = comparable_number(value)
    if not math.isfinite(number):
        raise InvalidFilter(f"{field} {op} takes a finite number, not {value!r}")
    return number


def _checked_time(field: Field, op: Op, value: object) -> Scalar:
    try:
        return parse_time(value).instant
    except InvalidInput as error:
        raise InvalidFilter(f"{field} {op}: {error}") from None


def _checked_json(field: Field, op: Op, value: object) -> Scalar:
    if isinstance(value, bool):
        if op in ORDERED:
            raise InvalidFilter(f"{field} {op} takes a number or a string; booleans are only equal or not")
        return value
    if isinstance(value, (int, float)):
        return _checked_number(field, op, value)
    if isinstance(value, (date, datetime)):
        raise InvalidFilter(f"{field} holds JSON, which has no times; compare with the text or number stored there")
    if isinstance(value, str):
        return storable(str(value))
    hint = "; use in or contains for lists" if isinstance(value, (list, tuple, set)) else ""
    raise InvalidFilter(f"{field} {op} takes a string, number, boolean or null, not {value!r}{hint}")


_SCALARS: Mapping[FieldType, Callable[[Field, Op, object], Scalar]] = MappingProxyType(
    {
        FieldType.ID: _checked_id,
        FieldType.CHOICE: _checked_choice,
        FieldType.STRING: _checked_string,
        FieldType.STRINGS: _checked_string,
        FieldType.NUMBER: _checked_number,
        FieldType.TIME: _checked_time,
        FieldType.JSON: _checked_json,
    }
)


def comparable_number(value: float) -> float:
    """The number as every store compares it: an integer beyond 64 bits as the nearest double, or infinity."""
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def _unknown_field(name: str) -> str:
    near = closest(name, (*FIELDS, *ALIASES))
    return f"unknown field {name!r}{near or ';'} for a key of the memory's info write 'info.{name}'"
