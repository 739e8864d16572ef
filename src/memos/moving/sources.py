"""The kinds of files that can be taken in, the most specific first, and which of them a path is."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from memos.errors import InvalidInput
from memos.moving import (
    chat,
    chatgpt,
    claude,
    graph_file,
    hermes,
    local_plugin,
    mem0,
    memos_dump,
    notes,
    openclaw,
    ours,
    table,
    transcripts,
)
from memos.moving.files import head
from memos.moving.items import Bad, Item, Left, Source
from memos.moving.json_stream import elements

SOURCES: tuple[Source, ...] = (
    ours.SOURCE,
    local_plugin.SOURCE,
    hermes.SOURCE,
    openclaw.SOURCE,
    transcripts.SOURCE,
    memos_dump.SOURCE,
    graph_file.SOURCE,
    chatgpt.SOURCE,
    claude.SOURCE,
    mem0.SOURCE,
    chat.SOURCE,
    notes.SOURCE,
    table.SOURCE,
)


def detect(path: Path) -> Source:
    """The kind of a path: the first that it fits. Raises InvalidInput where there is no such path, or no kind fits."""
    if not path.exists():
        raise InvalidInput(f"{path} does not exist")
    for source in SOURCES:
        if source.fits(path):
            return source
    raise InvalidInput(
        f"{path} is of no kind that is known here{_why(path)}; known are {', '.join(s.name for s in SOURCES)}. "
        "Where you know which it is, say so (--from KIND). A plain text is added by `memos add --file`, a document by add_file()"
    )


def _why(path: Path) -> str:
    """What is plainly wrong with a file, as a part of a sentence."""
    if path.is_dir():
        return "" if any(path.iterdir()) else ", for it is empty"
    if not head(path, 1):
        return ", for it is empty"
    if path.suffix.lower() == ".zip" and not zipfile.is_zipfile(path):
        return ", for it is no zip, or not all of one"
    if path.suffix.lower() == ".json":
        try:
            with path.open("rb") as file:
                next(elements(file, path.name), None)
        except InvalidInput as e:
            return f" ({e})"
    return ""


def only(source: Source, user: str) -> Source:
    """Of a source that tells whose each memory is, what is this user's."""

    def read(path: Path) -> Iterator[Item]:
        others = 0
        for item in source.read(path):
            if isinstance(item, (Bad, Left)) or getattr(item, "user", None) == user:
                yield item
            else:
                others += 1
        if others:
            yield Left("memories of others, or of nobody named", others, f"only those of {user} were asked for")

    return replace(source, read=read)


def named(name: str) -> Source:
    """The kind of that name. Raises InvalidInput."""
    for source in SOURCES:
        if source.name == name:
            return source
    raise InvalidInput(
        f"{name!r:.60} is no kind of file that is known here; known are {', '.join(s.name for s in SOURCES)}"
    )
