"""Entities as the verbs answer them: who or what is named, under which names, and what merging them did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memos.memory.ids import unique_key
from memos.memory.model import Memory

ALIASED = "entity|aliases"  # the slot of entities that have other names, by which they are found at once
ENTITY_TYPES = ("person", "organisation", "place", "product", "other", "identifier", "email", "url")


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something named. `aliases`: its other names. `merged_into`: the entity it was made a part of.

    `subject`: what slots call it, where that is not its name ("user" for the user herself).
    """

    id: str
    name: str
    type: str
    aliases: tuple[str, ...] = ()
    merged_into: str | None = None
    subject: str | None = None

    @classmethod
    def of(cls, m: Memory) -> Entity:
        """The entity that a memory is."""
        merged, subject = m.body.get("merged_into"), m.body.get("subject")
        return cls(
            m.id,
            m.text,
            str(m.body.get("type", "other")),
            aliases_of(m),
            None if merged is None else str(merged),
            None if subject is None else str(subject),
        )


@dataclass(frozen=True, slots=True)
class EntityPage:
    """A page of entities, newest first. `cursor` continues; None when there is no more."""

    items: tuple[Entity, ...]
    cursor: str | None

    def __iter__(self) -> Iterator[Entity]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge did: `other` is a part of `kept` now, with so many edges (mentions and relations)."""

    kept: Entity
    other: Entity
    edges: int


@dataclass(frozen=True, slots=True)
class Unmerged:
    """What taking a merge back did. `edges`: what the entity had when it was merged, and has again. `followed`: mentions made
    since that name it, which are its own now. `stayed`: mentions made since that stay with the one it was merged into.
    """

    entity: Entity
    kept: Entity | None
    edges: int
    followed: int
    stayed: int


def aliases_of(m: Memory) -> tuple[str, ...]:
    """The other names of an entity."""
    found = m.body.get("aliases", ())
    return tuple(map(str, found)) if isinstance(found, (list, tuple)) else ()


def entity_key(type: str, name: str) -> bytes:
    """The key of an entity by its own name."""
    return unique_key("entity", type, name.casefold())


def alias_key(name: str) -> bytes:
    """The key of an entity by another name of its."""
    return unique_key("alias", name.casefold())
