"""The route of images: the bytes of one that came in with a message."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from memos.memory.image import DESCRIBABLE, OTHER
from memos.server.app import Core
from memos.server.native.problems import reads
from memos.server.native.scope import WhoseDep
from memos.server.native.slashes import SlashRoute

router = APIRouter(prefix="/v1/images", tags=["Memories"], route_class=SlashRoute)

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_SHOWN = frozenset((*DESCRIBABLE, "image/bmp", "image/tiff"))
_HEADERS = {
    "Cache-Control": "no-store",  # what is deleted must not live on elsewhere
    "Content-Security-Policy": "default-src 'none'; sandbox",  # nobody vouches for what a message brought
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
}
DigitsPath = Annotated[
    str,
    Path(
        pattern="^[0-9a-fA-F]{64}$",
        description="The digits of the reference `sha256:...` in the record's `body.media`.",
        examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    ),
]


@router.get(
    "/{sha256}",
    operation_id="image",
    summary="The bytes of an image",
    response_class=Response,
    responses={
        200: {"description": "The image as it came in.", "content": dict.fromkeys(("image/*", OTHER), _BINARY)},
        **reads(),
    },
)
async def image(memos: Core, whose: WhoseDep, sha256: DigitsPath) -> Response:
    """An image that came inside a message, for whoever may read the cube. 404 where only its reference is kept."""
    place = whose.place()
    found = await memos.image(sha256, user=place.user, cube=place.cube)
    kind = found.media_type if found.media_type in _SHOWN else OTHER
    return Response(found.data, media_type=kind, headers=_HEADERS)
