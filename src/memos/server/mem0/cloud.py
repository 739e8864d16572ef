"""The wire of mem0's cloud, `/compat/mem0/v1…v3`: memories, events, entities, batches, feedback, exports."""

from __future__ import annotations

import ast
import base64
import binascii
import json
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memos.compat.mem0.changing import UNCHANGED
from memos.compat.mem0.finding import Searched, Wanted
from memos.compat.mem0.scopes import ENTITIES
from memos.errors import InvalidInput
from memos.memory.ids import new_id
from memos.server.app import Core
from memos.server.caller import WRITE, Caller, CallerDep
from memos.server.frame import FrameDep
from memos.server.limits import check_messages
from memos.server.mem0 import bodies, events
from memos.server.mem0.answers import answers
from memos.server.mem0.codes import PREFIX, ok
from memos.server.mem0.paths import EitherRoute
from memos.server.mem0.tenant import MESSAGES_ONLY, mem0_of, wanted_of
from memos.server.native.slashes import with_slashes
from memos.system import AsyncMemOS

PAGE = 100
THRESHOLD = 0.1
router = APIRouter(prefix=PREFIX, tags=["mem0 cloud"], route_class=EitherRoute)
Page = Annotated[int, Query(ge=1, le=1_000_000)]
Size = Annotated[int, Query(ge=1, le=bodies.Many)]


@router.get("/v1/ping", **answers("Whose key it is."))
async def ping(caller: CallerDep) -> Response:
    """What mem0's client asks first. `org_id` is this server, `project_id` the user of the key."""
    user = caller.acting(None)
    return ok({"status": "ok", "org_id": "memos", "project_id": user, "user_email": None, "user_id": user})


@router.post("/v3/memories/add", **answers("Store what was said."))
@router.post("/v1/memories", **answers("Store what was said, as earlier clients do."))
async def add(memos: Core, caller: CallerDep, frame: FrameDep, body: bodies.AddBody) -> Response:
    """Store messages: they are found at once. What is read from them is, by the time that the event has SUCCEEDED."""
    check_messages(frame.options, body.messages)
    mem0, event = mem0_of(memos, caller, WRITE), new_id()
    now = not body.async_mode or not body.infer
    stored = await mem0.stored(
        body.messages,
        body.ids,
        metadata=body.metadata,
        infer=body.infer,
        expiration_date=body.expiration_date,
        timestamp=body.timestamp if body.timestamp is not None else body.observation_date,
        immutable=body.immutable,
        event=event,
        wait=now,
    )
    ignored = (body.custom_instructions, body.agent_custom_instructions, body.custom_categories)
    notices = [*stored.notices, *([MESSAGES_ONLY] if any(ignored) or body.structured_data_schema else ())]
    told = {
        "event_id": event,
        **({"results": stored.events} if now else {}),
        **({"notices": notices} if notices else {}),
    }
    if not stored.pending:
        return ok({"message": "Memories stored", "status": "SUCCEEDED", **told})
    said = "Memory processing has been queued for background execution"
    return ok({"message": said, "status": "PENDING", **told})


@router.get("/v1/event/{event_id}", **answers("What became of an add."))
async def get_event(memos: Core, caller: CallerDep, event_id: str) -> Response:
    """PENDING, RUNNING, SUCCEEDED (then with its results) or FAILED (with the reason)."""
    return ok(await events.event_of(memos, mem0_of(memos, caller), event_id))


@router.get("/v1/events", **answers("The events there are."))
async def get_events(
    memos: Core, caller: CallerDep, request: Request, page: Page = 1, page_size: Size = PAGE
) -> Response:
    """The newest first, a page at a time."""
    shown, count = await events.events(memos, mem0_of(memos, caller), page, page_size)
    return ok(_paged(request, shown, count, page, page_size))


@router.post("/v3/memories/search", **answers("Search."))
@router.post("/v2/memories/search", **answers("Search, as earlier clients do."))
async def search(memos: Core, caller: CallerDep, body: bodies.SearchBody) -> Response:
    """What answers a question, best first."""
    found = await _found(memos, caller, body)
    return ok({"results": found.results, **({"reasons": found.reasons} if found.reasons else {})})


