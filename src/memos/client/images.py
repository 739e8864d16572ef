"""The verb of images: the bytes of one that came in with a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memos.client.connected import Connected
from memos.client.encoding import body
from memos.client.transport import Call
from memos.memory.image import OTHER, Image, digits_of

if TYPE_CHECKING:
    import httpx2


class ImageVerbs(Connected):
    """Images that came in with messages."""

    async def image(self, ref: str, *, user: str | None = None, cube: str | None = None) -> Image:
        """The bytes of an image and its media type; see `AsyncMemOS.image`. Raises InvalidInput and NotFound."""
        params = body(user=self._as(user), cube=cube)
        return await self._transport.run(Call("GET", f"/v1/images/{digits_of(ref)}", params=params), _image)


async def _image(response: httpx2.Response) -> Image:
    return Image(await response.aread(), response.headers.get("content-type", OTHER))
