"""Whose name a request of this wire acts in, and which cubes it may write: the one place of both.

Callers that may act for every user (no keys in use, or a key with `act`) need not name one: they act as the cube's owner, or,
where a write makes the cube, as the user of the same name.
"""

from __future__ import annotations

from collections.abc import Sequence

from memos.errors import AccessDenied, InvalidInput, NotFound
from memos.server.caller import READ, WRITE, Caller
from memos.server.product import wording
from memos.system import AsyncMemOS


async def acting_on(core: AsyncMemOS, caller: Caller, user: str | None, cube: str, need: str = READ) -> str:
    """The user to act as on a cube: the one named, else the key's own, else the owner of the cube.

    With a key, the owner only where the cube is called as she is, or is the key's own: whoever made a cube by the name of
    somebody to come must not get what is meant for her. Raises AccessDenied.
    """
    if user is not None or not caller.any_user:
        return caller.acting(user, need)
    caller.must(need)
    owner = await core.owner_of(cube)
    if owner is not None and caller.user is not None and owner not in (cube, caller.user):
        raise AccessDenied(wording.WHOSE.format(cube=cube))
    return owner or (cube if need == WRITE else caller.acting(None, need))


async def locate(core: AsyncMemOS, caller: Caller, user: str | None, ids: Sequence[str]) -> dict[str, str]:
    """The cubes of these memories, as far as this caller may read them."""
    everywhere = user is None and caller.any_user
    caller.must(READ)
    return await core.locate(ids, user=None if everywhere else caller.acting(user, READ))


async def writable(
    core: AsyncMemOS, caller: Caller, user: str | None, cubes: Sequence[str] | None
) -> tuple[str, list[str]]:
    """The user who writes, and the cubes to write, by default the user's own. Nothing is written or created when one of
    them is refused. Raises AccessDenied, saying how the cube can be shared.
    """
    who = await acting_on(core, caller, user, cubes[0], WRITE) if cubes else caller.acting(user, WRITE)
    names = list(dict.fromkeys(cubes or [who]))
    for name in names:
        await check_write(core, who, name)
    return who, names


async def check_write(core: AsyncMemOS, user: str, cube: str) -> bool:
    """Whether the cube is there already; raises AccessDenied when it is and the user may not write it."""
    owner = await core.owner_of(cube)
    if owner is None or owner == user:
        return owner is not None
    try:
        found = await core.open_cube(cube, user=user)
    except NotFound:
        raise taken(cube, user) from None
    if found.grants.get(user) not in ("write", "admin"):
        raise taken(cube, user)
    return True


async def ready(core: AsyncMemOS, user: str, cube: str) -> None:
    """Create the cube that is written, owned by the user, where there is none: clients of this wire never create any."""
    if await core.owner_of(cube) is None:
        try:
            await core.create_cube(cube, user=user)
        except InvalidInput:
            if await core.owner_of(cube) is None:
                raise  # the name cannot be used; otherwise somebody made it meanwhile, and the write itself is checked


def taken(cube: str, user: str, need: str = "write") -> AccessDenied:
    """The refusal of a cube that is another user's."""
    return AccessDenied(wording.TAKEN.format(cube=cube, user=user, need=need))
