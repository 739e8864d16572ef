"""Routes of cubes: make, look at, share and delete them."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import Field

from memos.errors import Conflict, InvalidInput, NotFound
from memos.frames import Cubes, Freed, Grants
from memos.results import Stats
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.errors import Refused
from memos.server.native.answers import reply
from memos.server.native.fields import Info, Name, PathCube, PathUser, Wire
from memos.server.native.problems import reads, writes
from memos.server.native.scope import ActingDep, ActingTooDep
from memos.server.native.slashes import SlashRoute
from memos.storage.ports import CubeInfo
from memos.system import AsyncMemOS

router = APIRouter(prefix="/v1/cubes", tags=["Cubes"], route_class=SlashRoute)


class NewCube(Wire):
    """A cube to be made."""

    name: Name = Field(examples=["team/notes"])
    user: Name | None = Field(None, description="Its owner: the user of the API key, or `default`.", examples=["ada"])
    info: Info | None = None


class GrantLevel(Wire):
    """What a user may do with a cube."""

    level: Literal["read", "write", "admin"] = Field(
        description="`write` implies `read`, `admin` both.", examples=["read"]
    )


@router.get("", operation_id="list_cubes", summary="List cubes", response_model=Cubes, responses=reads())
async def list_all(memos: Core, acting: ActingDep) -> Response:
    """The cubes that the user owns or was granted, by name."""
    return reply(Cubes(tuple(await memos.list_cubes(user=acting.user()))))


@router.post(
    "", operation_id="create_cube", summary="Make a cube", status_code=201, response_model=CubeInfo, responses=writes()
)
async def create(memos: Core, acting: ActingTooDep, body: NewCube) -> Response:
    """A new, empty cube that belongs to the user. A name that is taken, by whomever, is refused (409)."""
    user = acting.user(WRITE, body.user)
    try:
        made = await memos.create_cube(body.name, user=user, info=body.info)
    except InvalidInput as e:
        raise taken_or(e) from e
    return reply(made, 201)


@router.get("/{name}", operation_id="get_cube", summary="Look at a cube", response_model=CubeInfo, responses=reads())
async def get(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """Who owns a cube and who may do what with it."""
    return reply(await existing(memos, name, acting.user()))


@router.delete("/{name}", operation_id="delete_cube", summary="Delete a cube", response_model=Freed, responses=writes())
async def delete(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """Deletes a cube with everything in it and its files. Only an admin of the cube may."""
    user = acting.user(WRITE)
    await existing(memos, name, user)
    return reply(Freed(await memos.delete_cube(name, user=user)))


@router.get(
    "/{name}/stats",
    operation_id="cube_stats",
    summary="Count what is in a cube",
    response_model=Stats,
    responses=reads(),
)
async def stats(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """Counts, sizes, and work that is still to be done."""
    user = acting.user()
    await existing(memos, name, user)
    return reply(await memos.stats(user=user, cube=name))


@router.post(
    "/{name}/flush",
    operation_id="flush_cube",
    summary="Wait for a cube's background work",
    status_code=204,
    response_class=Response,
    responses=reads(507),
)
async def flush(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """Answers when everything that was added so far is digested and embedded."""
    user = acting.user()
    await existing(memos, name, user)
    await memos.flush(user=user, cube=name)
    return Response(status_code=204)


@router.get(
    "/{name}/grants", operation_id="list_grants", summary="Who may use a cube", response_model=Grants, responses=reads()
)
async def grants(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """The rights that users were given on a cube. Whoever may read the cube may ask."""
    await existing(memos, name, acting.user())
    return reply(Grants(tuple(await memos.accounts.grants(name))))


@router.put(
    "/{name}/grants/{member}",
    operation_id="put_grant",
    summary="Let a user use a cube",
    response_model=CubeInfo,
    responses=writes(),
)
async def grant(memos: Core, acting: ActingDep, name: PathCube, member: PathUser, body: GrantLevel) -> Response:
    """Gives a user read, write or admin. Only an admin of the cube may. Answers the cube as it is now."""
    return reply(await _shared(memos, name, member, body.level, acting.user(WRITE)))


@router.delete(
    "/{name}/grants/{member}",
    operation_id="delete_grant",
    summary="Take a user's right to a cube away",
    response_model=CubeInfo,
    responses=writes(),
)
async def revoke(memos: Core, acting: ActingDep, name: PathCube, member: PathUser) -> Response:
    """Takes every right away. Only an admin of the cube may. Answers the cube as it is now."""
    return reply(await _shared(memos, name, member, None, acting.user(WRITE)))


async def _shared(memos: AsyncMemOS, name: str, member: str, level: str | None, user: str) -> CubeInfo:
    cube = await existing(memos, name, user)
    if member == cube.owner:
        raise Conflict(f"{member!r} owns cube {name!r} and has every right already")
    return await memos.share(name, member, level, user=user)


async def existing(memos: AsyncMemOS, name: str, user: str) -> CubeInfo:
    """The cube of this name, when the user may read it. Raises NotFound; unlike the verbs, it makes none on first use."""
    if name == user and all(c.name != name for c in await memos.list_cubes(user=user)):
        raise NotFound(f"cube {name!r} does not exist for user {user!r}")
    return await memos.open_cube(name, user=user)


def taken_or(error: InvalidInput) -> Exception:
    """The answer to a name that is taken, or the error itself."""
    return Refused(409, "conflict", str(error)) if "exists already" in str(error) else error
