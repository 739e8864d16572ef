"""Hard deletion inside a cube file: the memory, every version, edge, vector, mark, key and index entry of it, and all
that was derived from nothing else. Afterwards no word of it is left in any table; `erase` then clears the pages and
the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import apsw

from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import EdgeType, Layer, Status
from memos.storage.ports import ANY_STATUS, DIGEST, LEANS, READ, READER, Purged
from memos.storage.sqlite import bereave, images, lived, reads, unlearn, upkept
from memos.storage.timeline import reinstate, settle, slot_of

if TYPE_CHECKING:
    from memos.storage.sqlite.tx import SqliteTx

_EVIDENCE = (EdgeType.DERIVED_FROM.value, EdgeType.PART_OF.value)
_RETOLD = "'summary','policy','world_model','skill'"  # kinds that retell all of their evidence
_MENTIONS = (EdgeType.MENTIONS.value, EdgeType.MENTIONS.value)
FOLLOWING = 50  # records looked at behind a deleted one
UNERASED = "unerased"  # set in `meta` from a deletion until the pages and the log are clear of it


@dataclass(slots=True)
class _Plan:
    asked: set[bytes] = field(default_factory=set)
    doomed: set[bytes] = field(default_factory=set)
    leaned: set[bytes] = field(default_factory=set)  # of these: for their words only, their evidence may stay
    retold: set[bytes] = field(default_factory=set)  # what was learned from any of it: goes too, or stays without words


def purge(tx: SqliteTx, ids: Iterable[str]) -> Purged:
    """Delete the memories and their orphans; unknown ids are ignored. Facts they had superseded come back."""
    plan = _Plan()
    for id in ids:
        ident = id_to_bytes(id)
        if tx.db.execute("SELECT 1 FROM memories WHERE id=? LIMIT 1", (ident,)).get:
            plan.asked.add(ident)
    plan.doomed |= plan.asked
    _cascade(tx.db, plan)
    gone = frozenset(map(id_from_bytes, plan.doomed))
    beside = _beside(tx, gone)
    restored = _reinstate(tx, gone, beside)
    vectors = _drop_vectors_after(tx.db, plan)
    term_ids: set[int] = set()
    beside |= bereave.bereave(tx, plan.doomed, term_ids)
    unlearn.empty(tx, plan.retold - plan.doomed, plan.doomed, term_ids)
    bereave.bereave_relations(tx.db, plan.doomed)
    slots = {
        slot for id in gone | beside if (memory := tx.get(id)) is not None and (slot := slot_of(memory)) is not None
    }
    for slot in sorted(slots):
        restored.update(dict.fromkeys(m.id for m in settle(tx, slot, gone)))
        beside.update(m.id for m in tx.find_slot(slot, ANY_STATUS))
    _read_anew(tx, plan)
    for id in _lost_reading(tx, plan):
        tx.mark(id, DIGEST)  # waits until its record comes back
    bereave.scrub_causes(tx.db, beside | bereave.neighbors(tx.db, plan.doomed), gone)
    counts = _remove(tx, plan, term_ids)
    return replace(
        counts,
        memories=len(plan.asked),
        vectors=counts.vectors + vectors,
        cascaded=len(plan.doomed) - len(plan.asked),
        ids=tuple(map(id_from_bytes, sorted(plan.doomed))),
        restored=tuple(restored),
    )


def _cascade(db: apsw.Connection, plan: _Plan) -> None:
    """Follow evidence backwards: what rests only on doomed memories is doomed, and parts go with their whole. What was learned is
    judged when all else is known.
    """
    frontier = list(plan.doomed)
    while frontier:
        _follow(db, plan, frontier)
        frontier = [i for i in plan.retold - plan.doomed if not unlearn.stays(db, i, plan.doomed)]
        plan.doomed |= {*frontier}


def _follow(db: apsw.Connection, plan: _Plan, frontier: list[bytes]) -> None:
    while frontier:
        ident = frontier.pop()
        children: list[Any] = db.execute(
            "SELECT DISTINCT src FROM edges WHERE dst=? AND type IN (?, ?)", (ident, *_EVIDENCE)
        ).fetchall()
        for child in [*(src for (src,) in children), *unlearn.retelling(db, ident)]:
            if child not in plan.doomed and unlearn.is_learned(db, child):
                _note_retold(db, plan, child)
            elif child not in plan.doomed and (
                _is_summary(db, child) or _all_doomed(db, "dst", "src", child, _EVIDENCE, plan.doomed)
            ):
                plan.doomed.add(child)
                frontier.append(child)
        for child in _leaning(db, ident) - plan.doomed:
            plan.doomed.add(child)
            plan.leaned.add(child)
            frontier.append(child)
        entities: list[Any] = db.execute(
            "SELECT DISTINCT e.dst FROM edges e JOIN memories m ON m.id=e.dst AND m.known_to IS NULL AND m.kind='entity' "
            "WHERE e.src=? AND e.type='MENTIONS'",
            (ident,),
        ).fetchall()
        for (entity,) in entities:
            if entity not in plan.doomed and _all_doomed(db, "src", "dst", entity, _MENTIONS, plan.doomed):
                plan.doomed.add(entity)
                frontier.append(entity)


def _note_retold(db: apsw.Connection, plan: _Plan, ident: bytes) -> None:
    """What was learned from something deleted, and what was made of that in its turn."""
    found = [ident]
    while found:
        one = found.pop()
        if one not in plan.retold:
            plan.retold.add(one)
            above: list[Any] = db.execute(
                "SELECT src FROM edges WHERE dst=? AND type='DERIVED_FROM'", (one,)
            ).fetchall()
            found += [src for (src,) in above if unlearn.is_learned(db, src)]


def _leaning(db: apsw.Connection, ident: bytes) -> set[bytes]:
    """The memories that have words of this record, in any version, though it is no evidence of theirs."""
    sql = "SELECT DISTINCT dst FROM edges WHERE src=? AND type='SUPPORTS' AND info LIKE ?"
    return {dst for (dst,) in db.execute(sql, (ident, f'%"{LEANS}"%'))}


def _read_anew(tx: SqliteTx, plan: _Plan) -> None:
    """What goes for its words only may be told again by its evidence, without them."""
    for ident in plan.leaned:
        sql = "SELECT dst, info FROM edges WHERE src=? AND type='DERIVED_FROM' AND known_to IS NULL"
        found: list[Any] = tx.db.execute(sql, (ident,)).fetchall()
        for dst, info in found:
            if dst not in plan.doomed:
                tx.mark(id_from_bytes(dst), READ if info and f'"{READER}"' in info else DIGEST)


def _is_summary(db: apsw.Connection, ident: bytes) -> bool:
    """Whether a memory retells all of its evidence, as summaries and what is learned from episodes do: its words are those of
    whatever is deleted, so it goes whole, and is written anew from what stays.
    """
    sql = f"SELECT 1 FROM memories WHERE id=? AND known_to IS NULL AND kind IN ({_RETOLD})"
    return bool(db.execute(sql, (ident,)).get)


def _all_doomed(
    db: apsw.Connection, other: str, own: str, ident: bytes, types: tuple[str, str], doomed: set[bytes]
) -> bool:
    """Whether nothing stays that a memory rests on: by its current edges or, when it has none any more (its evidence
    was edited, or undone), by those it ever had. Stops at the first that stays.
    """
    for belief in ("known_to IS NULL", "known_to IS NOT NULL"):
        found = db.execute(f"SELECT {other} FROM edges WHERE {own}=? AND type IN (?, ?) AND {belief}", (ident, *types))
        there = False
        for (evidence,) in found:
            if evidence not in doomed:
                return False
            there = True
        if there:
            return True
    return True


def _beside(tx: SqliteTx, gone: frozenset[str]) -> set[str]:
    """What the deleted memories had superseded, and stays."""
    return {edge.dst for id in gone for edge in tx.edges(id, "out", (EdgeType.SUPERSEDES,))} - gone


def _reinstate(tx: SqliteTx, gone_ids: frozenset[str], beside: set[str]) -> dict[str, None]:
    """A fact superseded only by what is deleted now is current again; those of a timeline are settled later."""
    restored: dict[str, None] = {}
    for id in sorted(gone_ids):
        gone = tx.get(id)
        for edge in tx.edges(id, "out", (EdgeType.SUPERSEDES,)):
            former = tx.get(edge.dst) if edge.dst in beside else None
            if gone is None or former is None or slot_of(former) is not None:
                continue
            if reinstate(tx, edge.dst, gone, gone_ids) is not None:
                restored[edge.dst] = None
    return restored


def _lost_reading(tx: SqliteTx, plan: _Plan) -> set[str]:
    """Retracted records that stay, of which something now deleted had been read: undoing the retraction must read them
    again.
    """
    read: set[bytes] = set()
    for ident in (i for i in plan.doomed if not _is_summary(tx.db, i)):
        found = tx.db.execute("SELECT dst FROM edges WHERE src=? AND type='DERIVED_FROM'", (ident,))
        read |= {dst for (dst,) in found if dst not in plan.doomed}
    memories = (tx.get(id_from_bytes(ident)) for ident in read)
    return {m.id for m in memories if m is not None and m.layer is Layer.TRACE and m.status is Status.RETRACTED}


def _drop_vectors_after(db: apsw.Connection, plan: _Plan) -> int:
    """A raw record is embedded together with the one before it: records that may have been embedded with a doomed one
    lose their vectors, to be embedded again. What came between the two later is skipped over: of the following, those
    older than all before.
    """
    after: set[int] = set()
    for ident in plan.doomed:
        oldest: int | None = None
        for n, t, other in reads.following(db, ident, FOLLOWING):
            if oldest is None or n < oldest:
                oldest = n if other not in plan.doomed else oldest
                after.add(t)
    dropped = 0
    for t in sorted(after):
        db.execute("DELETE FROM vectors WHERE t=?", (t,))
        if count := db.changes():
            dropped += count
            db.execute("INSERT INTO purges(t, what) VALUES(?, 'vectors')", (t,))
    return dropped


def _remove(tx: SqliteTx, plan: _Plan, term_ids: set[int]) -> Purged:
    db = tx.db
    versions = edges = vectors = 0
    tx.keep_numbers_used()
    upkept.forget(db, plan.doomed)
    lived.forget(db, plan.doomed)
    if plan.doomed:
        db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, '1')", (UNERASED,))
    for ident in plan.doomed:
        found: list[Any] = db.execute("SELECT n, t, terms, beside FROM memories WHERE id=?", (ident,)).fetchall()
        for n, t, terms, beside in found:
            if n == t:
                term_ids |= bereave.words((terms, beside))
                vectors += bereave.drop_text(db, n)
        db.execute("DELETE FROM memories WHERE id=?", (ident,))
        versions += db.changes()
        for column in ("src", "dst"):
            db.execute(f"DELETE FROM edges WHERE {column}=?", (ident,))
            edges += db.changes()
        db.execute("DELETE FROM keys WHERE id=?", (ident,))
        db.execute("DELETE FROM todo WHERE id=?", (ident,))
    pictures = images.forget(db, plan.doomed)
    dropped = _drop_orphan_terms(db, term_ids)
    tx.forget_terms()
    return Purged(versions=versions, edges=edges, vectors=vectors, terms=dropped, images=pictures)


def _drop_orphan_terms(db: apsw.Connection, term_ids: set[int]) -> int:
    """Words that no document holds any more leave the dictionary."""
    dropped = 0
    for number in term_ids:
        if not db.execute("SELECT 1 FROM fts WHERE fts MATCH ? LIMIT 1", (f'"{number}"',)).get:
            db.execute("DELETE FROM terms WHERE id=?", (number,))
            dropped += db.changes()
    return dropped


def erase(db: apsw.Connection, *, vacuum: bool) -> bool:
    """Clear what deletion left on free pages and in the write-ahead log. False while that could not be done completely:
    a reader still needs the log, or the rewrite of a large file was put off (`vacuum=False`)."""
    if vacuum:
        db.execute("INSERT INTO fts(fts) VALUES('optimize')")
        db.execute("VACUUM")
    busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    done = vacuum and not busy
    if done:
        db.execute("DELETE FROM meta WHERE key=?", (UNERASED,))
    return done


def erase_left_over(db: apsw.Connection) -> None:
    """Finish what a crash between a deletion and its `erase` has left."""
    if db.execute("SELECT 1 FROM meta WHERE key=?", (UNERASED,)).get:
        erase(db, vacuum=True)
