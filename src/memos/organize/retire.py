"""Taking a whole cube back under a name, and bringing back exactly that. Nothing is deleted: law 2.

What was retired is retracted, each memory marked with the name, in one change, so that recovering is the undo of it.
"""

from __future__ import annotations

from dataclasses import replace

from memos.errors import NotFound
from memos.memory.filter import Compare, Field, Filter, Op
from memos.memory.model import Memory, Status
from memos.organize.forget import undo
from memos.storage.ports import Change, CubeStore, View, WriteTx

PAGE = 1_000
MARK = "retired_by"  # in a memory's body
_STANDING = View(statuses=frozenset(Status) - {Status.RETRACTED})
_GONE = View(statuses=frozenset({Status.RETRACTED}))


async def retire(store: CubeStore, name: str, change: Change) -> int:
    """Retract every memory of a cube that stands, under a name; returns how many."""
    ids = [m.id for m in await _all(store, None, _STANDING)]

    def apply(tx: WriteTx) -> int:
        count = 0
        for id in ids:
            memory = tx.get(id)
            if memory is not None and memory.status is not Status.RETRACTED:
                tx.put(_retired(memory, name, tx), "retract")
                count += 1
        return count

    return await store.write(apply, change) if ids else 0


async def recover(store: CubeStore, name: str, change: Change) -> int:
    """Bring back what was retired under a name, as it was; returns how many memories. Raises NotFound when there is
    nothing under that name, and Conflict when some of it was changed since.
    """
    ids = [m.id for m in await _all(store, retired_by(name), _GONE)]
    if not ids:
        raise NotFound(f"nothing was deleted under the record {name!r} in this cube, or it was recovered already")

    def apply(tx: WriteTx) -> int:
        back = 0
        for id in ids:
            memory = tx.get(id)
            if memory is not None and memory.status is Status.RETRACTED and memory.body.get(MARK) == name:
                back += sum(m.status is not Status.RETRACTED for m in undo(tx, id))
        return back

    return await store.write(apply, change)


def retired_by(name: str) -> Filter:
    """The filter that finds what was retired under a name (among what is not active)."""
    return Compare(Field("body", (MARK,)), Op.EQ, name)


def _retired(memory: Memory, name: str, tx: WriteTx) -> Memory:
    return replace(memory, status=Status.RETRACTED, retracted_at=tx.now, body={**memory.body, MARK: name})


async def _all(store: CubeStore, where: Filter | None, view: View) -> list[Memory]:
    out: list[Memory] = []
    cursor: str | None = None
    while True:
        page = await store.list(where, view=view, limit=PAGE, cursor=cursor)
        out += page.items
        cursor = page.cursor
        if cursor is None:
            return out
