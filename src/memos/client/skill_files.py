"""Skills as files on this machine: packed for the server, and unpacked from what it sends. Neither side is trusted with paths."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path, PurePosixPath

from memos.errors import ArchiveError, InvalidInput

MOST_FILES, MOST_BYTES = 2_000, 64 << 20  # of one packed folder or one zip; the server says what it takes


def packed(source: str | Path | bytes) -> bytes:
    """What is sent: bytes as they are, a file's content, a folder as a zip, or the text of a `SKILL.md`. Raises InvalidInput."""
    if isinstance(source, (bytes, bytearray)):
        return bytes(source)
    if isinstance(source, str) and ("\n" in source or source.startswith("---")):
        return source.encode("utf-8", "replace")
    if not isinstance(source, (str, Path)):
        raise InvalidInput(
            f"source is a path, the bytes of a zip, or the text of a SKILL.md, got {type(source).__name__}"
        )
    path = Path(source)
    try:
        if path.is_dir():
            return _zipped(path)
        if path.is_file():
            return path.read_bytes()
    except OSError as e:
        raise InvalidInput(f"{path} cannot be read: {e.strerror or e}") from e
    raise InvalidInput(f"{path} is neither a file nor a folder")


def written(data: bytes, path: Path, *, overwrite: bool) -> list[Path]:
    """The zip as a file. Raises InvalidInput when it is there, unless `overwrite`."""
    _writable(path, overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return [path]


def unpacked(data: bytes, path: Path, *, overwrite: bool) -> list[Path]:
    """The folders of a zip below a folder; returns them. Nothing is written when any file is there already, unless `overwrite`,
    or when a name leads out of the folder.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = {path.joinpath(*_inside(i).parts): archive.read(i) for i in _checked(archive)}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as e:
        raise ArchiveError(f"the server sent no zip of skills ({e}); nothing was written") from e
    for file in files:
        _writable(file, overwrite)
    for file, content in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return sorted({path / file.relative_to(path).parts[0] for file in files})


def _zipped(folder: Path) -> bytes:
    """A folder's ordinary files as a zip; links are left out, since they may lead anywhere."""
    out = io.BytesIO()
    files = sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    if len(files) > MOST_FILES or sum(p.stat().st_size for p in files) > MOST_BYTES:
        raise InvalidInput(
            f"{folder} holds more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MB; name one of skills"
        )
    root = folder.name if (folder / "SKILL.md").is_file() else ""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, str(PurePosixPath(root, *file.relative_to(folder).parts)))
    return out.getvalue()


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


def _writable(path: Path, overwrite: bool) -> None:
    if path.is_symlink() or (path.exists() and (not overwrite or not path.is_file())):
        raise InvalidInput(f"{path} exists already; give another path, or overwrite=True")
