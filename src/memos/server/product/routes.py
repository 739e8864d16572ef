"""The routes of the MemOS wire under `/product`: a body, a caller and the core go to the function that answers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Query
from pydantic import StrictStr
from starlette.requests import Request
from starlette.responses import Response

from memos.server.app import Core
from memos.server.caller import CallerDep
from memos.server.frame import FrameDep
from memos.server.limits import check_messages, check_text
from memos.server.product import add as adding
from memos.server.product import chat, chat_playground, cubes, delete, feedback, models, read, scheduler, suggest
from memos.server.product import search as searching
from memos.server.product.problems import PROBLEMS, STREAM
from memos.server.product.replies import PREFIX
from memos.server.quick import QuickRoute

router = APIRouter(prefix=PREFIX, tags=["MemOS (self-hosted)"], responses=PROBLEMS, route_class=QuickRoute)
Named = Annotated[str, Query()]
MaybeNamed = Annotated[str | None, Query()]


@router.post("/add")
async def add(body: models.AddBody, core: Core, caller: CallerDep, frame: FrameDep) -> Response:
    """Store messages in one or several cubes."""
    check_messages(frame.options, body.messages)
    check_messages(frame.options, body.memory_content)
    return await adding.add(core, caller, body)


@router.post("/search")
async def search(body: models.SearchBody, core: Core, caller: CallerDep) -> Response:
    """Find what answers a question."""
    return await searching.search(core, caller, body)


@router.post("/get_memory")
async def get_memory(body: models.ListBody, core: Core, caller: CallerDep) -> Response:
    """List the memories of a cube."""
    return await read.get_memory(core, caller, body)


@router.get("/get_memory/{memory_id}")
async def get_memory_by_id(memory_id: str, core: Core, caller: CallerDep, user_id: MaybeNamed = None) -> Response:
    """One memory by its id."""
    return await read.get_one(core, caller, memory_id, user_id)


@router.post("/get_memory_by_ids")
async def get_memory_by_ids(
    memory_ids: Annotated[list[StrictStr], Body()], core: Core, caller: CallerDep, user_id: MaybeNamed = None
) -> Response:
    """Memories by their ids: the body is the list of them."""
    return await read.get_by_ids(core, caller, memory_ids, user_id)


@router.post("/get_memory_dashboard")
async def get_memory_dashboard(body: models.DashboardBody, core: Core, caller: CallerDep) -> Response:
    """List memories with statistics."""
    return await read.dashboard(core, caller, body)


@router.post("/get_all")
async def get_all(body: models.GetAllBody, core: Core, caller: CallerDep) -> Response:
    """The graph of cubes, for a viewer."""
    return await read.get_all(core, caller, body)


@router.post("/get_user_names_by_memory_ids")
async def get_user_names_by_memory_ids(body: models.IdsBody, core: Core, caller: CallerDep) -> Response:
    """The cube of each memory."""
    return await read.cubes_of(core, caller, body)


@router.post("/exist_mem_cube_id")
async def exist_mem_cube_id(body: models.CubeBody, core: Core, caller: CallerDep) -> Response:
    """Whether a cube exists."""
    return await read.cube_exists(core, caller, body)


@router.post("/delete_memory")
async def delete_memory(body: models.DeleteBody, core: Core, caller: CallerDep) -> Response:
    """Delete memories by ids, files or selectors."""
    return await delete.delete_memory(core, caller, body)


@router.post("/delete_memory_by_record_id")
async def delete_memory_by_record_id(body: models.DeleteRecordBody, core: Core, caller: CallerDep) -> Response:
    """Take a whole cube back under a record."""
    return await delete.delete_record(core, caller, body)


@router.post("/recover_memory_by_record_id")
async def recover_memory_by_record_id(body: models.RecoverBody, core: Core, caller: CallerDep) -> Response:
    """Bring back what was taken back under a record."""
    return await delete.recover_record(core, caller, body)


@router.post("/create_cube")
async def create_cube(body: models.CreateCubeBody, core: Core, caller: CallerDep) -> Response:
    """Create a cube."""
    return await cubes.create_cube(core, caller, body)


@router.post("/register_cube")
async def register_cube(body: models.RegisterCubeBody, core: Core, caller: CallerDep) -> Response:
    """Make sure that a cube can be used."""
    return await cubes.register_cube(core, caller, body)


@router.get("/scheduler/allstatus")
async def scheduler_allstatus(core: Core, caller: CallerDep) -> Response:
    """How many tasks are in which state."""
    return await scheduler.all_status(core, caller)


@router.get("/scheduler/status")
async def scheduler_status(core: Core, caller: CallerDep, user_id: Named, task_id: MaybeNamed = None) -> Response:
    """The state of a user's tasks."""
    return await scheduler.status(core, caller, user_id, task_id)


