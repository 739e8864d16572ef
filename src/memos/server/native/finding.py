"""Routes that answer questions: search, and why a memory was or was not among the hits."""

from __future__ import annotations

from fastapi import APIRouter, Response

from memos.memory.hit import Explanation, SearchResult
from memos.server import briefly
from memos.server.app import Core
from memos.server.native.answers import reply
from memos.server.native.models import Explain, Search
from memos.server.native.problems import asks
from memos.server.native.scope import WhoseTooDep, home_of
from memos.server.quick import QuickRoute

router = APIRouter(prefix="/v1/memories", tags=["Finding"], route_class=QuickRoute)


@router.post(
    "/search",
    operation_id="search",
    summary="Find what answers a question",
    response_model=SearchResult,
    responses=asks(),
)
async def search(memos: Core, whose: WhoseTooDep, body: Search) -> Response:
    """Ranked hits, a context block within a token budget, and an honest status.

    `status` says which it is: `found`, `nothing`, `below_threshold`, `partial` or `failed`; `reasons` says why anything
    is missing. `context` is ready to be put in a prompt. Of more than 20 `sources` of a memory the first and the last ten are
    shown: reading it by its id tells them all.
    """
    place = whose.place(body)
    found = await memos.search(
        body.query,
        user=place.user,
        cube=place.cube,
        cubes=body.cubes,
        limit=body.limit,
        max_tokens=body.max_tokens,
        filter=body.filter,
        kinds=body.kinds,
        as_of=body.as_of,
        known_at=body.known_at,
        reference_time=body.reference_time,
        threshold=body.threshold,
        include_superseded=body.include_superseded,
        collapse=body.collapse,
        rerank=body.rerank,
    )
    return reply(briefly.found(found))


@router.post(
    "/explain",
    operation_id="explain",
    summary="Explain a hit or a miss",
    response_model=Explanation,
    responses=asks(),
)
async def explain(memos: Core, whose: WhoseTooDep, body: Explain) -> Response:
    """Why a memory is, or is not, among the hits of a search: its rank and value at each stage, and what would help."""
    place = whose.place(body)
    cube = await home_of(memos, place, body.memory_id)
    told = await memos.explain(
        body.query,
        body.memory_id,
        limit=body.limit,
        max_tokens=body.max_tokens,
        filter=body.filter,
        as_of=body.as_of,
        known_at=body.known_at,
        reference_time=body.reference_time,
        threshold=body.threshold,
        user=place.user,
        cube=cube,
    )
    return reply(told)
