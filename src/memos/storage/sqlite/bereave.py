"""What hard deletion takes from memories that stay: what only the deleted evidence told of them, in every version.

A former version that rested on nothing else goes altogether: that there was such a fact then is itself something the
deleted record said.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import EdgeType, Memory, Status
from memos.storage.evidence import without
from memos.storage.ports import RELATION_EVIDENCE
from memos.storage.sqlite import rows
from memos.storage.sqlite.sources import to_texts

if TYPE_CHECKING:
    from memos.storage.sqlite.tx import SqliteTx

_EVIDENCE = (EdgeType.DERIVED_FROM.value, EdgeType.PART_OF.value)
_REWRITTEN = ("sources", "session", "owner", "origin", "trust", "valid_from", "valid_to", "seen", "confidence")


def bereave(tx: SqliteTx, doomed: Collection[bytes], term_ids: set[int]) -> set[str]:
    """Take the doomed memories from what is derived from them and stays; returns the ids of that. Adds to `term_ids` the
    words of texts that go with it.
    """
    gone = frozenset(map(id_from_bytes, doomed))
    touched: set[bytes] = set()
    for ident in doomed:
        found = tx.db.execute("SELECT src FROM edges WHERE dst=? AND type IN (?, ?)", (ident, *_EVIDENCE))
        touched |= {src for (src,) in found if src not in doomed}
    for ident in sorted(touched):
        _bereave_one(tx, ident, gone, term_ids)
    return set(map(id_from_bytes, touched))


def _bereave_one(tx: SqliteTx, ident: bytes, gone: frozenset[str], term_ids: set[int]) -> None:
    db = tx.db
    found = db.execute(f"SELECT {rows.EDGE_COLUMNS} FROM edges e WHERE e.src=? AND e.type=?", (ident, _EVIDENCE[0]))
    edges = {edge.dst: edge for edge in map(rows.edge_from_row, found)}
    read = functools.cache(tx.get)
    was = read(id_from_bytes(ident))
    sql = f"SELECT {rows.STORED}, m.n FROM memories m WHERE m.id=? ORDER BY m.version"
    former: list[Any] = db.execute(sql, (ident,)).fetchall()
    left = [
        (row[rows.WIDTH], memory, without(read, memory, gone, edges))
        for row, memory in zip(former, rows.whole(former), strict=True)
    ]
    emptied = {n for n, before, now in left if before.sources and not now.sources and now.known_to is not None}
    _rewrite(db, [one for one in left if one[0] not in emptied])
    if emptied:
        drop_versions(db, ident, emptied, term_ids)
    now = tx.get(id_from_bytes(ident))
    if was is not None and now is not None and was != now and now.status is not Status.RETRACTED:
        tx.put(now, "evidence")  # what holds rows in memory follows new ones only


def _rewrite(db: apsw.Connection, left: Sequence[tuple[int, Memory, Memory]]) -> None:
    """Store versions of one memory, oldest first, that lost some of their evidence: the number of the row, what it was and is."""
    for (n, before, now), listed in zip(left, to_texts([now.sources for _, _, now in left]), strict=True):
        if now is not before:
            values = rows.memory_values(replace(now, sources=()))
            changed = (listed, *(values[rows.COLUMNS.index(c)] for c in _REWRITTEN[1:]))
            db.execute(f"UPDATE memories SET {', '.join(f'{c}=?' for c in _REWRITTEN)} WHERE n=?", (*changed, n))


def drop_versions(db: apsw.Connection, ident: bytes, numbers: Collection[int], term_ids: set[int]) -> None:
    """Delete former versions. Where one first had a text that later ones share, the next takes its row."""
    for n in sorted(numbers, reverse=True):
        heir = db.execute("SELECT n FROM memories WHERE t=? AND n<>t ORDER BY n LIMIT 1", (n,)).get
        row: Any = db.execute("SELECT t, terms, beside FROM memories WHERE n=?", (n,)).fetchone()
        if row[0] == n and heir is not None:
            _inherit(db, n, int(heir))
            continue
        db.execute("DELETE FROM memories WHERE n=?", (n,))
        if row[0] == n:
            term_ids |= words(row[1:])
            drop_text(db, n)
    db.execute(
        "UPDATE memories SET recorded_at=(SELECT min(known_from) FROM memories WHERE id=?1) WHERE id=?1", (ident,)
    )


def _inherit(db: apsw.Connection, n: int, heir: int) -> None:
    """Row `n`, which the text index points to, becomes the version that row `heir` was."""
    columns = [c for c in (*rows.COLUMNS, "op", "actor", "cause", "change") if c != "id"]
    values: Any = db.execute(f"SELECT {', '.join(columns)} FROM memories WHERE n=?", (heir,)).fetchone()
    db.execute("DELETE FROM memories WHERE n=?", (heir,))
    db.execute(f"UPDATE memories SET {', '.join(f'{c}=?' for c in columns)} WHERE n=?", (*values, n))


def words(blobs: Iterable[bytes | None]) -> set[int]:
    """The numbers of the words in packed documents."""
    return {number for blob in blobs for number in memoryview(blob or b"").cast("I").tolist()}


def drop_text(db: apsw.Connection, t: int) -> int:
    """Take a text out of the index; returns how many vectors it had. Its words may still be in the dictionary."""
    db.execute("DELETE FROM fts WHERE rowid=?", (t,))
    db.execute("DELETE FROM vectors WHERE t=?", (t,))
    vectors = db.changes()
    db.execute("INSERT INTO purges(t) VALUES(?)", (t,))
    return vectors


def neighbors(db: apsw.Connection, doomed: Collection[bytes]) -> set[str]:
    """Whatever a doomed memory is, or was, linked with."""
    found: set[bytes] = set()
    for ident in doomed:
        found |= {src for (src,) in db.execute("SELECT src FROM edges WHERE dst=?", (ident,))}
        found |= {dst for (dst,) in db.execute("SELECT dst FROM edges WHERE src=?", (ident,))}
    return set(map(id_from_bytes, found - set(doomed)))


def scrub_causes(db: apsw.Connection, ids: Collection[str], gone: Collection[str]) -> None:
    """The history of what stays does not name what was deleted."""
    for id in sorted(set(ids) - set(gone)):
        ident = id_to_bytes(id)
        found = db.execute("SELECT n, cause FROM memories WHERE id=? AND cause IS NOT NULL", (ident,)).fetchall()
        for n, cause in found:
            if any(name in str(cause) for name in gone):
                db.execute("UPDATE memories SET cause=NULL WHERE n=?", (n,))


def bereave_relations(db: apsw.Connection, doomed: Collection[bytes]) -> None:
    """Take the doomed records from the evidence of relations between entities; a relation that has no other goes, in every
    version.
    """
    gone = frozenset(map(id_from_bytes, doomed))
    entities: set[bytes] = set()
    for ident in doomed:
        entities |= {dst for (dst,) in db.execute("SELECT dst FROM edges WHERE src=? AND type='MENTIONS'", (ident,))}
    for entity in sorted(entities):
        found: list[Any] = db.execute(
            "SELECT e, info FROM edges WHERE src=? AND type='RELATES_TO' AND info IS NOT NULL", (entity,)
        ).fetchall()
        for e, stored in found:
            info = json.loads(stored)
            told = info.get(RELATION_EVIDENCE, [])
            left = [id for id in told if id not in gone]
            if len(left) == len(told):
                continue
            if left:
                db.execute("UPDATE edges SET info=? WHERE e=?", (rows.dump({**info, RELATION_EVIDENCE: left}), e))
            else:
                db.execute("DELETE FROM edges WHERE e=?", (e,))
