"""Routes of episodes: the tasks that agents worked on, their steps, and how they went."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from memos.memory.episode import EpisodeDetail, Episodes
from memos.server.app import Core
from memos.server.native import fields
from memos.server.native.answers import reply
from memos.server.native.fields import NAME_BOUNDS, PathId
from memos.server.native.problems import reads
from memos.server.native.scope import WhoseDep
from memos.server.quick import QuickRoute

router = APIRouter(prefix="/v1/episodes", tags=["Learning"], route_class=QuickRoute)

MOST = 1_000
SessionQuery = Annotated[str | None, Query(description="Only of this session.", examples=["deploy-42"], **NAME_BOUNDS)]
AgentQuery = Annotated[str | None, Query(description="Only of this agent.", examples=["coder"], **NAME_BOUNDS)]
OpenQuery = Annotated[bool | None, Query(description="`true`: only those going on; `false`: only those over.")]
PageLimit = Annotated[int, Query(ge=1, le=MOST, description="Items of a page at most.")]


@router.get("", operation_id="list_episodes", summary="List episodes", response_model=Episodes, responses=reads())
async def find(
    memos: Core,
    whose: WhoseDep,
    session: SessionQuery = None,
    agent: AgentQuery = None,
    is_open: OpenQuery = None,
    limit: PageLimit = 50,
    cursor: fields.CursorQuery = None,
) -> Response:
    """The episodes of a cube, newest first. One is a run of turns on one goal; once it was valued it has a `reward`."""
    place = whose.place()
    found = await memos.episodes(
        session=session,
        agent=agent,
        is_open=is_open,
        limit=limit,
        cursor=cursor,
        user=place.user,
        cube=place.cube,
    )
    return reply(found)


@router.get(
    "/{id:uuid}", operation_id="get_episode", summary="Read an episode", response_model=EpisodeDetail, responses=reads()
)
async def get(memos: Core, whose: WhoseDep, id: PathId) -> Response:
    """An episode with its steps, what was said of its outcome, and which skills and policies were handed out in it."""
    place = whose.place()
    return reply(await memos.episode(str(id), user=place.user, cube=place.cube))
