"""The file around an archive: a zip of a few known members, written whole or not at all, read with every limit kept.

Nothing is ever unpacked to disk, so no name in an archive can become a path; what it says of itself is not believed.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import stat
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from memos.cubes.records import MAX_LINE
from memos.errors import ArchiveError, InvalidInput, StorageError, StorageFull, StorageReadOnly
from memos.storage.held import abandoned, hold
from memos.storage.zipped import checked_members, readable

MANIFEST = "manifest.json"
MAX_MEMBERS = 13 + 2 * 32
MAX_MANIFEST = 1 << 20
MAX_BYTES = 64 << 30  # of all members, unpacked
CHUNK = 1 << 18
_TIME = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Sum:
    """Size and SHA-256 of a member."""

    bytes: int
    sha256: str


# -- writing ---------------------------------------------------------------------------------------------------


class ArchiveWriter:
    """Writes members one after another. The same content gives the same bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(file, "w")
        self.sums: dict[str, Sum] = {}

    def write(self, name: str, parts: Iterable[bytes], *, packed: bool = True) -> None:
        """Add a member made of these parts."""
        info = zipfile.ZipInfo(name, _TIME)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        info.external_attr = (stat.S_IFREG | 0o600) << 16
        info.create_system = 3
        digest, size = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as out:
            for part in parts:
                out.write(part)
                digest.update(part)
                size += len(part)
        self.sums[name] = Sum(size, digest.hexdigest())

    def close(self) -> None:
        """Write the directory of members."""
        self._zip.close()


@contextlib.contextmanager
def whole_file(path: Path, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """A file that takes its name when the block ends well, and leaves nothing when it does not. Raises InvalidInput,
    StorageError.
    """
    _check_target(path, overwrite)
    stem = f".{path.name[:100]}."
    temporary = path.with_name(f"{stem}{uuid.uuid4().hex[:12]}.part")
    try:
        for left in path.parent.glob(f"{glob.escape(stem)}{'[0-9a-f]' * 12}.part"):
            if abandoned(left):  # by a process that was killed; it holds memories in plain text
                left.unlink(missing_ok=True)
        with temporary.open("xb") as file:
            hold(file)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except PermissionError as e:
        raise StorageReadOnly(f"{path} cannot be written: check the permissions of its folder") from e
    except OSError as e:
        kind = StorageFull if e.errno == 28 else StorageError
        raise kind(f"{path} could not be written ({e.strerror or e}); nothing was left there") from e
    finally:
        temporary.unlink(missing_ok=True)


def _check_target(path: Path, overwrite: bool) -> None:
    """Raise InvalidInput unless a file may be written at a path: there is none, or a plain one to be replaced."""
    try:
        folder_there = path.parent.is_dir()
        found = stat.S_IFMT(path.lstat().st_mode)
        if found == stat.S_IFLNK and path.exists():
            found = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        found = None
    except OSError as e:
        raise InvalidInput(f"{path} cannot be written to ({e.strerror or e}); name a file to write") from None
    if not folder_there:
        raise InvalidInput(f"{path} lies in no existing folder; name a file to write")
    if found == stat.S_IFDIR:
        raise InvalidInput(f"{path} is a folder; name a file to write")
    if found is not None and found not in (stat.S_IFREG, stat.S_IFLNK):
        raise InvalidInput(f"{path} is not a plain file; name a file to write")
    if found is not None and not overwrite:
        raise InvalidInput(f"{path} exists already; choose another name or allow overwriting")


# -- reading ---------------------------------------------------------------------------------------------------


class ArchiveReader:
    """The members of an archive file. Every read checks size, ratio and, at its end, the member's SHA-256 given to
    `expect`.
    """

    def __init__(self, file: IO[bytes], size: int) -> None:
        with readable():
            self._zip = zipfile.ZipFile(file)
            self._members = checked_members(self._zip.infolist(), size, most=MAX_MEMBERS, most_bytes=MAX_BYTES)
        self._sums: dict[str, Sum] = {}

    @property
    def names(self) -> set[str]:
        """Names of all members."""
        return set(self._members)

    def manifest(self) -> bytes:
        """The content of the manifest, which nothing vouches for."""
        info = self._members.get(MANIFEST)
        if info is None:
            raise ArchiveError(f"the archive has no {MANIFEST}; it is not an archive of a cube, or was cut off")
        if info.file_size > MAX_MANIFEST:
            raise ArchiveError(f"{MANIFEST} claims {info.file_size} bytes, more than {MAX_MANIFEST}")
        with readable(), self._zip.open(info) as file:
            return file.read(MAX_MANIFEST + 1)

    def expect(self, name: str, wanted: Sum) -> None:
        """Say what a member must be. Raises ArchiveError when its size differs already."""
        if self._members[name].file_size != wanted.bytes:
            raise ArchiveError(f"{name} has {self._members[name].file_size} bytes, the manifest says {wanted.bytes}")
        self._sums[name] = wanted

    def chunks(self, name: str) -> Iterator[bytes]:
        """A member's content in pieces; ends with an ArchiveError when it is not what was expected."""
        wanted = self._sums[name]
        digest, size = hashlib.sha256(), 0
        with readable(), self._zip.open(self._members[name]) as file:
            while piece := file.read(CHUNK):
                size += len(piece)
                if size > wanted.bytes:
                    raise ArchiveError(f"{name} unpacks to more than the {wanted.bytes} bytes it claims")
                digest.update(piece)
                yield piece
        if size != wanted.bytes or digest.hexdigest() != wanted.sha256:
            raise ArchiveError(f"{name} does not match its checksum; the archive is damaged")

    def lines(self, name: str) -> Iterator[bytes]:
        """A member's lines, without the line ends."""
        rest = b""
        for piece in self.chunks(name):
            first, *more = piece.split(b"\n")
            rest += first
            if len(rest) > MAX_LINE:
                raise ArchiveError(f"{name} has a line of more than {MAX_LINE} bytes")
            if more:
                yield rest
                yield from more[:-1]
                rest = more[-1]
        if rest:
            raise ArchiveError(f"the last line of {name} is cut off")

    def blocks(self, name: str, size: int) -> Iterator[bytes]:
        """A member's content in blocks of exactly `size` bytes."""
        rest = b""
        for piece in self.chunks(name):
            rest += piece
            end = len(rest) // size * size
            for start in range(0, end, size):
                yield rest[start : start + size]
            rest = rest[end:]
        if rest:
            raise ArchiveError(f"the end of {name} is cut off")
