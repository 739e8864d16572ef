"""Knowledge bases and their files: `create|delete/knowledgebase`, `add|get|delete/knowledgebase-file`.

Files come as base64, as a form, or (where the server may fetch) by URL. Paths are never read (R057).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.responses import Response

from memos.errors import InvalidInput, Unavailable
from memos.memory.model import Kind, Memory, Status
from memos.server.app import Core
from memos.server.caller import READ, WRITE, Caller, CallerDep
from memos.server.frame import FrameDep
from memos.server.openmem import bodies, codes, incoming
from memos.server.openmem.answers import answers
from memos.server.openmem.codes import ok
from memos.server.openmem.incoming import Incoming
from memos.server.openmem.subjects import Base, Home, base, create_base, homes
from memos.server.quick import QuickRoute
from memos.server.translate import milliseconds
from memos.system import AsyncMemOS

router = APIRouter(prefix=codes.PREFIX, tags=["openmem"], route_class=QuickRoute)


@dataclass(frozen=True, slots=True)
class Created:
    """The answer to create/knowledgebase."""

    id: str


@dataclass(frozen=True, slots=True)
class Done:
    """The answer to a deletion."""

    success: bool


@dataclass(frozen=True, slots=True)
class FileDetail:
    """A file of a knowledge base. `sizeMB` is in millions of bytes; `size` is the same in words; `pieces` what is found of it."""

    id: str
    type: str
    name: str
    size: str
    sizeMB: float
    status: str
    knowledgebase_id: str
    create_time: int | None
    update_time: int | None
    pieces: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Files:
    """The answer to get/knowledgebase-file."""

    file_detail_list: Sequence[FileDetail]
    total: int
    page: int
    page_size: int


@router.post("/create/knowledgebase", **answers(Created, "Create a knowledge base."))
async def create_knowledgebase(memos: Core, caller: CallerDep, body: bodies.CreateBaseBody) -> Response:
    """A new knowledge base that belongs to the user of the key; share it as a cube of this id."""
    found = await create_base(memos, caller, body.knowledgebase_name, body.knowledgebase_description)
    return ok(Created(found.name))


@router.post("/delete/knowledgebase", **answers(Done, "Delete a knowledge base."))
async def delete_knowledgebase(memos: Core, caller: CallerDep, body: bodies.BaseBody) -> Response:
    """Delete a knowledge base with all its files, for good."""
    found = await base(memos, caller, body.knowledgebase_id, "admin")
    await memos.delete_cube(found.id, user=found.user)
    return ok(Done(True))


@router.post(
    "/add/knowledgebase-file",
    **answers(list[FileDetail], "Add files to a knowledge base."),
    openapi_extra=incoming.OPENAPI,
)
async def add_files(
    request: Request,
    memos: Core,
    caller: CallerDep,
    frame: FrameDep,
    knowledgebase_id: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """Read files and store what they say. Each answers for itself: `completed`, or `failed` with the reason. The same file again
    changes nothing; with an `id` of your own, a new edition takes the place of the former one.
    """
    caller.must(WRITE)
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        return await _add_form(request, memos, caller, knowledgebase_id)
    body = await _body(request)
    target = await base(memos, caller, body.knowledgebase_id, WRITE)
    files = await incoming.from_json(body.file, frame.options, request.app)
    return ok(await _store(memos, target, files))


async def _body(request: Request) -> bodies.AddFilesBody:
    try:
        return bodies.AddFilesBody.model_validate_json(await request.body())
    except ValidationError as e:
        found = e.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**error, "loc": ("body", *error["loc"])} for error in found]) from None


async def _add_form(request: Request, memos: AsyncMemOS, caller: Caller, id: str | None) -> Response:
    """Files as parts of a form; the knowledge base is named in the query string or in the form."""
    async with request.form(max_files=100, max_fields=50) as form:
        named = form.get("knowledgebase_id")
        id = id or (named if isinstance(named, str) else None)
        if not id:
            raise codes.MissingParameter("knowledgebase_id is required, in the query string or in the form")
        target = await base(memos, caller, id, WRITE)
        uploads = [value for _, value in form.multi_items() if isinstance(value, UploadFile)]
        files = await incoming.from_form(uploads)
        return ok(await _store(memos, target, files))


async def _store(memos: AsyncMemOS, target: Base, files: Sequence[Incoming]) -> list[FileDetail]:
    """Store files one after another, so that only one is unpacked at a time."""
    return [await _store_one(memos, target, file) for file in files]


async def _store_one(memos: AsyncMemOS, target: Base, file: Incoming) -> FileDetail:
    try:
        content = await file.load()
        kept = await memos.add_file(
            content.data,
            name=file.name,
            media_type=content.media_type,
            document_id=file.id,
            user=target.user,
            cube=target.id,
        )
    except (InvalidInput, Unavailable) as e:
        if file.alone:  # what is wrong with the only file is what is wrong with the request
            raise
        return FileDetail("", "document", file.name, "", 0.0, "failed", target.id, None, None, 0, str(e))
    return file_detail(kept.memory, target.id)


def file_detail(memory: Memory, base_id: str) -> FileDetail:
    """A document as a file."""
    size = int(memory.body.get("bytes", 0))
    return FileDetail(
        id=memory.id,
        type="document",
        name=str(memory.body.get("name", memory.title or "")),
        size=f"{size / 1e6:.2f} MB" if size >= 10_000 else f"{size / 1e3:.2f} KB",
        sizeMB=round(size / 1e6, 4),
        status="completed",
        knowledgebase_id=base_id,
        create_time=milliseconds(memory.recorded_at),
        update_time=milliseconds(memory.known_from),
        pieces=int(memory.body.get("parts", 0)),
    )


@router.post("/get/knowledgebase-file", **answers(Files, "The files of a knowledge base."))
async def get_files(memos: Core, caller: CallerDep, body: bodies.GetFilesBody) -> Response:
    """Files by their ids, or those of a knowledge base by page."""
    if (body.file_ids is None) == (body.knowledgebase_id is None):
        raise InvalidInput("exactly one of file_ids and knowledgebase_id is required")
    if body.file_ids is not None:
        found = [file_detail(memory, home.cube) for memory, home in await _files(memos, caller, body.file_ids)]
        return ok(Files(found, len(found), 1, max(1, len(found))))
    target = await base(memos, caller, body.knowledgebase_id or "")
    return ok(await _listed(memos, target, body))


async def _listed(memos: AsyncMemOS, target: Base, body: bodies.GetFilesBody) -> Files:
    if body.type not in (None, "document"):  # there are no others
        return Files([], 0, body.page, body.page_size)
    kinds = (Kind.DOCUMENT,)
    total = await memos.count(kinds=kinds, user=target.user, cube=target.id)
    skip, cursor = (body.page - 1) * body.page_size, None
    while 0 < skip < total:
        passed = await memos.list(kinds=kinds, limit=min(skip, 10_000), cursor=cursor, user=target.user, cube=target.id)
        skip, cursor = skip - len(passed.items), passed.cursor
    items: Sequence[Memory] = ()
    if skip == 0 and total:
        page = await memos.list(kinds=kinds, limit=body.page_size, cursor=cursor, user=target.user, cube=target.id)
        items = page.items
    return Files([file_detail(memory, target.id) for memory in items], total, body.page, body.page_size)


@router.post("/delete/knowledgebase-file", **answers(Done, "Delete files."))
async def delete_files(memos: Core, caller: CallerDep, body: bodies.DeleteFilesBody) -> Response:
    """Delete files and everything found of them, for good: all, or none when one does not exist."""
    ids = list(dict.fromkeys(body.file_ids))
    found = await _files(memos, caller, ids, WRITE)
    if len(found) < len(ids):
        missing = next(id for id in ids if id not in {memory.id for memory, _ in found})
        raise codes.MemoryGone(f"file {missing} does not exist; nothing was deleted")
    for home in dict.fromkeys(home for _, home in found):
        mine = [memory.id for memory, at in found if at == home]
        await memos.delete(
            mine, user=home.user, cube=home.cube
        )  # its pieces go with a document, those of former editions too
    return ok(Done(True))


async def _files(memos: AsyncMemOS, caller: Caller, ids: Sequence[str], need: str = READ) -> list[tuple[Memory, Home]]:
    """The documents of these ids that this caller may see, and where they are."""
    found = await homes(memos, caller, ids, need)
    memories = await asyncio.gather(*(memos.get(id, user=home.user, cube=home.cube) for id, home in found.items()))
    return [
        (memory, found[memory.id])
        for memory in memories
        if memory.kind is Kind.DOCUMENT and memory.status is Status.ACTIVE
    ]
