"""What statements about the world are made of, read from the tables of a cube file that `lived` describes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.time import from_micros
from memos.storage.sqlite import memo
from memos.storage.sqlite.lived import by_task

_LOOKED_AT = 400  # attempts at one thing, the newest


@dataclass(frozen=True, slots=True)
class Use:
    """A call of a tool, as far as statements about the world need it. `ok`: whether it is not known to have failed."""

    episode: str
    number: int
    id: str
    at: datetime
    tool: str
    ok: bool
    input: str


def recent_uses(db: apsw.Connection, environment: str, episodes: int, limit: int) -> list[Use]:
    """The calls of the newest closed episodes of an environment, newest first."""
    kept = memo.of(db)
    if kept is not None:
        uses = _uses_kept(db, kept, environment, episodes, limit)
        if uses is not None:
            return uses
    found = db.execute(
        "SELECT e.id, s.s, s.id, s.at, s.tool, s.ok, substr(coalesce(m.body->'use'->>'input', ''), 1, 2000) FROM "
        "(SELECT e, id FROM episodes WHERE environment=? AND closed_at IS NOT NULL ORDER BY e DESC LIMIT ?) e "
        "JOIN steps s ON s.episode=e.e JOIN memories m ON m.id=s.id AND m.known_to IS NULL "
        "WHERE s.tool IS NOT NULL AND m.status<>'retracted' ORDER BY s.s DESC LIMIT ?",
        (environment, episodes, limit),
    )
    return [
        Use(id_from_bytes(e), number, id_from_bytes(id), from_micros(at), tool, ok != 0, given)
        for e, number, id, at, tool, ok, given in found
    ]


def _uses_kept(db: apsw.Connection, kept: memo.Memo, environment: str, episodes: int, limit: int) -> list[Use] | None:
    """As `recent_uses`, reading only the calls that are not kept; None where some of the newest were taken back."""
    newest = "(SELECT e FROM episodes WHERE environment=? AND closed_at IS NOT NULL ORDER BY e DESC LIMIT ?)"
    sql = f"SELECT s.s FROM {newest} e JOIN steps s ON s.episode=e.e WHERE s.tool IS NOT NULL ORDER BY s.s DESC LIMIT ?"
    numbers = [int(n) for (n,) in db.execute(sql, (environment, episodes, limit))]
    missing = [n for n in numbers if n not in kept.uses]
    found = {n: kept.uses[n] for n in numbers if n in kept.uses}
    for use in _uses(db, "s.s IN (SELECT value FROM json_each(?))", (json.dumps(missing),)) if missing else ():
        found[use.number] = use
        kept.keep_use(use.id, use.number, use)
    return [found[n] for n in numbers] if len(found) == len(numbers) else None


def _uses(db: apsw.Connection, where: str, values: tuple[Any, ...]) -> list[Use]:
    found = db.execute(
        "SELECT e.id, s.s, s.id, s.at, s.tool, s.ok, substr(coalesce(m.body->'use'->>'input', ''), 1, 2000) FROM episodes e "
        "JOIN steps s ON s.episode=e.e JOIN memories m ON m.id=s.id AND m.known_to IS NULL "
        f"WHERE {where} AND s.tool IS NOT NULL AND m.status<>'retracted' ORDER BY s.s DESC",
        values,
    )
    return [
        Use(id_from_bytes(e), number, id_from_bytes(id), from_micros(at), tool, ok != 0, given)
        for e, number, id, at, tool, ok, given in found
    ]


def environments_of(db: apsw.Connection, ids: Collection[str]) -> Counter[str]:
    """How many of these episodes are of each environment."""
    found = db.execute(
        "SELECT environment, count(*) FROM episodes WHERE id IN (SELECT unhex(value) FROM json_each(?)) GROUP BY environment",
        (_hex(ids),),
    )
    rows: Any = found.fetchall()
    return Counter(dict(rows))


def tools_used(db: apsw.Connection) -> list[str]:
    """The tools of the newest calls."""
    sql = "SELECT DISTINCT tool FROM (SELECT tool FROM steps WHERE tool IS NOT NULL ORDER BY s DESC LIMIT ?) ORDER BY tool"
    return [str(tool) for (tool,) in db.execute(sql, (_LOOKED_AT,))]


def places(db: apsw.Connection, limit: int = 200) -> list[str]:
    """The environments of the newest episodes."""
    sql = "SELECT DISTINCT environment FROM (SELECT environment FROM episodes ORDER BY e DESC LIMIT ?) WHERE environment<>''"
    return [str(place) for (place,) in db.execute(sql, (limit,))]


def count_episodes(db: apsw.Connection, policies: Collection[str]) -> int:
    """How many episodes teach any of these policies."""
    lessons, task = by_task(db)
    sql = f"SELECT count(DISTINCT {task}) FROM {lessons} WHERE l.memory IN (SELECT unhex(value) FROM json_each(?))"
    return int(str(db.execute(sql, (_hex(policies),)).get))


def place_of_step(db: apsw.Connection, id: str) -> tuple[str, int] | None:
    """The episode of a step, and its number."""
    found: Any = db.execute(
        "SELECT e.id, s.s FROM steps s JOIN episodes e ON e.e=s.episode WHERE s.id=?", (id_to_bytes(id),)
    ).fetchone()
    return None if found is None else (id_from_bytes(found[0]), found[1])


def episodes_with(db: apsw.Connection, contexts: Collection[tuple[str, bytes]], *, after: int, limit: int) -> list[str]:
    """Episodes in which one of these things was attempted (tool and context) without failing, after that step, newest first."""
    found = db.execute(
        "SELECT DISTINCT e.id FROM json_each(?1) c JOIN steps s ON s.tool=c.value->>0 AND s.context=unhex(c.value->>1) "
        "JOIN episodes e ON e.e=s.episode WHERE s.s>?2 AND s.ok IS NOT 0 ORDER BY e.e DESC LIMIT ?3",
        (_contexts(contexts), after, limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def policies_of_failures(db: apsw.Connection, contexts: Collection[tuple[str, bytes]], limit: int = 20) -> list[str]:
    """The policies that were learned from failures of these attempts (tool and context), from the newest failures of each."""
    found: dict[bytes, None] = {}
    for tool, context in contexts:
        failed = db.execute(
            "SELECT s, episode FROM (SELECT s, episode, ok FROM steps WHERE tool=? AND context=? ORDER BY s DESC LIMIT ?) "
            "WHERE ok=0 LIMIT ?",
            (tool, context, _LOOKED_AT, limit),
        ).fetchall()
        numbers = {number for number, _ in failed}
        for e in dict.fromkeys(e for _, e in failed):
            taught = db.execute("SELECT memory, steps FROM lessons WHERE episode=? AND memory IS NOT NULL", (e,))
            for memory, given in taught:
                if numbers & {*json.loads(given).get("failed", ())}:
                    found[memory] = None
    return [id_from_bytes(id) for id in found]


def ids_by_slot(db: apsw.Connection, begin: str, limit: int = 1_000) -> list[str]:
    """The memories whose slots begin so, and that were not taken back."""
    found = db.execute(
        "SELECT id FROM memories WHERE slot>=?1 AND slot<?2 AND known_to IS NULL AND status<>'retracted' ORDER BY slot LIMIT ?3",
        (begin, begin + "\U0010ffff", limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def _contexts(contexts: Collection[tuple[str, bytes]]) -> str:
    return json.dumps([[tool, context.hex()] for tool, context in contexts])


def _hex(ids: Collection[str]) -> str:
    return json.dumps([id_to_bytes(id).hex() for id in ids])
