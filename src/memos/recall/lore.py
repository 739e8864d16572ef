"""What was learned in the open cubes, kept ready: policies, skills and statements of the world with their bodies read and their
words analysed, so that a turn does not read a thousand memories. Brought up to date from the rows written since.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import apsw

from memos.memory.learned import PolicyBody, SkillBody, State, WorldBody
from memos.memory.model import Kind, Memory, Status
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.text.applies import Words, words_of

B = TypeVar("B", PolicyBody, SkillBody, WorldBody)


@dataclass(frozen=True, slots=True)
class Entry(Generic[B]):
    """Something learned: its memory, its body with types, and the words of each way to put it, by which it is like a question."""

    memory: Memory
    body: B
    words: tuple[Words, ...]

    @property
    def id(self) -> str:
        """The id of its memory."""
        return self.memory.id


@dataclass(slots=True)
class Lore:
    """What stands in one cube, by id: everything that is not retired and was not taken back."""

    stamp: lived.Stamp = field(default_factory=lived.Stamp)
    policies: dict[str, Entry[PolicyBody]] = field(default_factory=dict)
    skills: dict[str, Entry[SkillBody]] = field(default_factory=dict)
    world: dict[str, Entry[WorldBody]] = field(default_factory=dict)

    def follow(self, db: apsw.Connection) -> Lore:
        """This, or what it has become since; the one that others read meanwhile is not changed."""
        stamp, news = lived.learned_since(db, self.stamp)
        if stamp == self.stamp:
            return self
        fresh = stamp.deletion != self.stamp.deletion
        if not news and not fresh:
            return Lore(stamp, self.policies, self.skills, self.world)
        made = Lore(stamp) if fresh else Lore(stamp, {**self.policies}, {**self.skills}, {**self.world})
        for memory in news:
            made._take(memory)
        return made

    def _take(self, memory: Memory) -> None:
        stands = memory.status is Status.ACTIVE and memory.body.get("state") != State.RETIRED
        if memory.kind is Kind.POLICY:
            policy = PolicyBody.of(memory)
            _keep(self.policies, memory, policy, stands, lambda: (policy.goal or policy.trigger, *policy.goals))
        elif memory.kind is Kind.SKILL:
            skill = SkillBody.of(memory)
            _keep(
                self.skills,
                memory,
                skill,
                stands,
                lambda: (*skill.goals, skill.name.replace("-", " "), skill.description),
            )
        else:
            world = WorldBody.of(memory)
            _keep(self.world, memory, world, stands, lambda: (memory.text,))


def _keep(into: dict[str, Entry[B]], memory: Memory, body: B, stands: bool, said: Callable[[], Iterable[str]]) -> None:
    if stands:
        into[memory.id] = Entry(memory, body, tuple(words_of(x) for x in said() if x))
    else:
        into.pop(memory.id, None)


class Lores:
    """The lore of each open cube, as long as the cube is open. Safe for several threads: the last writer of a key wins, and each
    has read it whole.
    """

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[SqliteCube, Lore] = weakref.WeakKeyDictionary()

    async def of(self, store: SqliteCube) -> Lore:
        """What is learned in a cube now. Raises StorageError."""
        known = self._of.get(store) or Lore()
        now = await store.read_lived(known.follow)
        self._of[store] = now
        return now
