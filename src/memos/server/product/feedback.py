"""POST /product/feedback: what a user says about an answer is kept as what it is, a message, and read as a correction.

Works by rules: "no, it's Bergen, not Oslo" replaces what was read for Oslo. The record tells what was added and replaced.
"""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from memos.errors import InvalidInput
from memos.memory.model import EdgeType, Layer, Memory, Status
from memos.memory.time import utcnow
from memos.reading.messages import parse_messages
from memos.results import AddResult, Graph
from memos.server.caller import Caller
from memos.server.product import access, wording
from memos.server.product.models import AddBody, FeedbackBody, FeedbackOfAdd
from memos.server.product.replies import ok
from memos.system import AsyncMemOS


async def feedback(core: AsyncMemOS, caller: Caller, body: FeedbackBody) -> Response:
    """Store the feedback in each cube and have it read, at once (sync) or as a task (async)."""
    text = body.feedback_content
    if text is None or not text.strip():
        raise InvalidInput("feedback_content is empty; say what is right, wrong or missing")
    user, cubes = await access.writable(core, caller, body.user_id, body.writable_cube_ids)
    records, tasks = [], []
    for cube in cubes:
        await access.ready(core, user, cube)
        done = await _add(core, body, user, cube, text)
        tasks += [done.task] if done.task is not None else []
        records.append(await _record(core, body, user, done))
    task = body.task_id or (tasks[0] if len(tasks) == 1 else None)
    return ok(wording.FED_BACK, records, task_id=task)


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


async def _add(core: AsyncMemOS, body: FeedbackBody, user: str, cube: str, text: str) -> AddResult:
    when = {"chat_time": body.feedback_time} if body.feedback_time is not None else {}
    return await core.add(
        {"role": "user", "content": text, **when},
        user=user,
        cube=cube,
        session=body.session_id or wording.DEFAULT_SESSION,
        info=body.info,
        context=body.history or None,
        corrects=body.retrieved_memory_ids or (),
        wait=body.async_mode == "sync",
        task_id=body.task_id,
    )


async def _record(core: AsyncMemOS, body: FeedbackBody, user: str, done: AddResult) -> dict[str, Any]:
    """What became of the feedback so far: all of it when it was read at once, the message itself otherwise."""
    said = [{"id": r.id, "text": r.text, "source_doc_id": None} for r in done]
    if body.async_mode == "async":
        return {"record": {"add": said, "update": []}, "cube_id": done.cube, "task_id": body.task_id or done.task}
    graph = await core.graph(
        list(done.ids),
        depth=2,
        types=[EdgeType.DERIVED_FROM, EdgeType.SUPERSEDES],
        include_inactive=True,
        user=user,
        cube=done.cube,
    )
    added, updated = _changes(graph, set(done.ids))
    out: dict[str, Any] = {
        "record": {"add": added if added or updated else said, "update": updated},
        "cube_id": done.cube,
    }
    if body.corrected_answer:
        out["answer"] = " ".join(row["text"] for row in (*updated, *added) if row["id"] not in done.ids)
    return out


def _changes(graph: Graph, said: set[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What the feedback added, and what it put in the place of what."""
    by_id = {m.id: m for m in graph.memories}
    derived = {e.src for e in graph.edges if e.type is EdgeType.DERIVED_FROM and e.dst in said}
    replaced = [
        (by_id[e.src], by_id[e.dst])
        for e in graph.edges
        if e.type is EdgeType.SUPERSEDES and e.src in derived | said and by_id[e.dst].layer is not Layer.TRACE
    ]
    new = {m.id: m for m in graph.memories if m.id in derived and m.status is Status.ACTIVE}
    by_trace = next((m for m in new.values()), None)
    updated = [_update(now if now.layer is not Layer.TRACE else by_trace or now, old) for now, old in replaced]
    told = {row["id"] for row in updated}
    added = [{"id": m.id, "text": m.text, "source_doc_id": None} for m in new.values() if m.id not in told]
    return added, updated


def _update(now: Memory, old: Memory) -> dict[str, Any]:
    return {
        "id": now.id,
        "text": now.text,
        "source_doc_id": None,
        "archived_id": old.id,
        "origin_memory": old.text,
    }
