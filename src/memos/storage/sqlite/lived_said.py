"""Which records were told for something else than to be remembered: to say how a task went, or what somebody wants done."""

from __future__ import annotations

import json
from collections.abc import Iterable

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import Memory
from memos.storage.sqlite import rows

_IDS = "(SELECT unhex(value) FROM json_each(?))"


def comments(db: apsw.Connection, ids: Iterable[str]) -> frozenset[str]:
    """Those of these records that say how a task went, and were given for that (thanks and corrections in passing are not)."""
    found = db.execute(f"SELECT id FROM signals WHERE source IN ('user','verifier') AND id IN {_IDS}", (_hex(ids),))
    return frozenset(id_from_bytes(id) for (id,) in found)


def comment_on(db: apsw.Connection, episode: str) -> str:
    """The newest words in which somebody said how a task went; empty where nobody did."""
    found = db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.id=(SELECT s.id FROM signals s WHERE s.episode=(SELECT e FROM episodes "
        "WHERE id=?) AND s.source IN ('user','verifier') AND s.id IS NOT NULL AND EXISTS (SELECT 1 FROM memories o WHERE "
        "o.id=s.id AND o.known_to IS NULL AND o.status='active') ORDER BY s.n DESC LIMIT 1) AND m.known_to IS NULL",
        (id_to_bytes(episode),),
    ).fetchone()
    return "" if found is None else rows.memory_from_row(found).text


def directives_from(db: apsw.Connection, ids: Iterable[str]) -> dict[str, list[Memory]]:
    """The directives that were heard in these records, by record, whether they still hold or not."""
    listed = _hex(ids)
    told = f"e.type='DERIVED_FROM' AND e.known_to IS NULL AND e.dst IN {_IDS}"
    found = db.execute(  # once for each memory that rests on them: a fact may do so a thousand times, in as many versions
        "WITH heard AS MATERIALIZED (SELECT m.n, m.id FROM memories m "
        f"WHERE m.id IN (SELECT e.src FROM edges e WHERE {told}) AND m.kind='policy' AND m.known_to IS NULL "
        "AND m.body->>'form'='directive') "
        f"SELECT e.dst, {rows.SELECT} FROM heard h JOIN memories m ON m.n=h.n JOIN edges e ON e.src=h.id AND {told} "
        "ORDER BY m.id",
        (listed, listed),
    )
    out: dict[str, list[Memory]] = {}
    for record, *row in found:
        out.setdefault(id_from_bytes(record), []).append(rows.memory_from_row(tuple(row)))
    return out


def _hex(ids: Iterable[str]) -> str:
    return json.dumps([id_to_bytes(id).hex() for id in ids])
