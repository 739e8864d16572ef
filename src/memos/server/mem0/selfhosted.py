"""The wire of mem0's open-source server under the same base: `/compat/mem0/memories`, `/search`, `/reset`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from memos.compat.mem0.changing import UNCHANGED
from memos.compat.mem0.finding import Wanted
from memos.compat.mem0.scopes import ENTITIES
from memos.errors import InvalidInput
from memos.server.app import Core
from memos.server.caller import WRITE, CallerDep
from memos.server.frame import FrameDep
from memos.server.limits import check_messages
from memos.server.mem0 import bodies
from memos.server.mem0.answers import answers
from memos.server.mem0.cloud import THRESHOLD
from memos.server.mem0.codes import PREFIX, NotSupported, ok
from memos.server.mem0.paths import EitherRoute
from memos.server.mem0.tenant import mem0_of

router = APIRouter(prefix=PREFIX, tags=["mem0 server"], route_class=EitherRoute)
TOP_K = 20
Some = Annotated[int, Query(ge=0, le=10_000)]


def _named(query: Any) -> dict[str, Any]:
    found = {name: query[name] for name in ENTITIES if query.get(name)}
    if not found:
        raise InvalidInput("At least one identifier is required: user_id, agent_id, app_id or run_id.")
    return found


@router.post("/memories", **answers("Store what was said."))
async def add(memos: Core, caller: CallerDep, frame: FrameDep, body: bodies.AddBody) -> Response:
    """Store messages and what is read from them; the answer says what came about."""
    check_messages(frame.options, body.messages)
    stored = await mem0_of(memos, caller, WRITE).stored(
        body.messages,
        body.ids,
        metadata=body.metadata,
        infer=body.infer,
        expiration_date=body.expiration_date,
        timestamp=body.timestamp,
    )
    return ok({"results": stored.events, **({"notices": stored.notices} if stored.notices else {})})


@router.get("/memories", **answers("Memories."))
async def get_all(
    memos: Core, caller: CallerDep, request: Request, top_k: Some = TOP_K, show_expired: bool = False
) -> Response:
    """The memories of a user, an agent or a run, the newest first."""
    mem0 = mem0_of(memos, caller)
    found = await mem0.get_all(_named(request.query_params), Wanted(show_expired=show_expired), most=top_k)
    return ok({"results": found.results})


@router.delete("/memories", **answers("Delete all that somebody has."))
async def delete_all(memos: Core, caller: CallerDep, request: Request) -> Response:
    """For good."""
    await mem0_of(memos, caller, WRITE).delete_all(**_named(request.query_params))
    return ok({"message": "All relevant memories deleted"})


@router.get("/memories/{memory_id}", **answers("One memory."))
async def get(memos: Core, caller: CallerDep, memory_id: str) -> Response:
    """A memory by its id."""
    return ok(await mem0_of(memos, caller).get(memory_id))


@router.put("/memories/{memory_id}", **answers("Change a memory."))
async def update(memos: Core, caller: CallerDep, memory_id: str, body: bodies.UpdateBody) -> Response:
    """Change text, metadata or expiration date."""
    expires = body.expiration_date if "expiration_date" in body.model_fields_set else UNCHANGED
    text = body.text if body.text is not None else body.data
    await mem0_of(memos, caller, WRITE).update(memory_id, text=text, metadata=body.metadata, expiration_date=expires)
    return ok({"message": "Memory updated successfully!"})


@router.delete("/memories/{memory_id}", **answers("Delete a memory."))
async def delete(memos: Core, caller: CallerDep, memory_id: str) -> Response:
    """For good."""
    await mem0_of(memos, caller, WRITE).delete(memory_id)
    return ok({"message": "Memory deleted successfully"})


@router.get("/memories/{memory_id}/history", **answers("What a memory was before."))
async def history(memos: Core, caller: CallerDep, memory_id: str) -> Response:
    """Every change, the oldest first."""
    return ok(await mem0_of(memos, caller).history(memory_id))


@router.post("/search", **answers("Search."))
async def search(memos: Core, caller: CallerDep, body: bodies.SearchBody) -> Response:
    """What answers a question, best first. Names in filters that are no fields are keys of metadata."""
    top_k = body.top_k if body.top_k is not None else body.limit
    found = await mem0_of(memos, caller).search(
        body.query,
        body.asked,
        Wanted(show_expired=body.show_expired),
        limit=TOP_K if top_k is None else top_k,
        threshold=THRESHOLD if body.threshold is None else body.threshold,
        rerank=body.rerank,
        breakdown=body.explain,
        bare_metadata=True,
    )
    return ok({"results": found.results})


@router.post("/reset", **answers("Delete everything."))
async def reset(memos: Core, caller: CallerDep) -> Response:
    """For good: all memories of all subjects of this key's user."""
    await mem0_of(memos, caller, WRITE).reset()
    return ok({"message": "All memories reset"})


@router.get("/configure", **answers("How this server is set up."))
async def get_configuration(memos: Core, caller: CallerDep) -> Response:
    """What mem0 calls its configuration, as far as there is one here; no secrets."""
    caller.acting(None)
    settings = memos.settings
    return ok(
        {
            "version": "v1.1",
            "vector_store": {"provider": "memos"},
            "embedder": {"provider": settings.embedder},
            "llm": {"provider": str(settings.llm) if settings.llm else None},
        }
    )


@router.post("/configure", **answers("Set up this server."))
async def configure(caller: CallerDep) -> Response:
    """Not from here."""
    caller.acting(None, WRITE)
    raise NotSupported("this server is configured by its settings (MEMOS_…), never over the wire")
