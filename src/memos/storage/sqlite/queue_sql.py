"""Tasks as rows of the control file, and the questions about them: which match, how many, how they are doing."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import apsw

from memos.errors import InvalidInput
from memos.memory.ids import id_from_bytes, id_to_bytes, is_id
from memos.memory.model import EMPTY
from memos.memory.time import from_micros
from memos.storage.tasks import KindStats, NewTask, Task, TaskPage, TaskQuery, TaskState

STATES = (TaskState.WAITING, TaskState.IN_PROGRESS, TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELLED)
CODES = {state: code for code, state in enumerate(STATES)}
COLUMNS = (
    "id, kind, user, lane, cube, payload, caller_id, priority, state, attempts, max_attempts, "
    "enqueued_at, available_at, started_at, finished_at, progress, error, worker, result"
)
INSERT = (
    "INSERT INTO tasks(id, kind, user, lane, cube, payload, key, caller_id, priority, max_attempts, enqueued_at, available_at) "
    f"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq, {COLUMNS}"
)
ERROR_LENGTH = 500
_MOST = 1 << 53
_HOUR, _MINUTE = 3_600_000_000, 60_000_000
_LATENCIES = 1_000


@dataclass(frozen=True, slots=True)
class Row:
    """A new task whose values were checked, as they are stored."""

    id: bytes
    kind: str
    user: str
    lane: str
    cube: str | None
    payload: str | None
    key: str | None
    merge: bool
    admitted: bool
    caller_id: str | None
    priority: int
    max_attempts: int
    delay_us: int

    def values(self, now: int) -> tuple[Any, ...]:
        """The parameters of `INSERT`."""
        return (
            self.id, self.kind, self.user, self.lane, self.cube, self.payload, self.key, self.caller_id, self.priority,
            self.max_attempts, now, now + self.delay_us,
        )  # fmt: skip


def to_row(task: NewTask) -> Row:
    """Check a new task. Raises InvalidInput."""
    for text in (task.kind, task.user, task.lane, task.cube or "", task.key or "", task.caller_id or ""):
        if not is_text(text):
            raise InvalidInput(f"a task's names must be texts without half characters, got {text!r}")
    if not 1 <= task.max_attempts < _MOST or not -_MOST < task.priority < _MOST:
        raise InvalidInput(f"max_attempts {task.max_attempts} or priority {task.priority} of a task is out of range")
    return Row(
        id_to_bytes(task.id), task.kind, task.user, task.lane, task.cube, encoded(task.payload, "payload"), task.key,
        task.merge, task.admitted, task.caller_id, task.priority, task.max_attempts, micros(task.delay, "delay"),
    )  # fmt: skip


def is_text(value: object) -> bool:
    """Whether something can be a name: a text without half characters (lone surrogates)."""
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def encoded(value: Mapping[str, Any], what: str) -> str | None:
    """JSON of a payload or result, None when it is empty. Raises InvalidInput."""
    if not value:
        return None
    try:
        return json.dumps(dict(value), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidInput(f"the {what} of a task cannot be written as JSON ({e})") from None


def micros(seconds: float, what: str) -> int:
    """A duration in µs, 0 when it is negative. Raises InvalidInput when it is no number or longer than 100 years."""
    if not seconds < 3.2e9:
        raise InvalidInput(f"{what} must be a number of seconds, at most 100 years, got {seconds!r}")
    return max(0, round(seconds * 1_000_000))


def cut(error: str | None) -> str | None:
    """The reason of a failure as it is kept."""
    return None if error is None else error[:ERROR_LENGTH].encode(errors="replace").decode()


def to_task(row: Sequence[Any]) -> Task:
    """A row of `COLUMNS`."""
    (
        id, kind, user, lane, cube, payload, caller_id, priority, state, attempts, max_attempts,
        enqueued_at, available_at, started_at, finished_at, progress, error, worker, result,
    ) = row  # fmt: skip
    return Task(
        id_from_bytes(id), kind, user, lane, cube, json.loads(payload) if payload else EMPTY, caller_id, priority,
        STATES[state], attempts, max_attempts, from_micros(enqueued_at), from_micros(available_at),
        _instant(started_at), _instant(finished_at), progress, error, worker, json.loads(result) if result else EMPTY,
    )  # fmt: skip


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def hexes(ids: Iterable[str]) -> str:
    """Ids as a parameter of `json_each`; what is no id is nobody's."""
    return json.dumps([i.replace("-", "") for i in ids if is_id(i)])


def matching(
    query: TaskQuery, ids: Collection[str] | None = None, states: Collection[TaskState] | None = None
) -> tuple[str, list[Any]]:
    """A condition on `tasks` and its parameters; `states` are the only ones that can be meant.

    Only the narrowest restriction may choose the index: the others carry a `+`, which hides their column from the planner.
    """
    terms: list[str] = []
    params: list[Any] = []
    if ids is not None:
        terms.append("id IN (SELECT unhex(value) FROM json_each(?))")
        params.append(hexes(ids))
    for column, value in (("caller_id", query.caller_id), ("cube", query.cube), ("user", query.user)):
        if value is not None:
            terms.append(f"{'+' if terms else ''}{column}=?")
            params.append(value if is_text(value) else None)  # what is no name is nobody's
    if query.kinds is not None:
        terms.append("+kind IN (SELECT value FROM json_each(?))")
        params.append(json.dumps(list(query.kinds)))
    wanted = states if query.states is None else set(query.states) & set(STATES if states is None else states)
    if wanted is not None:
        terms.append(_state_in(sorted(CODES[s] for s in wanted), first=not terms))
    return " AND ".join(terms) or "1", params


