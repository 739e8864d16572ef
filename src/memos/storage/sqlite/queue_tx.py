"""The changes of the task queue, each within one transaction of the control file. Guards law 2: a task is whole or absent, and
what became of it is written once, by the one worker whose lease holds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

import apsw

from memos.errors import Busy, InvalidInput, LeaseLost
from memos.memory.ids import id_from_bytes, id_to_bytes, new_id
from memos.memory.time import from_micros, to_micros
from memos.storage.ports import Durability
from memos.storage.sqlite.control import wait_in_turn
from memos.storage.sqlite.queue_lanes import Lanes
from memos.storage.sqlite.queue_sql import (
    COLUMNS,
    INSERT,
    Row,
    cut,
    encoded,
    live,
    matching,
    micros,
    to_task,
)
from memos.storage.tasks import MERGE_AMONG, WORKER_STOPPED, Lease, Limits, Outcome, Task, TaskQuery, TaskState, Verdict

RETRY_AFTER = 1.0
BATCH = 2_000  # tasks that one transaction deletes, so that others are not held up
_SERVED_FOR_US = 86_400_000_000
_TWIN = "seq IN (SELECT seq FROM tasks WHERE state=0 AND kind=? AND lane=? ORDER BY enqueued_at DESC LIMIT ?) AND payload IS ?"


class QueueSession:
    """What the changes of one connection have in common. A change's label says whether it must survive a power cut."""

    def __init__(self, db: apsw.Connection, clock: Callable[[], datetime], durability: Durability) -> None:
        self._db, self._clock, self._durability = db, clock, durability
        self._synced = False
        wait_in_turn(db)

    def prepare(self, labels: Sequence[bool]) -> None:
        """Have the commit wait for the disk only when a change asks for it; a killed process loses neither."""
        sync = self._durability == "full" and any(labels)
        if sync != self._synced:
            self._db.execute(f"PRAGMA synchronous={'FULL' if sync else 'NORMAL'}").fetchall()
            self._synced = sync

    def clock(self, after: int) -> int:
        """Now, µs."""
        return to_micros(self._clock())

    def begin(self, now_us: int, label: bool) -> QueueTx:
        """The transaction as one change sees it."""
        return QueueTx(self._db, to_micros(self._clock()))

    def forget(self) -> None:
        """Nothing is kept."""


