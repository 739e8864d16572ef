"""Opening what strangers made: files, zips and folders are read only, in pieces, and no link, bomb or odd name leads out of
them.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from memos.errors import ArchiveError, InvalidInput
from memos.storage.zipped import checked_members, readable

LONGEST_LINE = 64 << 20  # bytes of one line, or of one element of a JSON file
MOST_MEMBERS = 100_000
MOST_UNPACKED = 64 << 30  # bytes
_DEEPEST = 40  # folders within folders


def is_file(path: Path) -> bool:
    """Whether a path is a plain file (a link to one is, as the person named it)."""
    with contextlib.suppress(OSError):
        return path.is_file()
    return False


def is_unlinked(path: Path) -> bool:
    """Whether a path is a file that is reached by no link: of a folder that a program made, a link leads elsewhere."""
    return is_file(path) and not path.is_symlink() and not path.parent.is_symlink()


def is_zip(path: Path) -> bool:
    """Whether a file begins like a zip."""
    return head(path, 4) in (b"PK\x03\x04", b"PK\x05\x06")


def head(path: Path, most: int = 1 << 16) -> bytes:
    """The first bytes of a file; nothing where it is none that can be read."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(most)
    except OSError:
        return b""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """A file to read from. Raises InvalidInput where it cannot be read."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InvalidInput(f"{path} is no plain file")
        file = path.open("rb")
    except OSError as e:
        raise InvalidInput(f"{path} cannot be read: {e.strerror or e}") from None
    with file:
        try:
            yield file
        except OSError as e:
            raise InvalidInput(f"{path} cannot be read: {e.strerror or e}") from None


def members(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """The files that a path stands for, in order of their names, each open until the next is asked for: the file itself, or
    those of a zip or a folder whose path inside it is `wanted`. Raises InvalidInput for what is hostile.
    """
    if path.is_dir():
        for name, found in walked(path):
            if wanted.fullmatch(name):
                with opened(found) as file:
                    yield name, file
    elif is_zip(path):
        yield from _of_zip(path, wanted)
    else:
        with opened(path) as file:
            yield path.name, file


def _of_zip(path: Path, wanted: re.Pattern[str]) -> Iterator[tuple[str, IO[bytes]]]:
    with _told(path):
        archive = zipfile.ZipFile(path)
    with archive:
        with _told(path):
            listed, size = archive.infolist(), path.stat().st_size
            found = checked_members(listed, size, most=MOST_MEMBERS, most_bytes=MOST_UNPACKED, folders=True)
        for name in found:
            if _leads_out(name):
                raise InvalidInput(f"{path} was not taken in: {name!r:.60} leads out of the archive")
        for name in sorted(found):
            if wanted.fullmatch(name):
                with _told(path):
                    file = archive.open(found[name])
                with file:
                    yield name, cast("IO[bytes]", _Unpacked(file, path))


class _Unpacked:
    """A member of a zip that is read somewhere else; what turns out to be broken there is told as everything else is."""

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self._file, self._path = file, path

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        with _told(self._path):
            return self._file.read(size)

    def readline(self, size: int = -1) -> bytes:
        """The next line."""
        with _told(self._path):
            return self._file.readline(size)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        with readable():
            yield
    except ArchiveError as e:
        raise InvalidInput(f"{path} was not taken in: {e}") from None


def _leads_out(name: str) -> bool:
    return name.startswith(("/", "\\")) or ".." in re.split(r"[\\/]", name) or re.match(r"[A-Za-z]:", name) is not None


def walked(folder: Path) -> Iterator[tuple[str, Path]]:
    """The plain files of a folder and those below it, with their paths inside it, in order; no link is followed, and what
    begins with a dot is left out. Raises InvalidInput for a folder without end.
    """
    found: list[tuple[str, Path]] = []
    stack = [(folder, "", 0)]
    while stack:
        at, prefix, deep = stack.pop()
        if deep > _DEEPEST:
            raise InvalidInput(f"{folder} has folders within folders, more than {_DEEPEST} deep")
        try:
            with os.scandir(at) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        stack.append((Path(entry.path), f"{prefix}{entry.name}/", deep + 1))
                    elif entry.is_file(follow_symlinks=False):
                        found.append((f"{prefix}{entry.name}", Path(entry.path)))
        except OSError as e:
            raise InvalidInput(f"{at} cannot be read: {e.strerror or e}") from None
        if len(found) > MOST_MEMBERS:
            raise InvalidInput(f"{folder} holds more than {MOST_MEMBERS:,} files")
    return iter(sorted(found))


def lines(file: IO[bytes], name: str) -> Iterator[tuple[int, str | None]]:
    """The lines of a file with their numbers, from 1; None for one that is not UTF-8. Blank ones are left out. Raises
    InvalidInput for one without end.
    """
    number = 0
    while raw := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(raw) > LONGEST_LINE:
            raise InvalidInput(f"{name}, line {number} has more than {LONGEST_LINE >> 20} MB; this is no file of lines")
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            yield number, None
            continue
        if line:
            yield number, line


def text_of(file: IO[bytes], name: str, most: int) -> str:
    """A small file as text. Raises InvalidInput where it is larger than `most` bytes, not UTF-8, or no text."""
    data = file.read(most + 1)
    if len(data) > most:
        raise InvalidInput(f"{name} has more than {most >> 20} MB")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InvalidInput(f"{name} is not UTF-8 text ({e.reason} at byte {e.start})") from None
    if "\0" in text:
        raise InvalidInput(f"{name} is no text: it holds NUL characters")
    return text
