"""What a deletion or a retraction does to these tables."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from memos.memory.ids import id_to_bytes

LEARNED_ANEW = 64  # episodes that are learned from again when what they teach is deleted


def forget(db: apsw.Connection, idents: Collection[bytes]) -> None:
    """Take hard-deleted memories out of all tables. An episode without any step goes too; one that lost some is learned from
    again, as is one of which an opinion is gone.
    """
    for ident in idents:
        e = db.execute("SELECT episode FROM steps WHERE id=?", (ident,)).get
        db.execute("DELETE FROM steps WHERE id=?", (ident,))
        db.execute(
            "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE closed_at IS NOT NULL "
            "AND e IN (SELECT episode FROM signals WHERE id=?)",
            (ident,),
        )
        db.execute("DELETE FROM signals WHERE id=?", (ident,))
        db.execute("DELETE FROM trials WHERE memory=?", (ident,))
        learn_anew(db, ident)
        db.execute("UPDATE lessons SET memory=NULL WHERE memory=?", (ident,))
        db.execute("DELETE FROM learned WHERE memory=?", (ident,))
        for column in ("memory", "prefer", "avoid"):
            db.execute(f"DELETE FROM hints WHERE {column}=?", (ident,))
        if e is None:
            continue
        if db.execute("SELECT 1 FROM steps WHERE episode=? LIMIT 1", (e,)).get is None:
            _drop(db, e)
        else:
            db.execute(
                "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE e=? AND closed_at IS NOT NULL", (e,)
            )


def taken_back(db: apsw.Connection, ident: bytes) -> None:
    """A memory was taken back, or came back: the episode of which it is a step, or an opinion, is learned from again, as are the
    newest that teach it.
    """
    db.execute(
        "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE closed_at IS NOT NULL AND e IN "
        "(SELECT episode FROM steps WHERE id=?1 UNION SELECT episode FROM signals WHERE id=?1)",
        (ident,),
    )
    learn_anew(db, ident)


def learn_anew(db: apsw.Connection, ident: bytes, limit: int = LEARNED_ANEW) -> None:
    """The newest episodes that teach a policy are learned from again."""
    db.execute(
        "UPDATE episodes SET due_at=coalesce(due_at, closed_at) WHERE closed_at IS NOT NULL AND e IN "
        "(SELECT DISTINCT episode FROM lessons WHERE memory=? ORDER BY episode DESC LIMIT ?)",
        (ident, limit),
    )


def is_due(db: apsw.Connection, policy: str) -> bool:
    """Whether an episode that teaches a policy is to be learned from again."""
    sql = "SELECT 1 FROM lessons l JOIN episodes e ON e.e=l.episode WHERE l.memory=? AND e.due_at IS NOT NULL LIMIT 1"
    return db.execute(sql, (id_to_bytes(policy),)).get is not None


def _drop(db: apsw.Connection, e: int) -> None:
    id = db.execute("SELECT id FROM episodes WHERE e=?", (e,)).get
    for table in ("signals", "lessons", "hints"):
        db.execute(f"DELETE FROM {table} WHERE episode=?", (e,))
    db.execute("DELETE FROM trials WHERE episode=? AND cube=''", (id,))
    db.execute("DELETE FROM learned WHERE episode=?", (id,))
    db.execute("DELETE FROM episodes WHERE e=?", (e,))