class QueueTx:
    """One change of the queue at `now` (µs)."""

    def __init__(self, db: apsw.Connection, now: int) -> None:
        self.db, self._now = db, now
        self._lanes = Lanes(db, now)

    def enqueue(self, tasks: Sequence[Row], limits: Limits) -> tuple[list[Task], int]:
        """The tasks that are there now, and how many of them are new."""
        there = [self._there(task) for task in tasks]
        places = _duplicates(tasks, there)
        fresh = [t for i, t in enumerate(tasks) if there[i] is None and places[i] == i]
        self._check_room([t.user for t in fresh if not t.admitted], limits)
        answers: list[Task] = []
        new = 0
        for i, task in enumerate(tasks):
            found = there[i] or (answers[places[i]] if places[i] != i else None)
            if found is None:
                found = self._insert(task)
                new += 1
            answers.append(found)
        self._lanes.settle()
        return answers, new

    def _there(self, task: Row) -> Task | None:
        """The task that takes the place of a new one."""
        found = self._one("id=?", task.id)
        if found is None and task.key is not None:
            found = self._one("kind=? AND key=?", task.kind, task.key)
        if found is None and task.merge:
            found = self._one(_TWIN, task.kind, task.lane, MERGE_AMONG, task.payload)
        return found

    def _one(self, where: str, *params: Any) -> Task | None:
        row: Any = self.db.execute(f"SELECT {COLUMNS} FROM tasks WHERE {where} LIMIT 1", params).fetchone()
        return None if row is None else to_task(row)

    def _check_room(self, users: list[str], limits: Limits) -> None:
        for user, new in Counter(users).items():
            check_room(*live(self.db, user), new, len(users), limits)

    def _insert(self, task: Row) -> Task:
        row: Any = self.db.execute(INSERT, task.values(self._now)).fetchone()
        self._lanes.appended(task.lane, row[0], task.user, task.kind, task.priority, self._now + task.delay_us)
        return to_task(row[1:])

    def lease(self, worker: str, kinds: Collection[str], limit: int, lasts_us: int) -> Lease | None:
        """Take back what ran out, then give out the first tasks of the lane whose turn it is."""
        while True:
            due = self._lanes.due()
            for lane, leased in due:
                if leased:
                    self._take_back(lane)
                self._lanes.changed(lane)
            found = self._lanes.next(kinds)
            if found is not None:
                return self._give(found, worker, limit, lasts_us)
            if not due:
                return None

    def _take_back(self, lane: str) -> None:
        """Of a worker that is lost; what it began counts."""
        last = max((row[0] for row in self._begun(lane)), default=0)
        self.db.execute(
            "UPDATE tasks SET state=CASE WHEN attempts<max_attempts THEN 0 ELSE 3 END, "
            "finished_at=CASE WHEN attempts<max_attempts THEN NULL ELSE ?1 END, progress=0, "
            f"error='its {WORKER_STOPPED} or hung in attempt ' || attempts || ' of ' || max_attempts || ': the lease ran out' "
            "WHERE lane=?2 AND state<2 AND seq<=?3",
            (self._now, lane, last),
        )

    def _begun(self, lane: str) -> list[Any]:
        """The tasks of a lane that are in progress: always its first ones."""
        cursor = self.db.execute(
            "SELECT seq, id, attempts, max_attempts, state FROM tasks WHERE lane=? AND state<2 ORDER BY seq", (lane,)
        )
        begun: list[Any] = list(itertools.takewhile(lambda row: row[-1] == 1, cursor))
        cursor.close(True)  # the rest of the lane is not looked at
        return begun

    def _give(self, lane: str, worker: str, limit: int, lasts_us: int) -> Lease:
        rows: list[Any] = self.db.execute(
            "SELECT seq, kind, user, attempts, available_at FROM tasks WHERE lane=? AND state<2 ORDER BY seq LIMIT ?",
            (lane, limit),
        ).fetchall()
        _, kind, user, begun, _ = rows[0]
        taken = [rows[0][0]]
        for seq, other, _, attempts, available_at in rows[1:]:
            if begun or attempts or other != kind or available_at > self._now:
                break
            taken.append(seq)
        token, until = new_id(), self._now + lasts_us
        given: list[Any] = self.db.execute(
            "UPDATE tasks SET state=1, attempts=attempts+1, started_at=?, worker=? "
            f"WHERE lane=? AND state<2 AND seq<=? RETURNING {COLUMNS}, seq",
            (self._now, worker, lane, taken[-1]),
        ).fetchall()
        self._lanes.lease(lane, user, token, until)
        given.sort(key=lambda row: row[-1])
        return Lease(token, lane, tuple(to_task(row[:-1]) for row in given), from_micros(until))

    def extend(self, lease: Lease, lasts_us: int) -> datetime:
        """Until when the lease holds now."""
        self._check(lease)
        self._lanes.extend(lease.lane, self._now + lasts_us)
        return from_micros(self._now + lasts_us)

    def report(self, lease: Lease, id: str, progress: float) -> None:
        """Note how far a task is."""
        self._check(lease)
        self.db.execute(
            "UPDATE tasks SET progress=? WHERE id=? AND lane=? AND state=1", (progress, id_to_bytes(id), lease.lane)
        )

    def _check(self, lease: Lease) -> None:
        if not self._lanes.holds(lease.lane, lease.token):
            raise LeaseLost(
                "the lease ran out, or its tasks were deleted; do nothing more for them, and extend leases sooner"
            )

    def settle(self, lease: Lease, outcomes: dict[str, Outcome]) -> None:
        """End a lease; tasks without an outcome are released."""
        self._check(lease)
        for seq, raw, attempts, max_attempts, _ in self._begun(lease.lane):
            id = id_from_bytes(raw)
            self._end(seq, outcomes.get(id) or Outcome(id, Verdict.RELEASED), last=attempts >= max_attempts)
        self._lanes.changed(lease.lane)
        self._lanes.settle()

    def _end(self, seq: int, outcome: Outcome, *, last: bool) -> None:
        error, later = cut(outcome.error), self._now + micros(outcome.delay, "delay")
        if outcome.verdict is Verdict.DONE:
            self.db.execute(
                "UPDATE tasks SET state=2, finished_at=?, progress=1, error=NULL, result=? WHERE seq=?",
                (self._now, encoded(outcome.result, "result"), seq),
            )
        elif outcome.verdict is Verdict.DEAD or (outcome.verdict is Verdict.RETRY and last):
            self.db.execute("UPDATE tasks SET state=3, finished_at=?, error=? WHERE seq=?", (self._now, error, seq))
        elif outcome.verdict is Verdict.RETRY:
            sql = "UPDATE tasks SET state=0, progress=0, available_at=?, error=? WHERE seq=?"
            self.db.execute(sql, (later, error, seq))
        else:
            sql = (
                "UPDATE tasks SET state=0, progress=0, available_at=max(available_at, ?), attempts=attempts-1, "
                "started_at=NULL, worker=NULL, error=coalesce(?, error) WHERE seq=?"
            )
            self.db.execute(sql, (later if outcome.delay > 0 else 0, error, seq))

    def retry(self, query: TaskQuery, ids: Collection[str] | None) -> int:
        """Put failed tasks at the end of their lanes."""
        where, params = matching(query, ids, {TaskState.FAILED})
        rows: list[Any] = self.db.execute(f"SELECT seq, lane FROM tasks WHERE {where} ORDER BY seq", params).fetchall()
        for seq, _ in rows:
            self.db.execute(
                "UPDATE tasks SET seq=(SELECT max(seq) FROM tasks)+1, state=0, attempts=0, available_at=?, progress=0, "
                "started_at=NULL, finished_at=NULL, worker=NULL, error=NULL WHERE seq=?",
                (self._now, seq),
            )
        self._changed({lane for _, lane in rows})
        return len(rows)

    def cancel(self, query: TaskQuery, ids: Collection[str] | None) -> int:
        """Take waiting and failed tasks out."""
        where, params = matching(query, ids, {TaskState.WAITING, TaskState.FAILED})
        sql = f"UPDATE tasks SET state=4, finished_at=? WHERE {where} RETURNING lane"
        rows: list[Any] = self.db.execute(sql, (self._now, *params)).fetchall()
        self._changed({lane for (lane,) in rows})
        return len(rows)

    def forget(self, cube: str) -> int:
        """Delete some tasks of a cube; returns how many, less than `BATCH` when none is left."""
        rows: list[Any] = self.db.execute(
            "DELETE FROM tasks WHERE seq IN (SELECT seq FROM tasks WHERE cube=? ORDER BY seq LIMIT ?) RETURNING lane",
            (cube, BATCH),
        ).fetchall()
        self._changed({lane for (lane,) in rows})
        self._drop_zeros()
        return len(rows)

    def prune(self, older_than_us: int) -> int:
        """Delete some tasks that ended long ago; returns how many, less than `BATCH` when none is left."""
        gone, before = 0, self._now - older_than_us
        kinds: list[Any] = self.db.execute("SELECT state, kind FROM totals WHERE state IN (2,4)").fetchall()
        for state, kind in kinds:
            self.db.execute(
                "DELETE FROM tasks WHERE seq IN (SELECT seq FROM tasks "
                "WHERE state IN (2,4) AND state=? AND kind=? AND finished_at<=? LIMIT ?)",
                (state, kind, before, BATCH - gone),
            )
            gone += self.db.changes()
        self._drop_zeros()
        self.db.execute(
            "DELETE FROM served WHERE at<? AND user NOT IN (SELECT user FROM turns)", (self._now - _SERVED_FOR_US,)
        )
        return gone

    def _changed(self, lanes: Collection[str]) -> None:
        for lane in lanes:
            self._lanes.changed(lane)
        self._lanes.settle()

    def _drop_zeros(self) -> None:
        self.db.execute("DELETE FROM tallies WHERE n=0; DELETE FROM totals WHERE n=0").fetchall()


