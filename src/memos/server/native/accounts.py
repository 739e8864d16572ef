"""Routes of users, API keys and the audit trail: for administrators, but everybody may see and revoke her own keys."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from pydantic import Field

from memos.cubes.accounts import LOCAL, MOST_DAYS
from memos.errors import Conflict, InvalidInput, NotFound
from memos.frames import Count, Keys, Me, NewKey, Users
from memos.server.app import Core
from memos.server.caller import ADMIN, READ, Caller, CallerDep
from memos.server.native import fields
from memos.server.native.answers import reply
from memos.server.native.cubes import taken_or
from memos.server.native.fields import Info, Name, PathId, PathUser, Wire
from memos.server.native.problems import reads, writes
from memos.server.native.scope import is_admin
from memos.server.native.slashes import SlashRoute
from memos.storage.accounts import ApiKey, AuditPage, User

router = APIRouter(prefix="/v1", tags=["Accounts"], route_class=SlashRoute)
Scope = Literal["read", "write", "act", "admin"]


class NewUser(Wire):
    """A user to be made, with a cube of the same name."""

    name: Name = Field(examples=["ada"])
    info: Info | None = None


class UserPatch(Wire):
    """What to change of a user."""

    active: fields.Flag = Field(description="`false` stops all her keys at once.", examples=[False])


class KeyWish(Wire):
    """A key to be made."""

    user: Name = Field(description="Whose key it is; a user who does not exist yet is made.", examples=["ada"])
    scopes: list[Scope] = Field(
        ["read", "write"],
        min_length=1,
        max_length=4,
        description="`act`: for every user; `admin`: everything.",
        examples=[["read"]],
    )
    description: str = Field("", max_length=256, pattern=rf"^$|{fields.NAME}", examples=["laptop"])
    expires_in_days: Annotated[float, Field(gt=0, le=MOST_DAYS), fields.A_NUMBER] | None = Field(
        None, description="Never, when it is left out.", examples=[90]
    )


@router.get("/me", operation_id="me", summary="Who am I", response_model=Me, responses=reads())
async def me(memos: Core, caller: CallerDep) -> Response:
    """The user and the scopes of the API key."""
    key = await memos.accounts.get_key(caller.key_id) if caller.key_id is not None else None
    return reply(Me(caller.user, caller.acting(None), tuple(sorted(caller.scopes)), key))


@router.get("/users", operation_id="list_users", summary="List users", response_model=Users, responses=reads())
async def list_users(
    memos: Core,
    caller: CallerDep,
    limit: fields.LimitQuery = 100,
    cursor: Annotated[Name | None, Query(description="The `cursor` of the page before.")] = None,
) -> Response:
    """Users by name, a page at a time. Needs the scope `admin`."""
    caller.must(ADMIN)
    found = await memos.accounts.list_users(limit=limit + 1, after=cursor)
    return reply(Users(tuple(found[:limit]), found[limit - 1].name if len(found) > limit else None))


@router.post(
    "/users",
    operation_id="create_user",
    summary="Make a user",
    status_code=201,
    response_model=User,
    responses=writes(),
)
async def create_user(memos: Core, caller: CallerDep, body: NewUser) -> Response:
    """A new user with a cube of her own. Needs the scope `admin`. A name that is taken is refused (409)."""
    caller.must(ADMIN)
    try:
        return reply(await memos.accounts.create_user(body.name, info=body.info, by=_by(caller)), 201)
    except InvalidInput as e:
        raise taken_or(e) from e


@router.get("/users/{name}", operation_id="get_user", summary="Look at a user", response_model=User, responses=reads())
async def get_user(memos: Core, caller: CallerDep, name: PathUser) -> Response:
    """A user. Needs the scope `admin`."""
    caller.must(ADMIN)
    return reply(await memos.accounts.get_user(name))


@router.patch(
    "/users/{name}", operation_id="update_user", summary="Stop or start a user", response_model=User, responses=writes()
)
async def update_user(memos: Core, caller: CallerDep, name: PathUser, body: UserPatch) -> Response:
    """Lets the user's keys work, or stops them at once. Needs the scope `admin`."""
    caller.must(ADMIN)
    return reply(await memos.accounts.set_active(name, body.active, by=_by(caller)))


@router.delete(
    "/users/{name}", operation_id="delete_user", summary="Delete a user", response_model=Count, responses=writes()
)
async def delete_user(
    memos: Core,
    caller: CallerDep,
    name: PathUser,
    everything: Annotated[
        bool, Query(description="Also the cubes she owns; without it, one who owns cubes is refused.")
    ] = False,
) -> Response:
    """Deletes a user with all keys and rights; answers how many cubes went with her. Needs the scope `admin`."""
    caller.must(ADMIN)
    if not everything:
        owned = [cube for cube in await memos.list_cubes(user=name) if cube.owner == name]
        if owned:
            raise Conflict(f"user {name!r} owns {len(owned)} cubes; delete them first, or say everything=true")
    return reply(Count(await memos.accounts.delete_user(name, everything=everything, by=_by(caller))))


@router.get("/keys", operation_id="list_keys", summary="List API keys", response_model=Keys, responses=reads())
async def list_keys(
    memos: Core,
    caller: CallerDep,
    user: fields.UserQuery = None,
    include_revoked: Annotated[bool, Query(description="Also those that were revoked.")] = False,
) -> Response:
    """Keys without their secrets, oldest first: for an administrator everybody's, else the caller's own."""
    mine = None if is_admin(caller) else caller.user
    if mine is not None:
        caller.must(READ)
        if user not in (None, mine):
            caller.must(ADMIN)
    return reply(Keys(tuple(await memos.accounts.list_keys(user or mine, include_revoked=include_revoked))))


@router.post(
    "/keys",
    operation_id="create_key",
    summary="Make an API key",
    status_code=201,
    response_model=NewKey,
    responses=writes(),
)
async def create_key(memos: Core, caller: CallerDep, body: KeyWish) -> Response:
    """A new key. Its secret is told in this answer and never again. Needs the scope `admin`."""
    caller.must(ADMIN)
    key, secret = await memos.accounts.create_key(
        body.user,
        scopes=body.scopes,
        description=body.description,
        expires_in_days=body.expires_in_days,
        by=_by(caller),
    )
    return reply(NewKey(key, str(secret)), 201, {"Cache-Control": "no-store"})


@router.delete(
    "/keys/{id:uuid}", operation_id="revoke_key", summary="Revoke an API key", response_model=ApiKey, responses=writes()
)
async def revoke_key(memos: Core, caller: CallerDep, id: PathId) -> Response:
    """Has a key never work again: any for an administrator, her own for everybody else."""
    if not is_admin(caller) and (await memos.accounts.get_key(str(id))).user != caller.user:
        raise NotFound(f"no API key has the id or prefix {str(id)!r}")
    return reply(await memos.accounts.revoke_key(str(id), by=_by(caller)))


@router.get("/audit", operation_id="audit", summary="Read the audit trail", response_model=AuditPage, responses=reads())
async def audit(
    memos: Core, caller: CallerDep, limit: fields.LimitQuery = 100, cursor: fields.CursorQuery = None
) -> Response:
    """Who did what to users, keys and grants, newest first. Needs the scope `admin`."""
    caller.must(ADMIN)
    return reply(await memos.accounts.audit(limit, cursor))


def _by(caller: Caller) -> str:
    return caller.user or LOCAL
