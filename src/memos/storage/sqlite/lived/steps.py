"""Steps of episodes: noted, valued, and looked up by episode, number, call and error."""

from __future__ import annotations

import builtins
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memos.memory.episode import Step, StepRole
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import Memory
from memos.memory.time import to_micros
from memos.storage.sqlite import memo, rows
from memos.storage.sqlite.lived.rows_read import blob, number_of, read_step, read_steps, truth


def add_step(
    tx: Any,
    episode: str,
    id: str,
    role: StepRole,
    turn: int,
    at: datetime,
    *,
    tool: str | None = None,
    ok: bool | None = None,
    signature: bytes | None = None,
    context: bytes | None = None,
) -> int:
    """Note that a memory is a step of an episode; returns its number. One that is noted already keeps its place."""
    number = tx.db.execute("SELECT s FROM steps WHERE id=?", (id_to_bytes(id),)).get
    if number is not None:
        return int(str(number))
    e = number_of(tx.db, episode)
    tx.db.execute(
        "INSERT INTO steps(id, episode, turn, role, at, tool, ok, signature, context) VALUES(?,?,?,?,?,?,?,?,?)",
        (
            id_to_bytes(id),
            e,
            turn,
            role.value,
            to_micros(at),
            tool,
            None if ok is None else int(ok),
            signature,
            context,
        ),
    )
    number = tx.db.last_insert_rowid()
    tx.db.execute("UPDATE episodes SET last_at=max(last_at, ?) WHERE e=?", (to_micros(at), e))
    return int(number)


def set_value(tx: Any, number: int, alpha: float | None, value: float | None) -> None:
    """What a step was worth."""
    tx.db.execute("UPDATE steps SET alpha=?, value=? WHERE s=?", (alpha, value, number))
    tx.memo.revalued(number)


def steps(db: apsw.Connection, id: str) -> list[Step]:
    """The steps of an episode, in order, without those that were taken back."""
    return read_steps(db, "s.episode=(SELECT e FROM episodes WHERE id=?)", (id_to_bytes(id),))


def steps_by_number(db: apsw.Connection, numbers: Collection[int]) -> dict[int, Step]:
    """Steps by number; those that are gone or were taken back are left out."""
    kept = memo.of(db)
    known = {} if kept is None else {n: step for n in numbers if (step := kept.steps.get(n)) is not None}
    wanted = [n for n in numbers if n not in known]
    for step in read_steps(db, "s.s IN (SELECT value FROM json_each(?))", (json.dumps(wanted),)) if wanted else ():
        known[step.number] = step
        if kept is not None:
            kept.keep_step(step)
    return {n: known[n] for n in sorted(known)}


def numbers_there(db: apsw.Connection, numbers: Collection[int]) -> set[int]:
    """Those of these numbers that are of steps which are there and were not taken back."""
    found = db.execute(
        "SELECT s.s FROM steps s JOIN memories m ON m.id=s.id AND m.known_to IS NULL "
        "WHERE s.s IN (SELECT value FROM json_each(?)) AND m.status<>'retracted'",
        (json.dumps([*numbers]),),
    )
    return {int(n) for (n,) in found}


def episode_of_step(db: apsw.Connection, id: str) -> str | None:
    """The episode that a memory is a step of."""
    found = db.execute("SELECT e.id FROM steps s JOIN episodes e ON e.e=s.episode WHERE s.id=?", (id_to_bytes(id),)).get
    return None if found is None else id_from_bytes(found)


def last_step(db: apsw.Connection, id: str) -> int:
    """The number of an episode's last step; 0 when it has none."""
    sql = "SELECT coalesce(max(s), 0) FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?)"
    return int(str(db.execute(sql, (id_to_bytes(id),)).get))


def failures_in_a_row(
    db: apsw.Connection, session: str, tool: str, context: bytes, window: int
) -> list[tuple[int, str]]:
    """Number and id of the failed steps of a tool in a context, of the session's last `window` steps with that tool and context,
    newest first, up to the first that did not fail.
    """
    found = db.execute(
        "SELECT s.s, s.id, s.ok FROM steps s JOIN episodes e ON e.e=s.episode WHERE s.tool=? AND s.context=? AND e.session=? "
        "ORDER BY s.s DESC LIMIT ?",
        (tool, context, session, window),
    )
    out = []
    for number, ident, ok in found:
        if ok != 0:
            break
        out.append((number, id_from_bytes(ident)))
    return out


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a memory stands as a step."""

    episode: str
    turn: int
    number: int


def placed(db: apsw.Connection, id: str) -> Placed | None:
    """Where a memory stands as a step; None when it is none."""
    found: Any = db.execute(
        "SELECT e.id, s.turn, s.s FROM steps s JOIN episodes e ON e.e=s.episode WHERE s.id=?", (id_to_bytes(id),)
    ).fetchone()
    return None if found is None else Placed(id_from_bytes(found[0]), found[1], found[2])


def last_of(db: apsw.Connection, id: str, role: StepRole, *, first: bool = False) -> Memory | None:
    """The last (or `first`) message of a role in an episode that was not taken back."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM steps s JOIN memories m ON m.id=s.id AND m.known_to IS NULL "
        "WHERE s.episode=(SELECT e FROM episodes WHERE id=?) AND s.role=? AND m.status<>'retracted' "
        f"ORDER BY s.s {'ASC' if first else 'DESC'} LIMIT 1",
        (id_to_bytes(id), role.value),
    ).fetchone()
    return None if found is None else rows.memory_from_row(found)


