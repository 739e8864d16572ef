"""POST /product/add: what happened, into one cube or several. Answers once it is durable (async), or derived too (sync)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from memos.errors import InvalidInput, MemosError
from memos.memory.model import EdgeType, Kind, Layer
from memos.memory.reading import ReadingMode
from memos.results import AddResult
from memos.server.caller import Caller
from memos.server.errors import status_of
from memos.server.product import access, feedback, wording
from memos.server.product.files import Taken, store_files, take_files
from memos.server.product.models import AddBody
from memos.server.product.replies import ok
from memos.server.replies import json_reply
from memos.server.translate import memory_type
from memos.system import AsyncMemOS


@dataclass(slots=True)
class _Report:
    """What was stored where, and which cubes failed."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    failed: list[tuple[str, MemosError]] = field(default_factory=list)


async def add(core: AsyncMemOS, caller: Caller, body: AddBody) -> Response:
    """Store the messages. The rows name the raw records, whose ids stay valid, and, where asked, what was derived."""
    if body.is_upload_skill:
        raise InvalidInput(wording.NO_SKILL_UPLOAD)
    messages = messages_of(body)
    if body.is_feedback:
        return await feedback.feedback(core, caller, feedback.from_messages(body, messages))
    user, cubes = await access.writable(core, caller, body.user_id, body.writable_cube_ids)
    taken = take_files(messages)
    report = _Report(notices=[*_notices(body), *taken.notices])
    for cube in cubes:
        try:
            await access.ready(core, user, cube)
            await _add_to(core, body, user, cube, taken, report)
        except InvalidInput:
            raise  # of the messages, so of every cube; the first one is asked first and nothing was stored
        except MemosError as error:
            report.failed.append((cube, error))
    if report.failed:
        return _failed(report, cubes)
    name = body.task_id or (report.tasks[0] if len(report.tasks) == 1 else None)
    task = (
        name if report.tasks else None
    )  # files that only rules read make no task of that name, so that it is not told
    return ok(wording.ADDED, report.rows, task_id=task, notices=report.notices or None)


async def _add_to(core: AsyncMemOS, body: AddBody, user: str, cube: str, taken: Taken, report: _Report) -> None:
    """Store the files and messages in one cube, and note it."""
    tags, info = body.custom_tags or (), info_of(body)
    how, wait = _reading(body), body.async_mode == "sync"
    files = await store_files(
        core,
        taken.files,
        user=user,
        cube=cube,
        tags=tags,
        info=info,
        reading=how,
        wait=wait and how != "fast",
        task_id=body.task_id,
    )
    for file in files:
        report.notices += [n for n in file.notices if n not in report.notices]
        report.tasks += [file.task] if file.task is not None else []
        report.rows.append(_row(file.memory.text, file.id, memory_type(file.memory.kind), cube))
        if wait and how != "fast":
            report.rows += await _derived(core, [file.id], user, cube, depth=2)
    if not taken.messages and taken.files:
        return
    done = await core.add(
        taken.messages,
        user=user,
        cube=cube,
        session=body.session_id or wording.DEFAULT_SESSION,
        tags=tags,
        info=info,
        context=body.chat_history or None,
        wait=wait,
        task_id=body.task_id,
        reading=how,
    )
    report.notices += [n for n in done.notices if n not in report.notices]
    report.tasks += [done.task] if done.task is not None else []
    report.rows += await _rows(core, body, user, done)


def messages_of(body: AddBody) -> Any:
    """The messages with what former fields add to them. Raises InvalidInput when there is nothing."""
    more: list[Any] = []
    if body.memory_content is not None:
        more.append({"type": "text", "text": body.memory_content})
    if body.doc_path is not None:
        more.append({"type": "file", "file": {"path": body.doc_path}})
    if body.messages is None and not more:
        raise InvalidInput("there is nothing to store: give messages, a text or a list of chat messages")
    if not more:
        return body.messages
    given = body.messages if isinstance(body.messages, list) else [body.messages] if body.messages else []
    return [*given, *more]


def info_of(body: AddBody) -> dict[str, Any] | None:
    """The free metadata, with the fields of the request that are metadata too."""
    named = {"manager_user_id": body.manager_user_id, "project_id": body.project_id, "source": body.source}
    return {**{key: value for key, value in named.items() if value is not None}, **(body.info or {})} or None


async def _rows(core: AsyncMemOS, body: AddBody, user: str, done: AddResult) -> list[dict[str, Any]]:
    """The raw records and, where they were read at once and finely, what was derived from them."""
    records = {record.id: record for record in done}
    rows = [_row(r.text, r.id, memory_type(Kind.TRACE), done.cube) for r in records.values()]
    if body.async_mode == "sync" and body.mode != "fast":
        rows += await _derived(core, list(records), user, done.cube, depth=1)
    return rows


async def _derived(core: AsyncMemOS, ids: list[str], user: str, cube: str, *, depth: int) -> list[dict[str, Any]]:
    """The rows of what rests on records, or (`depth` 2) on the pieces of documents."""
    edges = [EdgeType.DERIVED_FROM, *([EdgeType.PART_OF] if depth > 1 else [])]
    graph = await core.graph(ids, depth=depth, types=edges, direction="in", user=user, cube=cube)
    derived = [m for m in graph.memories if m.layer is not Layer.TRACE]
    return [_row(m.text, m.id, memory_type(m.kind), cube) for m in derived]


def _row(text: str, id: str, type: str, cube: str) -> dict[str, Any]:
    return {"memory": text, "memory_id": id, "memory_type": type, "cube_id": cube}


def _reading(body: AddBody) -> ReadingMode | None:
    """How the messages are read; None: as the cube or the settings say, as always in the background."""
    return body.mode if body.async_mode == "sync" else None


def _notices(body: AddBody) -> list[str]:
    if body.async_mode == "sync" or body.mode is None:
        return []
    return [wording.FINE_BY_RULES if body.mode == "fine" else wording.FAST_LATER]


def _failed(report: _Report, cubes: list[str]) -> Response:
    """Some cubes could not be written. What the others stored is named; the status is that of the first failure."""
    first = report.failed[0][1]
    if len(report.failed) == len(cubes):
        raise first
    stored = ", ".join(repr(cube) for cube in cubes if cube not in {name for name, _ in report.failed})
    missing = "; ".join(f"not stored in {name!r}: {error}" for name, error in report.failed)
    status = status_of(first)
    return json_reply(
        {
            "code": status,
            "message": f"stored in {stored}; {missing}. Send it again to those alone: writable_cube_ids",
            "data": report.rows,
            "error": first.code,
            "failed_cube_ids": [name for name, _ in report.failed],
        },
        status,
    )
