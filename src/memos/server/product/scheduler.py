"""What became of background work, in the words of the wire: per task, per user, and waiting for all of it."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memos.errors import InvalidInput, MemosError, NotFound
from memos.server.auth import identified
from memos.server.caller import READ, Caller
from memos.server.frame import frame_of
from memos.server.product import wording
from memos.server.product.replies import ok
from memos.server.replies import json_reply
from memos.storage.tasks import LIVE, Task, TaskQuery, TaskState
from memos.system import AsyncMemOS

SHOWN = 1_000  # tasks of one answer
MAX_WAIT, LEAST_POLL = 3600.0, 0.05


async def all_status(core: AsyncMemOS, caller: Caller) -> Response:
    """How many tasks are in each state: all, or the caller's own."""
    caller.must(READ)
    counts = await core.tasks.counts(TaskQuery(user=None if caller.any_user else caller.user))
    summary = {state: counts.get(TaskState(state), 0) for state in ("waiting", "in_progress")} | {"pending": 0}
    summary |= {state: counts.get(TaskState(state), 0) for state in ("completed", "failed", "cancelled")}
    summary["total"] = sum(summary.values())
    return ok(wording.ALL_STATUS, {"scheduler_summary": summary, "all_tasks_summary": summary})


async def status(core: AsyncMemOS, caller: Caller, user_id: str, task_id: str | None) -> Response:
    """The state of one task, by the caller's name for it or by its id, or of all tasks of a user."""
    user = caller.acting(user_id, READ)
    tasks = list((await core.tasks.find(TaskQuery(user=user, caller_id=task_id), limit=SHOWN)).items)
    if task_id is not None and not tasks:
        tasks = await _by_id(core, user, task_id)
    if not tasks:
        raise NotFound((wording.NO_TASK if task_id else wording.NO_TASKS).format(task=task_id, user=user))
    groups: dict[str, list[Task]] = {}
    for task in tasks:
        groups.setdefault(task_id or task.caller_id or task.id, []).append(task)
    return ok(wording.STATUS, [_row(name, some) for name, some in groups.items()])


async def queue_status(core: AsyncMemOS, caller: Caller, user_id: str) -> Response:
    """How much work of a user is under way (pending) and how much waits (remaining), by lane and kind."""
    user = caller.acting(user_id, READ)
    pending = await _by_lane(core, user, TaskState.IN_PROGRESS)
    remaining = await _by_lane(core, user, TaskState.WAITING)
    keys = list(dict.fromkeys((*pending, *remaining)))
    return ok(
        wording.QUEUE,
        {
            "user_id": user,
            "user_name": user,
            "mem_cube_id": user,
            "stream_keys": keys,
            "users_count": 1,
            "pending_tasks_count": sum(pending.values()),
            "remaining_tasks_count": sum(remaining.values()),
            "pending_tasks_detail": [f"{key}:{n}" for key, n in pending.items()],
            "remaining_tasks_detail": [f"{key}:{n}" for key, n in remaining.items()],
        },
    )


async def wait(
    core: AsyncMemOS, caller: Caller, user_name: str, timeout_seconds: float, poll_interval: float
) -> Response:
    """Answer when no work of a user or on a cube of this name is left. (This one has no envelope on the wire.)"""
    queries, start = await _meant(core, caller, user_name, timeout_seconds, poll_interval), time.monotonic()
    running = await _running(core, queries)
    while running and (left := start + timeout_seconds - time.monotonic()) > 0:
        await asyncio.sleep(min(max(poll_interval, LEAST_POLL), left))
        running = await _running(core, await _meant(core, caller, user_name, timeout_seconds, poll_interval))
    data = {
        "running_tasks": running,
        "waited_seconds": round(time.monotonic() - start, 2),
        "timed_out": running > 0,
        "user_name": user_name,
    }
    return json_reply({"message": "timeout" if running else "idle", "data": data})


