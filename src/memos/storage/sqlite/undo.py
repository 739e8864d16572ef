"""Undo: the last change that touched a memory is reverted as a whole, by adding versions, never by removing them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memos.errors import Conflict, NotFound
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.model import Memory, Status
from memos.storage.sqlite import rows

if TYPE_CHECKING:
    from memos.storage.sqlite.tx import SqliteTx


def undo_last(tx: SqliteTx, id: str) -> list[Memory]:
    """Revert the last change of memory `id`: what it added is retracted, what it changed gets its former content back,
    edges it opened are closed and edges it closed are opened again.

    Raises NotFound for an unknown id, and Conflict when something the change touched was changed again since.
    """
    change = tx.db.execute(
        "SELECT change FROM memories WHERE id=? ORDER BY version DESC LIMIT 1", (id_to_bytes(id),)
    ).get
    if change is None:
        raise NotFound(f"memory {id} does not exist in this cube")
    touched: list[Any] = tx.db.execute(
        "SELECT id, min(version), max(version) FROM memories WHERE change=? GROUP BY id ORDER BY min(n)", (change,)
    ).fetchall()
    out = []
    for ident, first, last in touched:
        out.append(_revert(tx, ident, first, last))
    _revert_edges(tx, change)
    return out


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
    closed = tx.db.execute(f"SELECT {rows.EDGE_COLUMNS} FROM edges e WHERE e.closed=?", (change,)).fetchall()
    tx.db.execute(
        "UPDATE edges SET known_to=?, closed=? WHERE opened=? AND known_to IS NULL", (tx.now_us, tx.change_id, change)
    )
    for row in closed:
        tx.link(rows.edge_from_row(row))
