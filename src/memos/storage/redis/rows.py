"""Tasks as the fields of a Redis hash, and back. `scripts_base` says how they are kept."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memos.errors import InvalidInput
from memos.memory.ids import is_id
from memos.memory.model import EMPTY
from memos.memory.time import from_micros
from memos.storage.tasks import NewTask, Outcome, Task, TaskQuery, TaskState

FIELDS = (
    "id", "kind", "user", "lane", "cube", "payload", "caller", "priority", "state", "attempts", "max", "enqueued",
    "available", "started", "finished", "progress", "error", "worker", "result",
)  # fmt: skip
LONGEST_ERROR = 500
HIGHEST_PRIORITY = 1_000_000
LONGEST_SECONDS = 100 * 366 * 86_400


def checked(text: str) -> str:
    """The same text. Raises InvalidInput for what cannot be written in UTF-8."""
    to_bytes(text)
    return text


def to_bytes(text: str) -> bytes:
    """Text in UTF-8. Raises InvalidInput for what is none."""
    try:
        return text.encode()
    except (UnicodeEncodeError, AttributeError):
        raise InvalidInput(f"{text!r} cannot be stored: it is not text, or has half a character in it") from None


def packed(value: Mapping[str, Any], what: str) -> str:
    """A mapping as JSON. Raises InvalidInput for what JSON does not know."""
    try:
        return json.dumps(dict(value), separators=(",", ":"), allow_nan=False) if value else "{}"
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the {what} of a task must be plain JSON values ({error})") from None


def cut(error: str) -> str:
    """A reason as it is kept: not endless, and text."""
    return error[:LONGEST_ERROR].encode(errors="replace").decode()


def micros(seconds: float) -> int:
    """Whole microseconds, none below zero. Raises InvalidInput for what is no number."""
    if not math.isfinite(seconds) or seconds > LONGEST_SECONDS:
        raise InvalidInput(f"{seconds!r} is not a number of seconds up to {LONGEST_SECONDS:,}")
    return max(0, round(seconds * 1_000_000))


def asked(name: str) -> bytes:
    """A name that is looked for; one that cannot be kept is nobody's."""
    return name.encode(errors="surrogatepass")


def _optional(name: str | None) -> bytes:
    return b"" if name is None else b"=" + asked(name)


def tasks_argument(tasks: Sequence[NewTask]) -> str:
    """New tasks as `ENQUEUE` reads them. Raises InvalidInput for what cannot be kept."""
    return json.dumps([_fields(task) for task in tasks])


def _fields(task: NewTask) -> dict[str, str | int | bool]:
    if not is_id(task.id):
        raise InvalidInput(f"{task.id!r} cannot be the id of a task; ids are UUIDs, leave it out to get one")
    if task.max_attempts < 1:
        raise InvalidInput(f"max_attempts of a task is at least 1, not {task.max_attempts}")
    if abs(task.priority) > HIGHEST_PRIORITY:
        raise InvalidInput(f"the priority of a task is within ±{HIGHEST_PRIORITY:,}, not {task.priority}")
    fields: dict[str, str | int | bool] = {
        "id": task.id.lower(),
        "kind": checked(task.kind),
        "user": checked(task.user),
        "lane": checked(task.lane),
        "payload": packed(task.payload, "payload"),
        "priority": str(task.priority),
        "max": str(task.max_attempts),
        "delay": micros(task.delay),
        "merge": bool(task.merge),
        "admitted": bool(task.admitted),
    }
    for name, value in (("cube", task.cube), ("key", task.key), ("caller", task.caller_id)):
        if value is not None:
            fields[name] = checked(value)
    return fields


def outcomes_argument(outcomes: Iterable[Outcome]) -> str:
    """Outcomes as `SETTLE` reads them. Raises InvalidInput for a result that cannot be kept."""
    return json.dumps(
        [
            {
                "id": end.id,
                "verdict": end.verdict,
                "error": False if end.error is None else cut(end.error),
                "delay": micros(end.delay),
                "result": packed(end.result, "result"),
            }
            for end in outcomes
        ]
    )


def query_arguments(query: TaskQuery) -> list[bytes | int]:
    """A query as the scripts read it: three values, then how many states and which, how many kinds and which (-1: any)."""
    given: list[bytes | int] = [_optional(query.user), _optional(query.cube), _optional(query.caller_id)]
    for names in (query.states, query.kinds):
        given += [-1] if names is None else [len(set(names)), *(asked(str(name)) for name in sorted(set(names)))]
    return given


def tasks_of(answer: bytes) -> list[Task]:
    """The tasks that a script answers with: rows of `FIELDS` in JSON, what is missing is false."""
    return [_task(row) for row in json.loads(answer)]


def _task(row: list[Any]) -> Task:
    (id, kind, user, lane, cube, payload, caller, priority, state, attempts, most, enqueued,
     available, started, finished, progress, error, worker, result) = row  # fmt: skip
    return Task(
        id=id,
        kind=kind,
        user=user,
        lane=lane,
        cube=_maybe(cube),
        payload=_mapping(payload),
        caller_id=_maybe(caller),
        priority=int(priority),
        state=TaskState(state),
        attempts=int(attempts),
        max_attempts=int(most),
        enqueued_at=from_micros(int(enqueued)),
        available_at=from_micros(int(available)),
        started_at=from_micros(int(started)) if started else None,
        finished_at=from_micros(int(finished)) if finished else None,
        progress=float(progress),
        error=_maybe(error),
        worker=_maybe(worker),
        result=_mapping(result),
    )


def _maybe(value: str | bool) -> str | None:
    return value if isinstance(value, str) else None


def _mapping(value: str | bool) -> Mapping[str, Any]:
    return json.loads(value) if isinstance(value, str) and value != "{}" else EMPTY
