"""What was handed out in which episode, what came of it, and what is to be told in another cube."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.learned import Trial
from memos.memory.time import from_micros, to_micros
from memos.storage.sqlite.lived.rows_read import blob, time_of, truth


def hand_out(
    tx: Any, memory: str, episode: str, at: datetime, *, after: int = 0, cube: str = "", home: str = ""
) -> bool:
    """Begin a trial: something learned is handed out in an episode, after the step of that number. False when it was already.

    `cube`: of the episode, where that is another than this. `home`: the cube of the memory, where that is another than this;
    a copy's is where it was copied from. The trial counts there too, once it is resolved: see `uncarried`.
    """
    back = f"{home}/{memory}" if home else "" if cube else _shared_from(tx.db, memory)
    tx.db.execute(
        "INSERT OR IGNORE INTO trials(memory, cube, episode, handed_at, after, home) VALUES(?,?,?,?,?,?)",
        (id_to_bytes(memory), cube, id_to_bytes(episode), to_micros(at), after, back),
    )
    return bool(tx.db.changes())


def resolve_trial(
    tx: Any,
    memory: str,
    episode: str,
    outcome: str,
    reward: float | None,
    followed: bool | None,
    at: datetime,
    *,
    cube: str = "",
) -> bool:
    """Say what came of a trial; False when nothing changed."""
    values = (outcome, reward, None if followed is None else int(followed))
    tx.db.execute(
        "UPDATE trials SET outcome=?1, reward=?2, followed=?3, resolved_at=?4 WHERE memory=?5 AND cube=?6 AND episode=?7 "
        "AND (outcome<>?1 OR reward IS NOT ?2 OR followed IS NOT ?3)",
        (*values, to_micros(at), id_to_bytes(memory), cube, id_to_bytes(episode)),
    )
    return bool(tx.db.changes())


def mark_carried(tx: Any, trial: Uncarried) -> None:
    """The outcome of a trial was told to the memory's own cube, or nobody there is to be told."""
    tx.db.execute(
        "UPDATE trials SET carried=? WHERE memory=? AND cube='' AND episode=?",
        (trial.outcome, id_to_bytes(trial.memory), id_to_bytes(trial.episode)),
    )


_TRIAL = "memory, episode, handed_at, outcome, reward, resolved_at, followed, cube FROM trials"


def trials(
    db: apsw.Connection,
    *,
    memory: str | None = None,
    episode: str | None = None,
    pending: bool = False,
    limit: int = 1_000,
) -> list[Trial]:
    """Trials of something learned, or in an episode of this cube, newest first."""
    asked = [("memory=:memory", memory), ("episode=:episode AND cube=''", episode)]
    conditions = [sql for sql, given in asked if given is not None] + ["outcome='pending'"] * pending
    where = " AND ".join(conditions) or "1"
    found = db.execute(
        f"SELECT {_TRIAL} WHERE {where} ORDER BY t DESC LIMIT :limit",
        {"memory": blob(memory), "episode": blob(episode), "limit": limit},
    )
    return [
        Trial(
            id_from_bytes(m),
            id_from_bytes(e),
            from_micros(at),
            outcome,
            reward,
            time_of(resolved),
            truth(followed),
            cube,
        )
        for m, e, at, outcome, reward, resolved, followed, cube in found
    ]


@dataclass(frozen=True, slots=True)
class Uncarried:
    """A resolved trial of this cube that counts in another, `home`, for the memory `source` there, and was not told there yet.
    `owner`: on whose right to read there it is told: who made the copy, else whose episode it was.
    """

    memory: str
    episode: str
    owner: str
    home: str
    source: str
    handed_at: datetime
    outcome: str
    reward: float | None
    followed: bool | None


def uncarried(db: apsw.Connection, limit: int = 100) -> list[Uncarried]:
    """The trials whose outcome is to be told to other cubes, oldest first."""
    found = db.execute(
        "SELECT t.memory, t.episode, coalesce((SELECT m.owner FROM memories m WHERE m.id=t.memory AND m.known_to IS NULL), "
        "e.owner), t.home, t.handed_at, t.outcome, t.reward, t.followed FROM trials t "
        "JOIN episodes e ON e.id=t.episode WHERE t.home<>'' AND t.carried<>t.outcome ORDER BY t.t LIMIT ?",
        (limit,),
    )
    out = []
    for m, e, owner, back, at, outcome, reward, followed in found:
        home, _, source = back.rpartition("/")
        ids = (id_from_bytes(m), id_from_bytes(e))
        out.append(Uncarried(*ids, owner, home, source, from_micros(at), outcome, reward, truth(followed)))
    return out


def handed_after(db: apsw.Connection, memory: str, episode: str, *, cube: str = "") -> int:
    """The number of the step after which something was handed out in an episode."""
    sql = "SELECT after FROM trials WHERE memory=? AND episode=? AND cube=?"
    after = db.execute(sql, (id_to_bytes(memory), id_to_bytes(episode), cube)).get
    return 0 if after is None else int(str(after))


def _shared_from(db: apsw.Connection, memory: str) -> str:
    sql = "SELECT body->>'shared_from' FROM memories WHERE id=? AND known_to IS NULL"
    found = db.execute(sql, (id_to_bytes(memory),)).get
    return found if isinstance(found, str) else ""


def outcomes(db: apsw.Connection, memory: str) -> builtins.list[bool]:
    """Whether the trials that count of something learned passed, in the order it was handed out."""
    sql = "SELECT outcome FROM trials WHERE memory=? AND outcome IN ('pass', 'fail') ORDER BY handed_at, episode, cube"
    return [outcome == "pass" for (outcome,) in db.execute(sql, (id_to_bytes(memory),))]
