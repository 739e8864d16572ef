"""Walking the graph of a cube file a bounded step at a time: the edges at a memory that matter, and what is said of a subject."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import Edge, EdgeType
from memos.storage.ports import View
from memos.storage.sqlite import rows, views


def edges_at(
    db: apsw.Connection, id: str, types: Collection[EdgeType], wanted: str, view: View, limit: int
) -> list[Edge]:
    """Edges at a memory: all where there are few, else up to `limit` of each type and direction, those to `wanted` memories
    (see `listed`) first, then to the newest.
    """
    condition, params = views.edge_view(view)
    ident = id_to_bytes(id)
    kinds = [type.value for type in types]
    among = f"AND e.type IN ({', '.join('?' * len(kinds))}) AND {condition}"
    out: list[Edge] = []
    for here, there in (("src", "dst"), ("dst", "src")):
        few = f"SELECT {rows.EDGE_COLUMNS} FROM edges e WHERE e.{here}=? {among} LIMIT ?"
        found: list[Any] = db.execute(few, (ident, *kinds, *params, limit + 1)).fetchall()
        if len(found) > limit:
            found = []
            for kind in kinds:
                of_kind = f"SELECT {rows.EDGE_COLUMNS} FROM edges e WHERE e.{here}=? AND e.type=? AND {condition}"
                first = f"{of_kind} AND e.{there} IN (SELECT unhex(value) FROM json_each(?)) LIMIT ?"
                newest = f"{of_kind} ORDER BY e.{there} DESC LIMIT ?"
                met = [
                    *db.execute(first, (ident, kind, *params, wanted, limit)),
                    *db.execute(newest, (ident, kind, *params, limit)),
                ]
                found += [*{row[:4]: row for row in met}.values()][:limit]
        out += map(rows.edge_from_row, found)
    return out


def listed(ids: Iterable[str]) -> str:
    """Memories as `edges_at` takes them."""
    return json.dumps([id_to_bytes(id).hex() for id in ids])


def said_of(db: apsw.Connection, subject: str, kinds: Collection[str], view: View, limit: int) -> list[str]:
    """What is known of a subject, by the kinds of memories: ids, newest first. `subject`: as slots call it."""
    condition, params = views.memory_view(view)
    found = db.execute(
        f"SELECT m.id FROM memories m WHERE m.slot>=? AND m.slot<? AND {condition} "
        "AND m.kind IN (SELECT value FROM json_each(?)) ORDER BY m.id DESC LIMIT ?",
        (f"{subject}|", f"{subject}}}", *params, json.dumps(sorted(kinds)), limit),
    )
    return [id_from_bytes(id) for (id,) in found]


def by_keys(db: apsw.Connection, keys: Collection[bytes]) -> dict[bytes, str]:
    """The memories that were put under these keys."""
    found = db.execute(
        "SELECT key, id FROM keys WHERE key IN (SELECT unhex(value) FROM json_each(?))",
        (json.dumps([key.hex() for key in keys]),),
    )
    return {bytes(key): id_from_bytes(id) for key, id in found}


def task_of(db: apsw.Connection, id: str) -> tuple[str, str] | None:
    """The message that asked for what a step was done for, and the episode; None for what is no step, or is that message."""
    found: Any = db.execute(
        "SELECT g.id, e.id FROM steps s JOIN episodes e ON e.e=s.episode JOIN steps g ON g.episode=s.episode AND g.role='user' "
        "WHERE s.id=? ORDER BY g.s LIMIT 1",
        (id_to_bytes(id),),
    ).fetchone()
    if found is None or id_from_bytes(found[0]) == id:
        return None
    return id_from_bytes(found[0]), id_from_bytes(found[1])


def asks(db: apsw.Connection, id: str) -> bool:
    """Whether a memory is the message that began an episode."""
    sql = "SELECT s.s=(SELECT min(g.s) FROM steps g WHERE g.episode=s.episode AND g.role='user') FROM steps s WHERE s.id=?"
    return bool(db.execute(sql, (id_to_bytes(id),)).get)


def last_asked(db: apsw.Connection, environment: str | None) -> str | None:
    """The message that began the newest episode, of an environment or of all."""
    found = db.execute(
        "SELECT (SELECT s.id FROM steps s WHERE s.episode=e.e AND s.role='user' ORDER BY s.s LIMIT 1) FROM episodes e "
        "WHERE (?1 IS NULL OR e.environment=?1) ORDER BY e.e DESC LIMIT 1",
        (environment,),
    ).get
    return None if found is None else id_from_bytes(found)
