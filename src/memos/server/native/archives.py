"""Routes that move whole cubes: an archive out, an archive in. Archives pass through a file, never through memory."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse
from starlette.types import Receive, Scope, Send

from memos.cubes.archive import Report
from memos.errors import InvalidInput, StorageFull, Unavailable
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.errors import Refused
from memos.server.native.answers import reply
from memos.server.native.cubes import existing, taken_or
from memos.server.native.fields import PathCube
from memos.server.native.problems import reads, writes
from memos.server.native.scope import ActingDep
from memos.server.native.slashes import SlashRoute
from memos.server.wire import content_type

router = APIRouter(prefix="/v1/cubes", tags=["Cubes"], route_class=SlashRoute)

MEDIA_TYPE = "application/octet-stream"
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_CHUNK = 1 << 20


class _OneTimeFile(FileResponse):
    """A file that is removed, with its folder, however its sending ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            await asyncio.to_thread(shutil.rmtree, Path(self.path).parent, ignore_errors=True)


@router.get(
    "/{name}/archive",
    operation_id="export_cube",
    summary="Download a cube",
    response_class=Response,
    responses={
        200: {
            "description": "The archive.",
            "content": {MEDIA_TYPE: _BINARY},
            "headers": {
                "Repr-Digest": {"schema": {"type": "string"}, "description": "Its SHA-256: `sha-256=:base64:`."}
            },
        },
        **reads(507),
    },
)
async def download(memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """The cube as it is at this moment, in one portable, checksummed file: all versions, edges, vectors and keys."""
    user = acting.user()
    await existing(memos, name, user)
    folder = await _folder()
    try:
        report = await memos.export_cube(folder / "archive.cube", user=user, cube=name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    digest = base64.b64encode(bytes.fromhex(report.sha256)).decode()
    return _OneTimeFile(
        folder / "archive.cube",
        media_type=MEDIA_TYPE,
        headers={
            "Repr-Digest": f"sha-256=:{digest}:",
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}.cube",
        },
    )


@router.put(
    "/{name}/archive",
    operation_id="import_cube",
    summary="Upload a cube",
    status_code=201,
    response_model=Report,
    responses=writes(),
    openapi_extra={"requestBody": {"required": True, "content": {MEDIA_TYPE: _BINARY}}},
)
async def upload(request: Request, memos: Core, acting: ActingDep, name: PathCube) -> Response:
    """Makes a new cube of an archive. All of it is checked first: a damaged or hostile one makes nothing (400)."""
    user = acting.user(WRITE)
    sent = content_type(request.headers.get("content-type", MEDIA_TYPE))
    if sent != MEDIA_TYPE:
        raise Refused(415, "wrong_type", f"an archive is sent as {MEDIA_TYPE}, not {sent!r:.60}")
    if await memos.owner_of(name) is not None:
        text = f"a cube named {name!r} exists already; import under another name"
        raise Refused(409, "conflict", text, {"Connection": "close"})  # before all of it is sent
    folder = await _folder()
    try:
        await _receive(request, folder / "archive.cube")
        return reply(await memos.import_cube(folder / "archive.cube", name, user=user), 201)
    except ClientDisconnect:
        return Response(status_code=400)  # nobody is there to read it
    except InvalidInput as e:
        raise taken_or(e) from e
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


async def _folder() -> Path:
    """A temporary folder of its own for one archive."""
    with _room():
        return Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="memos-"))


@contextlib.contextmanager
def _room() -> Iterator[None]:
    """What cannot be written is an error of ours. Raises StorageFull and Unavailable."""
    try:
        yield
    except OSError as e:
        if e.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFull("there is no room for the archive among temporary files; make some, or set TMPDIR") from e
        text = f"the archive cannot be kept among temporary files ({e.strerror}); set TMPDIR to a folder for them"
        raise Unavailable(text) from e


async def _receive(request: Request, path: Path) -> None:
    """Write the body of a request to a file."""
    with _room(), path.open("xb") as file:
        waiting = bytearray()
        async for part in request.stream():
            waiting += part
            if len(waiting) >= _CHUNK:
                await asyncio.to_thread(file.write, waiting)
                waiting = bytearray()
        await asyncio.to_thread(file.write, waiting)
