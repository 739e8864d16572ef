"""Skills as files on this machine: packed for the server, and unpacked from what it sends. Neither side is trusted with paths."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path, PurePosixPath

from memos.errors import ArchiveError, InvalidInput

FILE, FIELDS = "SKILL.md", "memos.json"
MOST_FILES, MOST_BYTES = 5_000, 64 << 20  # of one zip; a server may take less


def packed(source: str | Path | bytes) -> bytes:
    """What is sent: bytes as they are, a file's content, a folder as a zip, or the text of a `SKILL.md`. Raises InvalidInput."""
    if isinstance(source, bytes):
        return source
    if isinstance(source, str) and (source.lstrip("\ufeff").startswith("---") or "\n" in source):
        return source.encode("utf-8", "replace")
    if not isinstance(source, (str, Path)) or "\0" in str(source):
        raise InvalidInput(f"{str(source)!r:.100} is no path, zip or {FILE}")
    path = Path(source)
    try:
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise InvalidInput(f"{path} is neither a file nor a folder; name the folder, zip or {FILE} itself")
        return _zipped(path) if path.is_dir() else _content(path)
    except OSError as e:
        raise InvalidInput(f"{path} cannot be read: {e.strerror or e}") from e


def written(data: bytes, path: Path, *, overwrite: bool) -> list[Path]:
    """The zip as a file. Raises InvalidInput when it is there, unless `overwrite`."""
    if path.is_symlink() or (path.exists() and (not overwrite or not path.is_file())):
        raise InvalidInput(f"{path} exists already; choose another name or allow overwriting")
    path.write_bytes(data)
    return [path]


def unpacked(data: bytes, path: Path, *, overwrite: bool) -> list[Path]:
    """The folders of a zip below a folder; returns them. Nothing is written when one is there already, unless `overwrite`, or
    when a name leads out of the folder.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {_inside(i): archive.read(i) for i in _checked(archive)}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as e:
        raise ArchiveError(f"the server sent no zip of skills ({e}); nothing was written") from e
    folders = sorted({path / name.parts[0] for name in files})
    for folder in folders:
        if folder.is_symlink() or (folder.exists() and not (overwrite and folder.is_dir())):
            raise InvalidInput(f"{folder} exists already; choose another folder or allow overwriting")
    for name, content in files.items():
        file = path.joinpath(*name.parts)
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_symlink():
            raise InvalidInput(f"{file} is a link; choose another folder")
        file.write_bytes(content)
    return folders


def _zipped(folder: Path) -> bytes:
    """The skills of a folder: its own `SKILL.md`, or those of its folders, each with what is structured beside it."""
    own = folder / FILE
    homes = (
        [folder] if own.exists() or own.is_symlink() else sorted(p for p in folder.iterdir() if (p / FILE).is_file())
    )
    if not homes:
        raise InvalidInput(f"there is no {FILE} in it; name a folder with one, a folder of such folders, or a zip")
    out, size = io.BytesIO(), 0
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for home in homes:
            for file in (home / FILE, home / FIELDS):
                if home.is_symlink() or file.is_symlink():
                    raise InvalidInput(f"{file} is a link; skills with links are not imported")
                if file.is_file():
                    content = _content(file)
                    size += len(content)
                    archive.writestr(str(PurePosixPath(home.resolve().name, file.name)), content)
            if size > MOST_BYTES:
                raise InvalidInput(f"{folder} holds more than {MOST_BYTES >> 20} MB of skills; send fewer at a time")
    return out.getvalue()


def _content(file: Path) -> bytes:
    if file.stat().st_size > MOST_BYTES:
        raise InvalidInput(f"{file} has more than {MOST_BYTES >> 20} MB")
    return file.read_bytes()


def _checked(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    entries = [i for i in archive.infolist() if not i.is_dir()]
    if len(entries) > MOST_FILES or sum(i.file_size for i in entries) > MOST_BYTES:
        raise ArchiveError("the zip of skills that the server sent is larger than skills are; nothing was written")
    return entries


def _inside(entry: zipfile.ZipInfo) -> PurePosixPath:
    """Where a file of the zip goes, below the folder. Raises ArchiveError for a name that leads elsewhere, or a link."""
    name = PurePosixPath(entry.filename)
    odd = name.is_absolute() or any(part == ".." or "\\" in part or ":" in part for part in name.parts)
    if odd or len(name.parts) < 2 or stat.S_ISLNK(entry.external_attr >> 16):
        raise ArchiveError(f"the zip of skills holds {entry.filename!r:.80}, which is no file of a skill's folder")
    return name
