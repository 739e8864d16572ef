"""Tasks on a cube: how they are made, and which cube one is about."""

from __future__ import annotations

from collections.abc import Mapping

from memos.errors import InvalidInput
from memos.memory.ids import is_id
from memos.scheduler.kinds import DIGEST, SWEEP, plan_of
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import NewTask, Task, TaskQueue

SYSTEM = "system"  # whose the tasks are that no user asked for
_OF_THE_CUBE = frozenset({DIGEST, SWEEP})


def cube_task(
    kind: str,
    info: CubeInfo | None = None,
    user: str = SYSTEM,
    *,
    caller_id: str | None = None,
    payload: Mapping[str, object] | None = None,
    merge: bool = True,
    delay: float = 0.0,
) -> NewTask:
    """A task on a cube. What asks a model has a lane of its own: one that fails must not hold up reading by rules. None is
    refused: room was asked for before something was stored (`check_room`), and what merges is one per cube.
    """
    lane = info.location if info is not None else kind
    return NewTask(
        kind,
        user,
        lane if kind in _OF_THE_CUBE else f"{kind}:{lane}",
        info.name if info is not None else None,
        payload=payload or {},
        merge=merge,
        admitted=True,
        caller_id=caller_id,
        priority=plan_of(kind).priority,
        delay=delay,
    )


def ids_of(task: Task) -> list[str]:
    """The ids a task names; none: everything that was marked before it."""
    ids = task.payload.get("ids", [])
    return [id for id in ids if isinstance(id, str) and is_id(id)] if isinstance(ids, list) else []


async def cube_of(task: Task, registry: SqliteRegistry, queue: TaskQueue) -> CubeInfo | None:
    """The cube a task is about; None when it was deleted (another of the same name is not meant)."""
    if task.cube is None:
        raise InvalidInput("the task names no cube")
    found = registry.find(task.cube)
    if found is None:
        await queue.forget(task.cube)  # what another process enqueued while it was deleted
    return found if found is not None and task.lane.endswith(found.location) else None
