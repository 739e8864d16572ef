"""Episodes: begun, closed, due to be learned from, and where an agent stands."""

from __future__ import annotations

import builtins
import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memos.memory.episode import Episode
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.time import from_micros, to_micros
from memos.storage.sqlite.lived.rows_read import EPISODE, blob, read_episode, time_of


def open_episode(
    tx: Any, id: str, *, session: str, agent: str, owner: str, environment: str, at: datetime, parent: str | None = None
) -> None:
    """Begin an episode."""
    tx.db.execute(
        "INSERT INTO episodes(id, session, agent, owner, environment, parent, opened_at, last_at) VALUES(?,?,?,?,?,?,?,?)",
        (id_to_bytes(id), session, agent, owner, environment, blob(parent), to_micros(at), to_micros(at)),
    )


def close_episode(tx: Any, id: str, reason: str, at: datetime, due_at: datetime) -> bool:
    """End an open episode, to be learned from at `due_at`; False when it was closed already."""
    tx.db.execute(
        "UPDATE episodes SET closed_at=?, reason=?, due_at=? WHERE id=? AND closed_at IS NULL",
        (to_micros(at), reason, to_micros(due_at), id_to_bytes(id)),
    )
    return bool(tx.db.changes())


def reopen_episode(tx: Any, id: str, at: datetime) -> None:
    """Go on with a closed episode; what was learned from it stays until it is learned from again."""
    tx.db.execute(
        "UPDATE episodes SET closed_at=NULL, reason=NULL, due_at=NULL, last_at=? WHERE id=?",
        (to_micros(at), id_to_bytes(id)),
    )


def learn_again(tx: Any, id: str, due_at: datetime) -> None:
    """Have a closed episode learned from (again) at `due_at`, or sooner where that was so; an open one waits to be closed."""
    tx.db.execute(
        "UPDATE episodes SET due_at=min(coalesce(due_at, ?1), ?1) WHERE id=?2 AND closed_at IS NOT NULL",
        (to_micros(due_at), id_to_bytes(id)),
    )


def set_reward(tx: Any, id: str, reward: float | None, confidence: float, at: datetime) -> None:
    """What an episode was worth; with that it is learned from."""
    tx.db.execute(
        "UPDATE episodes SET reward=?, confidence=?, learned_at=?, due_at=NULL WHERE id=?",
        (reward, confidence, to_micros(at), id_to_bytes(id)),
    )


def episode(db: apsw.Connection, id: str) -> Episode | None:
    """An episode; None when there is none of this id."""
    found = db.execute(f"SELECT {EPISODE} FROM episodes e WHERE e.id=?", (id_to_bytes(id),)).fetchone()
    return None if found is None else read_episode(found)


def last_episode(db: apsw.Connection, session: str, *, agent: str | None = None) -> Episode | None:
    """The last episode of a session, open or closed."""
    found = db.execute(
        f"SELECT {EPISODE} FROM episodes e WHERE e.session=?1 AND (?2 IS NULL OR e.agent=?2) ORDER BY e.e DESC LIMIT 1",
        (session, agent),
    ).fetchone()
    return None if found is None else read_episode(found)


def episodes(
    db: apsw.Connection,
    *,
    limit: int,
    before: int | None = None,
    session: str | None = None,
    agent: str | None = None,
    is_open: bool | None = None,
) -> tuple[list[Episode], int | None]:
    """A page of episodes, newest first, and where the next begins."""
    found = db.execute(
        f"SELECT {EPISODE}, e.e FROM episodes e WHERE (?1 IS NULL OR e.e<?1) AND (?2 IS NULL OR e.session=?2) "
        "AND (?3 IS NULL OR e.agent=?3) AND (?4 IS NULL OR (e.closed_at IS NULL)=?4) ORDER BY e.e DESC LIMIT ?5",
        (before, session, agent, None if is_open is None else int(is_open), limit + 1),
    ).fetchall()
    rows_: list[Any] = found
    return [read_episode(row[:-1]) for row in rows_[:limit]], (rows_[limit - 1][-1] if len(rows_) > limit else None)