def _state_in(codes: list[int], *, first: bool) -> str:
    """One of these states; `first`: nothing else chooses the index."""
    if not codes:
        return "0"
    column = "state" if first else "+state"
    term = f"{column}={codes[0]}" if len(codes) == 1 else f"{column} IN ({','.join(map(str, codes))})"
    return f"(state<2)=1 AND state<2 AND {term}" if first and codes[-1] < 2 else term


def get(db: apsw.Connection, ids: Sequence[str]) -> list[Task]:
    """The tasks of these ids that exist, in the order asked."""
    sql = f"SELECT {COLUMNS} FROM tasks WHERE id IN (SELECT unhex(value) FROM json_each(?))"
    found = {task.id: task for task in map(to_task, db.execute(sql, (hexes(ids),)).fetchall())}
    return [found[id] for id in map(str.lower, ids) if id in found]


def find(db: apsw.Connection, query: TaskQuery, limit: int, cursor: str | None) -> TaskPage:
    """One page, newest first."""
    where, params = matching(query)
    if cursor is not None:
        where += " AND seq<?"
        params.append(_position(cursor))
    sql = f"SELECT seq, {COLUMNS} FROM tasks WHERE {where} ORDER BY seq DESC LIMIT ?"
    rows: list[Any] = db.execute(sql, (*params, limit + 1)).fetchall()
    more = len(rows) > limit
    return TaskPage(tuple(to_task(row[1:]) for row in rows[:limit]), str(rows[limit - 1][0]) if more else None)


def _position(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise InvalidInput(f"{cursor[:40]!r} is no cursor of a list of tasks; use the one that came with the last page")
    return int(cursor)


def counts(db: apsw.Connection, query: TaskQuery) -> dict[TaskState, int]:
    """How many match, by state."""
    if query.cube is None and query.caller_id is None:
        where, params = matching(query)
        sql = f"SELECT state, sum(n) FROM {'totals' if query.user is None else 'tallies'} WHERE {where} GROUP BY state"
    else:
        where, params = matching(query)
        sql = f"SELECT state, count(*) FROM tasks WHERE {where} GROUP BY +state"
    rows: list[Any] = db.execute(sql, params).fetchall()
    found: dict[int, int] = dict(rows)
    return {state: found.get(code, 0) for state, code in CODES.items()}


def live(db: apsw.Connection, user: str) -> tuple[int, int]:
    """How many live tasks a user has, and all users together."""
    found: Any = db.execute(
        "SELECT (SELECT coalesce(sum(n), 0) FROM tallies WHERE user=? AND state<2), "
        "(SELECT coalesce(sum(n), 0) FROM totals WHERE state<2)",
        (user,),
    ).fetchone()
    return found[0], found[1]


def stats(db: apsw.Connection, now: int) -> dict[str, KindStats]:
    """Depth, age, throughput and latency by kind."""
    depth: dict[str, list[int]] = {}
    rows: list[Any] = db.execute("SELECT kind, state, n FROM totals WHERE n>0").fetchall()
    for kind, state, n in rows:
        depth.setdefault(kind, [0] * len(STATES))[state] = n
    ages: list[Any] = db.execute("SELECT kind, min(enqueued_at) FROM tasks WHERE state=0 GROUP BY kind").fetchall()
    oldest: dict[str, int] = dict(ages)
    made = {}
    for kind, numbers in depth.items():
        age = max(0, now - oldest[kind]) / 1e6 if kind in oldest else 0.0
        latencies = _latencies(db, kind, now)
        p50, p95 = _percentile(latencies, 0.5), _percentile(latencies, 0.95)
        waiting, in_progress, completed, failed, cancelled = numbers
        made[kind] = KindStats(
            waiting, in_progress, completed, failed, cancelled, age, _last_minute(db, kind, now), p50, p95
        )
    return made


def _last_minute(db: apsw.Connection, kind: str, now: int) -> int:
    sql = "SELECT count(*) FROM tasks WHERE state IN (2,4) AND state=2 AND kind=? AND finished_at>?"
    return int(db.execute(sql, (kind, now - _MINUTE)).get)


def _latencies(db: apsw.Connection, kind: str, now: int) -> list[float]:
    sql = (
        "SELECT finished_at - enqueued_at FROM tasks WHERE state IN (2,4) AND state=2 AND kind=? AND finished_at>? "
        "ORDER BY finished_at DESC LIMIT ?"
    )
    rows: list[Any] = db.execute(sql, (kind, now - _HOUR, _LATENCIES)).fetchall()
    return sorted(max(0, took) / 1e6 for (took,) in rows)


def _percentile(values: list[float], part: float) -> float:
    return values[math.ceil(part * len(values)) - 1] if values else 0.0