@router.post("/v1/memories/search", **answers("Search, as the first clients do."))
async def search_first(memos: Core, caller: CallerDep, body: bodies.SearchBody) -> Response:
    """The same as a bare list, unless `output_format` is v1.1."""
    found = await _found(memos, caller, body)
    return ok({"results": found.results} if body.output_format == "v1.1" else found.results)


async def _found(memos: AsyncMemOS, caller: Caller, body: bodies.SearchBody) -> Searched:
    top_k = body.top_k if body.top_k is not None else body.limit
    return await mem0_of(memos, caller).search(
        body.query,
        _with_metadata(body),
        Wanted(body.show_expired, body.latest_only, body.categories or (), fields=body.fields or ()),
        limit=10 if top_k is None else top_k,
        threshold=THRESHOLD if body.threshold is None else body.threshold,
        rerank=body.rerank,
        reference_date=body.reference_date,
        breakdown=True,
    )


def _with_metadata(body: bodies.SearchBody) -> Any:
    asked = body.asked
    return asked if not body.metadata or not asked else {"AND": [asked, {"metadata": body.metadata}]}


@router.post("/v3/memories", **answers("Memories by page."))
@router.post("/v2/memories", **answers("Memories by page, as earlier clients ask."))
async def get_all(
    memos: Core,
    caller: CallerDep,
    request: Request,
    body: bodies.ListBody,
    page: Page | None = None,
    page_size: Size | None = None,
) -> Response:
    """The memories that the filters mean, the newest first."""
    at, size = page or body.page or 1, page_size or body.page_size or PAGE
    wanted = wanted_of(body, memos.settings.timezone)
    found = await mem0_of(memos, caller).get_all(body.asked, wanted, skip=(at - 1) * size, most=size)
    return ok(_paged(request, found.results, found.count, at, size))


def _paged(request: Request, shown: list[dict[str, Any]], count: int, page: int, size: int) -> Mapping[str, Any]:
    def link(number: int) -> str:
        return str(request.url.include_query_params(page=number, page_size=size))

    return {
        "count": count,
        "next": link(page + 1) if page * size < count else None,
        "previous": link(page - 1) if page > 1 else None,
        "results": shown,
    }


@router.get("/v1/memories", **answers("Memories, as the first clients ask."))
async def get_all_of(
    memos: Core, caller: CallerDep, request: Request, page: Page = 1, page_size: Size = PAGE
) -> Response:
    """The memories of the ids in the query string, the newest first."""
    skip = (page - 1) * page_size
    found = await mem0_of(memos, caller).get_all(_ids_in(request.query_params), skip=skip, most=page_size)
    return ok(_paged(request, found.results, found.count, page, page_size))


@router.delete("/v1/memories", **answers("Delete all that somebody has."))
async def delete_all(memos: Core, caller: CallerDep, request: Request) -> Response:
    """For good, by user_id, agent_id, app_id and run_id together; `*` means every one."""
    await mem0_of(memos, caller, WRITE).delete_all(**_ids_in(request.query_params))
    return ok({"message": "Memories deleted successfully!"})


def _ids_in(query: Mapping[str, str]) -> dict[str, Any]:
    """The ids of a query string. Typed options of mem0's client come as one parameter, an object as Python writes it."""
    found: dict[str, Any] = {name: query[name] for name in ENTITIES if query.get(name)}
    if written := query.get("filters"):
        try:
            inside = json.loads(written) if written.startswith('{"') else ast.literal_eval(written)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inside = None
        if not isinstance(inside, dict) or not set(inside) <= set(ENTITIES):
            raise InvalidInput(f"filters of a deletion are ids such as {{'user_id': 'alice'}}, got {written!r:.80}")
        found = {**inside, **found}
    return found


@router.get("/v1/memories/{memory_id}", **answers("One memory."))
async def get(memos: Core, caller: CallerDep, memory_id: str) -> Response:
    """A memory by its id."""
    return ok(await mem0_of(memos, caller).get(memory_id))


@router.put("/v1/memories/{memory_id}", **answers("Change a memory."))
async def update(memos: Core, caller: CallerDep, memory_id: str, body: bodies.UpdateBody) -> Response:
    """Change text, metadata, time or expiration date; the former version stays in the history."""
    expires = body.expiration_date if "expiration_date" in body.model_fields_set else UNCHANGED
    text = body.text if body.text is not None else body.data
    return ok(
        await mem0_of(memos, caller, WRITE).update(
            memory_id, text=text, metadata=body.metadata, expiration_date=expires, timestamp=body.timestamp
        )
    )


