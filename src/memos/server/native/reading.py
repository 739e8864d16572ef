"""Routes of reading with a language model: read records anew, and how a cube wants to be read."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field

from memos.memory.reading import MOST_INSTRUCTIONS, MOST_TAG, MOST_TAGS, Mode, ReadingConfig, Reread
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.native.answers import reply
from memos.server.native.cubes import existing
from memos.server.native.fields import Flag, Ids, PathCube, Scoped, Session, Tag, Wire
from memos.server.native.models import either
from memos.server.native.problems import reads, writes
from memos.server.native.scope import ActingDep, ActingTooDep, WhoseTooDep, home_of_all
from memos.server.native.slashes import SlashRoute

router = APIRouter(tags=["Reading"], route_class=SlashRoute)


class RereadBody(Scoped):
    """What to read anew: exactly one of `ids`, `session` and `everything`."""

    model_config = ConfigDict(json_schema_extra=either("ids", "session", "everything", required=True))

    ids: Ids | None = None
    session: Session | None = None
    everything: Flag = Field(False, description="Everything in the cube.")
    wait: Flag = Field(False, description="Answer when it is read.")


class ReadingChange(Wire):
    """What to change; what is left out stays."""

    mode: Mode | None = Field(
        None, description="`fine`: a language model reads what is added; `fast`: rules; `auto`: as the settings say."
    )
    instructions: str | None = Field(
        None,
        max_length=MOST_INSTRUCTIONS,
        description="What to look for or leave out, in your words.",
        examples=["Only what is about the customer's orders."],
    )
    tags: list[Tag] | None = Field(
        None,
        max_length=MOST_TAGS,
        description=f"The vocabulary for what is found; names of at most {MOST_TAG} characters.",
        examples=[["order", "complaint"]],
    )


@router.post(
    "/v1/memories/reread",
    operation_id="reread_memories",
    summary="Read memories anew",
    response_model=Reread,
    responses=writes(),
)
async def reread(memos: Core, whose: WhoseTooDep, body: RereadBody) -> Response:
    """Has the language model read raw records anew, say after another model was configured: `task` is the task that does it.

    What an earlier reading by a model derived from them, and the new one does not say again, is replaced in one change. What
    rules derived, what other records say, and what somebody edited stays. Without a model, the rules read anew.
    """
    place = whose.place(body, WRITE)
    ids = list(dict.fromkeys(body.ids)) if body.ids is not None else None
    cube = await home_of_all(memos, place, ids) if ids is not None else place.cube
    done = await memos.reread(
        ids, session=body.session, everything=body.everything, wait=body.wait, user=place.user, cube=cube
    )
    return reply(done)


@router.get(
    "/v1/cubes/{name}/reading",
    operation_id="get_cube_reading",
    summary="How a cube is read",
    response_model=ReadingConfig,
    responses=reads(),
)
async def reading(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """How what is added to the cube is read: by rules or by a language model, with which instructions and tags."""
    user = acting.user()
    await existing(memos, name, user)
    return reply(await memos.reading(user=user, cube=name))


@router.patch(
    "/v1/cubes/{name}/reading",
    operation_id="configure_cube_reading",
    summary="Say how a cube is read",
    response_model=ReadingConfig,
    responses=writes(),
)
async def configure(memos: Core, acting: ActingTooDep, name: PathCube, body: ReadingChange) -> Response:
    """Changes what is given, for what is read from now on. Only an admin of the cube may."""
    user = acting.user(WRITE)
    await existing(memos, name, user)
    config = await memos.configure_reading(
        mode=body.mode, instructions=body.instructions, tags=body.tags, user=user, cube=name
    )
    return reply(config)
