"""What the upkeep of a cube answers with: its working set, what its retention rules did or would do, its topics. Pure data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memos.memory.model import EMPTY, Memory


@dataclass(frozen=True, slots=True)
class WorkingItem:
    """A memory of a working set. `score` is that of the search that found it, 0 to 1. `reason`: `fact` (holds now, and was told
    in what was found), or what led to it: `words`, `meaning`, `speaker` or `date`.
    """

    memory: Memory
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class Working:
    """What is most relevant to a session: current facts first, then what was said, best first. Everything in it holds now.

    `made_at`: when it was chosen; None in a session without messages.
    """

    cube: str
    session: str
    items: tuple[WorkingItem, ...] = ()
    made_at: datetime | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of its memories."""
        return tuple(item.memory.id for item in self.items)

    def __iter__(self) -> Iterator[WorkingItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """What goes from a cube in time. `kinds` and `tags` say of which memories (any of the kinds, any of the tags; empty: of all
    derived ones), and exactly one of the others how long or how many stay.

    Raw records (messages, tool calls, documents, images), names, policies and skills go only where their kinds are named.
    `max_age_days`: since they were recorded or last changed. `keep_newest`: how many stay. `keep_bytes`: of text, the newest.
    `hard`: deleted for good, like `delete`; without it taken back, which `undo` can revert. What carries the tag `keep` or
    `pinned`, and what that rests on, never goes.
    """

    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    max_age_days: float | None = None
    keep_newest: int | None = None
    keep_bytes: int | None = None
    hard: bool = False

    def __str__(self) -> str:
        """The rule in words."""
        what = " or ".join(self.kinds) or "derived memories"
        tagged = f" tagged {' or '.join(self.tags)}" if self.tags else ""
        if self.max_age_days is not None:
            limit = f"older than {self.max_age_days:g} days"
        elif self.keep_newest is not None:
            limit = f"beyond the newest {self.keep_newest}"
        else:
            limit = f"beyond the newest {self.keep_bytes} bytes of text"
        return f"{what}{tagged} {limit}: {'delete for good' if self.hard else 'take back'}"


@dataclass(frozen=True, slots=True)
class Expiring:
    """A memory that a retention rule would take. `rule` is its place among the rules, from 0. `rests_on`: for what the rule does
    not name, the memory without which it has no evidence left.
    """

    memory: Memory
    rule: int
    why: str
    rests_on: str | None = None


@dataclass(frozen=True, slots=True)
class RetentionPlan:
    """What a run would do now, in order. `total`: how many memories the rules name, of which `items` may be the first part
    only (and, among them, what goes along); `kept`: how many of them stay because something tagged `keep` needs them.
    `refused`: why a run of the cube's own rules would not begin.
    """

    cube: str
    rules: tuple[RetentionRule, ...]
    items: tuple[Expiring, ...] = ()
    total: int = 0
    kept: int = 0
    refused: str | None = None

    def __iter__(self) -> Iterator[Expiring]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class RetentionRun:
    """What a run did. `removed`: memories by rule (its place, from 0); `along`: what went with them for want of evidence.
    `refused`: why nothing was done. `more`: whether some is left for the next run.
    """

    cube: str
    at: datetime
    actor: str
    removed: Mapping[str, int] = field(default_factory=lambda: EMPTY)
    along: int = 0
    rules: tuple[str, ...] = ()
    refused: str | None = None
    more: bool = False

    @property
    def count(self) -> int:
        """How many memories went, those that went along included."""
        return sum(self.removed.values()) + self.along


VERSIONS, SENTENCES, WRITER = "versions", "sentences", "by"  # in the body of a summary


def versions_of(summary: Memory) -> dict[str, int]:
    """The memories a summary was written from, and the version each had then."""
    kept = summary.body.get(VERSIONS)
    if not isinstance(kept, Mapping):
        return {}
    return {str(id): version for id, version in kept.items() if isinstance(version, int)}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a topic's summary, and the memories that say it."""

    text: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a cube: its memory (kind `summary`), whose text is the summary, and the memories it is about.

    `stale`: some of those were changed or taken back since it was written; it is written anew by the next `reorganize`.
    """

    memory: Memory
    sentences: tuple[Sentence, ...]
    evidence: tuple[str, ...]
    stale: bool = False

    @property
    def title(self) -> str:
        """What it is about, in a few words."""
        return self.memory.title or ""


@dataclass(frozen=True, slots=True)
class Reorganized:
    """What a reorganization did: how many topics are new, were written anew, stay as they are, and were taken back, out of how
    many memories. `by_model`: how many were written by a model. `seconds`: how long it took.
    """

    cube: str
    memories: int
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    retracted: int = 0
    by_model: int = 0
    seconds: float = 0.0

    @property
    def topics(self) -> int:
        """How many topics the cube has now."""
        return self.new + self.changed + self.unchanged
