"""Whose memory a request of the cloud wire is about: users, agents with a memory of their own, and knowledge bases.

A user's memory is the user's own cube. An agent that is named without a user has one too, under the name `agent:<id>`, so that
no agent id can reach a user of the same name. A knowledge base is a cube of kind "knowledgebase" that belongs to the user of
the key; it is read as that user, or as the user in the request where she was granted it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memos.errors import AccessDenied, InvalidInput, NotFound
from memos.memory.ids import new_id
from memos.server.caller import READ, WRITE, Caller
from memos.server.openmem.codes import MissingParameter, NoSuchBase
from memos.storage.ports import CubeInfo
from memos.system import AsyncMemOS

AGENT = "agent:"
KIND = "knowledgebase"
_LEVELS: Mapping[str, tuple[str, ...]] = {
    READ: ("read", "write", "admin"),
    WRITE: ("write", "admin"),
    "admin": ("admin",),
}


def subject(caller: Caller, user_id: str | None, agent_id: str | None, need: str = READ) -> str:
    """The user that a request acts as. With both a user and an agent it is the user; the agent is then only a label."""
    if user_id is None and agent_id is None:
        raise MissingParameter("user_id or agent_id is required")
    return caller.acting(user_id if user_id is not None else f"{AGENT}{agent_id}", need)


def subjects(caller: Caller, user_id: str | list[str] | None, agent_id: str | list[str] | None) -> list[str]:
    """The users that an add writes for: each user that is named, or, without any, each agent."""
    users, agents = _list(user_id), _list(agent_id)
    if not users and not agents:
        raise MissingParameter("user_id or agent_id is required")
    return [subject(caller, user, None, WRITE) for user in users] or [
        subject(caller, None, agent, WRITE) for agent in agents
    ]


def _list(value: str | list[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(dict.fromkeys(value))


def is_agent(user: str) -> bool:
    """Whether a user name is that of an agent's own memory."""
    return user.startswith(AGENT)


@dataclass(frozen=True, slots=True)
class Base:
    """A knowledge base, and the user as whom it is opened."""

    cube: CubeInfo
    user: str

    @property
    def id(self) -> str:
        """Its id on the wire: the name of its cube."""
        return self.cube.name


async def create_base(memos: AsyncMemOS, caller: Caller, name: str, description: str | None) -> CubeInfo:
    """A new knowledge base that belongs to the key's user."""
    info: dict[str, Any] = {"kind": KIND, "name": name, "description": description or ""}
    return await memos.create_cube(f"kb-{new_id()}", user=caller.acting(None, WRITE), info=info)


async def base(memos: AsyncMemOS, caller: Caller, id: str, need: str = READ, user: str | None = None) -> Base:
    """A knowledge base by its id, opened as the key's user or else as `user`.

    Raises NoSuchBase when there is none for them, and AccessDenied when they may read it but not do what is needed.
    """
    caller.must(READ if need == READ else WRITE)
    readable = False
    for name in dict.fromkeys(n for n in (caller.acting(None, READ), user) if n not in (None, id)):
        try:
            found = await memos.open_cube(id, user=name)
        except (NotFound, InvalidInput):
            continue
        if found.info.get("kind") != KIND:
            continue
        if _level(found, name) in _LEVELS[need]:
            return Base(found, name)
        readable = True
    if readable:
        raise AccessDenied(f"knowledge base {id!r} may be read, but this needs {need}; its owner can share it so")
    raise NoSuchBase(f"knowledge base {id!r} does not exist")


def _level(cube: CubeInfo, user: str) -> str | None:
    return "admin" if cube.owner == user else cube.grants.get(user)


async def bases(
    memos: AsyncMemOS, caller: Caller, ids: Sequence[str], need: str = READ, user: str | None = None
) -> list[Base]:
    """Several knowledge bases, each once."""
    return [await base(memos, caller, id, need, user) for id in dict.fromkeys(ids)]


@dataclass(frozen=True, slots=True)
class Home:
    """Where a memory is: the cube, and a user who may use it."""

    cube: str
    user: str


async def homes(memos: AsyncMemOS, caller: Caller, ids: Sequence[str], need: str = READ) -> dict[str, Home]:
    """Where memories are, by id; those that do not exist, or not for this caller, are missing.

    Raises AccessDenied for those that may be read when more than that is needed.
    """
    caller.must(need)
    mine = caller.acting(None, need)
    found = await memos.locate(ids, user=None if caller.any_user else mine)
    users: dict[str, str] = {}
    for cube in set(found.values()):
        candidates = (mine, cube) if caller.any_user else (mine,)
        user = await _who(memos, cube, candidates, need)
        if user is not None:
            users[cube] = user
        elif await _who(memos, cube, candidates, READ) is not None:
            raise AccessDenied(f"what is in {cube!r} may be read, but this needs {need}; its owner can share it so")
    return {id: Home(cube, users[cube]) for id, cube in found.items() if cube in users}


async def _who(memos: AsyncMemOS, cube: str, users: Sequence[str], need: str) -> str | None:
    """The first of the users who may do so with a cube. A cube's own name is that of its user, unless it was made apart."""
    for user in dict.fromkeys(users):
        try:
            found = await memos.open_cube(cube, user=user)
        except (NotFound, InvalidInput):
            continue
        if _level(found, user) in _LEVELS[need]:
            return user
    return None
