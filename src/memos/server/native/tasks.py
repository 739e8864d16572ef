"""Routes of the background work: look up, wait, follow, retry and cancel. Everybody sees the tasks of her own and of the cubes
she may read.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from memos.errors import AccessDenied, Conflict, MemosError, NotFound
from memos.frames import Count, TaskStats
from memos.server.app import Core
from memos.server.auth import identified
from memos.server.caller import ADMIN, READ, WRITE, CallerDep
from memos.server.frame import frame_of
from memos.server.native import fields
from memos.server.native.answers import reply, to_json
from memos.server.native.cubes import existing
from memos.server.native.fields import Name, PathId, Wire
from memos.server.native.problems import reads, writes
from memos.server.native.scope import ActingDep, WhoseDep, is_admin
from memos.server.quick import QuickRoute
from memos.storage.tasks import LIVE, Task, TaskPage, TaskQuery, TaskState
from memos.system import AsyncMemOS

router = APIRouter(prefix="/v1/tasks", tags=["Tasks"], route_class=QuickRoute)
MAX_WAIT = 300.0

Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]*$", max_length=64)]
CallerTask = Annotated[
    Name | None, Query(description="The `task_id` that was given with the add.", examples=["turn-12"])
]
KindsOfTask = Annotated[
    list[Word] | None, Query(description="Only these kinds; may be given several times.", examples=[["digest"]])
]
States = Annotated[
    list[TaskState] | None,
    Query(description="Only in these states; may be given several times.", examples=[["failed"]]),
]
Everyone = Annotated[bool, Query(description="Everybody's tasks (needs the scope `admin`).")]
STREAM: dict[str, Any] = {
    "description": "Server-sent events: the `data` of each is a task, as JSON.",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "description": "One event.",
                "properties": {
                    "data": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "contentSchema": {"$ref": "#/components/schemas/Task"},
                    }
                },
                "required": ["data"],
            }
        }
    },
}


class Choice(Wire):
    """Which tasks are meant; what is left out does not restrict."""

    user: Name | None = Field(None, examples=["ada"])
    cube: Name | None = Field(None, examples=["ada"])
    task_id: Name | None = Field(None, description="The `task_id` that was given with the add.", examples=["turn-12"])
    kinds: list[Word] | None = Field(None, min_length=1, max_length=100, examples=[["digest"]])
    ids: fields.Ids | None = None

    def query(self) -> TaskQuery:
        """The same as the queue understands it."""
        return TaskQuery(self.user, self.cube, self.task_id, self.kinds)


@router.get("", operation_id="list_tasks", summary="List tasks", response_model=TaskPage, responses=reads())
async def find(
    memos: Core,
    whose: WhoseDep,
    task_id: CallerTask = None,
    kind: KindsOfTask = None,
    state: States = None,
    everyone: Everyone = False,
    limit: fields.LimitQuery = 100,
    cursor: fields.CursorQuery = None,
) -> Response:
    """Tasks, newest first: those of the user, or (with `cube`) all that work on that cube."""
    query = await _visible(memos, whose, task_id, kind, state, everyone=everyone)
    return reply(await memos.tasks.find(query, limit=limit, cursor=cursor))


@router.get(
    "/stats", operation_id="task_stats", summary="How the work is doing", response_model=TaskStats, responses=reads()
)
async def stats(memos: Core, acting: ActingDep) -> Response:
    """Counts by state for the user; for an administrator who names no user, everybody's, and depth, age, throughput and latency
    by kind.
    """
    user = acting.user()
    if acting.named is None and is_admin(acting.caller):
        return reply(TaskStats(None, await memos.tasks.counts(TaskQuery()), await memos.tasks.stats()))
    return reply(TaskStats(user, await memos.tasks.counts(TaskQuery(user=user))))


@router.get(
    "/events",
    operation_id="follow_tasks",
    summary="Follow tasks",
    response_class=Response,
    responses={200: STREAM, **reads()},
)
async def follow(
    request: Request,
    memos: Core,
    whose: WhoseDep,
    task_id: CallerTask = None,
    kind: KindsOfTask = None,
    everyone: Everyone = False,
) -> Response:
    """A stream of the tasks that wait or are worked on, as they change. Ends when all of them are finished."""

    async def visible() -> TaskQuery:
        return await _visible(memos, whose, task_id, kind, sorted(LIVE), everyone=everyone)

    tasks = memos.tasks.follow(await visible())
    return frame_of(request).streams.reply(_written(tasks, request, memos, visible))


@router.post(
    "/retry", operation_id="retry_tasks", summary="Try failed tasks again", response_model=Count, responses=writes()
)
async def retry_all(memos: Core, caller: CallerDep, body: Choice) -> Response:
    """Has failed tasks tried again from the beginning. Needs the scope `admin`."""
    caller.must(ADMIN)
    return reply(Count(await memos.tasks.retry(body.query(), body.ids)))


@router.post("/cancel", operation_id="cancel_tasks", summary="Cancel tasks", response_model=Count, responses=writes())
async def cancel_all(memos: Core, caller: CallerDep, body: Choice) -> Response:
    """Takes tasks out that wait or failed. What was stored stays stored. Needs the scope `admin`."""
    caller.must(ADMIN)
    return reply(Count(await memos.tasks.cancel(body.query(), body.ids)))


@router.get("/{id:uuid}", operation_id="get_task", summary="Look at a task", response_model=Task, responses=reads())
async def get(memos: Core, acting: ActingDep, id: PathId) -> Response:
    """What became of a task: its state, attempts, progress, and the reason of the last failure."""
    return reply(await _task(memos, acting, str(id)))


@router.get(
    "/{id:uuid}/wait", operation_id="wait_for_task", summary="Wait for a task", response_model=Task, responses=reads()
)
async def wait(
    memos: Core,
    acting: ActingDep,
    id: PathId,
    timeout: Annotated[float, Query(ge=0, le=MAX_WAIT, description="Seconds to wait at most.")] = 30.0,  # noqa: ASYNC109
) -> Response:
    """Answers when the task is finished, or as it is when the time is over: look at `state`."""
    await _task(memos, acting, str(id))
    await memos.tasks.wait([str(id)], timeout)
    return reply(await _task(memos, acting, str(id)))


@router.get(
    "/{id:uuid}/events",
    operation_id="follow_task",
    summary="Follow a task",
    response_class=Response,
    responses={200: STREAM, **reads()},
)
async def follow_one(request: Request, memos: Core, acting: ActingDep, id: PathId) -> Response:
    """A stream of the task as it changes, beginning with how it is. Ends when it is finished."""

    async def visible() -> Task:
        return await _task(memos, acting, str(id))

    await visible()
    return frame_of(request).streams.reply(_written(memos.tasks.follow([str(id)]), request, memos, visible))


@router.post(
    "/{id:uuid}/retry",
    operation_id="retry_task",
    summary="Try a failed task again",
    response_model=Task,
    responses=writes(),
)
async def retry(memos: Core, acting: ActingDep, id: PathId) -> Response:
    """Has the task tried again from the beginning. Only a failed one can be (409)."""
    task = await _task(memos, acting, str(id), WRITE)
    if not await memos.tasks.retry(ids=[task.id]):
        raise Conflict(f"task {id} is {task.state}; only a failed one can be tried again")
    return reply(await memos.tasks.get(task.id))


@router.post(
    "/{id:uuid}/cancel", operation_id="cancel_task", summary="Cancel a task", response_model=Task, responses=writes()
)
async def cancel(memos: Core, acting: ActingDep, id: PathId) -> Response:
    """Takes the task out. Only one that waits or failed can be (409). What was stored stays stored."""
    task = await _task(memos, acting, str(id), WRITE)
    if not await memos.tasks.cancel(ids=[task.id]):
        raise Conflict(f"task {id} is {task.state}; only one that waits or failed can be cancelled")
    return reply(await memos.tasks.get(task.id))


async def _visible(
    memos: AsyncMemOS,
    whose: WhoseDep,
    task_id: str | None,
    kinds: list[str] | None,
    states: list[TaskState] | None,
    *,
    everyone: bool,
) -> TaskQuery:
    """The query, narrowed to what the caller may see."""
    if everyone:
        whose.caller.must(ADMIN)
        return TaskQuery(whose.user, whose.cube, task_id, kinds, states)
    place = whose.place()
    if place.cube is None:
        return TaskQuery(place.user, None, task_id, kinds, states)
    await existing(memos, place.cube, place.user)
    return TaskQuery(None, place.cube, task_id, kinds, states)


async def _task(memos: AsyncMemOS, acting: ActingDep, id: str, need: str = READ) -> Task:
    """A task that the user may see (and, to write, change). Raises NotFound, also for somebody else's."""
    user = acting.user(need)
    task = await memos.tasks.get(id)
    if task.user == user or (acting.named is None and is_admin(acting.caller)):
        return task
    if task.cube is not None:
        try:
            cube = await existing(memos, task.cube, user)
        except NotFound:
            pass
        else:
            if need == READ or cube.owner == user or cube.grants.get(user) in ("write", "admin"):
                return task
            raise AccessDenied(f"user {user!r} may not write to cube {cube.name!r}, which the task works on")
    raise NotFound(f"task {id} does not exist; finished tasks are kept for seven days")


async def _written(
    tasks: AsyncGenerator[Task, None], request: Request, memos: AsyncMemOS, visible: Callable[[], Awaitable[object]]
) -> AsyncIterator[str]:
    """The tasks as JSON, as long as the key works and the caller may see them: rights can be taken away meanwhile."""
    async with contextlib.aclosing(tasks):
        async for task in tasks:
            try:
                await identified(memos, frame_of(request).options, request.scope)
                await visible()
            except MemosError:
                return
            yield to_json(task).decode()
