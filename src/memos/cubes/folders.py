"""Files that are handed out to people, written where they asked: each whole or not at all, nothing outside the folder they named,
and nothing of theirs overwritten unless they said so.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from memos.cubes.container import whole_file
from memos.errors import InvalidInput, StorageError, StorageFull, StorageReadOnly


def write_file(path: Path, data: bytes, *, overwrite: bool = False) -> None:
    """One file. Raises InvalidInput when it exists, unless `overwrite`, and StorageError."""
    with whole_file(path, overwrite=overwrite) as file:
        file.write(data)


def write_folders(path: Path, files: Mapping[str, bytes], *, overwrite: bool = False) -> list[Path]:
    """Files of folders (`FOLDER/FILE`) below a path, which is made where it is missing; returns the folders. Raises InvalidInput
    when one exists, unless `overwrite`, before any is written.
    """
    folders = {path / name.split("/")[0] for name in files}
    _make(path)
    for folder in sorted(folders):
        kind = _kind(folder)
        if kind not in (None, stat.S_IFDIR):
            raise InvalidInput(f"{folder} is a file or a link; choose another folder")
        if kind is not None and not overwrite:
            raise InvalidInput(f"{folder} exists already; choose another folder or allow overwriting")
    for folder in folders:
        _make(folder)
    for name, data in files.items():
        write_file(path / name, data, overwrite=True)
    return sorted(folders)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise InvalidInput(f"{folder} is a file; name a folder") from None
    except PermissionError as e:
        raise StorageReadOnly(f"{folder} cannot be made: check the permissions of the folder it is in") from e
    except OSError as e:
        kind = StorageFull if e.errno == 28 else StorageError
        raise kind(f"{folder} could not be made ({e.strerror or e})") from e


def _kind(path: Path) -> int | None:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise InvalidInput(f"{path} cannot be written to ({e.strerror or e}); name another folder") from None
