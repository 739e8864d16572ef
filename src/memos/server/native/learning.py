"""Routes of learning itself: run it, follow it, what changed, and where something learned comes from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import Field

from memos.errors import InvalidInput, MemosError
from memos.memory.acting import Evolved, LearningEvents, LearningReport, Lineage
from memos.memory.learned import Policy, Skill, State, WorldStatement
from memos.server.app import Core
from memos.server.auth import identified
from memos.server.caller import WRITE
from memos.server.frame import FrameDep, frame_of
from memos.server.native.answers import reply, to_json
from memos.server.native.fields import Flag, PathId, Scoped, When
from memos.server.native.problems import reads, writes
from memos.server.native.scope import Place, WhoseDep, WhoseTooDep, home_of
from memos.server.quick import QuickRoute
from memos.server.sse import Numbered, begun
from memos.system import AsyncMemOS
from memos.system.following import PAGE, PAUSE

router = APIRouter(prefix="/v1", tags=["Learning"], route_class=QuickRoute)

MOST_NUMBER = (1 << 63) - 1
AfterQuery = Annotated[
    int, Query(ge=0, le=MOST_NUMBER, description="The `number` of the last event you have; 0: from the first.")
]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="The id of the last event you have, as browsers send it; above `after`."),
]
EventsLimit = Annotated[int, Query(ge=1, le=1_000, description="Events at most.")]
Since = Annotated[When | None, Query(description="From when; a week before `until`.", examples=["2026-11-01"])]
Until = Annotated[When | None, Query(description="To when; now.", examples=["2026-11-30"])]
_EVENT = {"type": "string", "contentMediaType": "application/json"}
STREAM: dict[str, Any] = {
    "description": "Server-sent events without an end: `id` is the event's number, `data` the event as JSON.",
    "content": {
        "text/event-stream": {
            "schema": {
                "type": "object",
                "description": "One event.",
                "properties": {
                    "id": {"type": "string"},
                    "data": _EVENT | {"contentSchema": {"$ref": "#/components/schemas/LearningEvent"}},
                },
                "required": ["id", "data"],
            }
        }
    },
}


class Evolve(Scoped):
    """What is to be learned from."""

    now: Flag = Field(False, description="Also from tasks that still wait for feedback.")


class SetState(Scoped):
    """Where in its life something learned is to be."""

    state: State = Field(description="`retired`, `active` or `probation`.", examples=["retired"])
    reason: Annotated[str, Field(max_length=1_000)] = Field("", description="Why, in a few words.")


@router.post("/learning/evolve", operation_id="evolve", summary="Learn now", response_model=Evolved, responses=writes())
async def evolve(memos: Core, whose: WhoseTooDep, body: Evolve | None = None) -> Response:
    """Learns from every task that is over and due, instead of waiting for the background."""
    place = whose.place(body, WRITE)
    return reply(await memos.evolve(now=body is not None and body.now, user=place.user, cube=place.cube))


@router.get(
    "/learning/events",
    operation_id="list_learning_events",
    summary="What was learned, in order",
    response_model=LearningEvents,
    responses=reads(),
)
async def events(memos: Core, whose: WhoseDep, after: AfterQuery = 0, limit: EventsLimit = 100) -> Response:
    """Events after number `after`, oldest first. Go on with `after` = `last`."""
    place = whose.place()
    return reply(await memos.learning_events(after=after, limit=limit, user=place.user, cube=place.cube))


@router.get(
    "/learning/stream",
    operation_id="follow_learning",
    summary="Follow what is learned",
    response_class=Response,
    responses={200: STREAM, **reads()},
)
async def follow(
    request: Request,
    memos: Core,
    whose: WhoseDep,
    frame: FrameDep,
    after: AfterQuery = 0,
    last_event_id: LastEventId = None,
) -> Response:
    """A stream of everything learned in a cube: what there is after `after`, then what comes. It ends when you leave, may not
    read the cube any more, or the server stops; come back with the last id you have.
    """
    place = whose.place()
    with frame.streams.promised():
        events = await begun(_told(memos, request, place, _cursor(after, last_event_id)))
    return frame.streams.reply(events)


@router.get(
    "/learning/report",
    operation_id="learning_report",
    summary="What changed",
    response_model=LearningReport,
    responses=reads(),
)
async def report(memos: Core, whose: WhoseDep, since: Since = None, until: Until = None) -> Response:
    """Of a span of time, by default the last week: tasks and how they went, against the span before; what was learned, promoted
    and retired.
    """
    place = whose.place()
    return reply(await memos.learning_report(since=since, until=until, user=place.user, cube=place.cube))


@router.get(
    "/lineage/{id:uuid}",
    operation_id="get_lineage",
    summary="Where something learned comes from",
    response_model=Lineage,
    responses=reads(),
)
async def lineage(memos: Core, whose: WhoseDep, id: PathId) -> Response:
    """What a policy, a statement or a skill rests on, down to steps and their tasks, and what came of it, up to skills; of a
    step, what it taught. `depth` is 0 for the one asked for, negative below, positive above.
    """
    place = whose.place()
    return reply(await memos.lineage(str(id), user=place.user, cube=await home_of(memos, place, str(id))))


@router.post(
    "/learned/{id:uuid}/state",
    operation_id="set_learned_state",
    summary="Retire something learned, or bring it back",
    response_model=Policy | Skill | WorldStatement,
    responses=writes(),
)
async def set_state(memos: Core, whose: WhoseTooDep, id: PathId, body: SetState) -> Response:
    """Of a policy, a skill or a statement of the world model. Learning does not undo what was decided by hand."""
    place = whose.place(body, WRITE)
    cube = await home_of(memos, place, str(id))
    done = await memos.set_state(str(id), body.state, reason=body.reason, user=place.user, cube=cube)
    return reply(done)


def _cursor(after: int, last_event_id: str | None) -> int:
    """Where a stream begins. Raises InvalidInput for an id that no event has."""
    if not last_event_id:
        return after
    if not (last_event_id.isascii() and last_event_id.isdigit()) or int(last_event_id[:20]) > MOST_NUMBER:
        raise InvalidInput(f"Last-Event-ID is the number of an event, got {last_event_id!r:.40}")
    return int(last_event_id)


async def _told(memos: AsyncMemOS, request: Request, place: Place, after: int) -> AsyncGenerator[Numbered | None, None]:
    """The events as JSON, as long as the key works and the caller may read the cube: rights can be taken away meanwhile."""
    first = True
    while True:
        try:
            await identified(memos, frame_of(request).options, request.scope)
            found = await memos.learning_events(after=after, limit=PAGE, user=place.user, cube=place.cube)
        except MemosError:
            if first:  # a status can still tell it
                raise
            return
        if first:
            yield None
        for event in found.items:
            yield Numbered(event.number, to_json(event).decode())
        after, first = max(after, found.last), False
        if not found.items:
            await asyncio.sleep(PAUSE)
