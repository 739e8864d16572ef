"""Routes of policies: how errors are resolved and tasks are done, what never works, and what somebody wants."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from memos.frames import Policies
from memos.memory.learned import Form, Policy, State
from memos.server.app import Core
from memos.server.native.answers import reply
from memos.server.native.fields import NOT_BLANK, PathId
from memos.server.native.problems import reads
from memos.server.native.scope import WhoseDep, home_of
from memos.server.quick import QuickRoute

router = APIRouter(prefix="/v1/policies", tags=["Learning"], route_class=QuickRoute)

AboutQuery = Annotated[
    str | None,
    Query(
        min_length=1, pattern=NOT_BLANK, description="What they should answer.", examples=["pip cannot build a wheel"]
    ),
]
StatesQuery = Annotated[
    list[State] | None,
    Query(description="Only in these states; may be given several times.", examples=[["active"]]),
]
FormsQuery = Annotated[
    list[Form] | None, Query(description="Only of these forms; may be given several times.", examples=[["fix"]])
]
ListLimit = Annotated[int, Query(ge=1, le=1_000, description="At most so many.")]


@router.get("", operation_id="list_policies", summary="List policies", response_model=Policies, responses=reads())
async def find(
    memos: Core,
    whose: WhoseDep,
    query: AboutQuery = None,
    states: StatesQuery = None,
    forms: FormsQuery = None,
    limit: ListLimit = 100,
) -> Response:
    """What was induced from two or more episodes: those that answer a `query`, best first, or all, newest first. `record` is
    counted: episodes that teach it, how much better those with it went, and how often it helped.
    """
    place = whose.place()
    found = await memos.policies(query, states=states, forms=forms, limit=limit, user=place.user, cube=place.cube)
    return reply(Policies(tuple(found)))


@router.get("/{id:uuid}", operation_id="get_policy", summary="Read a policy", response_model=Policy, responses=reads())
async def get(memos: Core, whose: WhoseDep, id: PathId) -> Response:
    """A policy, whatever its state. What it rests on: `/v1/lineage/{id}`. To retire it: `/v1/learned/{id}/state`."""
    place = whose.place()
    return reply(await memos.policy(str(id), user=place.user, cube=await home_of(memos, place, str(id))))
