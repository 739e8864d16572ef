"""Routes of entities: who and what is named, under which names, and making two one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from memos.memory.entity import Entity, EntityPage, Merged, Unmerged
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.native import fields
from memos.server.native.answers import reply
from memos.server.native.fields import NOT_BLANK, Scoped
from memos.server.native.problems import asks, reads, writes
from memos.server.native.scope import WhoseDep, WhoseTooDep
from memos.server.quick import QuickRoute

router = APIRouter(prefix="/v1/entities", tags=["Entities"], route_class=QuickRoute)

MOST = 200
Called = Annotated[str, Field(min_length=1, max_length=MOST, pattern=NOT_BLANK)]
Which = Annotated[Called, Field(description="An entity: its id, or its name (which must be one entity's alone).")]
PartQuery = Annotated[
    str | None,
    Query(
        min_length=1, max_length=MOST, pattern=NOT_BLANK, description="A part of a name or alias.", examples=["Chen"]
    ),
]
TypeQuery = Annotated[
    str | None,
    Query(pattern=r"^[a-z_]+$", max_length=40, description="person, place, organisation, …", examples=["person"]),
]
MergedQuery = Annotated[bool, Query(description="Also those that were merged into others.")]


class Resolve(Scoped):
    """A name to look up."""

    name: Called = Field(examples=["Bob"])


class Merge(Scoped):
    """Two entities that are one."""

    keep: Which = Field(examples=["Robert Chen"])
    other: Which = Field(examples=["Bob"])


class Unmerge(Scoped):
    """An entity that is not what it was merged into."""

    entity: Which = Field(examples=["019a1f3c-77aa-7c31-8a2f-2b6d0f9f3f11"])


class Alias(Scoped):
    """One more name of an entity."""

    entity: Which = Field(examples=["Robert Chen"])
    name: Called = Field(description="The other name.", examples=["Bob"])


@router.get("", operation_id="list_entities", summary="List entities", response_model=EntityPage, responses=reads())
async def find(
    memos: Core,
    whose: WhoseDep,
    name: PartQuery = None,
    type: TypeQuery = None,
    merged: MergedQuery = False,
    limit: fields.LimitQuery = 100,
    cursor: fields.CursorQuery = None,
) -> Response:
    """Who and what is named in a cube, newest first. What a `name` finds is on one page."""
    place = whose.place()
    found = await memos.entities(
        name=name, type=type, merged=merged, limit=limit, cursor=cursor, user=place.user, cube=place.cube
    )
    return reply(found)


@router.post(
    "/resolve",
    operation_id="resolve_entity",
    summary="Look up a name",
    response_model=EntityPage,
    responses=asks(),
)
async def resolve(memos: Core, whose: WhoseTooDep, body: Resolve) -> Response:
    """The entities that bear exactly this name or alias: one mostly, none, or several of different types."""
    place = whose.place(body)
    found = await memos.resolve_entity(body.name, user=place.user, cube=place.cube)
    return reply(EntityPage(tuple(found), None))


@router.post(
    "/merge", operation_id="merge_entities", summary="Make two entities one", response_model=Merged, responses=writes()
)
async def merge(memos: Core, whose: WhoseTooDep, body: Merge) -> Response:
    """`keep` has the names, mentions and relations of both from here on. `unmerge` takes it back."""
    place = whose.place(body, WRITE)
    return reply(await memos.merge_entities(body.keep, body.other, user=place.user, cube=place.cube))


@router.post(
    "/unmerge", operation_id="unmerge_entity", summary="Take a merge back", response_model=Unmerged, responses=writes()
)
async def unmerge(memos: Core, whose: WhoseTooDep, body: Unmerge) -> Response:
    """The entity has again what it had when it was merged, and what was said since by its own name."""
    place = whose.place(body, WRITE)
    return reply(await memos.unmerge(body.entity, user=place.user, cube=place.cube))


@router.post("/aliases", operation_id="add_alias", summary="Add an alias", response_model=Entity, responses=writes())
async def add_alias(memos: Core, whose: WhoseTooDep, body: Alias) -> Response:
    """Lets an entity be found by one more name. A name that is another's is refused (409)."""
    place = whose.place(body, WRITE)
    return reply(await memos.add_alias(body.entity, body.name, user=place.user, cube=place.cube))


@router.post(
    "/aliases/remove",
    operation_id="remove_alias",
    summary="Take an alias away",
    response_model=Entity,
    responses=writes(),
)
async def remove_alias(memos: Core, whose: WhoseTooDep, body: Alias) -> Response:
    """The name is the entity's no more. One that came by a merge goes with `unmerge`."""
    place = whose.place(body, WRITE)
    return reply(await memos.remove_alias(body.entity, body.name, user=place.user, cube=place.cube))
