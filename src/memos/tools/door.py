"""Whose memories a connection works on: the system behind it (`AsyncMemOS`, or the client of a server, which has the same verbs),
the user, the cube and the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from memos.errors import AccessDenied

if TYPE_CHECKING:
    from memos.client.client import AsyncClient
    from memos.system import AsyncMemOS

BUDGET = 20_000
LEAST_BUDGET, MOST_BUDGET = 2_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Door:
    """What a call goes through. `user` None: whom the server's key belongs to. `cube` None: the user's own. `any_user`: a tool
    that takes a user id may name another one (whether the key allows it, the server says). `budget`: the most characters of a
    result. `local`: the system is `AsyncMemOS` itself. `dumps`: the folder that archives may be written to.
    """

    system: AsyncMemOS
    user: str | None = None
    cube: str | None = None
    session: str | None = None
    agent: str = "agent"
    any_user: bool = False
    budget: int = BUDGET
    local: bool = False
    dumps: Path | None = None

    @classmethod
    def to(cls, system: AsyncMemOS | AsyncClient, **how: Any) -> Door:
        """A door to a system in this process, or to a server."""
        return cls(cast("AsyncMemOS", system), **how)

    def who(self) -> dict[str, Any]:
        """The user of a call, as far as it is named."""
        return {} if self.user is None else {"user": self.user}

    def where(self, cube: str | None = None) -> dict[str, Any]:
        """User and cube of a call, as far as they are named."""
        name = cube or self.cube
        return self.who() if name is None else {**self.who(), "cube": name}

    def spoken(self, session: str | None, agent: str | None = None) -> dict[str, Any]:
        """The session and agent of a report."""
        return {"session": session or self.session or "default", "agent": agent or self.agent}

    def as_user(self, user: str | None) -> Door:
        """The door for a user whom a tool names. Raises AccessDenied when the connection is for one user only."""
        if user is None or user == self.user:
            return self
        if not self.any_user:
            mine = f"{self.user!r}" if self.user is not None else "the user of its key"
            raise AccessDenied(
                f"this connection is for {mine} only, not for {user!r}; --any-user lets tools name others"
            )
        return replace(self, user=user)

    async def homes(self, ids: Sequence[str], cube: str | None) -> dict[str | None, list[str]]:
        """The ids by the cube that holds them. What a server is asked for by id, it finds itself (None)."""
        name = cube or self.cube
        if name is not None or not self.local:
            return {name: list(ids)}
        found = await self.system.locate(list(ids), user=self.user)
        out: dict[str | None, list[str]] = {}
        for id in ids:
            out.setdefault(found.get(id), []).append(id)
        return out

    async def at_home(self, id: str, cube: str | None) -> dict[str, Any]:
        """User and cube of a call about one memory."""
        return self.where(next(iter(await self.homes([id], cube))))
