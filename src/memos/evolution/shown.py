"""Policies and skills as they stand: a memory, its body with types, and what is counted of it now."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from memos.evolution.skills.cases import support_of
from memos.evolution.value import gain, reliability
from memos.memory.learned import Policy, PolicyBody, Record, Skill, SkillBody
from memos.memory.model import Memory
from memos.storage.sqlite import lived


def record_of(db: apsw.Connection, memory: str, *, with_gain: bool = True) -> Record:
    """What is counted of something learned, from its rows. Without its gain it costs half: for who does not show it."""
    found = lived.counted(db, memory)
    return Record(
        support=found.support,
        gain=gain.gain_of(db, memory) if with_gain else 0.0,
        passes=found.passes,
        fails=found.fails,
        handed=found.handed,
        reliability=reliability.reliability_of(db, memory, found.support),
    )


def policies_of(db: apsw.Connection, memories: Iterable[Memory]) -> list[Policy]:
    """These memories as policies, in the order given."""
    return [Policy(m, PolicyBody.of(m), record_of(db, m.id)) for m in memories]


def skills_of(db: apsw.Connection, memories: Iterable[Memory], *, with_gain: bool = True) -> list[Skill]:
    """These memories as skills, in the order given. What teaches a skill is what teaches its policies."""
    return [_skill(db, m, SkillBody.of(m), with_gain) for m in memories]


def _skill(db: apsw.Connection, memory: Memory, body: SkillBody, with_gain: bool) -> Skill:
    support, found = support_of(db, body.policies), lived.counted(db, memory.id)
    record = Record(
        support=support,
        gain=gain.gain_of(db, body.policies[0]) if with_gain and body.policies else 0.0,
        passes=found.passes,
        fails=found.fails,
        handed=found.handed,
        reliability=reliability.reliability_of(db, memory.id, support),
    )
    return Skill(memory, body, record)
