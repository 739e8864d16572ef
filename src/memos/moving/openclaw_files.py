"""The memory files of OpenClaw's workspaces (`MEMORY.md`, `USER.md`, `memory/*.md`), and pieces of them from its index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from memos.errors import InvalidInput
from memos.moving import shape
from memos.moving.files import is_file, opened, text_of, walked
from memos.moving.foreign_sqlite import ForeignSqlite
from memos.moving.items import Bad, Item, Left, Told
from memos.moving.note_parts import MOST_PART, parts

_TOP = ("MEMORY.md", "memory.md", "USER.md")
_DAY = re.compile(r"(?:.*/)?(\d{4})-(\d\d)-(\d\d)(?:[-_][^/]*)?\.md")
_LARGEST = 8 << 20
_PIECE = ("id", "path", "source", "start_line", "text", "updated_at")


def is_workspace(path: Path) -> bool:
    """Whether a folder is a workspace with memories in it."""
    return any(_plain(path / name) for name in _TOP) and (_plain(path / "AGENTS.md") or _days(path))


def workspaces(root: Path) -> list[Path]:
    """The workspaces in a state folder: `workspace`, and one for each further agent."""
    if not root.is_dir():
        return []
    found = sorted(p for p in root.iterdir() if p.name.startswith("workspace") and p.is_dir() and not p.is_symlink())
    return [p for p in found if any(_plain(p / name) for name in _TOP) or _days(p)]


def workspace(folder: Path, name: str, read: set[str]) -> Iterator[Item]:
    """The notes of a workspace. `read` learns the paths, as the index names them."""
    seen: set[tuple[int, int]] = set()
    for file in _TOP:
        if _plain(folder / file):
            at = (folder / file).stat()
            if (at.st_dev, at.st_ino) not in seen:  # where case does not matter, two names are one file
                seen.add((at.st_dev, at.st_ino))
                yield from _note(folder / file, file, name, read)
    if _days(folder):
        for inside, path in walked(folder / "memory"):
            if inside.endswith(".md"):
                yield from _note(path, f"memory/{inside}", name, read)


def pieces(db: ForeignSqlite, table: str, read: set[str]) -> Iterator[Item]:
    """What the index keeps of memory files that are not there any more."""
    copies = sessions = 0
    for row in db.rows(table, _PIECE):
        path, text = shape.text(row.get("path")), shape.text(row.get("text"))
        if row.bad or path is None or text is None:
            yield Bad(f"{table}, {str(row.get('id'))!r:.80}", row.bad or "it has no path or text")
        elif row.get("source") == "sessions":
            sessions += 1
        elif path in read:
            copies += 1
        else:
            id = f"piece-{shape.mark(path, text)}"
            info = {
                "file": path[:500],
                **({"line": row["start_line"]} if isinstance(row.get("start_line"), int) else {}),
            }
            at = _day(path) or shape.time(row.get("updated_at"))
            yield Told(text[: MOST_PART * 4], at, id, f"openclaw {path}"[:200], info, ("openclaw",))
    if copies:
        yield Left("pieces of memory files", copies, "the files themselves are taken")
    if sessions:
        yield Left("pieces of sessions", sessions, "the sessions themselves are taken")


def _note(path: Path, inside: str, workspace: str, read: set[str]) -> Iterator[Item]:
    try:
        with opened(path) as file:
            text = text_of(file, inside, _LARGEST)
    except InvalidInput as e:
        yield Bad(f"{workspace}/{inside}"[:300], str(e))
        return
    read.add(inside)
    kind = "user" if inside == "USER.md" else "memory"
    for part in parts(text):
        info = {"file": inside[:500], "workspace": workspace[:200]}
        yield Told(
            part, _day(inside), f"note-{shape.mark(inside, part)}", f"openclaw {inside}"[:200], info, ("openclaw", kind)
        )


def _day(name: str) -> str | None:
    """Noon of the day that a file is named after, where this machine is."""
    found = _DAY.fullmatch(name)
    if found is None:
        return None
    try:
        return datetime(int(found[1]), int(found[2]), int(found[3]), 12).astimezone().isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _days(folder: Path) -> bool:
    memory = folder / "memory"
    return memory.is_dir() and not memory.is_symlink() and any(p.suffix == ".md" for p in memory.iterdir())


def _plain(path: Path) -> bool:
    return is_file(path) and not path.is_symlink()
