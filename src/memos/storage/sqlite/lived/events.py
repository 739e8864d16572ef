"""The stream of what is learned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.learned import LearningEvent
from memos.memory.model import EMPTY
from memos.memory.time import from_micros, to_micros
from memos.storage.sqlite.lived.rows_read import blob


def tell(
    tx: Any, what: str, *, memory: str | None = None, episode: str | None = None, numbers: Mapping[str, Any] = EMPTY
) -> None:
    """Add to the stream of what is learned. `numbers`: numbers, ids and words of closed sets only."""
    tx.db.execute(
        "INSERT INTO learned(at, what, memory, episode, numbers) VALUES(?,?,?,?,?)",
        (tx.now_us, what, blob(memory), blob(episode), json.dumps(dict(numbers)) if numbers else None),
    )


def events(
    db: apsw.Connection, *, after: int = 0, limit: int = 100, memory: str | None = None, since: datetime | None = None
) -> list[LearningEvent]:
    """What was learned after a number of the stream, in order."""
    found = db.execute(
        "SELECT n, at, what, memory, episode, numbers FROM learned WHERE n>?1 AND (?2 IS NULL OR memory=?2) "
        "AND (?3 IS NULL OR at>=?3) ORDER BY n LIMIT ?4",
        (after, blob(memory), None if since is None else to_micros(since), limit),
    )
    return [
        LearningEvent(
            n,
            from_micros(at),
            what,
            None if m is None else id_from_bytes(m),
            None if e is None else id_from_bytes(e),
            json.loads(numbers) if numbers else EMPTY,
        )
        for n, at, what, m, e, numbers in found
    ]


def was_told(db: apsw.Connection, what: str, memory: str, name: str, value: str) -> bool:
    """Whether this was told of something learned before, with this value among the numbers."""
    sql = "SELECT 1 FROM learned WHERE memory=? AND what=? AND numbers->>?=? LIMIT 1"
    return db.execute(sql, (id_to_bytes(memory), what, f"$.{name}", value)).get is not None


def last_event(db: apsw.Connection) -> int:
    """The number of the last event; 0 before the first."""
    return int(str(db.execute("SELECT coalesce(max(n), 0) FROM learned").get))


def told_since(db: apsw.Connection, after: int) -> dict[str, int]:
    """How often what was told after a number of the stream."""
    found: Any = db.execute("SELECT what, count(*) FROM learned WHERE n>? GROUP BY what", (after,)).fetchall()
    return dict(found)
