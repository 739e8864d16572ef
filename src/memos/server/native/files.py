"""The route of files: a document in, its pieces found."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from memos.memory.reading import ReadingMode
from memos.results import FileResult
from memos.server.app import Core
from memos.server.caller import WRITE
from memos.server.errors import Refused
from memos.server.native.answers import reply
from memos.server.native.fields import Name, Tag
from memos.server.native.problems import writes
from memos.server.native.scope import WhoseDep
from memos.server.quick import QuickRoute
from memos.server.wire import content_type

router = APIRouter(prefix="/v1/files", tags=["Memories"], route_class=QuickRoute)
MEDIA_TYPE = "application/octet-stream"


@router.post(
    "",
    operation_id="add_file",
    summary="Keep what a file says",
    response_model=FileResult,
    responses=writes(),
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The bytes of the file.",
            "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def add(
    request: Request,
    memos: Core,
    whose: WhoseDep,
    name: Annotated[Name, Query(description="The file's name; its ending tells what it is.", examples=["guide.md"])],
    media_type: Annotated[
        str | None, Query(description="What it is, where the name does not tell.", max_length=256)
    ] = None,
    document_id: Annotated[
        Name | None, Query(description="An id of your own: another file under it replaces this one.")
    ] = None,
    tags: Annotated[list[Tag] | None, Query(max_length=100, description="Words to find it by.")] = None,
    reading: Annotated[
        ReadingMode | None,
        Query(description="`fine`: the language model reads it too; by default as the cube or the settings say."),
    ] = None,
    wait: Annotated[bool, Query(description="Answer when the model has read it and vectors are made.")] = False,
) -> Response:
    """Stores a text, Markdown, HTML, JSON, CSV, PDF or Word file as one document, whose pieces are found by what they say.

    PDF and Word need the extra `files` on the server (503 without it).
    """
    place = whose.place(need=WRITE)
    sent = content_type(request.headers.get("content-type", MEDIA_TYPE))
    if sent != MEDIA_TYPE:
        raise Refused(415, "wrong_type", f"a file is sent as {MEDIA_TYPE}, not {sent!r:.60}")
    added = await memos.add_file(
        await request.body(),
        name=name,
        media_type=media_type,
        document_id=document_id,
        tags=tags or (),
        user=place.user,
        cube=place.cube,
        reading=reading,
        wait=wait,
    )
    return reply(added)
