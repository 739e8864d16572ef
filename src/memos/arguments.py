"""What callers hand to a verb, checked and brought into the form the rooms work with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from memos.errors import InvalidInput
from memos.memory.filter import Filter, parse_filter
from memos.memory.model import Kind
from memos.storage.sqlite.registry import check_name

E = TypeVar("E", bound=StrEnum)


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags without repetition. Raises InvalidInput for a single text or an unusable tag."""
    if isinstance(tags, str):
        raise InvalidInput(f"tags is a list of texts, got the text {tags!r}; write [{tags!r}]")
    for tag in tags:
        check_name(tag, "tag")
    return tuple(dict.fromkeys(tags))


def with_kinds(where: Filter | None, kinds: Collection[Kind | str] | None) -> Filter | None:
    """The filter, narrowed to some kinds of memory."""
    if kinds is None:
        return where
    names = [member(Kind, k, "kind").value for k in listed(kinds, "kinds")]
    only = parse_filter({"kind": {"in": names}})
    return only if where is None else parse_filter({"and": [where, only]})


def listed(value: Any, what: str) -> list[Any]:
    """One name or several as a list."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Collection):
        raise InvalidInput(f"{what} is a list of names, got {value!r:.60}")
    return list(value)


def member(enum: type[E], value: Any, what: str) -> E:
    """The member of a closed set. Raises InvalidInput naming the others."""
    try:
        return enum(value)
    except ValueError:
        raise InvalidInput(f"unknown {what} {value!r}; one of {', '.join(m.value for m in enum)}") from None
