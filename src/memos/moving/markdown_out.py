"""A cube as a folder of Markdown, to be read by people (and in Obsidian): a file for each session and day of what was said,
one for each thing that was read from it or learned, skills as `SKILL.md`. Names are stable: the same cube gives the same
files.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import shutil
import unicodedata
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from memos.door import Door
from memos.errors import InvalidInput, StorageError
from memos.evolution.skills.folder import skill_file
from memos.memory.learned import Skill, SkillBody
from memos.memory.model import Kind, Memory
from memos.memory.time import load_zone
from memos.moving import shape
from memos.moving.held import pages
from memos.moving.jsonl_out import Written
from memos.storage.held import abandoned, hold
from memos.text import front_matter

MARK = "memos-export.json"  # tells a folder that an export made, and that a later one may replace
_LOADS = re.compile(  # an image, or HTML that loads something
    r"(?<=!)\[|<(?=/?(?:img|iframe|frame|video|audio|source|embed|object|link|script|style|svg|base|form|input|meta)\b)",
    re.IGNORECASE,
)
_SAFE = re.compile(r"[a-z0-9][a-z0-9_-]{0,59}")
_ODD = re.compile(r'[\s\\/:*?"<>|#^\[\]\0-\x1f\x7f.]+')
_RAW = frozenset((Kind.TRACE, Kind.TOOL_CALL))
_LONGEST = 60  # characters of a name
_LONGEST_BYTES = 200  # of it; a file system takes 255 with what stands behind it


async def write_markdown(
    memory: object, path: Path, *, user: str | None = None, cube: str | None = None, overwrite: bool = False
) -> Written:
    """Write what a cube holds now as a folder, which appears when it is whole. Raises InvalidInput when something is there,
    unless `overwrite` and it is a folder that an export made.
    """
    door = Door(memory, user, cube)
    return await door.arun(lambda: _write(door, path, overwrite=overwrite))


def write_markdown_now(
    memory: object, path: Path, *, user: str | None = None, cube: str | None = None, overwrite: bool = False
) -> Written:
    """`write_markdown`, for a caller without an event loop."""
    door = Door(memory, user, cube)
    return door.run(lambda: _write(door, path, overwrite=overwrite))


async def _write(door: Door, path: Path, *, overwrite: bool) -> Written:
    count = 0
    with _whole_folder(path, overwrite=overwrite) as part:
        folder = _Folder(part)
        async for page in pages(door):
            for memory in page:
                folder.put(memory)
            count += len(page)
    return Written(str(path), "markdown", count, files=folder.files)


@contextlib.contextmanager
def _whole_folder(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """A folder that takes its name when the block ends well, and leaves nothing when it does not."""
    if path.is_symlink() or path.exists():
        if not overwrite:
            raise InvalidInput(f"{path} exists already; choose another folder or allow overwriting")
        if path.is_symlink() or not (path / MARK).is_file():
            raise InvalidInput(
                f"{path} was not made by an export of MemOS, so it is not replaced; choose another folder"
            )
    path = Path(os.path.abspath(path))
    stem = f".{path.name[:100]}."
    lock = path.with_name(f"{stem}{uuid.uuid4().hex[:12]}.lock")
    part, former = lock.with_suffix(".part"), lock.with_suffix(".former")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for left in path.parent.glob(f"{glob.escape(stem)}{'[0-9a-f]' * 12}.lock"):
            if abandoned(left):  # by a process that was killed
                _remove(left, left.with_suffix(".part"), left.with_suffix(".former"))
        with lock.open("xb") as file:
            hold(file)
            part.mkdir(mode=0o700)
            yield part
            (part / MARK).write_text(json.dumps({"format": "memos-markdown", "version": 1}) + "\n", "utf-8")
            _put(part, path, former)
    except OSError as e:
        raise StorageError(f"{path} cannot be written: {e.strerror or e}") from e
    finally:
        _remove(lock, part, former)


def _remove(lock: Path, *folders: Path) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        lock.unlink()


def _put(part: Path, path: Path, former: Path) -> None:
    """Give a folder its name; what has it now stays when that fails."""
    if path.exists():
        path.rename(former)
    try:
        part.rename(path)
    except OSError:
        with contextlib.suppress(OSError):
            former.rename(path)
        raise


class _Folder:
    """Puts memories into files below a folder, one after another."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.files = 0

    def put(self, memory: Memory) -> None:
        """Write one memory to its place."""
        if memory.kind in _RAW:
            self._said(memory)
        elif memory.kind is Kind.SKILL:
            self._new(f"skills/{safe(memory.title or memory.id)}/SKILL.md", _skill(memory))
        else:
            self._new(f"{memory.kind.value}/{_name(memory)}.md", _page(memory))

    def _said(self, memory: Memory) -> None:
        """Add what was said to its session's file of the day."""
        place = self._root / f"{_day_file(memory.session or 'default', memory)}.md"
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            day = f"{_local(memory):%Y-%m-%d}"
            about: dict[str, front_matter.Value] = {"session": memory.session or "default", "date": day}
            place.write_text(front_matter.join(about, f"# {_line(memory.session or 'default')}, {day}"), "utf-8")
            self.files += 1
        who = _line(memory.speaker or memory.role or memory.kind.value)
        with place.open("a", encoding="utf-8") as file:
            file.write(f"\n**{who}** {_local(memory):%H:%M} ^{memory.id}\n\n{_quoted(memory.text)}\n")

    def _new(self, name: str, text: str) -> None:
        place = self._root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        self.files += 1


