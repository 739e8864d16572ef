"""Notes: Markdown files, in a folder with those below it (an Obsidian vault), in a zip, or one alone. A note is kept by its
sections; its front matter tells its date and tags. A file named `SKILL.md` is a skill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from memos.errors import InvalidInput
from memos.moving import shape
from memos.moving.files import head, is_zip, members, text_of
from memos.moving.items import Bad, Item, Left, Skill, Source, Told
from memos.moving.looks import names
from memos.text import front_matter

_FILES = re.compile(r".*\.(?:md|markdown)", re.IGNORECASE)
_LARGEST = 8 << 20  # bytes of a note
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t]*#*")
_FENCE = re.compile(r"[ \t]{0,3}(```+|~~~+)")
_EMBED = re.compile(r"!\[\[[^\[\]\n]{0,500}\]\]")
_LINK = re.compile(r"\[\[([^\[\]|\n]{1,500})(?:\|([^\[\]\n]{1,500}))?\]\]")
_FRONT = re.compile(r"---[ \t]*\r?\n.*?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)", re.DOTALL)
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d-(?:0\d|1[0-2])-(?:[0-2]\d|3[01]))(?!\d)")
_DATES = ("date", "created", "created_at", "day", "日期")


def _fits(path: Path) -> bool:
    if path.is_dir() or is_zip(path):
        found = names(path)
        return any(_FILES.fullmatch(name) for name in found)
    return _FILES.fullmatch(path.name) is not None and b"\0" not in head(path)


def _read(path: Path) -> Iterator[Item]:
    unread: dict[str, int] = {}
    for name, file in members(path, _FILES):
        try:
            text = text_of(file, name, _LARGEST)
        except InvalidInput as e:
            yield Bad(name, str(e))
            continue
        if PurePosixPath(name).name == "SKILL.md":
            yield Skill(PurePosixPath(name).parent.name or "skill", text)
            continue
        values, body, why = _split(text)
        if why is not None:
            unread[why] = unread.get(why, 0) + 1
        yield from _note(name, values, body)
    for why, count in unread.items():
        yield Left("front matter of notes", count, f"it was not understood ({why}); the notes themselves are taken")


def _split(text: str) -> tuple[Mapping[str, Any], str, str | None]:
    """The front matter of a note, its text, and why the front matter was not read."""
    if not text.startswith("---"):
        return {}, text, None
    try:
        values, body = front_matter.split(text)
        return values, body, None
    except InvalidInput as e:
        found = _FRONT.match(text)
        return {}, text[found.end() :] if found else text, re.sub(r"^line \d+ of ", "a line of ", str(e))[:120]


def _note(name: str, values: Mapping[str, Any], body: str) -> Iterator[Item]:
    place = re.sub(r"\.\w+$", "", name)
    title = shape.text(values.get("title")) or PurePosixPath(place).name
    at = next((found for key in _DATES if (found := shape.time(values.get(key))) is not None), None)
    if at is None and (day := _DAY.search(PurePosixPath(place).name)) is not None:
        at = day[1]
    tags = shape.tags(values.get("tags") or values.get("tag") or ())
    info: dict[str, Any] = {"note": name[:500]}
    for headings, words in _sections(body):
        text = _plain(words)
        if not text:
            continue
        told = " > ".join(dict.fromkeys((title, *headings)))
        yield Told(f"{told}\n\n{text}", at, f"note-{shape.mark(name, told, text)}", place, info, tags, role="user")


def _sections(body: str) -> Iterator[tuple[list[str], str]]:
    """The sections of a text, each with the headings it stands under."""
    headings: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in body.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1][:3]
        found = None if fence else _HEADING.fullmatch(line.strip()) if line.startswith("#") else None
        if found is None:
            lines.append(line)
            continue
        yield [title for _, title in headings], "\n".join(lines)
        lines = []
        headings = [(level, title) for level, title in headings if level < len(found[1])]
        headings.append((len(found[1]), _plain(found[2])))
    yield [title for _, title in headings], "\n".join(lines)


def _plain(text: str) -> str:
    """A text with its links to other notes as what they show."""
    text = _LINK.sub(lambda m: m[2] or m[1], _EMBED.sub("", text))
    return text.strip()


SOURCE = Source("markdown", "Notes in Markdown: a folder (an Obsidian vault), a zip, or a file", _fits, _read)
