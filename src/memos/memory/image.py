"""Images that came in with messages: their bytes, what kind they are, and the `sha256:` reference that a record keeps of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from memos.errors import InvalidInput

DESCRIBABLE = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))  # what models that see take
OTHER = "application/octet-stream"
_REFERENCE = re.compile(r"(?:sha256:)?([0-9a-fA-F]{64})")
_TYPE = re.compile(r"image/[a-z0-9][a-z0-9.+-]{0,60}")
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


class Image(NamedTuple):
    """The bytes of an image as they came in, and what kind of image they are."""

    data: bytes
    media_type: str

    @classmethod
    def of(cls, data: bytes, declared: str | None = None) -> Image:
        """An image of bytes: of the kind they begin like, else of the declared one where that is an image's."""
        return cls(data, _begins_like(data) or _declared(declared))


def _begins_like(data: bytes) -> str | None:
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for beginning, kind in _BEGINNINGS if data.startswith(beginning)), None)


def _declared(media_type: str | None) -> str:
    kind = (media_type or "").strip().lower()
    return kind if _TYPE.fullmatch(kind) else OTHER


def reference_to(data: bytes) -> str:
    """The reference to these bytes: `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digits_of(reference: object) -> str:
    """The 64 digits of a reference, with or without `sha256:`. Raises InvalidInput for what is none."""
    found = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if found is None:
        raise InvalidInput(f"an image is named by 'sha256:' and 64 hexadecimal digits, got {reference!r:.100}")
    return found[1].lower()


def images_in(body: Mapping[str, Any]) -> list[str]:
    """The references to bytes of images in the body of a record, each once, in order."""
    listed = body.get("media", ())
    media = [m for m in listed if isinstance(m, Mapping)] if isinstance(listed, (list, tuple)) else []
    named = [m.get("uri") for m in media if m.get("type") == "image"]
    return list(dict.fromkeys(uri for uri in named if isinstance(uri, str) and uri.startswith("sha256:")))
