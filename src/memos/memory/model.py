"""The nouns of the memory graph: `Memory` (a node), `Edge` (a typed link) and the closed sets they use.

Pure data. Guards law 3 (one graph) and law 5 (two clocks): every node carries when it was true and when we knew it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

EMPTY: Mapping[str, Any] = MappingProxyType({})


class Layer(StrEnum):
    """Where in the graph a memory lives: raw record, derived from it, policy, world model, skill, or outside."""

    TRACE = "trace"
    DERIVED = "derived"
    POLICY = "policy"
    WORLD = "world"
    SKILL = "skill"
    OUTER = "outer"


class Kind(StrEnum):
    """What a memory is. Each kind belongs to exactly one layer, see `LAYER_OF`."""

    TRACE = "trace"
    TOOL_CALL = "tool_call"
    DOCUMENT = "document"
    CHUNK = "chunk"
    IMAGE = "image"
    FACT = "fact"
    PROFILE = "profile"
    PREFERENCE = "preference"
    COMMITMENT = "commitment"
    TOOL_SCHEMA = "tool_schema"
    EVENT = "event"
    WORKING = "working"
    SUMMARY = "summary"
    POLICY = "policy"
    ENTITY = "entity"
    WORLD_MODEL = "world_model"
    SKILL = "skill"
    OUTER = "outer"


LAYER_OF: Mapping[Kind, Layer] = MappingProxyType(
    {
        Kind.TRACE: Layer.TRACE,
        Kind.TOOL_CALL: Layer.TRACE,
        Kind.DOCUMENT: Layer.TRACE,
        Kind.CHUNK: Layer.TRACE,
        Kind.IMAGE: Layer.TRACE,
        Kind.FACT: Layer.DERIVED,
        Kind.PROFILE: Layer.DERIVED,
        Kind.PREFERENCE: Layer.DERIVED,
        Kind.COMMITMENT: Layer.DERIVED,
        Kind.TOOL_SCHEMA: Layer.DERIVED,
        Kind.EVENT: Layer.DERIVED,
        Kind.WORKING: Layer.DERIVED,
        Kind.SUMMARY: Layer.DERIVED,
        Kind.POLICY: Layer.POLICY,
        Kind.ENTITY: Layer.WORLD,
        Kind.WORLD_MODEL: Layer.WORLD,
        Kind.SKILL: Layer.SKILL,
        Kind.OUTER: Layer.OUTER,
    }
)

# What no search shows by the way: a name says nothing by itself, a summary only says again what its evidence says, and what is
# learned from episodes is for agents (`recall`).
ASIDE: frozenset[Kind] = frozenset({Kind.ENTITY, Kind.SUMMARY, Kind.POLICY, Kind.WORLD_MODEL})


class Status(StrEnum):
    """Where in its life a memory is. `superseded` was true once; `retracted` was wrong."""

    ACTIVE = "active"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    ARCHIVED = "archived"
    QUARANTINED = "quarantined"


class Origin(StrEnum):
    """Who a memory comes from. Trust follows from it, see `TRUST_OF`."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    WEB = "web"
    AGENT = "agent"
    IMPORT = "import"


TRUST_OF: Mapping[Origin, float] = MappingProxyType(
    {
        Origin.USER: 1.0,
        Origin.SYSTEM: 0.9,
        Origin.ASSISTANT: 0.7,
        Origin.AGENT: 0.7,
        Origin.IMPORT: 0.6,
        Origin.TOOL: 0.5,
        Origin.WEB: 0.3,
    }
)


class EdgeType(StrEnum):
    """The closed set of links. `RELATES_TO` carries a free `predicate`; the others have none."""

    DERIVED_FROM = "DERIVED_FROM"
    SUPERSEDES = "SUPERSEDES"
    CONTRADICTS = "CONTRADICTS"
    MENTIONS = "MENTIONS"
    RELATES_TO = "RELATES_TO"
    FOLLOWS = "FOLLOWS"
    PART_OF = "PART_OF"
    SUPPORTS = "SUPPORTS"
    USES = "USES"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a memory's content was seen: a message (or file) and the characters of it that say so."""

    memory_id: str | None = None
    message_id: str | None = None
    role: str | None = None
    speaker: str | None = None
    time: datetime | None = None
    start: int | None = None
    end: int | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A node of the memory graph, in one version of its life.

    Times are aware UTC datetimes. `valid_from`/`valid_to` say when it was true in the world (`None`: unknown start,
    open end); `recorded_at`/`retracted_at` say when we first knew it and when we took it back.
    `known_from`/`known_to` are the span in which this *version* was our belief. `confidence`, `importance` and
    `trust` are in [0, 1]. `slot` names what a fact is about (``subject|attribute``); at most one active memory of a
    single-valued slot exists. `seen` counts how often the same content arrived; it is outside the
    clocks: a raw record's changes in place, without a new version, also for reads of the past.
    """

    id: str
    kind: Kind
    text: str
    title: str | None = None
    tags: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    status: Status = Status.ACTIVE
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    recorded_at: datetime | None = None
    retracted_at: datetime | None = None
    version: int = 1
    known_from: datetime | None = None
    known_to: datetime | None = None
    confidence: float = 1.0
    importance: float = 0.5
    origin: Origin = Origin.USER
    trust: float = 1.0
    owner: str | None = None
    session: str | None = None
    role: str | None = None
    speaker: str | None = None
    message_id: str | None = None
    slot: str | None = None
    seen: int = 1
    info: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    body: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    def __str__(self) -> str:
        return self.text

    @property
    def layer(self) -> Layer:
        """The layer this memory's kind belongs to."""
        return LAYER_OF[self.kind]

    @property
    def is_read(self) -> bool:
        """Whether facts may be read from its text: not from a record that was added with `derive=False`."""
        return self.body.get("derive") is not False

    @property
    def happened_at(self) -> datetime | None:
        """When it happened or was said: `valid_from`, else `recorded_at`."""
        return self.valid_from or self.recorded_at


@dataclass(frozen=True, slots=True)
class Edge:
    """A typed link from one memory to another, on the same two clocks as memories. `weight` is in [0, 1]."""

    src: str
    dst: str
    type: EdgeType
    predicate: str | None = None
    weight: float = 1.0
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    known_from: datetime | None = None
    known_to: datetime | None = None
    info: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Version:
    """One entry of a memory's history: the memory as it became, and who changed it how, why and when."""

    memory: Memory
    op: str
    actor: str
    cause: str | None
    at: datetime
