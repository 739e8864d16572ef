"""Edits of a host's own files: made on text, and written whole, all of them or none."""

from __future__ import annotations

import contextlib
import os
import tempfile
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memos.errors import Conflict, InvalidInput
from memos.hosts.jsonc import Document

_BEGIN, _END = "# >>> memos: `memos hosts uninstall codex` takes this out", "# <<< memos"


@dataclass(frozen=True, slots=True)
class Edit:
    """What a file becomes. `before` None: there was none. `after` None: it goes."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def read(path: Path) -> bytes | None:
    """The content of a file; None where there is none. Raises InvalidInput for what is no file, or may not be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        raise InvalidInput(f"{path} is a folder") from None
    except OSError as e:
        raise InvalidInput(f"{path} cannot be read ({e.strerror}); nothing was changed") from None


def edit_json(
    path: Path, change: Callable[[Document], None], before: bytes | None = None, *, json5: bool = False
) -> Edit:
    """The edit that `change` makes of a JSON file (`json5`: or one in JSON5). Raises InvalidInput naming the file when
    it cannot be read.
    """
    before = read(path) if before is None else before
    text = "" if before is None else _text(path, before)
    try:
        document = Document(text if text.strip() else "{}\n", json5=json5)
        if not isinstance(document.value, dict):
            raise InvalidInput("it is no JSON object")
        change(document)
    except InvalidInput as e:
        raise InvalidInput(f"{path}: {e}; mend it first, nothing was changed") from None
    after = document.text.encode()
    if before is not None and not text.strip() and document.text == "{}\n":
        after = before
    return Edit(path, before, after)


def with_block(path: Path, name: str, lines: str) -> Edit:
    """The edit that puts lines of TOML at the end of a file, between two marks, in place of those that are there. Raises Conflict
    when the file has a table of that name (`mcp_servers.memos`) of its own.
    """
    before = read(path)
    text = without_block(path, "" if before is None else _text(path, before))
    parsed: Any = _toml(path, text)
    for part in name.split("."):
        parsed = parsed.get(part, {}) if isinstance(parsed, dict) else {}
    if parsed:
        raise Conflict(f"{path} has a table [{name}] that is not of MemOS; take it out first, or install with --no-mcp")
    gap = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    after = f"{text}{gap}{_BEGIN}\n{lines.strip()}\n{_END}\n"
    _toml(path, after)
    return Edit(path, before, after.encode())


def without_block(path: Path, text: str) -> str:
    """The text without the block between the marks. Raises InvalidInput when only one of them is left."""
    start, end = text.find(_BEGIN), text.find(_END)
    if start < 0 and end < 0:
        return text
    if start < 0 or end < start:
        raise InvalidInput(
            f"{path}: one of the two lines that mark the block of MemOS is gone; take the block out by hand"
        )
    rest = text[end + len(_END) :].removeprefix("\r").removeprefix("\n")
    head = text[:start]
    return head.removesuffix("\n") + rest if head.endswith("\n\n") else head + rest


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, with the permissions of the one it takes the place of (else only for its owner). A link
    is followed.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def apply(*edits: Edit) -> None:
    """Write what edits say, all of it or nothing; with no content, take a file away, and its folder if that is empty then. Raises
    InvalidInput naming the file that cannot be written.
    """
    done: list[Edit] = []
    for edit in edits:
        try:
            if edit.changes:
                _apply(edit)
        except OSError as e:
            for one in reversed(done):
                with contextlib.suppress(OSError):
                    _apply(Edit(one.path, one.after, one.before))
            raise InvalidInput(f"{edit.path} cannot be written ({e.strerror}); nothing was changed") from None
        done.append(edit)


def _apply(edit: Edit) -> None:
    path = Path(os.path.realpath(edit.path))  # a link stays, also to what is taken away
    if edit.after is not None:
        write(path, edit.after)
    elif path.exists():
        path.unlink()
        with contextlib.suppress(OSError):
            path.parent.rmdir()


def _text(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is no UTF-8 text") from None


def _toml(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise InvalidInput(f"{path} cannot be read as TOML ({e}); mend it first, nothing was changed") from None
