"""Hints after repeated failures: made, delivered, validated."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.time import from_micros, to_micros
from memos.storage.sqlite.lived.rows_read import blob, number_of, time_of, truth


def add_hint(
    tx: Any,
    *,
    session: str,
    episode: str,
    tool: str,
    context: bytes,
    failures: int,
    after: int,
    at: datetime,
    memory: str | None = None,
    prefer: str | None = None,
    avoid: str | None = None,
) -> int:
    """Keep a hint: `memory` is the policy it draws from, `prefer` and `avoid` are memories of steps that worked and did not."""
    tx.db.execute(
        "INSERT INTO hints(session, episode, tool, context, failures, after, memory, prefer, avoid, made_at) "
        "VALUES(?,?,?,?,?,?,?,?,?,?)",
        (
            *(session, number_of(tx.db, episode), tool, context, failures, after),
            *(blob(memory), blob(prefer), blob(avoid), to_micros(at)),
        ),
    )
    return int(tx.db.last_insert_rowid())


def mark_delivered(tx: Any, hint: int, at: datetime) -> None:
    """A hint was handed to its agent."""
    tx.db.execute("UPDATE hints SET delivered_at=? WHERE h=? AND delivered_at IS NULL", (to_micros(at), hint))


def validate_hint(tx: Any, hint: int, good: bool, at: datetime) -> bool:
    """What happened after a hint; False when that was known."""
    tx.db.execute(
        "UPDATE hints SET validated=?, resolved_at=? WHERE h=? AND validated IS NULL", (int(good), to_micros(at), hint)
    )
    return bool(tx.db.changes())


@dataclass(frozen=True, slots=True)
class StoredHint:
    """A hint as it is stored: what it refers to is not read yet."""

    id: int
    session: str
    episode: str
    tool: str
    context: bytes
    failures: int
    after: int
    memory: str | None
    prefer: str | None
    avoid: str | None
    made_at: datetime
    delivered_at: datetime | None
    validated: bool | None


_HINT = (
    "h.h, h.session, e.id, h.tool, h.context, h.failures, h.after, h.memory, h.prefer, h.avoid, h.made_at, "
    "h.delivered_at, h.validated FROM hints h JOIN episodes e ON e.e=h.episode"
)


def hint(db: apsw.Connection, number: int) -> StoredHint | None:
    """A hint as it is stored; None when there is none."""
    found = db.execute(f"SELECT {_HINT} WHERE h.h=?", (number,)).fetchone()
    return None if found is None else _hint(found)


def hints(
    db: apsw.Connection,
    *,
    session: str | None = None,
    episode: str | None = None,
    open_only: bool = False,
    limit: int = 20,
) -> list[StoredHint]:
    """Hints of a session or an episode, newest first. `open_only`: those not validated yet."""
    asked = [("h.session=:session", session), ("h.episode=(SELECT e FROM episodes WHERE id=:episode)", episode)]
    conditions = [sql for sql, given in asked if given is not None] + ["h.validated IS NULL"] * open_only
    where = " AND ".join(conditions) or "1"
    found = db.execute(
        f"SELECT {_HINT} WHERE {where} ORDER BY h.h DESC LIMIT :limit",
        {"session": session, "episode": blob(episode), "limit": limit},
    )
    return [*map(_hint, found)]


def _hint(row: Any) -> StoredHint:
    number, session, e, tool, context, failures, after, memory, prefer, avoid, made, delivered, validated = row
    policy, good, bad = (None if x is None else id_from_bytes(x) for x in (memory, prefer, avoid))
    times = (from_micros(made), time_of(delivered), truth(validated))
    return StoredHint(number, session, id_from_bytes(e), tool, context, failures, after, policy, good, bad, *times)


def hint_made(db: apsw.Connection, session: str, tool: str, context: bytes, since: datetime) -> bool:
    """Whether a hint on a tool in a context was made in a session since then."""
    sql = "SELECT 1 FROM hints WHERE session=? AND tool=? AND context=? AND made_at>? LIMIT 1"
    return db.execute(sql, (session, tool, context, to_micros(since))).get is not None


def hint_after(db: apsw.Connection, number: int) -> int | None:
    """The hint that was made after the step of this number; None when none was."""
    sql = (
        "SELECT h.h FROM steps s JOIN episodes e ON e.e=s.episode JOIN hints h ON h.session=e.session AND h.after=s.s "
        "WHERE s.s=?"
    )
    found = db.execute(sql, (number,)).get
    return None if found is None else int(str(found))


def settle_hint(tx: Any, hint: int, good: bool | None) -> bool:
    """Judge a hint by how its episode went, unless what was done next told already; False when nothing changed."""
    value = None if good is None else int(good)
    tx.db.execute(
        "UPDATE hints SET validated=?1 WHERE h=?2 AND resolved_at IS NULL AND validated IS NOT ?1", (value, hint)
    )
    return bool(tx.db.changes())


def disproved(db: apsw.Connection, episode: str, memory: str) -> bool:
    """Whether hints drawn from a policy were followed by the same failure in an episode, and none by a success."""
    sql = (
        "SELECT count(*) FILTER (WHERE validated=0), count(*) FILTER (WHERE validated=1) FROM hints "
        "WHERE memory=? AND resolved_at IS NOT NULL AND episode=(SELECT e FROM episodes WHERE id=?)"
    )
    found: Any = db.execute(sql, (id_to_bytes(memory), id_to_bytes(episode))).fetchone()
    return bool(found[0]) and not found[1]
