"""Which records were told for something else than to be remembered: what was said of how a task went, and what somebody wants done."""

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
    found = db.execute(
        f"SELECT id FROM signals WHERE source IN ('user','verifier') AND id IN {_IDS}", (_hex(ids),)
    ).fetchall()
    return frozenset(id_from_bytes(id) for (id,) in found)


def directives_from(db: apsw.Connection, ids: Iterable[str]) -> dict[str, list[Memory]]:
    """The directives that were heard in these records, by record, whether they still hold or not."""
    found = db.execute(
        f"SELECT e.dst, {rows.SELECT} FROM edges e JOIN memories m ON m.id=e.src WHERE e.dst IN {_IDS} "
        "AND e.type='derived_from' AND e.known_to IS NULL AND m.kind='policy' AND m.known_to IS NULL "
        "AND m.body->>'form'='directive' ORDER BY m.id",
        (_hex(ids),),
    ).fetchall()
    out: dict[str, list[Memory]] = {}
    for record, *row in found:
        out.setdefault(id_from_bytes(record), []).append(rows.memory_from_row(tuple(row)))
    return out


def _hex(ids: Iterable[str]) -> str:
    return json.dumps([id_to_bytes(id).hex() for id in ids])
