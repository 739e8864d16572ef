"""The lanes of the task queue: which one is next. Kept in step with the tasks inside each transaction, so that a lease looks at
a few index entries however many tasks and lanes there are.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import apsw

_DUE_BATCH = 256

_HEAD = "SELECT seq, user, kind, priority, available_at, state FROM tasks WHERE lane=? AND state<2 ORDER BY seq LIMIT 1"
_PUT = "INSERT OR REPLACE INTO lanes(lane, head, user, kind, priority, state, due, token) VALUES(?, ?, ?, ?, ?, ?, ?, NULL)"
_NEXT = "SELECT priority, served, oldest, user FROM turns WHERE kind=? ORDER BY priority DESC, served, oldest LIMIT 1"
_OLDEST = "SELECT min(head) FROM lanes WHERE state=0 AND kind=? AND priority=? AND user=?"
_READY, _DELAYED, _LEASED = 0, 1, 2
_CLOCK = "queue_clock"  # in `meta`: when a delay or lease was last given, µs
_NUDGE = 1_000_000  # µs by which clocks are put right all the time


class Lanes:
    """The lanes within one transaction at `now` (µs)."""

    def __init__(self, db: apsw.Connection, now: int) -> None:
        self._db, self._now = db, now
        self._stale: dict[tuple[str, str, int], None] = {}  # user, kind, priority whose turn must be looked at again
        self._clock = int(db.execute("SELECT value FROM meta WHERE key=?", (_CLOCK,)).get or 0)
        if self._clock - now > _NUDGE:
            self._put_back(self._clock - now)

    def _put_back(self, by: int) -> None:
        """The clock was put back: delays and leases are moved with it, or they would last until the old time has come again."""
        self._db.execute(
            "UPDATE tasks SET available_at=available_at-?1 WHERE (state<2)=1 AND state<2 AND available_at>?2",
            (by, self._now),
        )
        self._db.execute("UPDATE lanes SET due=due-? WHERE state>0", (by,))
        self._clock = 0
        self._timed()

    def _timed(self) -> None:
        """A delay or lease is given by this clock."""
        if self._now > self._clock:
            self._db.execute("INSERT OR REPLACE INTO meta(key, value) VALUES(?, ?)", (_CLOCK, str(self._now)))
            self._clock = self._now

    def appended(self, lane: str, seq: int, user: str, kind: str, priority: int, available_at: int) -> None:
        """A task was put at the end of a lane: when it is the only one, it is the lane's first."""
        self._timed()
        if self._db.execute("SELECT 1 FROM lanes WHERE lane=?", (lane,)).get is None:
            self._put(lane, seq, user, kind, priority, available_at)

    def changed(self, lane: str) -> None:
        """Tasks of a lane were settled, moved or taken out: look at its first task again."""
        self._left(lane)
        head: Any = self._db.execute(_HEAD, (lane,)).fetchone()
        if head is None:
            self._db.execute("DELETE FROM lanes WHERE lane=?", (lane,))
        elif not head[-1]:  # the first one in progress: the lane is leased, and stays so
            self._put(lane, *head[:-1])

    def _put(self, lane: str, seq: int, user: str, kind: str, priority: int, available_at: int) -> None:
        self._timed()
        state = _READY if available_at <= self._now else _DELAYED
        self._db.execute(_PUT, (lane, seq, user, kind, priority, state, available_at))
        if state == _READY:
            self._stale[user, kind, priority] = None

    def _left(self, lane: str) -> None:
        """A ready lane will not be what it was."""
        turn: Any = self._db.execute(
            "SELECT user, kind, priority FROM lanes WHERE lane=? AND state=0", (lane,)
        ).fetchone()
        if turn is not None:
            self._stale[turn] = None

    def due(self) -> list[tuple[str, bool]]:
        """Some lanes whose delay or lease (True) has run out. The caller gives their tasks back and calls `changed`."""
        found: list[Any] = self._db.execute(
            "SELECT lane, state FROM lanes WHERE state>0 AND due<=? ORDER BY due LIMIT ?", (self._now, _DUE_BATCH)
        ).fetchall()
        return [(lane, state == _LEASED) for lane, state in found]

    def next(self, kinds: Collection[str]) -> str | None:
        """The lane whose turn it is."""
        self.settle()
        found: list[tuple[int, int, int, str, str]] = []
        for kind in kinds:
            row: Any = self._db.execute(_NEXT, (kind,)).fetchone()
            if row is not None:
                found.append((-row[0], row[1], row[2], row[3], kind))
        if not found:
            return None
        priority, _, _, user, kind = min(found)
        lane: str = self._db.execute(
            "SELECT lane FROM lanes WHERE state=0 AND kind=? AND priority=? AND user=? ORDER BY head LIMIT 1",
            (kind, -priority, user),
        ).get
        return lane

    def lease(self, lane: str, user: str, token: str, until: int) -> None:
        """Give a ready lane to a worker; its user was served."""
        self._timed()
        self._left(lane)
        self._db.execute("UPDATE lanes SET state=2, token=?, due=? WHERE lane=?", (token, until, lane))
        last = self._db.execute("SELECT max(at) FROM served").get or 0
        served = max(self._now, last + 1)
        self._db.execute("INSERT OR REPLACE INTO served(user, at) VALUES(?, ?)", (user, served))
        self._db.execute("UPDATE turns SET served=? WHERE user=?", (served, user))
        self.settle()

    def holds(self, lane: str, token: str) -> bool:
        """Whether a lease still holds."""
        sql = "SELECT 1 FROM lanes WHERE lane=? AND token=? AND due>?"
        return self._db.execute(sql, (lane, token, self._now)).get is not None

    def extend(self, lane: str, until: int) -> None:
        """Move the end of a lease that holds."""
        self._timed()
        self._db.execute("UPDATE lanes SET due=? WHERE lane=?", (until, lane))

    def settle(self) -> None:
        """Bring the turns in step with the lanes. The last call of every transaction."""
        stale, self._stale = self._stale, {}
        for user, kind, priority in stale:
            oldest = self._db.execute(_OLDEST, (kind, priority, user)).get
            if oldest is None:
                self._db.execute("DELETE FROM turns WHERE user=? AND kind=? AND priority=?", (user, kind, priority))
                continue
            self._db.execute(
                "INSERT OR REPLACE INTO turns(user, kind, priority, served, oldest) "
                "VALUES(?1, ?2, ?3, coalesce((SELECT at FROM served WHERE user=?1), 0), ?4)",
                (user, kind, priority, oldest),
            )
