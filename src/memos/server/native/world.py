"""Routes of the world model: what is known of an environment, and how things in it are connected."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from memos.memory.acting import WorldAnswer
from memos.memory.learned import WorldStatement
from memos.server.app import Core
from memos.server.native.answers import reply
from memos.server.native.fields import NAME_BOUNDS, NOT_BLANK, PathId
from memos.server.native.problems import reads
from memos.server.native.scope import WhoseDep, home_of
from memos.server.quick import QuickRoute

router = APIRouter(prefix="/v1/world", tags=["Learning"], route_class=QuickRoute)

AskedQuery = Annotated[
    str | None,
    Query(min_length=1, pattern=NOT_BLANK, description="A question.", examples=["who asked for the new parser?"]),
]
EnvironmentQuery = Annotated[
    str | None, Query(description="Only of this environment.", examples=["alpine-ci"], **NAME_BOUNDS)
]
HopsQuery = Annotated[int, Query(ge=1, le=8, description="Longest path in the graph.")]
FoundLimit = Annotated[int, Query(ge=1, le=1_000, description="Statements, and paths, at most.")]


@router.get("", operation_id="ask_world", summary="Ask the world model", response_model=WorldAnswer, responses=reads())
async def ask(
    memos: Core,
    whose: WhoseDep,
    query: AskedQuery = None,
    environment: EnvironmentQuery = None,
    hops: HopsQuery = 3,
    limit: FoundLimit = 20,
) -> Response:
    """Statements about an environment, or about all; for a `query` also paths that connect what it names, with every memory on
    the way.
    """
    place = whose.place()
    found = await memos.world(query, environment=environment, hops=hops, limit=limit, user=place.user, cube=place.cube)
    return reply(found)


@router.get(
    "/{id:uuid}",
    operation_id="get_world_statement",
    summary="Read a statement of the world model",
    response_model=WorldStatement,
    responses=reads(),
)
async def get(memos: Core, whose: WhoseDep, id: PathId) -> Response:
    """A statement, with how many episodes speak for and against it. What it rests on: `/v1/lineage/{id}`."""
    place = whose.place()
    return reply(await memos.world_statement(str(id), user=place.user, cube=await home_of(memos, place, str(id))))
