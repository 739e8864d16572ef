"""Small frames around several values of the core, as the native API sends them: the server writes them, the client reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memos.memory.learned import Policy, Skill
from memos.memory.model import EMPTY, Memory, Version
from memos.memory.spending import LlmUse
from memos.memory.upkeep import RetentionRule, RetentionRun, Topic
from memos.storage.accounts import ApiKey, Grant, User
from memos.storage.ports import CubeInfo, Link
from memos.storage.tasks import KindStats, TaskState


@dataclass(frozen=True, slots=True)
class Memories:
    """Several memories."""

    items: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Got:
    """The memories asked for that exist, in the order asked, and the ids of those that do not (or not for this user)."""

    items: tuple[Memory, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """Every version of a memory, oldest first."""

    items: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Links:
    """Edges of the graph, nearest first."""

    items: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """How many there are, or were changed."""

    count: int


@dataclass(frozen=True, slots=True)
class Cubes:
    """Cubes, by name."""

    items: tuple[CubeInfo, ...]


@dataclass(frozen=True, slots=True)
class Freed:
    """What deleting freed on the disk."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Grants:
    """The rights that users were given on a cube. (Its owner has every right without one.)"""

    items: tuple[Grant, ...]


@dataclass(frozen=True, slots=True)
class Users:
    """Users, by name. `cursor` continues; None when there is no more."""

    items: tuple[User, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics of a cube."""

    items: tuple[Topic, ...]


@dataclass(frozen=True, slots=True)
class Policies:
    """Policies of a cube."""

    items: tuple[Policy, ...]


@dataclass(frozen=True, slots=True)
class SkillList:
    """Skills of a cube."""

    items: tuple[Skill, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """The retention rules of a cube, in the order they are applied."""

    items: tuple[RetentionRule, ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs of retention, newest first."""

    items: tuple[RetentionRun, ...]


@dataclass(frozen=True, slots=True)
class LlmUses:
    """What language models used and cost; `total` is the sum of everything asked for, also of what `items` leaves out."""

    items: tuple[LlmUse, ...]
    total: LlmUse


@dataclass(frozen=True, slots=True)
class Keys:
    """API keys, oldest first, without their secrets."""

    items: tuple[ApiKey, ...]


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new API key. `secret` is what to send as `Authorization: Bearer …`; it is told here and never again."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Me:
    """Who the caller is. `user` None: the server uses no keys, and whoever reaches it may act for every user.

    `acting_as`: the user of a request that names none.
    """

    user: str | None
    acting_as: str
    scopes: tuple[str, ...]
    key: ApiKey | None = None


@dataclass(frozen=True, slots=True)
class TaskStats:
    """The background work. `user` None: everybody's. `kinds` is told for everybody's work only."""

    user: str | None
    counts: Mapping[TaskState, int]
    kinds: Mapping[str, KindStats] = field(default_factory=lambda: EMPTY)