def idle(db: apsw.Connection, before: datetime, limit: int = 100) -> list[str]:
    """Open episodes in which nothing happened since, oldest first."""
    found = db.execute(
        "SELECT id FROM episodes WHERE closed_at IS NULL AND last_at<? ORDER BY last_at LIMIT ?",
        (to_micros(before), limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def due(db: apsw.Connection, now: datetime | None, limit: int = 1) -> list[str]:
    """Episodes to be learned from by now (None: whenever they are due), in the order they were closed."""
    found = db.execute(
        "SELECT id FROM episodes WHERE due_at IS NOT NULL AND (?1 IS NULL OR due_at<=?1) ORDER BY closed_at, e LIMIT ?2",
        (None if now is None else to_micros(now), limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def next_due(db: apsw.Connection) -> datetime | None:
    """When the next episode is due; None when none is."""
    found = db.execute("SELECT min(due_at) FROM episodes WHERE due_at IS NOT NULL").get
    return None if found is None else from_micros(found)


def environments(db: apsw.Connection, ids: Collection[str]) -> dict[str, str]:
    """Where episodes took place, by id."""
    found = db.execute(
        "SELECT id, environment FROM episodes WHERE id IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([id.replace("-", "") for id in sorted(set(ids))]),),
    )
    return {id_from_bytes(id): environment for id, environment in found}


def episodes_by_id(db: apsw.Connection, ids: Collection[str]) -> dict[str, Episode]:
    """Episodes by id."""
    found = db.execute(
        f"SELECT {EPISODE} FROM episodes e WHERE e.id IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([id.replace("-", "") for id in sorted(set(ids))]),),
    )
    return {e.id: e for e in map(read_episode, found)}


@dataclass(frozen=True, slots=True)
class Standing:
    """The last episode of an agent in a session, as far as a report needs it: no texts. `turn`: of its last step, 0 before the
    first.
    """

    id: str
    environment: str
    last_at: datetime
    closed_at: datetime | None
    reason: str | None
    turn: int


def standing(db: apsw.Connection, session: str, agent: str) -> Standing | None:
    """Where an agent stands in a session; None before its first episode."""
    found: Any = db.execute(
        "SELECT e.id, e.environment, e.last_at, e.closed_at, e.reason, "
        "coalesce((SELECT s.turn FROM steps s WHERE s.episode=e.e ORDER BY s.s DESC LIMIT 1), 0) "
        "FROM episodes e WHERE e.session=? AND e.agent=? ORDER BY e.e DESC LIMIT 1",
        (session, agent),
    ).fetchone()
    if found is None:
        return None
    id, environment, last, closed, reason, turn = found
    return Standing(id_from_bytes(id), environment, from_micros(last), time_of(closed), reason, turn)


def place_in(tx: Any, episode: str, environment: str) -> None:
    """Say where an episode takes place, where nobody did."""
    tx.db.execute(
        "UPDATE episodes SET environment=? WHERE id=? AND environment=''", (environment, id_to_bytes(episode))
    )


def open_in(db: apsw.Connection, session: str, agent: str | None = None) -> list[str]:
    """The open episodes of a session (and an agent), in order."""
    found = db.execute(
        "SELECT id FROM episodes WHERE session=?1 AND closed_at IS NULL AND (?2 IS NULL OR agent=?2) ORDER BY e",
        (session, agent),
    )
    return [id_from_bytes(id) for (id,) in found]


def set_judge(tx: Any, id: str, at: datetime | None) -> None:
    """When a model is to be asked (again) about an episode; None: not any more."""
    tx.db.execute("UPDATE episodes SET judge_at=? WHERE id=?", (None if at is None else to_micros(at), id_to_bytes(id)))


def to_judge(db: apsw.Connection, now: datetime, limit: int = 1) -> builtins.list[str]:
    """Closed episodes about which a model is to be asked by now, oldest first."""
    found = db.execute(
        "SELECT id FROM episodes WHERE judge_at IS NOT NULL AND judge_at<=? ORDER BY judge_at LIMIT ?",
        (to_micros(now), limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def next_judge(db: apsw.Connection) -> datetime | None:
    """When a model is to be asked next; None when it is not."""
    found = db.execute("SELECT min(judge_at) FROM episodes WHERE judge_at IS NOT NULL").get
    return None if found is None else from_micros(found)


def waiting(db: apsw.Connection) -> int:
    """How many closed episodes wait to be learned from."""
    return int(str(db.execute("SELECT count(*) FROM episodes WHERE due_at IS NOT NULL").get))


NEXT_WORK = (
    "SELECT min(at) FROM (SELECT min(due_at) AS at FROM episodes WHERE due_at IS NOT NULL "
    "UNION ALL SELECT min(judge_at) FROM episodes WHERE ?2 AND judge_at IS NOT NULL "
    "UNION ALL SELECT min(last_at)+?1 FROM episodes WHERE closed_at IS NULL "
    "UNION ALL SELECT 0 FROM trials WHERE home<>'' AND carried<>outcome)"
)
"""When something is to be done next, µs: an episode is due, may be judged (?2), is idle for so many µs (?1), or a trial is to be
carried to another cube (0: at once).
"""


def next_work(db: apsw.Connection, gap: int, judging: bool) -> int | None:
    """When learning has something to do next, in µs since 1970; None when it has nothing. `gap` in µs: see `NEXT_WORK`."""
    found = db.execute(NEXT_WORK, (gap, int(judging))).get
    return None if found is None else int(str(found))


def postpone(tx: Any, id: str, due_at: datetime) -> None:
    """Learn from an episode later: what kept it from being learned from may pass."""
    tx.db.execute(
        "UPDATE episodes SET due_at=? WHERE id=? AND due_at IS NOT NULL", (to_micros(due_at), id_to_bytes(id))
    )


def put_off_judging(tx: Any, now: datetime, later: datetime, closed_before: datetime) -> None:
    """Ask a model later about all episodes it would be asked about by now; about those closed before then not any more."""
    tx.db.execute(
        "UPDATE episodes SET judge_at=CASE WHEN closed_at<?3 THEN NULL ELSE ?2 END WHERE judge_at<=?1",
        (to_micros(now), to_micros(later), to_micros(closed_before)),
    )


def episodes_of(db: apsw.Connection, ids: Collection[str]) -> dict[str, str]:
    """Which episode each of these memories is a step of; those that are none are left out."""
    found = db.execute(
        "SELECT s.id, e.id FROM steps s JOIN episodes e ON e.e=s.episode "
        "WHERE s.id IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([id_to_bytes(id).hex() for id in ids]),),
    )
    return {id_from_bytes(step): id_from_bytes(e) for step, e in found}


def episode_of(db: apsw.Connection, id: str | None, session: str, agent: str | None) -> str | None:
    """The id of an episode that is there: this one, or (None) the last of a session (and an agent)."""
    if id is not None:
        found = db.execute("SELECT id FROM episodes WHERE id=?", (id_to_bytes(id),)).get
    else:
        sql = "SELECT id FROM episodes WHERE session=?1 AND (?2 IS NULL OR agent=?2) ORDER BY e DESC LIMIT 1"
        found = db.execute(sql, (session, agent)).get
    return None if found is None else id_from_bytes(found)


def due_of(db: apsw.Connection, id: str) -> datetime | None:
    """When an episode is learned from; None while it is open, or when it was."""
    return time_of(db.execute("SELECT due_at FROM episodes WHERE id=?", (id_to_bytes(id),)).get)
