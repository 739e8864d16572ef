"""get/status: how the work that an add started is going."""

from __future__ import annotations

from collections.abc import Sequence

from memos.errors import NotFound
from memos.server.caller import READ, Caller
from memos.server.openmem.codes import NoSuchTask
from memos.server.openmem.details import TaskDetail
from memos.storage.tasks import LIVE, Task, TaskQuery, TaskState
from memos.system import AsyncMemOS


async def status_of(memos: AsyncMemOS, caller: Caller, task_id: str) -> TaskDetail:
    """The state of all tasks under an id together. Raises NoSuchTask, also for tasks of users the caller does not act for."""
    caller.must(READ)
    found = await _tasks(memos, None if caller.any_user else caller.acting(None), task_id)
    if not found:
        raise NoSuchTask(f"task {task_id!r} does not exist; finished tasks are kept for seven days")
    failed = [task for task in found if task.state in (TaskState.FAILED, TaskState.CANCELLED)]
    running = any(task.state in LIVE for task in found)
    status = "running" if running else "failed" if failed else "completed"
    reason = next((task.error or task.state.value for task in failed), None)
    done = [1.0 if task.state is TaskState.COMPLETED else task.progress for task in found]
    return TaskDetail(task_id, status, success=not failed, progress=round(sum(done) / len(done), 4), reason=reason)


async def _tasks(memos: AsyncMemOS, user: str | None, id: str) -> Sequence[Task]:
    """The tasks that a caller's own id stands for, or the one of this id."""
    page = await memos.tasks.find(TaskQuery(user=user, caller_id=id), limit=1000)
    if page.items:
        return page.items
    try:
        task = await memos.tasks.get(id)
    except NotFound:
        return ()
    return [task] if user in (None, task.user) else ()
