"""What a cube keeps beside its memories: how often each was shown, and the working set of the sessions that were asked about.

Outside the two clocks, and nothing rests on it: it holds ids and numbers, never a text, and goes with a hard deletion (law 1).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from memos.memory.filter import Filter
from memos.memory.ids import id_from_bytes, id_to_bytes
from memos.memory.time import from_micros, to_micros
from memos.storage.ports import NOW, Change, View, WriteTx
from memos.storage.sqlite import reads

T = TypeVar("T")
SESSIONS_KEPT = 64  # working sets of a cube; the ones asked for longest ago go


@dataclass(frozen=True, slots=True)
class Shown:
    """How often searches and context blocks showed a memory, and when the last time was."""

    times: int
    last: datetime


@dataclass(frozen=True, slots=True)
class Kept:
    """One memory of a kept working set: its id, how well it fits (0 to 1), and by what it was found."""

    id: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class KeptSet:
    """The working set of a session: when it was chosen, after which message, and what was chosen."""

    session: str
    made_at: datetime
    upto: str | None
    items: tuple[Kept, ...]


class Upkept:
    """The part of `SqliteCube` that reads and writes these."""

    async def write(self, fn: Callable[[WriteTx], T], change: Change = Change()) -> T:
        """See `SqliteCube`."""
        raise NotImplementedError

    async def _read(self, fn: Callable[[apsw.Connection], T]) -> T:
        raise NotImplementedError

    async def count_uses(self, uses: Mapping[str, Shown]) -> None:
        """Add to how often memories were shown, in one change. Ids that are gone are left out."""

        def apply(tx: Any) -> None:
            for id, shown in uses.items():
                tx.db.execute(_COUNT, (id_to_bytes(id), shown.times, to_micros(shown.last)))

        if uses:
            await self.write(apply, Change(actor="upkeep", cause="uses"))

    async def uses(self, ids: Collection[str]) -> dict[str, Shown]:
        """How often these memories were shown; those that never were are left out."""
        wanted = json.dumps([id_to_bytes(i).hex() for i in ids])

        def read(db: apsw.Connection) -> dict[str, Shown]:
            found = db.execute(
                "SELECT id, n, last FROM uses WHERE id IN (SELECT unhex(value) FROM json_each(?))", (wanted,)
            )
            return {id_from_bytes(id): Shown(n, from_micros(last)) for id, n, last in found}

        return await self._read(read)

    async def working_set(self, session: str) -> KeptSet | None:
        """The working set kept for a session; None where nobody ever asked for one."""
        found = await self._read(
            lambda db: db.execute("SELECT made_at, upto, items FROM working WHERE session=?", (session,)).fetchone()
        )
        if found is None:
            return None
        made, upto, items = found
        last = None if upto is None else id_from_bytes(upto)
        return KeptSet(session, from_micros(made), last, tuple(Kept(*i) for i in json.loads(items)))

    async def keep_working_set(self, new: KeptSet, *, asked: bool) -> None:
        """Keep a working set. `asked`: somebody asks now; otherwise only one that is kept is replaced. Items whose memory is gone
        meanwhile are left out, and nothing is kept of a session whose last message is.
        """

        def apply(tx: Any) -> None:
            if new.upto is None or tx.get(new.upto) is None:
                return
            there = [i for i in new.items if tx.get(i.id) is not None]
            listed = json.dumps([[i.id, i.score, i.reason] for i in there])
            values = (new.session, to_micros(new.made_at), id_to_bytes(new.upto), listed)
            if asked:
                tx.db.execute(_KEEP, values)
                tx.db.execute(_TRIM, (SESSIONS_KEPT,))
            else:
                tx.db.execute("UPDATE working SET made_at=?2, upto=?3, items=?4 WHERE session=?1", values)

        await self.write(apply, Change(actor="upkeep", cause="working"))

    async def kept_sessions(self, ids: Collection[str] | None = None) -> list[str]:
        """The sessions whose working set is kept: all, or those that these memories belong to."""

        def read(db: apsw.Connection) -> list[str]:
            if not db.execute("SELECT EXISTS(SELECT 1 FROM working)").get:
                return []
            if ids is None:
                return [str(s) for (s,) in db.execute("SELECT session FROM working ORDER BY session")]
            wanted = json.dumps([id_to_bytes(i).hex() for i in ids])
            return [str(s) for (s,) in db.execute(_SESSIONS_OF, (wanted,))]

        return await self._read(read)

    async def last_session(self) -> str | None:
        """The session of the raw record that was stored last; None in a cube without any."""
        found: str | None = await self._read(lambda db: db.execute(_LAST_SESSION).get)
        return found

    async def vectors(self, model: str) -> tuple[list[str], NDArray[np.float32]]:
        """The ids of the active memories that have a vector of a model, and these, one a row."""

        def read(db: apsw.Connection) -> tuple[list[str], NDArray[np.float32]]:
            dim = int(db.execute("SELECT dim FROM models WHERE name=?", (model,)).get or 0)
            found: list[Any] = db.execute(_VECTORS, (model,)).fetchall()
            data = np.frombuffer(b"".join(row[1] for row in found), "<f2").reshape(len(found), dim)
            return [id_from_bytes(row[0]) for row in found], data.astype(np.float32)

        return await self._read(read)

    async def text_bytes(self, where: Filter | None = None, *, view: View = NOW) -> int:
        """How many bytes (UTF-8) the texts of these memories have together."""
        return await self._read(lambda db: reads.text_bytes(db, where, view))

    async def newest_row(self) -> int:
        """A number that grows with every version of a memory that is stored."""
        return (await self._read(reads.newest))[0]

    async def newest_record(self) -> datetime | None:
        """When the last memory was recorded, by the clock of then; None in an empty cube."""
        found: int | None = await self._read(lambda db: db.execute("SELECT max(recorded_at) FROM memories").get)
        return None if found is None else from_micros(found)


_COUNT = (
    "INSERT OR REPLACE INTO uses(id, n, last) SELECT ?1, ?2 + coalesce((SELECT n FROM uses WHERE id=?1), 0), "
    "max(?3, coalesce((SELECT last FROM uses WHERE id=?1), 0)) WHERE EXISTS(SELECT 1 FROM memories WHERE id=?1)"
)
_VECTORS = (
    "SELECT m.id, v.data FROM vectors v JOIN models k ON k.m=v.m AND k.name=? "
    "JOIN memories m ON m.t=v.t AND m.known_to IS NULL AND m.status='active' ORDER BY m.id"
)
_KEEP = (
    "INSERT INTO working(session, asked_at, made_at, upto, items) VALUES(?1, ?2, ?2, ?3, ?4) ON CONFLICT DO UPDATE "
    "SET asked_at=excluded.asked_at, made_at=excluded.made_at, upto=excluded.upto, items=excluded.items"
)
_TRIM = "DELETE FROM working WHERE session NOT IN (SELECT session FROM working ORDER BY asked_at DESC, session LIMIT ?)"
_SESSIONS_OF = (
    "SELECT session FROM working WHERE session IN (SELECT m.session FROM json_each(?) j "
    "JOIN memories m ON m.id=unhex(j.value) AND m.known_to IS NULL) ORDER BY session"
)
_LAST_SESSION = (
    "SELECT session FROM memories WHERE known_to IS NULL AND layer='trace' AND session IS NOT NULL AND status<>'retracted' "
    "ORDER BY id DESC LIMIT 1"
)


def forget(db: apsw.Connection, doomed: Collection[bytes]) -> None:
    """Take hard-deleted memories out of what is kept. Called before they are deleted, in the same change; a session of which
    nothing stays is not named any more either.
    """
    for ident in doomed:
        db.execute("DELETE FROM uses WHERE id=?", (ident,))
    kept: list[Any] = db.execute("SELECT session, upto, items FROM working").fetchall()
    if not kept:
        return
    gone = {id_from_bytes(ident) for ident in doomed}
    for session, upto, items in kept:
        left = [item for item in json.loads(items) if item[0] not in gone]
        stays = db.execute("SELECT id FROM memories WHERE session=? AND known_to IS NULL", (session,))
        if all(ident in doomed for (ident,) in stays):
            db.execute("DELETE FROM working WHERE session=?", (session,))
        else:
            last = None if upto in doomed else upto
            db.execute("UPDATE working SET upto=?, items=? WHERE session=?", (last, json.dumps(left), session))
