"""The routes of the cloud wire of MemOS, `/api/openmem/v1`: each reads a request, asks the core, answers in the cloud's words."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter
from starlette.responses import Response

from memos.server.app import Core
from memos.server.caller import READ, CallerDep
from memos.server.frame import FrameDep
from memos.server.limits import check_messages, check_text
from memos.server.openmem import adding, bodies, chatting, codes, finding, knowledge, managing, messages, tasks, trying
from memos.server.openmem.answers import answers
from memos.server.openmem.codes import NotSupported, ok
from memos.server.openmem.details import Found, Listed, MemoryDetail, MessageDetail, TaskDetail
from memos.server.quick import QuickRoute

codes.install()
core = APIRouter(prefix=codes.PREFIX, tags=["openmem"], route_class=QuickRoute)


@dataclass(frozen=True, slots=True)
class Messages:
    """The answer to get/message."""

    message_detail_list: list[MessageDetail]


@dataclass(frozen=True, slots=True)
class Done:
    """The answer to a deletion."""

    success: bool
    deleted: int


@core.post("/add/message", **answers(TaskDetail, "Store what was said."))
async def add_message(memos: Core, caller: CallerDep, frame: FrameDep, body: bodies.AddBody) -> Response:
    """Store messages for users or agents, and in the knowledge bases named. With `async_mode` facts are read afterwards; what
    was said is found at once.
    """
    check_messages(frame.options, body.messages)
    return ok(await adding.add_message(memos, caller, body))


@core.post("/add/feedback", **answers(TaskDetail, "Store feedback."))
async def add_feedback(memos: Core, caller: CallerDep, frame: FrameDep, body: bodies.FeedbackBody) -> Response:
    """Store what a user says of earlier answers; what it corrects is superseded."""
    check_messages(frame.options, body.feedback_content)
    return ok(await adding.add_feedback(memos, caller, body))


@core.post("/search/memory", **answers(Found, "Search."))
async def search_memory(memos: Core, caller: CallerDep, body: bodies.SearchBody) -> Response:
    """Find what bears on a question, in a user's memory and in knowledge bases."""
    return ok(await finding.search_memory(memos, caller, body))


@core.post("/get/message", **answers(Messages, "The newest messages."))
async def get_message(memos: Core, caller: CallerDep, body: bodies.GetMessagesBody) -> Response:
    """The newest messages of a user, as they came in."""
    return ok(Messages(list(await messages.newest_messages(memos, caller, body))))


@core.post("/get/memory", **answers(Listed, "Memories by page."))
async def get_memory(memos: Core, caller: CallerDep, body: bodies.GetMemoriesBody) -> Response:
    """The memories of a user, newest first, a page at a time."""
    return ok(await managing.list_memories(memos, caller, body))


@core.get("/get/memory/{memory_id:path}", **answers(MemoryDetail, "One memory."))
async def get_memory_by_id(memos: Core, caller: CallerDep, memory_id: str) -> Response:
    """One memory, whatever its status."""
    return ok(await managing.one_memory(memos, caller, memory_id))


@core.post("/update/memory", **answers(MemoryDetail, "Change a memory."))
async def update_memory(memos: Core, caller: CallerDep, body: bodies.UpdateBody) -> Response:
    """Change content, title or status (`activated`, `deleted`) of a memory."""
    return ok(await managing.update_memory(memos, caller, body))


@core.post("/delete/memory", **answers(Done, "Delete memories."))
async def delete_memory(memos: Core, caller: CallerDep, body: bodies.DeleteBody) -> Response:
    """Delete for good, by exactly one of memory_ids, user_id, agent_id and filter."""
    return ok(Done(True, await managing.delete_memory(memos, caller, body)))


@core.post("/get/status", **answers(TaskDetail, "The state of a task."))
async def get_status(memos: Core, caller: CallerDep, body: bodies.StatusBody) -> Response:
    """How the work that an add started is going."""
    return ok(await tasks.status_of(memos, caller, body.task_id))


@core.post("/extract/memory", **answers(trying.Extracted, "Read messages without storing them."))
async def extract_memory(memos: Core, caller: CallerDep, frame: FrameDep, body: bodies.ExtractBody) -> Response:
    """What would be read from messages; nothing is stored."""
    caller.must(READ)
    check_messages(frame.options, body.messages)
    check_text(frame.options, body.messages)
    return ok(await trying.extract(memos, body))


@core.post("/rerank", **answers(trying.Reranked, "Order texts by a question."))
async def rerank(memos: Core, caller: CallerDep, body: bodies.RerankBody) -> Response:
    """Order texts by how well they answer a question."""
    caller.must(READ)
    return ok(await trying.rerank(memos, body))


@core.post("/chat", **answers(chatting.Chatted, "Answer with memories.", streams=True))
async def chat(memos: Core, caller: CallerDep, frame: FrameDep, body: bodies.ChatBody) -> Response:
    """Answer a question with the user's memories and knowledge bases, and remember both; with `stream` as it is made. Needs a
    chat model.
    """
    check_messages(frame.options, body.query)
    check_text(frame.options, body.system_prompt, "system_prompt has")
    return await chatting.chat(memos, caller, frame, body)


@core.post("/bind/profile_template", **answers(None, "Not supported."))
@core.post("/edit/profile", **answers(None, "Not supported."))
@core.post("/delete/profile", **answers(None, "Not supported."))
async def profiles(caller: CallerDep) -> Response:
    """Profile templates belong to the console of the cloud; what is known of a user here is read from what was said."""
    caller.must(READ)
    raise NotSupported(
        "profile templates are not supported: facts about a user are read from messages; "
        'see search/memory with include_memory_view ["profile"], and update/memory'
    )


ROUTERS = (core, knowledge.router)
