"""add/message and add/feedback: what happened, to the memory of each user named and of each knowledge base that is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memos.memory.ids import new_id
from memos.results import AddResult
from memos.server.caller import WRITE, Caller
from memos.server.openmem.bodies import AddBody, FeedbackBody
from memos.server.openmem.details import TaskDetail
from memos.server.openmem.subjects import Base, bases, subject, subjects
from memos.storage.tasks import TaskQuery
from memos.system import AsyncMemOS

DERIVED_VIEWS = (
    "fact",
    "memory",
    "preference",
    "profile",
    "event",
)  # views that are read from messages, by what they contain
_NOTICED = 5.0  # seconds
NO_PUBLIC = "allow_public: there is no public memory here; nothing was shared. Share a cube or a knowledge base instead"


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is to be stored, wherever it goes."""

    messages: object
    session: str | None
    tags: Sequence[str]
    info: Mapping[str, Any]
    derive: bool
    wait: bool
    notices: tuple[str, ...] = ()


async def add_message(memos: AsyncMemOS, caller: Caller, body: AddBody) -> TaskDetail:
    """Store messages. Who may not write into all of them writes into none."""
    users = subjects(caller, body.user_id, body.agent_id)
    written = await bases(memos, caller, body.allow_knowledgebase_ids, WRITE, users[0])
    for user in users:  # before anything is stored for another of them
        if await memos.owner_of(user) is not None:
            await memos.open_cube(user, user=user)
    views = body.allow_memory_view
    labels = {"agent_id": body.agent_id, "app_id": body.app_id, "source": body.source, "allow_memory_view": views}
    entry = _Entry(
        messages=body.messages,
        session=body.conversation_id,
        tags=body.tags,
        info={**(body.info or {}), **{name: value for name, value in labels.items() if value is not None}},
        derive=views is None or any(word in view for view in views for word in DERIVED_VIEWS),
        wait=not body.async_mode,
        notices=(NO_PUBLIC,) if body.allow_public else (),
    )
    return await _store(memos, users, written, entry)


async def add_feedback(memos: AsyncMemOS, caller: Caller, body: FeedbackBody) -> TaskDetail:
    """Store what a user says of earlier answers, and act on it: what it corrects is superseded, what it forgets is hidden."""
    user = subject(caller, body.user_id, None, WRITE)
    written = await bases(memos, caller, body.allow_knowledgebase_ids, WRITE, user)
    labels = {"agent_id": body.agent_id, "app_id": body.app_id}
    info = {"feedback": True, **{name: value for name, value in labels.items() if value is not None}}
    task_id = new_id()
    places: list[tuple[str, str | None]] = [(user, None), *((base.user, base.id) for base in written)]
    for owner, cube in places:
        await memos.feedback(
            body.feedback_content,
            user=owner,
            cube=cube,
            session=body.conversation_id,
            tags=("feedback",),
            info=info,
            time=body.feedback_time,
            wait=False,
            task_id=task_id,
        )
    return TaskDetail(task_id, "running", progress=0.0, notices=(NO_PUBLIC,) if body.allow_public else ())


async def _store(memos: AsyncMemOS, users: Sequence[str], written: Sequence[Base], entry: _Entry) -> TaskDetail:
    """Store an entry in the memory of users and in knowledge bases, under one task id."""
    task_id = new_id()
    places: list[tuple[str, str | None]] = [(user, None) for user in users]
    places += [(base.user, base.id) for base in written]
    results = [await _add(memos, user, cube, entry, task_id) for user, cube in places]
    running = any(result.pending and entry.derive for result in results)
    if entry.wait and not running:  # the work is done; its task notices in a moment, so that get/status says the same
        await memos.tasks.wait(TaskQuery(caller_id=task_id), timeout=_NOTICED)
    notices = dict.fromkeys(notice for result in results for notice in result.notices)
    return TaskDetail(
        task_id,
        "running" if running else "completed",
        progress=0.0 if running else 1.0,
        notices=(*entry.notices, *notices),
    )


async def _add(memos: AsyncMemOS, user: str, cube: str | None, entry: _Entry, task_id: str) -> AddResult:
    return await memos.add(
        entry.messages,
        user=user,
        cube=cube,
        session=entry.session,
        tags=entry.tags,
        info=entry.info,
        derive=entry.derive,
        wait=entry.wait,
        task_id=task_id,
    )
