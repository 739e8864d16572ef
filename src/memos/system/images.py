"""The verb of images: the bytes of one that came in with a message."""

from __future__ import annotations

from memos.errors import NotFound
from memos.memory.image import Image, digits_of
from memos.system.base import DEFAULT_USER, Base


class Images(Base):
    """See `AsyncMemOS`."""

    async def image(self, ref: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Image:
        """The bytes of an image and its media type, by the reference that its record has in `body["media"]` (`sha256:...`).

        Raises InvalidInput for what is no such reference, and NotFound where the cube keeps no such image: only its reference was
        kept, or every record that refers to it was deleted or taken back.
        """
        digits = digits_of(ref)
        async with self._cube(user, cube, "read") as (info, store):
            found = await store.image(digits)
        if found is None:
            raise NotFound(f"image sha256:{digits} is not kept in cube {info.name!r}")
        return found
