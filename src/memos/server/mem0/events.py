"""The events of mem0's cloud: what became of an add. An event is the task that reads the messages, under the id the add was told.

SUCCEEDED means that everything read from the messages can be listed and found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memos.compat.mem0.core import Mem0
from memos.compat.mem0.shapes import moment
from memos.errors import NotFound
from memos.storage.tasks import Task, TaskQuery, TaskState
from memos.system import AsyncMemOS

_AT_ONCE = 1_000
_STATES = {
    TaskState.WAITING: "PENDING",
    TaskState.IN_PROGRESS: "RUNNING",
    TaskState.COMPLETED: "SUCCEEDED",
    TaskState.FAILED: "FAILED",
    TaskState.CANCELLED: "FAILED",
}
_WORST_FIRST = ("RUNNING", "PENDING", "FAILED", "SUCCEEDED")


async def event_of(memos: AsyncMemOS, mem0: Mem0, id: str) -> dict[str, Any]:
    """One event, with its results once it is done. Raises NotFound, also for those of others."""
    found = (await memos.tasks.find(TaskQuery(user=mem0.user, caller_id=id), limit=_AT_ONCE)).items
    if not found:
        raise NotFound(f"event {id!r:.80} does not exist; finished ones are kept for seven days")
    told = _told(id, found)
    done = told["status"] == "SUCCEEDED" and found[0].cube is not None
    return {**told, "results": await mem0.became(found[0].cube or "", id) if done else []}


async def events(memos: AsyncMemOS, mem0: Mem0, page: int, size: int) -> tuple[list[dict[str, Any]], int]:
    """A page of the events there are, the newest first, without their results; and how many there are."""
    cubes = {place.cube for place in await mem0.places.all()}
    by_id: dict[str, list[Task]] = {}
    cursor: str | None = None
    while True:
        found = await memos.tasks.find(TaskQuery(user=mem0.user), limit=_AT_ONCE, cursor=cursor)
        for task in found.items:
            if task.caller_id is not None and task.cube in cubes:
                by_id.setdefault(task.caller_id, []).append(task)
        cursor = found.cursor
        if cursor is None:
            break
    shown = list(by_id.items())
    return [_told(id, tasks) for id, tasks in shown[(page - 1) * size : page * size]], len(shown)


def _told(id: str, tasks: Sequence[Task]) -> dict[str, Any]:
    """The tasks of an add together."""
    states = {_STATES[task.state] for task in tasks}
    ended = [task.finished_at for task in tasks if task.finished_at is not None]
    begun = [task.started_at for task in tasks if task.started_at is not None]
    since = min(task.enqueued_at for task in tasks)
    until = max(ended) if len(ended) == len(tasks) else None
    status = next(state for state in _WORST_FIRST if state in states)
    return {
        "id": id,
        "event_id": id,
        "event_type": "ADD",
        "status": status,
        "error": next((task.error for task in tasks if task.error), None) if status == "FAILED" else None,
        "created_at": moment(since),
        "updated_at": moment(until or max(begun, default=since)),
        "started_at": moment(min(begun, default=None)),
        "completed_at": moment(until),
        "latency": round((until - since).total_seconds() * 1000, 1) if until is not None else None,
    }