@router.get("/scheduler/task_queue_status")
async def scheduler_task_queue_status(core: Core, caller: CallerDep, user_id: Named) -> Response:
    """What waits for a user."""
    return await scheduler.queue_status(core, caller, user_id)


@router.post("/scheduler/wait")
async def scheduler_wait(
    core: Core, caller: CallerDep, user_name: Named, timeout_seconds: float = 120.0, poll_interval: float = 0.5
) -> Response:
    """Wait until a user's work is done."""
    return await scheduler.wait(core, caller, user_name, timeout_seconds, poll_interval)


@router.get("/scheduler/wait/stream", response_class=Response, responses=STREAM)
async def scheduler_wait_stream(
    request: Request,
    core: Core,
    caller: CallerDep,
    user_name: Named,
    timeout_seconds: float = 120.0,
    poll_interval: float = 0.5,
) -> Response:
    """Follow a user's work until it is done."""
    return await scheduler.wait_stream(core, request, caller, user_name, timeout_seconds, poll_interval)


@router.post("/chat/complete")
async def chat_complete(body: models.ChatBody, core: Core, caller: CallerDep, frame: FrameDep) -> Response:
    """Answer with memories, at once."""
    _check_chat(frame, body)
    return await chat.complete(core, caller, body)


@router.post("/chat/stream", response_class=Response, responses=STREAM)
async def chat_stream(body: models.ChatBody, core: Core, caller: CallerDep, frame: FrameDep) -> Response:
    """Answer with memories, as a stream."""
    _check_chat(frame, body)
    return await chat.stream(core, caller, frame, body)


@router.post("/chat/stream/playground", response_class=Response, responses=STREAM)
async def chat_stream_playground(
    body: models.PlaygroundBody, core: Core, caller: CallerDep, frame: FrameDep
) -> Response:
    """Answer with memories, as a stream for the playground."""
    _check_chat(frame, body)
    return await chat_playground.playground(core, caller, frame, body)


@router.post("/chat/stream/business_user", response_class=Response, responses=STREAM)
async def chat_stream_business_user(
    body: models.BusinessBody, core: Core, caller: CallerDep, frame: FrameDep
) -> Response:
    """Answer as a stream for a business key."""
    _check_chat(frame, body)
    return await chat.business(core, caller, frame, body)


@router.post("/suggestions")
async def suggestions(body: models.SuggestBody, core: Core, caller: CallerDep) -> Response:
    """Questions that could be asked next."""
    return await suggest.suggestions(core, caller, body)


@router.post("/feedback")
async def give_feedback(body: models.FeedbackBody, core: Core, caller: CallerDep, frame: FrameDep) -> Response:
    """Correct, supplement or confirm what is remembered."""
    check_messages(frame.options, body.feedback_content)
    return await feedback.feedback(core, caller, body)


def _check_chat(frame: FrameDep, body: models.ChatBody) -> None:
    check_messages(frame.options, body.query)
    check_messages(frame.options, body.history)
    check_text(frame.options, body.system_prompt, "system_prompt has")


ROUTERS = (router,)