def amend_step(
    tx: Any, id: str, *, ok: bool | None, signature: bytes | None = None, context: bytes | None = None
) -> None:
    """What came of a step is known now."""
    tx.db.execute(
        "UPDATE steps SET ok=?, signature=?, context=coalesce(?, context) WHERE id=?",
        (None if ok is None else int(ok), signature, context, id_to_bytes(id)),
    )
    tx.memo.changed(id)


def set_values(tx: Any, values: Mapping[int, tuple[float, float]], id: str) -> None:
    """What the steps of an episode were worth (alpha and value by number); of those not named it is not known any more."""
    known = {
        s: (alpha, value)
        for s, alpha, value in tx.db.execute(
            "SELECT s, alpha, value FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?)", (id_to_bytes(id),)
        ).fetchall()
    }
    for number, former in known.items():
        alpha, value = values.get(number, (None, None))
        if (alpha, value) != former:
            set_value(tx, number, alpha, value)


def steps_in_context(
    db: apsw.Connection, tool: str, context: bytes, *, ok: bool, but: str | None = None, limit: int = 1
) -> builtins.list[tuple[str, Step]]:
    """The newest steps of a tool in a context that worked (or failed), each with its episode, those of the episode `but` left
    out.
    """
    found = db.execute(
        f"SELECT {rows.SELECT}, s.s, s.turn, s.role, s.at, s.alpha, s.value, e.id FROM steps s "
        "JOIN memories m ON m.id=s.id AND m.known_to IS NULL JOIN episodes e ON e.e=s.episode "
        "WHERE s.tool=?1 AND s.context=?2 AND s.tool IS NOT NULL AND s.ok=?3 AND (?4 IS NULL OR e.id<>?4) "
        "AND m.status<>'retracted' ORDER BY s.s DESC LIMIT ?5",
        (tool, context, int(ok), blob(but), limit),
    )
    return [(id_from_bytes(row[-1]), read_step(row)) for row in found]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step stands, and what kind of call it is. `signature`: of a failed one."""

    number: int
    id: str
    session: str
    episode: str
    tool: str | None
    ok: bool | None
    context: bytes | None
    signature: bytes | None


_PLACE = (
    "s.s, s.id, e.session, e.id, s.tool, s.ok, s.context, s.signature FROM steps s JOIN episodes e ON e.e=s.episode"
)


def place(db: apsw.Connection, number: int) -> Place | None:
    """The step of this number."""
    found = db.execute(f"SELECT {_PLACE} WHERE s.s=?", (number,)).fetchone()
    return None if found is None else _place(found)


def failed_like(db: apsw.Connection, tool: str, signature: bytes, *, but: str, limit: int = 5) -> builtins.list[Place]:
    """The newest steps that failed in the same way in other episodes."""
    found = db.execute(
        f"SELECT {_PLACE} WHERE s.signature=? AND s.tool=? AND e.id<>? ORDER BY s.s DESC LIMIT ?",
        (signature, tool, id_to_bytes(but), limit),
    )
    return [*map(_place, found)]


def calls_after(db: apsw.Connection, episode: str, number: int, limit: int = 20) -> builtins.list[Place]:
    """The calls of tools in an episode after a step, in order."""
    found = db.execute(
        f"SELECT {_PLACE} WHERE e.id=? AND s.s>? AND s.tool IS NOT NULL ORDER BY s.s LIMIT ?",
        (id_to_bytes(episode), number, limit),
    )
    return [*map(_place, found)]


def _place(row: Any) -> Place:
    number, id, session, e, tool, ok, context, signature = row
    return Place(number, id_from_bytes(id), session, id_from_bytes(e), tool, truth(ok), context, signature)


def last_step_id(db: apsw.Connection, episode: str) -> str | None:
    """The memory of an episode's last step; None when it has none."""
    sql = "SELECT id FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?) ORDER BY s DESC LIMIT 1"
    found = db.execute(sql, (id_to_bytes(episode),)).get
    return None if found is None else id_from_bytes(found)


def last_calls(db: apsw.Connection, id: str, limit: int) -> builtins.list[Step]:
    """The last calls of tools in an episode, the newest first."""
    numbers = [
        n
        for (n,) in db.execute(
            "SELECT s FROM steps WHERE episode=(SELECT e FROM episodes WHERE id=?) AND tool IS NOT NULL ORDER BY s DESC LIMIT ?",
            (id_to_bytes(id), limit),
        )
    ]
    found = steps_by_number(db, numbers)
    return [found[n] for n in numbers if n in found]


_TWINS = (
    "SELECT b.episode, count(DISTINCT a.s) FROM steps a JOIN steps b ON b.tool=a.tool AND b.context=a.context AND b.at=a.at "
    "AND b.ok IS a.ok WHERE a.episode=?1 AND a.tool IS NOT NULL AND b.episode<?1 {} GROUP BY b.episode"
)


def is_told_again(db: apsw.Connection, id: str) -> bool:
    """Whether all calls of an episode are those of an earlier one: the same things done at the very same moments, which somebody
    reported again under other names.
    """
    found: Any = db.execute(
        "SELECT e, (SELECT min(s) FROM steps WHERE episode=e AND tool IS NOT NULL), "
        "(SELECT count(*) FROM steps WHERE episode=e AND tool IS NOT NULL) FROM episodes WHERE id=?",
        (id_to_bytes(id),),
    ).fetchone()
    if found is None or found[1] is None:
        return False
    e, first, calls = found
    if db.execute(_TWINS.format("AND a.s=?2"), (e, first)).get is None:
        return False
    return any(count == calls for _, count in db.execute(_TWINS.format(""), (e,)))
