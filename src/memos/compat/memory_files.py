"""Files that are views of memories, with the commands of Anthropic's memory tool: each file is one record, its text the content.

What a command answers is what the SDK's own tool over a folder answers, to the letter: models were trained on these texts. A
folder is there while a file is in it.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

from memos.door import Door
from memos.memory.model import Memory
from memos.reading.parts import is_blank

NAME = "memory_file"
SESSION = "anthropic-memory"
ROOT = "/memories"
SEARCH = f"{ROOT}/_search"
MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))
_HITS = 5
_NOT_THERE = "The path {} does not exist. Please provide a valid path."
_HOW = f"View {SEARCH}/<words> to find the memory files that answer these words, the best first.\n"


class Refused(Exception):
    """A command that cannot be done; the text is for the model that gave it."""


@dataclass(frozen=True, slots=True)
class File:
    """One file: its path, its content, and the memory it is a view of. `others`: what else claims the path."""

    path: str
    content: str
    memory: Memory
    others: tuple[str, ...] = ()


class Files:
    """The files of one cube. `search`: whether `/memories/_search/<words>` can be viewed. See `MemosMemoryTool`."""

    def __init__(self, door: Door, *, derive: bool, hard: bool, search: bool) -> None:
        self._door, self._derive, self._hard, self._search = door, derive, hard, search

    async def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with line numbers, or what is in a folder, two levels deep."""
        place = _checked(path)
        if self._search and _within(place, SEARCH):
            return _numbered(path, await self._found(place), view_range)
        files = await self._files()
        if place in files:
            return _numbered(path, files[place].content, view_range)
        if place != ROOT and not any(_within(p, place) for p in files):
            raise Refused(_NOT_THERE.format(path))
        return self._listing(path, place, files)

    async def create(self, path: str, text: str) -> str:
        """A new file."""
        place = self._writable(path)
        async with self._door.turn():
            files = await self._files()
            if place == ROOT or place in files or any(_within(p, place) for p in files):
                raise Refused(f"File {path} already exists")
            self._check_parents(place, files)
            body, info = _kept(place, text)
            message = {"role": "assistant", "content": body, "message_id": f"{NAME}:{uuid4()}", "info": info}
            await self._door.ask(
                "add", [message], session=SESSION, tags=["memory-file"], derive=self._derive, whole=True
            )
        return f"File created successfully at: {path}"

    async def str_replace(self, path: str, old: str, new: str) -> str:
        """Put a text in the place of another, which is in the file exactly once."""
        async with self._door.turn():
            file = await self._file(path)
            content = file.content
            count = content.count(old)
            if count == 0:
                raise Refused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
            if count > 1:
                lines = ", ".join(str(content.count("\n", 0, at) + 1) for at in _places(content, old))
                raise Refused(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique"
                )
            changed = content[: content.find(old)].count("\n")
            content = content.replace(old, new)
            await self._write(file, content, "str_replace")
        lines_now = content.split("\n")
        first, last = max(0, changed - 2), min(len(lines_now), changed + 3)
        snippet = "\n".join(_line(n + 1, lines_now[n]) for n in range(first, last))
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    async def insert(self, path: str, line: int, text: str) -> str:
        """Put a text after a line (0: at the beginning)."""
        async with self._door.turn():
            file = await self._file(path)
            lines = file.content.split("\n")
            if lines[-1] == "":
                lines.pop()
            if line < 0 or line > len(lines):
                raise Refused(
                    f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(line, text.rstrip("\n"))
            content = "\n".join(lines)
            await self._write(file, content if content.endswith("\n") else f"{content}\n", "insert")
        return f"The file {path} has been edited."

    async def delete(self, path: str) -> str:
        """Delete a file, or a folder with all that is in it."""
        place = self._writable(path)
        if place == ROOT:
            raise Refused(f"Cannot delete the {ROOT} directory itself")
        async with self._door.turn():
            ids = [
                i for f in (await self._files()).values() if _within(f.path, place) for i in (f.memory.id, *f.others)
            ]
            if not ids:
                raise Refused(f"The path {path} does not exist")
            await self._door.erase(ids, hard=self._hard)
        return f"Successfully deleted {path}"

    async def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a folder with all that is in it. The memories stay the same ones."""
        old, new = self._writable(old_path), self._writable(new_path)
        if old == ROOT:
            raise Refused(f"Cannot rename the {ROOT} directory itself")
        async with self._door.turn():
            files = await self._files()
            if new == ROOT or any(_within(p, new) for p in files):
                raise Refused(f"The destination {new_path} already exists")
            moved = [file for file in files.values() if _within(file.path, old)]
            if not moved:
                raise Refused(f"The path {old_path} does not exist")
            if _within(new, old):
                raise Refused(f"Cannot move {old_path} into itself")
            self._check_parents(new, files)
            for file in moved:
                _, info = _kept(new + file.path[len(old) :], file.content)
                await self._door.ask("update", file.memory.id, info=info, cause="memory tool rename")
        return f"Successfully renamed {old_path} to {new_path}"

    async def clear(self) -> str:
        """Delete every file."""
        async with self._door.turn():
            where = {"and": [{"session": SESSION}, {f"info.{NAME}.path": {"exists": True}}]}
            await self._door.ask("delete", filter=where, hard=self._hard)
        return "All memory cleared"

    async def memory(self, path: str) -> Memory | None:
        """The memory that a file is a view of."""
        file = (await self._files()).get(_checked(path))
        return file.memory if file else None

    # --- what they stand on -------------------------------------------------------------------------------------------

    async def _files(self) -> dict[str, File]:
        """All files by their paths. Of several with one path, which two processes made at once, the latest is the file."""
        out: dict[str, File] = {}
        async for memory in self._door.listed({"session": SESSION}):
            kept = memory.info.get(NAME)
            if not isinstance(kept, Mapping) or not isinstance(kept.get("path"), str):
                continue
            path, content = kept["path"], kept.get("content")
            known = out.get(path)
            if known is not None:
                out[path] = File(path, known.content, known.memory, (*known.others, memory.id))
            else:
                out[path] = File(path, memory.text if content is None else content, memory)
        return out

    async def _file(self, path: str) -> File:
        """The file that is to be edited."""
        place, files = self._writable(path), await self._files()
        if place in files:
            return files[place]
        if place == ROOT or any(_within(p, place) for p in files):
            raise Refused(f"The path {path} is not a file.")
        raise Refused(_NOT_THERE.format(path))

    async def _write(self, file: File, content: str, how: str) -> None:
        if content.count("\n") >= MOST_LINES:
            raise Refused(f"File {file.path} exceeds maximum line limit of 999,999 lines.")
        text, info = _kept(file.path, content)
        version = file.memory.version
        await self._door.ask(
            "update", file.memory.id, text=text, info=info, cause=f"memory tool {how}", if_version=version
        )

    def _writable(self, path: str) -> str:
        place = _checked(path)
        if self._search and _within(place, SEARCH):
            raise Refused(f"The path {path} is read-only: it is made when it is viewed.")
        return place

    def _check_parents(self, place: str, files: Mapping[str, File]) -> None:
        parent = posixpath.dirname(place)
        while parent != ROOT:
            if parent in files:
                raise Refused(f"The path {parent} is not a directory.")
            parent = posixpath.dirname(parent)

    def _listing(self, shown: str, place: str, files: Mapping[str, File]) -> str:
        """What is in a folder, sorted, without hidden items."""
        sizes: dict[tuple[str, ...], int] = {}
        folders: set[tuple[str, ...]] = set()
        contents = {path: file.content for path, file in files.items()}
        if self._search:
            contents.setdefault(f"{SEARCH}/README.md", _HOW)
        for path, content in contents.items():
            if not _within(path, place):
                continue
            names = tuple(path[len(place) :].strip("/").split("/"))
            size = len(content.encode())
            for depth in range(len(names) + 1):
                sizes[names[:depth]] = sizes.get(names[:depth], 0) + size
            folders.update(names[:depth] for depth in range(1, len(names)))
        lines = [f"{_size(sizes.get((), 0))}\t{shown}"]
        for names in sorted(n for n in sizes if 1 <= len(n) <= 2 and not any(part.startswith(".") for part in n)):
            end = "/" if names in folders else ""
            lines.append(f"{_size(sizes[names])}\t{shown}/{'/'.join(names)}{end}")
        header = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
        return "\n".join([header, *lines])

    async def _found(self, place: str) -> str:
        """The files that answer the words of a path under `_search`."""
        words = place[len(SEARCH) :].strip("/")
        if not words or words == "README.md":
            return _HOW
        answer = await self._door.ask(
            "search", words, filter={"session": SESSION}, kinds=["trace"], limit=_HITS, collapse=False
        )
        out = []
        for hit in answer.hits:
            kept = hit.memory.info.get(NAME)
            if isinstance(kept, Mapping):
                out.append(f"{kept['path']} (score {hit.score:.2f})\n{hit.text.strip()}\n")
        notes = [f"({reason})" for reason in answer.reasons]
        return "\n".join([*(out or [f"No memory file answers {words!r}."]), *notes])


def _checked(path: str) -> str:
    """The path as it is kept. Raises Refused for one that is not under the root, or would leave it in any reading."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise Refused(f"Path must start with {ROOT}, got: {path}")
    read = path
    for _ in range(3):  # what percent signs hide, also from one who looks twice
        read = unquote(read)
    hidden = ".." in read.replace("\\", "/").split("/") and ".." not in path.split("/")
    if hidden or not _within(posixpath.normpath(path), ROOT) or any(ord(c) < 32 or ord(c) == 127 for c in read):
        raise Refused(f"Path {path} would escape {ROOT} directory")
    return unicodedata.normalize("NFC", posixpath.normpath(path))


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _kept(path: str, content: str) -> tuple[str, dict[str, Any]]:
    """The text and the info of a file. A content that shows nothing cannot be a text, and is kept beside one."""
    if is_blank(content):
        return f"(empty file {path})", {NAME: {"path": path, "content": content}}
    return content, {NAME: {"path": path}}


def _places(content: str, part: str) -> list[int]:
    out, at = [], content.find(part)
    while at >= 0:
        out.append(at)
        at = content.find(part, at + 1)
    return out


def _numbered(path: str, content: str, view_range: Sequence[int] | None) -> str:
    lines = content.split("\n")
    if len(lines) > MOST_LINES:
        raise Refused(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, shown = 1, lines
    if view_range and len(view_range) == 2:
        begin = max(1, view_range[0]) - 1
        shown = lines[begin : len(lines) if view_range[1] == -1 else view_range[1]]
        first = begin + 1
    numbered = "\n".join(_line(number, line) for number, line in enumerate(shown, first))
    return f"Here's the content of {path} with line numbers:\n{numbered}"


def _line(number: int, line: str) -> str:
    return f"{str(number).rjust(_WIDTH)}\t{line}"


def _size(size: int) -> str:
    """A number of bytes as the folder tool writes it: `0B`, `1.5K`, `2M`."""
    unit = min((size.bit_length() - 1) // 10, 3) if size else 0
    scaled = size / 1024**unit
    number = str(int(scaled)) if scaled == int(scaled) else f"{scaled:.1f}"
    return f"{number}{'BKMG'[unit]}"
