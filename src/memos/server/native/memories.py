"""Routes of memories: keep, list, read, change, delete, and what became of one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from memos.errors import InvalidInput, NotFound
from memos.frames import Count, Got, Links, Memories, Versions
from memos.memory.model import Memory
from memos.memory.number import MOST_AT_ONCE
from memos.results import AddResult, DeleteResult
from memos.server import briefly
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.limits import check_messages
from memos.server.native import fields
from memos.server.native.answers import reply
from memos.server.native.fields import AsOfQuery, CursorQuery, KindsQuery, KnownAtQuery, Name, PathId
from memos.server.native.match import IfMatch, etag, only_at
from memos.server.native.models import Add, Counting, Delete, Get, Listing, Patch, Undo
from memos.server.native.problems import asks, reads, writes
from memos.server.native.scope import Place, WhoseDep, WhoseTooDep, home_of, home_of_all
from memos.server.quick import QuickRoute
from memos.storage.ports import Page

router = APIRouter(prefix="/v1/memories", tags=["Memories"], route_class=QuickRoute)
ETAG: dict[str, Any] = {
    "headers": {"ETag": {"schema": {"type": "string"}, "description": "The memory's version, for `If-Match`."}}
}
IdempotencyKey = Annotated[Name | None, Header(description="The same as `idempotency_key` of the body.")]


RetryKey = Annotated[
    Name | None, Header(description="One for each call, and the same when the call is repeated after a lost answer.")
]


@router.post(
    "", operation_id="add_memories", summary="Keep what happened", response_model=AddResult, responses=writes()
)
async def add(
    request: Request,
    memos: Core,
    whose: WhoseTooDep,
    body: Add,
    idempotency_key: IdempotencyKey = None,
    retry_key: RetryKey = None,
) -> Response:
    """Stores a text, a chat message or a list of them, and answers once they are on disk and can be found.

    Facts, entities and vectors are derived in the background: `task` is the task that does it. What was stored before
    (the same idempotency key, `message_id` or words) is not stored twice; the ids stay valid for ever.
    """
    place = whose.place(body, WRITE)
    if idempotency_key is not None and body.idempotency_key not in (None, idempotency_key):
        raise InvalidInput("the header Idempotency-Key and the field idempotency_key differ; give one of them")
    check_messages(request.app.state.options, body.messages)
    check_messages(request.app.state.options, body.context or ())
    added = await memos.add(
        body.messages,
        user=place.user,
        cube=place.cube,
        session=body.session,
        role=body.role,
        tags=body.tags,
        info=body.info,
        idempotency_key=body.idempotency_key or idempotency_key,
        retry_key=retry_key,
        derive=body.derive,
        wait=body.wait,
        task_id=body.task_id,
        context=body.context,
        corrects=body.corrects,
        reading=body.reading,
        whole=body.whole,
    )
    return reply(added)


@router.get("", operation_id="list_memories", summary="List memories", response_model=Page, responses=reads())
async def list_by_query(
    memos: Core,
    whose: WhoseDep,
    kinds: KindsQuery = None,
    limit: fields.LimitQuery = 100,
    cursor: CursorQuery = None,
    order: Annotated[fields.Order, Query(description="In order of creation, which end first.")] = "newest",
    as_of: AsOfQuery = None,
    known_at: KnownAtQuery = None,
    include_inactive: Annotated[bool, Query(description="Also superseded, retracted and archived ones.")] = False,
) -> Response:
    """One page in order of creation. Go on with `cursor` until it is null."""
    place = whose.place()
    page = await memos.list(
        kinds=kinds,
        limit=limit,
        cursor=cursor,
        newest_first=order == "newest",
        as_of=as_of,
        known_at=known_at,
        include_inactive=include_inactive,
        user=place.user,
        cube=place.cube,
    )
    return reply(page)


@router.post(
    "/list",
    operation_id="filter_memories",
    summary="List memories by a filter",
    response_model=Page,
    responses=asks(),
)
async def list_by_filter(memos: Core, whose: WhoseTooDep, body: Listing) -> Response:
    """The same as listing, with a filter."""
    place = whose.place(body)
    page = await memos.list(
        filter=body.filter,
        kinds=body.kinds,
        limit=body.limit,
        cursor=body.cursor,
        newest_first=body.order == "newest",
        as_of=body.as_of,
        known_at=body.known_at,
        include_inactive=body.include_inactive,
        user=place.user,
        cube=place.cube,
    )
    return reply(page)


@router.post("/count", operation_id="count_memories", summary="Count memories", response_model=Count, responses=asks())
async def count(memos: Core, whose: WhoseTooDep, body: Counting) -> Response:
    """How many memories match."""
    place = whose.place(body)
    found = await memos.count(
        filter=body.filter,
        kinds=body.kinds,
        include_inactive=body.include_inactive,
        user=place.user,
        cube=place.cube,
    )
    return reply(Count(found))


@router.post("/get", operation_id="get_memories", summary="Read several memories", response_model=Got, responses=asks())
async def get_several(memos: Core, whose: WhoseTooDep, body: Get) -> Response:
    """The memories of these ids, whatever their status, from any cube the user may read (or the one that is named)."""
    place = whose.place(body)
    ids = list(dict.fromkeys(body.ids))
    if place.cube is not None:
        homes = dict.fromkeys(ids, place.cube)
    else:
        homes = await memos.locate(ids, user=place.user)
    there: dict[str, Memory] = {}
    for cube in dict.fromkeys(homes.values()):
        mine = [id for id in ids if homes.get(id) == cube]
        page = await memos.list(
            filter={"id": {"in": mine}}, limit=len(mine), include_inactive=True, user=place.user, cube=cube
        )
        there |= {m.id: m for m in page.items}
    return reply(Got(tuple(there[id] for id in ids if id in there), tuple(id for id in ids if id not in there)))


@router.post(
    "/delete",
    operation_id="delete_memories",
    summary="Delete memories",
    response_model=DeleteResult,
    responses=writes(),
)
async def delete_several(memos: Core, whose: WhoseTooDep, body: Delete) -> Response:
    """Deletes by exactly one of `ids`, `filter`, `session` or `everything`, in one cube.

    A hard delete takes the memories, their versions and what is derived from nothing else out of every index and out
    of the file. `restored` are facts that are current again, because what had replaced them is gone.
    """
    place = whose.place(body, WRITE)
    ids = list(dict.fromkeys(body.ids)) if body.ids is not None else None
    cube = await home_of_all(memos, place, ids) if ids is not None else place.cube
    done = await memos.delete(
        ids,
        filter=body.filter,
        session=body.session,
        everything=body.everything,
        hard=body.hard,
        dry_run=body.dry_run,
        vacuum=body.vacuum,
        user=place.user,
        cube=cube,
    )
    return reply(done)


@router.get(
    "/{id:uuid}",
    operation_id="get_memory",
    summary="Read a memory",
    response_model=Memory,
    responses={200: ETAG, **reads()},
)
async def get(
    memos: Core, whose: WhoseDep, id: PathId, as_of: AsOfQuery = None, known_at: KnownAtQuery = None
) -> Response:
    """A memory whatever its status, as it is now or was at some time."""
    place = whose.place()
    cube = await home_of(memos, place, str(id))
    memory = await memos.get(str(id), as_of=as_of, known_at=known_at, user=place.user, cube=cube)
    return reply(memory, headers=etag(memory))


@router.patch(
    "/{id:uuid}",
    operation_id="update_memory",
    summary="Change a memory",
    response_model=Memory,
    responses={200: ETAG, **writes(412)},
)
async def update(memos: Core, whose: WhoseTooDep, id: PathId, body: Patch, if_match: IfMatch = None) -> Response:
    """Changes what is given. The former version stays in the history, and the change can be undone.

    With `If-Match` the change is made only while the memory has that version.
    """
    place = whose.place(body, WRITE)
    cube = await home_of(memos, place, str(id))
    with only_at(if_match) as wanted:
        memory = await memos.update(
            str(id),
            text=body.text,
            title=body.title,
            tags=body.tags,
            info=body.info,
            importance=body.importance,
            valid_from=body.valid_from,
            valid_to=body.valid_to,
            cause=body.cause,
            if_version=wanted,
            user=place.user,
            cube=cube,
        )
    return reply(memory, headers=etag(memory))


@router.delete(
    "/{id:uuid}",
    operation_id="delete_memory",
    summary="Delete a memory",
    response_model=DeleteResult,
    responses=writes(412),
)
async def delete(
    memos: Core,
    whose: WhoseDep,
    id: PathId,
    hard: Annotated[bool, Query(description="Gone for good; `false` hides it, and can be undone.")] = True,
    dry_run: Annotated[bool, Query(description="Only tell what would be deleted.")] = False,
    vacuum: Annotated[bool | None, Query(description="Rewrite the file (default: if small).")] = None,
    if_match: IfMatch = None,
) -> Response:
    """Deletes one memory, and what is derived from nothing else."""
    place = whose.place(need=WRITE)
    cube = await home_of(memos, place, str(id))
    with only_at(if_match) as wanted:
        done = await memos.delete(
            str(id), hard=hard, dry_run=dry_run, vacuum=vacuum, user=place.user, cube=cube, if_version=wanted
        )
    return reply(done)


@router.get(
    "/{id:uuid}/history",
    operation_id="memory_history",
    summary="Read the history of a memory",
    response_model=Versions,
    responses=reads(),
)
async def history(memos: Core, whose: WhoseDep, id: PathId) -> Response:
    """Every version, oldest first, with who changed it, how, why and when.

    Of more than 20 `sources` the first and the last ten are shown: the memory read with that `known_from` as `known_at` has all.
    """
    place = whose.place()
    cube = await home_of(memos, place, str(id))
    return reply(Versions(briefly.versions(await memos.history(str(id), user=place.user, cube=cube))))


@router.post(
    "/{id:uuid}/undo",
    operation_id="undo_memory",
    summary="Undo the last change of a memory",
    response_model=Memories,
    responses=writes(),
)
async def undo(memos: Core, whose: WhoseTooDep, id: PathId, body: Undo | None = None) -> Response:
    """Reverts the last change of the memory, and whatever else that change did. Answers the memories as they are now."""
    place = whose.place(body, WRITE)
    cube = await home_of(memos, place, str(id))
    return reply(Memories(tuple(await memos.undo(str(id), user=place.user, cube=cube))))


@router.get(
    "/{id:uuid}/neighbors",
    operation_id="memory_neighbors",
    summary="Walk the graph from a memory",
    response_model=Links,
    responses=reads(),
)
async def neighbors(
    memos: Core,
    whose: WhoseDep,
    id: PathId,
    depth: Annotated[int, Query(ge=1, le=8, description="Hops.")] = 1,
    types: fields.TypesQuery = None,
    direction: Annotated[fields.Way, Query(description="Along the edges, against them, or both.")] = "both",
    limit: Annotated[int, Query(ge=1, le=MOST_AT_ONCE, description="Edges at most, the nearest.")] = MOST_AT_ONCE,
    as_of: AsOfQuery = None,
    known_at: KnownAtQuery = None,
) -> Response:
    """Edges within some hops of a memory, nearest first, each once."""
    place = whose.place()
    cube = await _home_of_it(memos, place, str(id))
    found = await memos.neighbors(
        str(id),
        depth=depth,
        types=types,
        direction=direction,
        limit=limit,
        as_of=as_of,
        known_at=known_at,
        user=place.user,
        cube=cube,
    )
    return reply(Links(tuple(found)))


@router.get(
    "/{id:uuid}/edges",
    operation_id="memory_edges",
    summary="Read the edges of a memory",
    response_model=Links,
    responses=reads(),
)
async def edges(memos: Core, whose: WhoseDep, id: PathId, types: fields.TypesQuery = None) -> Response:
    """The edges at a memory: what it rests on, what it replaced, what it mentions."""
    place = whose.place()
    cube = await _home_of_it(memos, place, str(id))
    return reply(Links(tuple(await memos.neighbors(str(id), types=types, user=place.user, cube=cube))))


async def _home_of_it(memos: Core, place: Place, id: str) -> str | None:
    """The cube of a memory to walk from. Raises NotFound also where a cube that was named has no such memory: a walk from nowhere
    would answer no edges.
    """
    cube = await home_of(memos, place, id)
    try:
        await memos.get(id, user=place.user, cube=cube)
    except NotFound:
        raise NotFound(f"memory {id} does not exist for user {place.user!r}") from None
    return cube
