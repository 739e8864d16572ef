"""POST /product/feedback: what a user says about an answer is kept, understood and acted on; the record tells what was added,
what took the place of what, and what was forgotten. What is not understood changes nothing, and `message` says why.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from memos.errors import InvalidInput
from memos.memory.feedback import FeedbackResult
from memos.memory.time import utcnow
from memos.reading.messages import parse_messages
from memos.server.caller import Caller
from memos.server.product import access, wording
from memos.server.product.models import AddBody, FeedbackBody, FeedbackOfAdd
from memos.server.product.replies import ok
from memos.system import AsyncMemOS


async def feedback(core: AsyncMemOS, caller: Caller, body: FeedbackBody) -> Response:
    """Store the feedback in each cube and act on it, at once (sync) or as a task (async)."""
    text = body.feedback_content
    if text is None or not text.strip():
        raise InvalidInput("feedback_content is empty; say what is right, wrong or missing")
    user, cubes = await access.writable(core, caller, body.user_id, body.writable_cube_ids)
    rows, tasks = [], []
    for cube in cubes:
        await access.ready(core, user, cube)
        done = await _give(core, body, user, cube, text)
        tasks += [done.task] if done.task is not None else []
        rows.append(_row(body, text, done))
    task = body.task_id or (tasks[0] if len(tasks) == 1 else None)
    return ok(wording.FED_BACK, rows, task_id=task)


def from_messages(body: AddBody, messages: Any) -> FeedbackBody:
    """An add that is feedback: its last user message says it, those before are the history."""
    parsed = parse_messages(messages, now=utcnow()).messages
    last = next((i for i in reversed(range(len(parsed))) if parsed[i].role == "user"), None)
    if last is None:
        raise InvalidInput("is_feedback: none of the messages is the user's, so nothing says what is wrong")
    before = [{"role": m.role, "content": m.text} for m in parsed[:last]]
    return FeedbackOfAdd(
        user_id=body.user_id,
        session_id=body.session_id,
        task_id=body.task_id,
        history=[*(body.chat_history or []), *before],
        feedback_content=parsed[last].text,
        feedback_time=parsed[last].time.isoformat() if parsed[last].time_given else None,
        writable_cube_ids=body.writable_cube_ids,
        async_mode=body.async_mode,
        info=body.info,
    )


async def _give(core: AsyncMemOS, body: FeedbackBody, user: str, cube: str, text: str) -> FeedbackResult:
    return await core.feedback(
        text,
        user=user,
        cube=cube,
        session=body.session_id or wording.DEFAULT_SESSION,
        history=body.history or None,
        targets=body.retrieved_memory_ids or None,
        wait=body.async_mode == "sync",
        answer=body.corrected_answer,
        time=body.feedback_time,
        info=body.info,
        task_id=body.task_id,
    )


def _row(body: FeedbackBody, text: str, done: FeedbackResult) -> dict[str, Any]:
    """What became of the feedback in one cube; the words themselves, as they are kept, where nothing else was added."""
    said = [_added(done.record or "", text)]
    if done.pending:
        return {"record": {"add": said, "update": []}, "cube_id": done.cube, "task_id": body.task_id or done.task}
    added, updated, gone = _changes(done)
    record: dict[str, Any] = {"add": added if added or updated else said, "update": updated}
    if gone:
        record["delete"] = gone
    row: dict[str, Any] = {
        "record": record, "cube_id": done.cube, "understood": done.understood, "message": done.message
    }  # fmt: skip
    if done.candidates:
        row["candidates"] = [{"id": c.id, "text": c.text} for c in done.candidates]
    if body.corrected_answer:
        row["answer"] = done.answer or ""
    return row


def _changes(done: FeedbackResult) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """What was added, what took the place of what, and what was forgotten."""
    added, updated, gone = [], [], []
    for operation in done.operations:
        former = {target.id: target.text for target in operation.targets}
        for made in operation.made:
            if made.replaces is None:
                added.append(_added(made.id, made.text))
            else:
                archived = {"archived_id": made.replaces, "origin_memory": former.get(made.replaces, "")}
                updated.append({**_added(made.id, made.text), **archived})
        if operation.operation == "forget":
            gone += [{"id": target.id, "text": target.text} for target in operation.targets]
    return added, updated, gone


def _added(id: str, text: str) -> dict[str, Any]:
    return {"id": id, "text": text, "source_doc_id": None}
