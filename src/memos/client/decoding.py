"""Answers of the server as the values of the library, checked by pydantic, which is loaded at the first answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

from memos.errors import MemosError, Unavailable
from memos.memory.model import EMPTY, Memory, Version
from memos.storage.accounts import ApiKey, User
from memos.storage.ports import CubeInfo, Link
from memos.storage.tasks import KindStats, TaskState

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Got:
    """The memories asked for that exist, in the order asked, and the ids of those that do not (or not for this user)."""

    items: tuple[Memory, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Me:
    """Who the server takes the caller for. `user` None: no keys are in use there.

    `acting_as`: the user of a call that names none.
    """

    user: str | None
    acting_as: str
    scopes: tuple[str, ...] = ()
    key: ApiKey | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new API key. `secret` is told here and never again."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TaskStats:
    """The background work. `user` None: everybody's. `kinds` is told for everybody's work only."""

    user: str | None
    counts: Mapping[TaskState, int]
    kinds: Mapping[str, KindStats] = field(default_factory=lambda: EMPTY)


# Frames of the wire that callers do not see.


@dataclass(frozen=True, slots=True)
class Memories:
    """Several memories."""

    items: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """A history."""

    items: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Links:
    """A neighbourhood."""

    items: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Cubes:
    """Several cubes."""

    items: tuple[CubeInfo, ...]


@dataclass(frozen=True, slots=True)
class Users:
    """A page of users."""

    items: tuple[User, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Keys:
    """Several keys."""

    items: tuple[ApiKey, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """How many there are, or were changed."""

    count: int


@dataclass(frozen=True, slots=True)
class Freed:
    """What deleting freed on the disk."""

    bytes: int


def decode(kind: type[T], raw: bytes) -> T:
    """The value that JSON holds. Raises MemosError when it is none: something else answered."""
    from pydantic import ValidationError

    of: Any = kind
    try:
        value: T = _adapter(of).validate_json(raw)
    except ValidationError as e:
        first = e.errors(include_input=False, include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"])) or "all of it"
        raise MemosError(
            f"the answer is no {kind.__name__} ({where}: {first['msg']}); is there a MemOS server of this version?"
        ) from None
    return value


def check_installed() -> None:
    """Raise Unavailable, which names the extra, when pydantic is not installed."""
    if find_spec("pydantic") is None:
        raise Unavailable(
            "memos.client needs pydantic; install the extra 'client': pip install '.[client]' in a checkout of MemOS"
        )


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
