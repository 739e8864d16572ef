"""Makes of functions that read files a kind of source that never fails in another way than by InvalidInput."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from memos.errors import InvalidInput
from memos.moving.items import Item, Source


def guarded(name: str, title: str, fits: Callable[[Path], bool], read: Callable[[Path], Iterator[Item]]) -> Source:
    """The source of these functions: what the file system refuses is no such file, or an InvalidInput."""

    def careful_fits(path: Path) -> bool:
        try:
            return fits(path)
        except (OSError, InvalidInput):
            return False

    def careful_read(path: Path) -> Iterator[Item]:
        try:
            yield from read(path)
        except OSError as e:
            raise InvalidInput(f"{path} cannot be read: {e.strerror or type(e).__name__}") from None

    return Source(name, title, careful_fits, careful_read)
