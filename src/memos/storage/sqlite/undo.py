"""Undo: the last change that touched a memory is reverted as a whole, by adding versions, never by removing them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memos.errors import Conflict, NotFound
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import Layer, Memory, Status
from memos.memory.time import to_micros
from memos.storage.sqlite import rows

if TYPE_CHECKING:
    from memos.storage.sqlite.tx import SqliteTx


def undo_last(tx: SqliteTx, id: str) -> list[Memory]:
    """Revert the last change of memory `id`: what it added is retracted, what it changed gets its former content back,
    edges it opened are closed and edges it closed are opened again.

    Raises NotFound for an unknown id, and Conflict when something the change touched, or what that was read from, was
    changed again since.
    """
    change = _last_change(tx, id)
    touched: list[Any] = tx.db.execute(
        "SELECT id, min(version), max(version) FROM memories WHERE change=? GROUP BY id ORDER BY min(n)", (change,)
    ).fetchall()
    out = []
    for ident, first, last in touched:
        out.append(_revert(tx, ident, first, last))
    _revert_edges(tx, change)
    return out


def changed_with(tx: SqliteTx, id: str) -> list[str]:
    """The memories that the last change of memory `id` touched, which `undo_last` would revert. Raises NotFound."""
    found = tx.db.execute("SELECT DISTINCT id FROM memories WHERE change=?", (_last_change(tx, id),))
    return [id_from_bytes(ident) for (ident,) in found]


def _last_change(tx: SqliteTx, id: str) -> bytes:
    change: bytes | None = tx.db.execute(
        "SELECT change FROM memories WHERE id=? ORDER BY version DESC LIMIT 1", (id_to_bytes(id),)
    ).get
    if change is None:
        raise NotFound(f"memory {id} does not exist in this cube")
    return change


def _revert(tx: SqliteTx, ident: bytes, first: int, last: int) -> Memory:
    current = tx.get(id_from_bytes(ident))
    assert current is not None
    if current.version != last:
        raise Conflict(f"memory {current.id} was changed again after that change; undo its later change first")
    if first == 1:
        return tx.put(replace(current, status=Status.RETRACTED, retracted_at=tx.now), "undo")
    row = tx.db.execute(
        f"SELECT {rows.SELECT} FROM memories m WHERE m.id=? AND m.version=?", (ident, first - 1)
    ).fetchone()
    if row is None:
        raise Conflict(f"the former version of memory {current.id} is not kept any more; it cannot be undone")
    former = rows.memory_from_row(row)
    return tx.put(replace(former, version=current.version), "undo")


def _revert_edges(tx: SqliteTx, change: bytes) -> None:
    closed: list[Any] = tx.db.execute(f"SELECT {rows.EDGE_COLUMNS} FROM edges e WHERE e.closed=?", (change,)).fetchall()
    tx.db.execute(
        "UPDATE edges SET known_to=?, closed=? WHERE opened=? AND known_to IS NULL", (tx.now_us, tx.change_id, change)
    )
    for row in closed:
        edge = rows.edge_from_row(row)
        for end in (edge.src, edge.dst):
            _check_says_the_same(tx, end, edge.known_to)
        tx.unlink(edge.src, edge.dst, edge.type, edge.predicate)  # opened anew meanwhile: it stands from now on
        tx.link(edge)


def _check_says_the_same(tx: SqliteTx, id: str, when: datetime | None) -> None:
    """What was read from a record before `when` is not brought back when the record says something else now, or nothing."""
    now = tx.get(id)
    if now is None or now.layer is not Layer.TRACE or when is None:
        return
    then: str | None = tx.db.execute(
        "SELECT text FROM memories WHERE id=? AND known_from<? ORDER BY version DESC LIMIT 1",
        (id_to_bytes(id), to_micros(when)),
    ).get
    if now.status is Status.RETRACTED or (then is not None and then != now.text):
        raise Conflict(f"memory {id}, which that change rests on, was changed or taken back since; undo that first")
