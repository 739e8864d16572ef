"""POST /product/create_cube and register_cube. Here a cube has one name, which is its id on this wire."""

from __future__ import annotations

from starlette.responses import Response

from memos.errors import InvalidInput, NotFound
from memos.server.caller import WRITE, Caller
from memos.server.product import access, wording
from memos.server.product.models import CreateCubeBody, RegisterCubeBody
from memos.server.product.replies import ok
from memos.storage.ports import CubeInfo
from memos.system import AsyncMemOS


async def create_cube(core: AsyncMemOS, caller: Caller, body: CreateCubeBody) -> Response:
    """A cube of this owner; the same one again is no error."""
    owner, name = caller.acting(body.owner_id, WRITE), body.cube_id or body.cube_name
    found = await core.owner_of(name)
    if found is not None and found != owner:
        raise access.taken(name, owner)
    made = (
        await core.open_cube(name, user=owner)
        if found
        else await core.create_cube(name, user=owner, info=_named(body, name))
    )
    notices = ["cube_path: the server keeps cubes in its own folder; the path was not used"] if body.cube_path else None
    return ok(wording.CUBE_CREATED, _shown(made), notices=notices)


async def register_cube(core: AsyncMemOS, caller: Caller, body: RegisterCubeBody) -> Response:
    """Make sure that a cube can be used: one that exists is opened, any other created. Folders are not registered."""
    name = body.mem_cube_id or body.mem_cube_name_or_path
    if body.mem_cube_id is None and any(sign in name for sign in "/\\"):
        raise InvalidInput(
            f"{name!r:.100} is a path: this server opens no folders of callers; "
            "give a cube's name, or import its archive (memos import)"
        )
    user = await access.acting_on(core, caller, body.user_id, name, WRITE)
    try:
        found = await core.open_cube(name, user=user)
    except NotFound:
        if await core.owner_of(name) is not None:
            raise access.taken(name, user, "read") from None
        found = await core.create_cube(name, user=user)
    return ok(wording.CUBE_REGISTERED, _shown(found))


def _named(body: CreateCubeBody, name: str) -> dict[str, str] | None:
    """The title of a cube whose id is another."""
    return {"cube_name": body.cube_name} if body.cube_name != name else None


def _shown(cube: CubeInfo) -> dict[str, str]:
    return {"cube_id": cube.name, "cube_name": str(cube.info.get("cube_name", cube.name)), "owner_id": cube.owner}
