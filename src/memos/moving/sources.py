"""The kinds of files that can be taken in, the most specific first, and which of them a path is."""

from __future__ import annotations

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
from memos.moving.items import Source

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
        f"{path} is of no kind that is known here; known are {', '.join(s.name for s in SOURCES)}. "
        "Where you know which it is, say so (--from KIND)"
    )


def named(name: str) -> Source:
    """The kind of that name. Raises InvalidInput."""
    for source in SOURCES:
        if source.name == name:
            return source
    raise InvalidInput(
        f"{name!r:.60} is no kind of file that is known here; known are {', '.join(s.name for s in SOURCES)}"
    )
