"""Routes by which one memory is shared with another cube, and taken back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import Field

from memos.frames import Count
from memos.memory.acting import Published
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.native.answers import reply
from memos.server.native.fields import Name, PathId, Scoped
from memos.server.native.problems import writes
from memos.server.native.scope import WhoseTooDep, home_of
from memos.server.quick import QuickRoute

router = APIRouter(prefix="/v1/memories", tags=["Skills"], route_class=QuickRoute)


class Publish(Scoped):
    """With which cube a memory is shared."""

    to: Annotated[Name, Field(description="The other cube, to which the user may write.", examples=["team/skills"])]


@router.post(
    "/{id:uuid}/publish",
    operation_id="publish_memory",
    summary="Share a memory with a cube",
    response_model=Published,
    responses=writes(),
)
async def publish(memos: Core, whose: WhoseTooDep, id: PathId, body: Publish) -> Response:
    """Makes a copy there, or brings it up to date. How a copy of a skill or policy fares there counts here, too."""
    place = whose.place(body, WRITE)
    cube = await home_of(memos, place, str(id))
    return reply(await memos.publish(str(id), body.to, user=place.user, cube=cube))


@router.post(
    "/{id:uuid}/unpublish",
    operation_id="unpublish_memory",
    summary="Take a shared memory back",
    response_model=Count,
    responses=writes(),
)
async def unpublish(memos: Core, whose: WhoseTooDep, id: PathId, body: Publish) -> Response:
    """Takes the copy in the other cube back; tells how many there were."""
    place = whose.place(body, WRITE)
    cube = await home_of(memos, place, str(id))
    return reply(Count(await memos.unpublish(str(id), body.to, user=place.user, cube=cube)))
