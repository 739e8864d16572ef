"""The verbs about cubes: make, share, delete, take out as a file and bring back."""

from __future__ import annotations

import asyncio
import builtins
import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from memos.client.connected import Connected
from memos.client.encoding import body, segment
from memos.client.transport import Call
from memos.errors import ArchiveError, InvalidInput
from memos.frames import Cubes, Freed, Me
from memos.results import Report, Stats
from memos.storage.ports import CubeInfo

if TYPE_CHECKING:
    import httpx2

_COUNTED = ("memories", "versions", "edges", "vectors")


class CubeVerbs(Connected):
    """Cubes of a user, and what is in them as a whole."""

    async def create_cube(
        self, name: str, *, user: str | None = None, info: Mapping[str, Any] | None = None
    ) -> CubeInfo:
        """A new cube owned by `user`. Raises Conflict when the name is taken."""
        fields = body(name=name, user=self._as(user), info=info)
        return await self._post("/v1/cubes", CubeInfo, fields, repeatable=False)

    async def open_cube(self, name: str, *, user: str | None = None) -> CubeInfo:
        """What is known of a cube the user may read. Raises NotFound."""
        return await self._get(_path(name), CubeInfo, body(user=self._as(user)))

    async def list_cubes(self, *, user: str | None = None) -> builtins.list[CubeInfo]:
        """The cubes a user owns or was granted, by name."""
        return [*(await self._get("/v1/cubes", Cubes, body(user=self._as(user)))).items]

    async def delete_cube(self, name: str, *, user: str | None = None) -> int:
        """Delete a cube with everything in it; returns the bytes freed on the server. Only an admin of the cube may."""
        call = Call("DELETE", _path(name), params=body(user=self._as(user)), repeatable=False)
        return (await self._transport.ask(call, Freed)).bytes

    async def share(
        self, name: str, with_user: str, level: str | None = "read", *, user: str | None = None
    ) -> CubeInfo:
        """Give another user read, write or admin on a cube, or take every right away with None."""
        path, params = _path(name, f"/grants/{segment(with_user, 'user')}"), body(user=self._as(user))
        if level is None:
            call = Call("DELETE", path, params=params)
        else:
            call = Call("PUT", path, params=params, body={"level": level})
        return await self._transport.ask(call, CubeInfo)

    async def stats(self, *, user: str | None = None, cube: str | None = None) -> Stats:
        """Counts, sizes and waiting work of a cube."""
        return await self._get(await self._of_cube(user, cube, "stats"), Stats, body(user=self._as(user)))

    async def flush(self, *, user: str | None = None, cube: str | None = None) -> None:
        """Return when everything added to a cube so far is digested and embedded."""
        path = await self._of_cube(user, cube, "flush")
        await self._transport.tell(Call("POST", path, params=body(user=self._as(user)), patient=True))

    async def export_cube(
        self, path: str | Path, *, user: str | None = None, cube: str | None = None, overwrite: bool = False
    ) -> Report:
        """Write a cube to one portable, checksummed archive file here. Raises InvalidInput when it exists, unless `overwrite`."""
        target = Path(path)
        if not overwrite and await asyncio.to_thread(target.exists):
            raise InvalidInput(f"{target} exists already; give another path, or overwrite=True")
        name = await self._cube(user, cube)
        part = target.with_name(f".{target.name[:100]}.{uuid4().hex[:12]}.part")
        call = Call("GET", _path(name, "/archive"), params=body(user=self._as(user)), patient=True)

        async def receive(response: httpx2.Response) -> str:
            digest = hashlib.sha256()
            with await asyncio.to_thread(part.open, "wb") as file:
                async for piece in response.aiter_raw(1 << 20):
                    digest.update(piece)
                    await asyncio.to_thread(file.write, piece)
            return digest.hexdigest()

        try:
            sha256 = await self._transport.run(call, receive)
            report = await asyncio.to_thread(_report, part, name, sha256)
            await asyncio.to_thread(os.replace, part, target)
        finally:
            part.unlink(missing_ok=True)
        return report

    async def import_cube(self, path: str | Path, name: str, *, user: str | None = None) -> Report:
        """Read an archive into a new cube. Raises ArchiveError, and creates nothing, when it is damaged or hostile."""
        source = Path(path)
        if not await asyncio.to_thread(source.is_file):
            raise InvalidInput(f"{source} is no file")
        params = body(user=self._as(user))
        call = Call("PUT", _path(name, "/archive"), params=params, upload=source, repeatable=False, patient=True)
        return await self._transport.ask(call, Report)

    async def _cube(self, user: str | None, cube: str | None) -> str:
        """The cube meant: the one named, or the own one of whom this is for."""
        name = cube or self._as(user)
        return name if name is not None else (await self._get("/v1/me", Me)).acting_as

    async def _of_cube(self, user: str | None, cube: str | None, what: str) -> str:
        """The path of something of the cube meant."""
        return _path(await self._cube(user, cube), f"/{what}")


def _path(name: str, rest: str = "") -> str:
    return f"/v1/cubes/{segment(name, 'cube')}{rest}"


def _report(file: Path, cube: str, sha256: str) -> Report:
    """What an archive says it holds. Its directory stands at the end: a file that was cut has none."""
    try:
        with zipfile.ZipFile(file) as archive:
            counts = json.loads(archive.read("manifest.json"))["counts"]
            held = {name: int(counts[name]) for name in _COUNTED}
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as e:
        raise ArchiveError(f"the server sent no whole archive ({e}); nothing was written, try again") from None
    return Report(cube=cube, **held, bytes=file.stat().st_size, sha256=sha256)
