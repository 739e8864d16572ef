"""What a foreign file holds, in our words: the items that readers give, in the order they are to be stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation: facts are read from it. `id`: of the message there, unique in the whole source; None:
    made of its content. `at`: when, ISO 8601 with an offset, or None where it is not known.
    """

    session: str
    role: str
    text: str
    at: str | None = None
    id: str | None = None
    name: str | None = None
    info: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A memory that another system made, or a note: kept as it is, no facts are read from it. `user`: whose it is there
    (only said in the report: an import never writes to another user than the one it runs for). `role`: who speaks in it.
    """

    text: str
    at: str | None = None
    id: str | None = None
    session: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    user: str | None = None
    role: str = "assistant"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call inside a turn. `ok` None: not known. `duration` in seconds."""

    tool: str
    input: Any = None
    output: str | None = None
    error: str | None = None
    ok: bool | None = None
    duration: float | None = None
    at: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Worked:
    """A turn of an agent: what the user said, the calls, the reply; learned from like a turn that is reported live.
    `episode`: of the source; turns of one episode come in order, and `over` closes it, with its reward in [-1, 1] where the
    source has one.
    """

    session: str
    id: str
    text: str = ""
    reply: str = ""
    calls: tuple[Call, ...] = ()
    at: str | None = None
    reflection: str | None = None
    over: bool = False
    reward: float | None = None
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill as the text of its `SKILL.md`: taken over on probation."""

    name: str
    markdown: str


@dataclass(frozen=True, slots=True)
class Bad:
    """A row that cannot be taken over: where it stands, and why. Never its content."""

    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Left:
    """Rows that are left out on purpose (vectors, logs, what is derived again): reported as a count, not as errors."""

    what: str
    count: int
    why: str


Item = Said | Told | Worked | Skill | Bad | Left


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of foreign file. `fits`: whether a path is of this kind, by a cheap look at its structure, never by its name
    alone; `read`: its items, lazily. Readers are pure: they open files read-only, write nothing, follow no link out of the
    folder, run nothing that a file says, and raise InvalidInput for a whole file that is hostile or no such file.
    `loose_ids`: another conversation or file may have the same id for something else, so that an item is known by its content,
    too. (A note always is: its text may be changed under its id.)
    """

    name: str
    title: str
    fits: Callable[[Path], bool]
    read: Callable[[Path], Iterator[Item]]
    loose_ids: bool = False