async def wait_stream(
    core: AsyncMemOS, request: Request, caller: Caller, user_name: str, timeout_seconds: float, poll_interval: float
) -> Response:
    """The same as events: how many tasks are left, again and again, until there are none or the time is over."""
    frame = frame_of(request)

    async def meant() -> list[TaskQuery]:  # asked each time: rights can be taken away meanwhile
        now = await identified(core, frame.options, request.scope)
        return await _meant(core, now, user_name, timeout_seconds, poll_interval)

    await _meant(core, caller, user_name, timeout_seconds, poll_interval)
    return frame.streams.reply(_frames(core, meant, user_name, timeout_seconds, max(poll_interval, LEAST_POLL)))


async def _frames(
    core: AsyncMemOS, meant: Callable[[], Awaitable[list[TaskQuery]]], name: str, seconds: float, pause: float
) -> AsyncIterator[Mapping[str, Any]]:
    start, instance = time.monotonic(), f"{socket.gethostname()}:{os.getpid()}"
    try:
        while True:
            running, elapsed = await _running(core, await meant()), time.monotonic() - start
            frame = {"user_name": name, "active_tasks": running, "elapsed_seconds": round(elapsed, 2)}
            over = running > 0 and elapsed >= seconds
            state = "timeout" if over else "running" if running else "idle"
            frame |= {"status": state, "instance_id": instance}
            yield frame | ({"timed_out": over} if state != "running" else {})
            if state != "running":
                return
            await asyncio.sleep(min(pause, max(0.0, seconds - elapsed)))
    except MemosError as error:  # the status line is sent already: an error is an event
        yield {"status": "error", "detail": "stream_failed", "exception": error.code, "user_name": name}


async def _meant(core: AsyncMemOS, caller: Caller, name: str, seconds: float, pause: float) -> list[TaskQuery]:
    """The tasks behind a `user_name`: of the user of this name, and on the cube of this name; as far as the caller may ask."""
    if not (0 <= seconds <= MAX_WAIT and 0 < pause <= MAX_WAIT):
        raise InvalidInput(f"timeout_seconds is 0 to {MAX_WAIT:.0f} and poll_interval more than 0")
    caller.must(READ)
    if caller.any_user:
        return [TaskQuery(user=name), TaskQuery(cube=name)]
    if name == caller.user:
        return [TaskQuery(user=name)]
    await core.open_cube(name, user=caller.acting(None, READ))
    return [TaskQuery(cube=name)]


async def _running(core: AsyncMemOS, queries: Sequence[TaskQuery]) -> int:
    """How many of the tasks are live. One that is meant twice counts once, where there are not too many to look."""
    live: set[str] = set()
    more = 0
    for query in queries:
        page = await core.tasks.find(
            TaskQuery(user=query.user, cube=query.cube, states=LIVE),
            limit=SHOWN,
        )
        live |= {task.id for task in page.items}
        more += page.cursor is not None
    return len(live) + more


async def _by_id(core: AsyncMemOS, user: str, id: str) -> list[Task]:
    try:
        task = await core.tasks.get(id)
    except (NotFound, InvalidInput):
        return []
    return [task] if task.user == user else []


def _row(name: str, tasks: Collection[Task]) -> dict[str, Any]:
    """Several tasks under one name are as far as the least of them; one that failed has failed for all."""
    states = {task.state for task in tasks}
    order = (TaskState.FAILED, TaskState.IN_PROGRESS, TaskState.WAITING, TaskState.COMPLETED, TaskState.CANCELLED)
    state = next(s for s in order if s in states)
    if state is TaskState.WAITING and len(states) > 1:
        state = TaskState.IN_PROGRESS
    row: dict[str, Any] = {"task_id": name, "status": state.value}
    errors = [task.error for task in tasks if task.error]
    return row | {"error": errors[0]} if state is TaskState.FAILED and errors else row


async def _by_lane(core: AsyncMemOS, user: str, state: TaskState) -> dict[str, int]:
    page = await core.tasks.find(TaskQuery(user=user, states=(state,)), limit=SHOWN)
    return dict(Counter(f"{task.user}:{task.cube or task.lane}:{task.kind}" for task in page.items))