def safe(name: str) -> str:
    """A name of a file on every system, also where case does not count: as it is where it can be, else with a mark of its
    own.
    """
    if _SAFE.fullmatch(name) and not re.fullmatch(r"con|prn|aux|nul|com\d|lpt\d", name):
        return name
    plain = _ODD.sub("-", unicodedata.normalize("NFC", name)).strip("-. ")[:_LONGEST].lower()
    plain = "".join(c for c in plain if c.isprintable()).encode()[:_LONGEST_BYTES].decode(errors="ignore")
    return f"{plain}-{shape.mark(name)[:8]}" if plain else shape.mark(name)[:16]


def _name(memory: Memory) -> str:
    """A name that begins with what it says, and ends with its id."""
    said = _ODD.sub("-", " ".join((memory.title or memory.text).split())[:_LONGEST]).strip("-. ").lower()
    said = "".join(c for c in said if c.isprintable()).encode()[:_LONGEST_BYTES].decode(errors="ignore")
    return f"{said}-{memory.id[-12:]}" if said else memory.id


def _page(memory: Memory) -> str:
    about: dict[str, front_matter.Value] = {"id": memory.id, "kind": memory.kind.value}
    for key, at in (
        ("created", memory.recorded_at),
        ("valid-from", memory.valid_from),
        ("valid-to", memory.valid_to),
    ):
        if at is not None:
            about[key] = at.isoformat(timespec="seconds")
    about["confidence"] = f"{memory.confidence:.2f}"
    if memory.session:
        about["session"] = memory.session
    if memory.tags:
        about["tags"] = [re.sub(r"\s+", "-", tag) for tag in memory.tags]
    sources = [source.memory_id for source in memory.sources if source.memory_id]
    if sources:
        about["sources"] = sources
    said = _inert(memory.text)
    body = said if memory.title is None else f"# {_line(memory.title)}\n\n{said}"
    days = {
        _day_file(memory.session, memory, source.time) for source in memory.sources if memory.session and source.time
    }
    links = [f"From [[{day}]]" for day in sorted(days)]
    return front_matter.join(about, "\n\n".join((body, *links)))


def _skill(memory: Memory) -> str:
    return skill_file(Skill(memory, SkillBody.of(memory)))


def _day_file(session: str | None, memory: Memory, at: datetime | None = None) -> str:
    return f"conversations/{safe(session or 'default')}/{_local(memory, at):%Y-%m-%d}"


def _local(memory: Memory, at: datetime | None = None) -> datetime:
    """When it was said, on the clock of who said it."""
    at = at or memory.happened_at
    assert at is not None
    body: Mapping[str, object] = memory.body
    zone = body.get("zone")
    try:
        return at.astimezone(load_zone(zone)) if isinstance(zone, str) else at
    except (InvalidInput, OverflowError):
        return at


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in _inert(text).splitlines())


def _inert(text: str) -> str:
    """The text, in which nothing is fetched or run when a program shows it: somebody else may have put it there."""
    return _LOADS.sub(r"\\\g<0>", text)


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