def check_room(mine: int, everybodys: int, my_new: int, all_new: int, limits: Limits) -> None:
    """Raise Busy when so many new tasks are too many beside those that live."""
    if mine + my_new > limits.per_user:
        raise Busy(
            f"{mine} tasks of this user are waiting, at most {limits.per_user} may; try again later", RETRY_AFTER
        )
    if everybodys + all_new > limits.total:
        raise Busy(f"{everybodys} tasks are waiting, at most {limits.total} may; try again later", RETRY_AFTER)


def _duplicates(tasks: Sequence[Row], there: Sequence[Task | None]) -> list[int]:
    """For each task the place of the one in the same call that it is the same as, or its own."""
    keys: dict[tuple[str, str], int] = {}
    lanes: dict[tuple[str, str, str | None], int] = {}
    ids: dict[bytes, int] = {}
    places = []
    for i, task in enumerate(tasks):
        place = i
        if there[i] is None:
            key = None if task.key is None else (task.kind, task.key)
            same = [ids.get(task.id), keys.get(key) if key else None, lanes.get((task.kind, task.lane, task.payload))]
            place = next((p for p in (same if task.merge else same[:2]) if p is not None), i)
            if place == i:
                ids[task.id] = i
                lanes.setdefault((task.kind, task.lane, task.payload), i)
                if key:
                    keys[key] = i
        places.append(place)
    return places


def outcomes_of(lease: Lease, outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    """Outcomes by id. Raises InvalidInput for one that is of no task of the lease, or cannot be kept."""
    mine = {t.id for t in lease.tasks}
    for outcome in outcomes:
        if outcome.id not in mine:
            raise InvalidInput(
                f"task {outcome.id!r} is not in this lease; settle each task with the lease it came with"
            )
        encoded(outcome.result, "result")
        micros(outcome.delay, "delay")
    return {o.id: o for o in outcomes}
