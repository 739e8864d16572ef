"""The verbs about whole cubes: make, share, delete, export, import."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memos.cubes import archive
from memos.cubes.access import resolve
from memos.errors import InvalidInput
from memos.reading.messages import checked_info
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_USER, Base


class Cubes(Base):
    """See `AsyncMemOS`."""

    async def create_cube(
        self, name: str, *, user: str = DEFAULT_USER, info: Mapping[str, Any] | None = None
    ) -> CubeInfo:
        """A new cube owned by `user`. Raises InvalidInput when the name is taken."""
        found, new = self._parts().registry.create(name, user, checked_info(info, "info"))
        if not new:
            raise InvalidInput(f"a cube named {name!r} exists already; choose another name or open that one")
        return found

    async def open_cube(self, name: str, *, user: str = DEFAULT_USER) -> CubeInfo:
        """What is known of a cube the user may read. Raises NotFound."""
        return resolve(self._parts().registry, user, name, "read")

    async def owner_of(self, name: str) -> str | None:
        """Who owns a cube; None when there is no such cube. For callers that may act for every user."""
        found = self._parts().registry.find(check_name(name, "cube"))
        return found.owner if found is not None else None

    async def list_cubes(self, *, user: str = DEFAULT_USER) -> builtins.list[CubeInfo]:
        """The cubes a user owns or was granted, by name."""
        return self._parts().registry.list(user)

    async def delete_cube(self, name: str, *, user: str = DEFAULT_USER) -> int:
        """Delete a cube with everything in it and its files; returns the bytes freed. Only an admin of the cube may."""
        return await self._remove(resolve(self._parts().registry, user, name, "admin"))

    async def share(
        self, name: str, with_user: str, level: str | None = "read", *, user: str = DEFAULT_USER
    ) -> CubeInfo:
        """Give another user read, write or admin on a cube, or take every right away with None. `"*"` stands for everybody on
        this system, who can be given read: the cube is public then.
        """
        parts = self._parts()
        found = resolve(parts.registry, user, name, "admin")
        if with_user == found.owner:
            raise InvalidInput(f"{with_user!r} owns cube {name!r} and has every right already")
        parts.registry.grant(name, with_user, level, user)
        return parts.registry.find(name) or found

    async def export_cube(
        self, path: str | Path, *, user: str = DEFAULT_USER, cube: str | None = None, overwrite: bool = False
    ) -> archive.Report:
        """Write a cube to one portable, checksummed archive file. Raises InvalidInput when it exists, unless
        `overwrite`.
        """
        async with self._cube(user, cube, "read") as (cube_info, store):
            return await archive.export(store, cube_info, Path(path), home=self.settings.home, overwrite=overwrite)

    async def import_cube(self, path: str | Path, name: str, *, user: str = DEFAULT_USER) -> archive.Report:
        """Read an archive into a new cube. Raises ArchiveError, and creates nothing, when it is damaged or hostile."""
        parts = self._parts()
        if parts.registry.find(check_name(name, "cube")) is not None:
            raise InvalidInput(f"a cube named {name!r} exists already; import under another name")
        return await archive.restore(Path(path), name, user, parts.registry, parts.cubes)
