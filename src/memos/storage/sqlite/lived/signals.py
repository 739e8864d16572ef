"""What was said of an episode's outcome."""

from __future__ import annotations

from typing import Any

import apsw

from memos.memory.episode import Signal, SignalSource
from memos.memory.ids import id_from_bytes, id_to_bytes, unique_key
from memos.memory.time import from_micros, to_micros
from memos.storage.sqlite.lived.rows_read import blob, number_of


def add_signal(tx: Any, episode: str, signal: Signal, key: str) -> bool:
    """Keep a piece of evidence; `key`: what makes it the same again, within its episode. False when it was there: a new score
    takes the place of the former.
    """
    digest = unique_key(episode, key)
    there = tx.db.execute("SELECT 1 FROM signals WHERE key=?", (digest,)).get is not None
    values = (signal.source.value, signal.what, signal.score, to_micros(signal.at), blob(signal.memory))
    tx.db.execute(
        "INSERT INTO signals(episode, source, what, score, at, id, key) VALUES(?,?,?,?,?,?,?) ON CONFLICT(key) DO UPDATE SET "
        "source=excluded.source, what=excluded.what, score=excluded.score, at=excluded.at, id=excluded.id",
        (number_of(tx.db, episode), *values, digest),
    )
    return not there


def signals(db: apsw.Connection, id: str) -> list[Signal]:
    """What was said of an episode's outcome, in order, without what was taken back."""
    found = db.execute(
        "SELECT source, what, score, at, id FROM signals s WHERE episode=(SELECT e FROM episodes WHERE id=?) AND NOT EXISTS "
        "(SELECT 1 FROM memories m WHERE m.id=s.id AND m.known_to IS NULL AND m.status='retracted') ORDER BY n",
        (id_to_bytes(id),),
    )
    return [
        Signal(SignalSource(source), what, score, from_micros(at), None if m is None else id_from_bytes(m))
        for source, what, score, at, m in found
    ]


def has_verdict(db: apsw.Connection, id: str) -> bool:
    """Whether somebody said how an episode went."""
    sql = "SELECT 1 FROM signals WHERE episode=(SELECT e FROM episodes WHERE id=?) AND source IN ('user','verifier') LIMIT 1"
    return db.execute(sql, (id_to_bytes(id),)).get is not None


def signal_under(db: apsw.Connection, episode: str, key: str) -> Signal | None:
    """The signal that `add_signal` kept under this key."""
    found: Any = db.execute(
        "SELECT source, what, score, at, id FROM signals WHERE key=?",
        (unique_key(episode, key),),
    ).fetchone()
    if found is None:
        return None
    source, what, score, at, memory = found
    said = None if memory is None else id_from_bytes(memory)
    return Signal(SignalSource(source), what, score, from_micros(at), said)
