"""Answers of the server as the values of the library, checked by pydantic, which is loaded at the first answer."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

from memos.errors import MemosError

T = TypeVar("T")


def decode(kind: type[T], raw: bytes) -> T:
    """The value that JSON holds. Raises MemosError when it is none: something else answered."""
    from pydantic import ValidationError

    of: Any = kind
    try:
        value: T = _adapter(of).validate_json(raw)
    except ValidationError as e:
        first = e.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        name = getattr(kind, "__name__", "event")
        raise MemosError(
            f"the answer is no {name} ({where}: {first['msg']}); is there a MemOS server of this version?"
        ) from None
    return value


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
