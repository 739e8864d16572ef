"""The images of a cube file: each kept once, under its SHA-256, for as long as a record refers to it (laws 1 and 2)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import apsw

from memos.memory.ids import id_to_bytes
from memos.memory.image import Image

_STANDS = (
    "EXISTS(SELECT 1 FROM image_records r JOIN memories m ON m.id=r.id AND m.known_to IS NULL AND m.status<>'retracted' "
    "WHERE r.sha256=images.sha256)"
)


def keep(db: apsw.Connection, id: str, digits: str, image: Image) -> None:
    """Keep an image for a record. One that is there already is only referred to once more."""
    digest = bytes.fromhex(digits)
    if not db.execute("SELECT 1 FROM images WHERE sha256=?", (digest,)).get:
        db.execute(
            "INSERT INTO images(sha256, media_type, data) VALUES(?, ?, ?)", (digest, image.media_type, image.data)
        )
    db.execute("INSERT OR IGNORE INTO image_records(sha256, id) VALUES(?, ?)", (digest, id_to_bytes(id)))


def find(db: apsw.Connection, digits: str) -> Image | None:
    """An image, unless every record that refers to it was taken back."""
    found = db.execute(
        f"SELECT data, media_type FROM images WHERE sha256=? AND {_STANDS}", (bytes.fromhex(digits),)
    ).fetchone()
    return None if found is None else Image(*found)


def forget(db: apsw.Connection, doomed: Collection[bytes]) -> int:
    """Take hard-deleted records away, and with them the images that no other record refers to; returns how many those were."""
    if not db.execute("SELECT EXISTS(SELECT 1 FROM image_records)").get:
        return 0
    gone = 0
    for ident in doomed:
        held: list[Any] = db.execute("SELECT sha256 FROM image_records WHERE id=?", (ident,)).fetchall()
        db.execute("DELETE FROM image_records WHERE id=?", (ident,))
        for (digest,) in held:
            if not db.execute("SELECT 1 FROM image_records WHERE sha256=? LIMIT 1", (digest,)).get:
                db.execute("DELETE FROM images WHERE sha256=?", (digest,))
                gone += db.changes()
    return gone


def sizes(db: apsw.Connection) -> tuple[int, int]:
    """How many images there are, and how many bytes they have."""
    found: Any = db.execute("SELECT count(*), coalesce(sum(length(data)), 0) FROM images").fetchone()
    return int(found[0]), int(found[1])
