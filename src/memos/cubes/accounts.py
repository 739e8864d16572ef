"""`Accounts`: the verbs about users, API keys and grants. They do what they are asked: whether the asker may manage accounts
is for the caller to know (the key's `admin` scope, or whoever can read the data folder).
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from memos.errors import InvalidInput, NotFound
from memos.memory.time import utcnow
from memos.storage.accounts import ApiKey, AuditPage, Grant, Secret, User
from memos.storage.names import check_name
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.registry import SqliteRegistry

LOCAL = "local"  # whoever does something where the data is, without a key
MOST_DAYS = 36_500


class Accounts:
    """Users, keys and grants of one data folder; `accounts` of `AsyncMemOS`. `by` is who asks, for the audit trail."""

    def __init__(
        self, registry: Callable[[], SqliteRegistry], remove_cube: Callable[[CubeInfo], Awaitable[object]]
    ) -> None:
        self._registry, self._remove_cube = registry, remove_cube

    # -- users -------------------------------------------------------------------------------------------------

    async def create_user(self, name: str, *, info: Mapping[str, Any] | None = None, by: str = LOCAL) -> User:
        """A new user with a cube of her own. Raises InvalidInput when there is one, or another's cube has the name."""
        registry = self._registry()
        user = registry.accounts.create_user(name, info, by)
        registry.create(name, name)
        return user

    async def list_users(self, *, limit: int | None = None, after: str | None = None) -> list[User]:
        """Users by name: all, or at most `limit` of those whose names come after `after`."""
        return self._registry().accounts.list_users(limit, after)

    async def get_user(self, name: str) -> User:
        """A user. Raises NotFound."""
        found = self._registry().accounts.find_user(name)
        if found is None:
            raise NotFound(f"user {name!r} does not exist")
        return found

    async def set_active(self, name: str, active: bool, *, by: str = LOCAL) -> User:
        """Let a user's keys work, or stop them at once. Raises NotFound."""
        if not isinstance(active, bool):
            raise InvalidInput(f"active is True or False, got {active!r:.60}")
        return self._registry().accounts.set_active(name, active, by)

    async def delete_user(self, name: str, *, everything: bool = False, by: str = LOCAL) -> int:
        """Delete a user with all keys and rights; returns how many cubes were deleted with her.

        One who owns cubes is refused (InvalidInput), unless `everything` says that they go too. Raises NotFound.
        """
        registry = self._registry()
        await self.get_user(name)
        owned = [c for c in registry.list(name) if c.owner == name] if everything else []
        if owned:
            registry.accounts.set_active(name, False, by)  # no key of hers makes another cube meanwhile
        for cube in owned:
            await self._remove_cube(cube)
        registry.accounts.delete_user(name, by)
        return len(owned)

    # -- keys --------------------------------------------------------------------------------------------------

    async def create_key(
        self,
        user: str,
        *,
        scopes: Iterable[str] = ("read", "write"),
        description: str = "",
        expires_in_days: float | None = None,
        by: str = LOCAL,
    ) -> tuple[ApiKey, Secret]:
        """A new key, and its secret: it is told here once, and only its hash is kept.

        `scopes`: read and write (for its own user), act (the same for every user), admin (everything). A user who does
        not exist yet is made. `expires_in_days`: None for never.
        """
        if expires_in_days is None:
            return self._registry().accounts.create_key(user, scopes, description, None, by)
        days = expires_in_days
        if (
            isinstance(days, bool)
            or not isinstance(days, (int, float))
            or not 0 < days <= MOST_DAYS
            or math.isnan(days)
        ):
            raise InvalidInput(f"expires_in_days is more than 0 and at most {MOST_DAYS:,}, got {days!r:.60}")
        until = utcnow() + timedelta(days=days)
        return self._registry().accounts.create_key(user, scopes, description, until, by)

    async def list_keys(self, user: str | None = None, *, include_revoked: bool = False) -> list[ApiKey]:
        """Keys, of one user or of all, oldest first. Expired ones are among them."""
        return self._registry().accounts.list_keys(user, include_revoked=include_revoked)

    async def get_key(self, key: str) -> ApiKey:
        """A key by id or prefix. Raises NotFound."""
        return self._registry().accounts.get_key(key)

    async def revoke_key(self, key: str, *, by: str = LOCAL) -> ApiKey:
        """Have a key, named by id or prefix, never work again, in every process at once. Raises NotFound."""
        return self._registry().accounts.revoke_key(key, by)

    async def check_key(self, secret: object) -> ApiKey:
        """The key of a secret, when it may be used now. Raises Unauthorized, with the same words whatever is wrong."""
        return self._registry().accounts.check_key(secret)

    async def has_keys(self) -> bool:
        """Whether a key was ever made, revoked ones included. Cheap enough for every request."""
        return self._registry().accounts.has_keys()

    # -- grants ------------------------------------------------------------------------------------------------

    async def grants(self, cube: str | None = None) -> list[Grant]:
        """The grants on a cube, or all. (Its owner has every right without one.) Raises NotFound."""
        registry = self._registry()
        if cube is not None and registry.find(check_name(cube, "cube")) is None:
            raise NotFound(f"cube {cube!r} does not exist")
        return registry.grants(cube=cube)

    async def grants_of(self, user: str) -> list[Grant]:
        """What a user was granted on cubes of others."""
        return self._registry().grants(user=check_name(user, "user"))

    async def grant(self, cube: str, user: str, level: str | None, *, by: str = LOCAL) -> list[Grant]:
        """Give a user read, write or admin on a cube, or take every right away (None); returns the cube's grants.

        Raises NotFound, and InvalidInput for the cube's owner, who has every right already.
        """
        registry = self._registry()
        found = registry.find(check_name(cube, "cube"))
        if found is None:
            raise NotFound(f"cube {cube!r} does not exist")
        if user == found.owner:
            raise InvalidInput(f"{user!r} owns cube {cube!r} and has every right already")
        registry.grant(cube, user, level, by)
        return registry.grants(cube=cube)

    async def audit(self, limit: int = 100, cursor: str | None = None) -> AuditPage:
        """Who did what to users, keys and grants, newest first; go on with `cursor=page.cursor` until it is None."""
        return self._registry().accounts.audit(limit, cursor)