@router.delete("/v1/memories/{memory_id}", **answers("Delete a memory."))
async def delete(memos: Core, caller: CallerDep, memory_id: str, delete_linked: bool = False) -> Response:
    """For good; with `delete_linked` what it had superseded goes too."""
    await mem0_of(memos, caller, WRITE).delete(memory_id, linked=delete_linked)
    return ok({"message": "Memory deleted successfully!"})


@router.get("/v1/memories/{memory_id}/history", **answers("What a memory was before."))
async def history(memos: Core, caller: CallerDep, memory_id: str) -> Response:
    """Every change, the oldest first."""
    return ok(await mem0_of(memos, caller).history(memory_id))


@router.put("/v1/batch", **answers("Change several memories."))
async def batch_update(memos: Core, caller: CallerDep, body: bodies.BatchBody) -> Response:
    """All of them exist, or none is changed."""
    changes = [each.model_dump() for each in body.memories]
    count = await mem0_of(memos, caller, WRITE).batch_update(changes)
    return ok({"message": f"Successfully updated {count} memories"})


@router.delete("/v1/batch", **answers("Delete several memories."))
async def batch_delete(memos: Core, caller: CallerDep, body: bodies.BatchBody) -> Response:
    """All of them exist, or none is deleted."""
    count = await mem0_of(memos, caller, WRITE).batch_delete([each.memory_id for each in body.memories])
    return ok({"message": f"Successfully deleted {count} memories"})


@router.get("/v1/entities", **answers("Whose memories there are."))
async def entities(memos: Core, caller: CallerDep) -> Response:
    """Users, agents, apps, and runs that belong to no user: all of them at once."""
    found = await mem0_of(memos, caller).entities()
    return ok({"count": len(found), "next": None, "previous": None, "results": found})


@router.delete("/v2/entities/{kind}/{name}", **answers("Delete all of an entity."))
async def delete_entity(memos: Core, caller: CallerDep, kind: str, name: str) -> Response:
    """For good. An entity of which there is nothing is no error: it may have gone with another one."""
    gone = await mem0_of(memos, caller, WRITE).delete_entity(kind, with_slashes(name))
    return ok({"message": "Entity deleted successfully!", "memories_deleted": gone})


@router.post("/v1/feedback", **answers("What somebody thinks of a memory."))
async def feedback(memos: Core, caller: CallerDep, body: bodies.FeedbackBody) -> Response:
    """It counts more from then on, or less."""
    given = body.feedback.upper() if body.feedback else None
    return ok(await mem0_of(memos, caller, WRITE).feedback(body.memory_id, given, body.feedback_reason))


@router.post("/v1/exports", **answers("Ask for an export.", 201))
async def create_export(caller: CallerDep, body: bodies.ExportBody) -> Response:
    """The id holds what is asked for, and nothing is kept: an export is made when it is fetched."""
    caller.acting(None)
    asked = json.dumps(body.asked or {})
    id = base64.urlsafe_b64encode(asked.encode()).decode().rstrip("=")
    return ok({"message": "The export is ready to be fetched", "id": f"export-{id}"}, 201)


@router.post("/v1/exports/get", **answers("Fetch an export."))
async def get_export(memos: Core, caller: CallerDep, body: bodies.ExportGetBody) -> Response:
    """All memories that the export, or the filters, mean. A schema is not applied: no model makes up what is not there."""
    asked = body.asked if body.memory_export_id is None else _asked_in(body.memory_export_id)
    found = await mem0_of(memos, caller).export(asked or None)
    return ok({"status": "SUCCEEDED", "memories": found})


def _asked_in(id: str) -> Any:
    """The filters in the id of an export."""
    try:
        packed = id.removeprefix("export-")
        return json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidInput(f"{id!r:.60} is no id of an export") from None


@router.post("/v1/summary", **answers("What is known, line by line."))
async def summary(memos: Core, caller: CallerDep, body: bodies.SummaryBody) -> Response:
    """The newest memories that the filters mean, as a list: no model is asked."""
    return ok({"status": "SUCCEEDED", "summary": await mem0_of(memos, caller).summary(body.asked)})
