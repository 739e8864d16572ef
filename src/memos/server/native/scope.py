"""Which user and which cube a request is about, from its body, its query string and its API key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from memos.errors import InvalidInput, NotFound
from memos.server.caller import ADMIN, READ, Caller, caller_of
from memos.server.native.fields import CubeQuery, HiddenCube, HiddenUser, Scoped, UserQuery
from memos.system import AsyncMemOS


@dataclass(frozen=True, slots=True)
class Place:
    """The user who acts, and the cube that was named (None: the user's own)."""

    user: str
    cube: str | None


@dataclass(frozen=True, slots=True)
class Whose:
    """What a request says of user and cube outside its body, and who sent it."""

    caller: Caller
    user: str | None
    cube: str | None

    def place(self, body: Scoped | None = None, need: str = READ) -> Place:
        """The user and cube of the request. Raises AccessDenied when the caller may not act so, InvalidInput when body and
        query string disagree.
        """
        user = _same("user", self.user, body.user if body is not None else None)
        cube = _same("cube", self.cube, body.cube if body is not None else None)
        return Place(self.caller.acting(user, need), cube)


async def whose(request: Request, user: UserQuery = None, cube: CubeQuery = None) -> Whose:
    """Dependency: the caller, and the user and cube of the query string."""
    return Whose(caller_of(request), user, cube)


async def whose_too(request: Request, user: HiddenUser = None, cube: HiddenCube = None) -> Whose:
    """The same where the body has fields for both, and so the documentation need not name them twice."""
    return Whose(caller_of(request), user, cube)


WhoseDep = Annotated[Whose, Depends(whose)]
WhoseTooDep = Annotated[Whose, Depends(whose_too)]


@dataclass(frozen=True, slots=True)
class Acting:
    """Who sent a request, and the user it names in the query string."""

    caller: Caller
    named: str | None

    def user(self, need: str = READ, named: str | None = None) -> str:
        """The user of the request; `named` is what its body says. Raises AccessDenied, and InvalidInput for two."""
        return self.caller.acting(_same("user", self.named, named), need)


async def acting(request: Request, user: UserQuery = None) -> Acting:
    """Dependency: the caller, and the user of the query string, for requests whose cube is in the path."""
    return Acting(caller_of(request), user)


async def acting_too(request: Request, user: HiddenUser = None) -> Acting:
    """The same where the body has a field for the user."""
    return Acting(caller_of(request), user)


ActingDep = Annotated[Acting, Depends(acting)]
ActingTooDep = Annotated[Acting, Depends(acting_too)]


def is_admin(caller: Caller) -> bool:
    """Whether the caller may do everything: by an `admin` key, or because the server uses no keys."""
    return caller.user is None or ADMIN in caller.scopes


async def home_of(memos: AsyncMemOS, place: Place, id: str) -> str | None:
    """The cube of a memory: the one named, or the one among the user's cubes that holds it. Raises NotFound."""
    if place.cube is not None:
        return place.cube
    found = await memos.locate([id], user=place.user)
    if id not in found:
        raise NotFound(f"memory {id} does not exist for user {place.user!r}")
    return found[id]


async def home_of_all(memos: AsyncMemOS, place: Place, ids: Sequence[str]) -> str | None:
    """The one cube of several memories. Raises NotFound, and InvalidInput when they lie in several cubes."""
    if place.cube is not None:
        return place.cube
    found = await memos.locate(ids, user=place.user)
    missing = [id for id in ids if id not in found]
    if missing:
        raise NotFound(f"memory {missing[0]} does not exist for user {place.user!r}")
    cubes = sorted(set(found.values()))
    if len(cubes) > 1:
        raise InvalidInput(
            f"the memories lie in {len(cubes)} cubes ({', '.join(cubes[:5])}); name one `cube` at a time"
        )
    return cubes[0]


def _same(what: str, query: str | None, body: str | None) -> str | None:
    if query is not None and body is not None and query != body:
        raise InvalidInput(f"{what} is {body!r} in the body and {query!r} in the query string; give it once")
    return body if body is not None else query
