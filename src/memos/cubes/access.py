"""Who may open which cube: the one place where a user and a cube name become a cube (law 4)."""

from __future__ import annotations

from memos.errors import AccessDenied, NotFound
from memos.storage.names import check_user
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.registry import LEVELS, SqliteRegistry, check_name


def resolve(registry: SqliteRegistry, user: str, cube: str | None, need: str) -> CubeInfo:
    """The cube a call is about: the named one, or the user's own, which is made on first use.

    Raises NotFound when there is no such cube or the user may not even read it (its existence is not told), and
    AccessDenied when the user may read it but not do what is asked, or was deactivated.
    """
    check_user(user)
    if not registry.accounts.is_active(user):
        raise AccessDenied(f"user {user!r} was deactivated; an admin can activate her again")
    name = user if cube is None else check_name(cube, "cube")
    found = registry.find(name)
    if found is None:
        if name != user:
            raise _none(name, user)
        found, _ = registry.create(name, user)
    if cube is None and found.owner != user:  # what somebody else made under this name never takes a user's memories in
        raise NotFound(f"user {user!r} has no cube of her own: {name!r} is another user's; name a cube, or create one")
    level = registry.level(found, user)
    if level is None:
        raise _none(name, user)
    if LEVELS.index(level) < LEVELS.index(need):
        raise AccessDenied(f"user {user!r} may {level} cube {name!r}, but this needs {need}; its owner can share it so")
    return found


def _none(name: str, user: str) -> NotFound:
    """The same words for a cube that does not exist and one of others, or they would tell which it is."""
    return NotFound(
        f"cube {name!r} does not exist for user {user!r}; create it with create_cube({name!r}, user={user!r}), "
        "or, if it is another's, its owner can share it with share()"
    )
