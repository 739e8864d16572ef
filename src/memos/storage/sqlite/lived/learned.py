"""The memories that are learned: policies, statements, skills, by state, name and owner."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

import apsw

from memos.memory.model import Memory
from memos.storage.sqlite import reads, rows

LEARNED = "m.kind IN ('policy','world_model','skill')"  # in these words, so that the index of them is used


@dataclass(frozen=True, slots=True)
class Stamp:
    """Up to where a file was read: the highest row of a memory, and the last hard deletion."""

    row: int = 0
    deletion: int = 0


def learned_since(db: apsw.Connection, known: Stamp) -> tuple[Stamp, list[Memory]]:
    """What is learned (policies, statements of the world, skills) and was written after `known`, oldest first, whatever its
    status; and up to where that is. After a deletion everything is read again: `known.deletion` differs from the answer's.
    """
    row, deletion = reads.newest(db)
    after = known.row if deletion == known.deletion else 0
    if after == row and deletion == known.deletion:
        return known, []
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE {LEARNED} AND m.n>? AND m.known_to IS NULL ORDER BY m.n", (after,)
    )
    return Stamp(row, deletion), [*map(rows.memory_from_row, found)]


def learned_memories(
    db: apsw.Connection, kind: str, *, states: Collection[str] | None = None, limit: int = 10_000
) -> list[Memory]:
    """The memories of a kind (policy, world_model, skill) that stand, newest first, by the `state` of their body."""
    wanted = None if states is None else json.dumps(sorted(states))
    retired = states is None or "retired" in states
    status = "m.status IN ('active','archived')" if retired else "m.status='active'"
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind=?1 AND {LEARNED} AND m.known_to IS NULL AND {status} "
        "AND (?2 IS NULL OR m.body->>'state' IN (SELECT value FROM json_each(?2))) ORDER BY m.id DESC LIMIT ?3",
        (kind, wanted, limit),
    )
    return [*map(rows.memory_from_row, found)]


def skills_named(db: apsw.Connection, name: str) -> list[Memory]:
    """The skills that stand under a name, those in use first, then the newest."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind='skill' AND m.known_to IS NULL "
        "AND m.status IN ('active','archived') AND m.body->>'name'=? ORDER BY m.status, m.id DESC",
        (name,),
    )
    return [*map(rows.memory_from_row, found)]


def directives_of_owner(db: apsw.Connection, owner: str, limit: int = 1_000) -> list[Memory]:
    """What an owner told an agent, whether it still holds or not, newest first."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind='policy' AND {LEARNED} AND m.known_to IS NULL "
        "AND m.status IN ('active','archived') AND m.body->>'form'='directive' AND m.owner=? ORDER BY m.id DESC LIMIT ?",
        (owner, limit),
    )
    return [*map(rows.memory_from_row, found)]


def procedures_of_owner(db: apsw.Connection, owner: str, limit: int) -> list[Memory]:
    """The paths and fixes learned for an owner, also those that were retired, newest first."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.kind='policy' AND {LEARNED} AND m.known_to IS NULL "
        "AND m.status IN ('active','archived') AND m.body->>'form' IN ('path','fix') AND m.owner=? ORDER BY m.id DESC LIMIT ?",
        (owner, limit),
    )
    return [*map(rows.memory_from_row, found)]
