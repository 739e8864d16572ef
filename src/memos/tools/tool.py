"""A tool: its name, what it takes and answers with as types, and how a call of it ends: a result that fits, or an error that
names the field.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from memos.errors import MemosError
from memos.logs import get_logger
from memos.tools.args import Args, Shown
from memos.tools.budget import fitted
from memos.tools.door import Door
from memos.tools.schema import schema_of

log = get_logger(__name__)
A = TypeVar("A", bound=Args)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call answers with, as text (JSON, or what went wrong) and as the object it tells; None: it went wrong."""

    text: str
    value: dict[str, Any] | None

    @property
    def failed(self) -> bool:
        """Whether it went wrong."""
        return self.value is None


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """`run` is the whole of it. `reads`: it changes nothing; `destroys`: it may take something away; `again`: twice is as once.
    `outside`: it may ask a model, and so leave this machine.
    """

    name: str
    title: str
    description: str
    takes: type[A]
    answers: type[Shown]
    run: Callable[[Door, A], Awaitable[Shown]]
    reads: bool = False
    destroys: bool = False
    again: bool = False
    outside: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of what it takes."""
        return schema_of(self.takes)

    async def call(self, door: Door, arguments: dict[str, Any] | None) -> Answer:
        """The answer to a call. Whatever goes wrong is one too; the conversation goes on."""
        try:
            given = {k: v for k, v in (arguments or {}).items() if v is not None or k not in self.takes.model_fields}
            asked = self.takes.model_validate(given)
        except ValidationError as error:
            return failed("invalid_arguments", faults(error))
        try:
            shown = await self.run(door, asked)
        except MemosError as error:
            return failed(error.code, str(error))
        except (ArithmeticError, LookupError, TypeError, ValueError, OSError, RuntimeError, AttributeError) as error:
            log.error("tool_broke", tool=self.name, error=type(error).__name__, exc_info=True)
            return failed("internal", f"an internal error ({type(error).__name__}) in {self.name}; the log has more")
        return Answer(*fitted(shown, door.budget))


def failed(code: str, message: str) -> Answer:
    """The answer to a call that cannot be done: the model can read why, and do better."""
    return Answer(f"{code}: {message}", None)


def faults(error: ValidationError) -> str:
    """What is wrong with arguments, field by field."""
    return "; ".join(f"{_field(one['loc'])}: {_said(one)}" for one in error.errors(include_url=False)[:8])


def _field(path: Sequence[str | int]) -> str:
    """`ids[2]`, `messages[0].role`; what pydantic adds for the branches of a union is left out."""
    out = ""
    for part in path:
        if isinstance(part, int):
            out += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "int", "float", "bool") and not part[:1].isupper():
            out += f".{part}" if out else part
    return out or str(path[0] if path else "arguments")


def _said(one: Any) -> str:
    if one["type"] == "extra_forbidden":
        return "there is no such argument"
    if one["type"] == "missing":
        return "it is missing"
    shown = one["input"]
    got = f", got {shown!r:.60}" if isinstance(shown, (str, int, float, bool)) else f", got {type(shown).__name__}"
    return f"{one['msg'].removeprefix('Value error, ')}{got}"
