"""What a zip of strangers may be: plain members, each once, that unpack to what they claim and to no bomb. Nothing is unpacked to
disk here, so no name in a zip can become a path.
"""

from __future__ import annotations

import contextlib
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator

from memos.errors import ArchiveError

MAX_RATIO = 200  # unpacked to packed; our own archives stay below 20
SMALL = 1 << 20  # members up to this size may be of any ratio


def checked_members(
    listed: list[zipfile.ZipInfo], file_size: int, *, most: int, most_bytes: int, folders: bool = False
) -> dict[str, zipfile.ZipInfo]:
    """The members by name, once their directory entries are found harmless. `folders`: entries for these are left out instead of
    refused. Raises ArchiveError.
    """
    if len(listed) > most:
        raise ArchiveError(f"the archive has {len(listed)} members, at most {most} are possible")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in listed:
        name = info.filename
        if name in found:
            raise ArchiveError(f"the archive holds {name!r:.60} twice")
        kind = stat.S_IFMT(info.external_attr >> 16)
        if folders and info.is_dir() and kind in (0, stat.S_IFDIR) and not info.file_size:
            continue
        if info.is_dir() or kind not in (0, stat.S_IFREG):
            raise ArchiveError(f"{name!r:.60} is a folder or a link, not a plain member")
        if info.flag_bits & 0x1:
            raise ArchiveError(f"{name!r:.60} is encrypted")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ArchiveError(f"{name!r:.60} is packed by a method that archives do not use")
        if info.file_size > SMALL and info.file_size > MAX_RATIO * max(1, info.compress_size):
            raise ArchiveError(
                f"{name!r:.60} claims to unpack to {info.file_size} bytes from {info.compress_size}: a zip bomb"
            )
        found[name] = info
    total = sum(info.file_size for info in listed)
    if total > most_bytes or total > MAX_RATIO * file_size + SMALL * len(listed):
        raise ArchiveError(f"the archive claims to unpack to {total} bytes from {file_size}: a zip bomb")
    return found


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """Turn every way a zip can be broken into an ArchiveError."""
    try:
        yield
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, struct.error, UnicodeDecodeError) as e:
        raise ArchiveError(f"the archive is damaged or cut off ({e})") from e
    except (NotImplementedError, RuntimeError, OverflowError, ValueError) as e:
        raise ArchiveError(f"the archive cannot be read ({e})") from e
    except OSError as e:
        raise ArchiveError(f"the archive cannot be read ({e.strerror or e})") from e
