"""What an installation keeps in the data folder, so that it can be taken back: each file as it was before MemOS came, once, and
what was written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.hosts.edits import Edit, read, write


def _nothing(edit: Edit) -> dict[str, Any]:
    return {}


class Receipt:
    """The receipt of an installation in a host, of the one that `mark` names; empty where there is none, or it is broken.
    `files`: for each file its sha256 as written, and the copy of what was there before (None: nothing).
    """

    def __init__(self, home: Path, host: str, scope: str, mark: str) -> None:
        self._folder, self._host, self._scope = home / "hosts", host, scope
        self._file = self._folder / f"{host}-{_sha(mark.encode())[:12]}.json"
        self.files = self._load()

    def copy_of(self, path: Path) -> bytes | None:
        """What a file was before, as it was kept; None for one that was not there, or whose copy is gone."""
        known = self.files.get(str(path))
        return None if known is None or known["copy"] is None else read(self._folder / known["copy"])

    def made(self, path: Path) -> bool:
        """Whether a file was not there before."""
        known = self.files.get(str(path))
        return known is not None and known["copy"] is None

    def to_the_byte(self, path: Path, now: bytes | None) -> Edit | None:
        """The edit that makes of a file what it was before, to the byte; None where it changed since, or the copy is gone."""
        known = self.files.get(str(path))
        if known is None or now is None or _sha(now) != known["wrote"]:
            return None
        copy = self.copy_of(path)
        return None if copy is None and not self.made(path) else Edit(path, now, copy)

    def note(
        self,
        edits: Iterable[Edit],
        without_us: Callable[[Edit], bytes | None],
        about: Callable[[Edit], dict[str, Any]] = _nothing,
    ) -> None:
        """Keep what the files were before MemOS came (`without_us`), once, and what edits make of them. `about`: what else is to
        be known of one. Raises InvalidInput when it cannot be written.
        """
        for edit in edits:
            if not edit.changes:
                continue
            assert edit.after is not None
            known = self.files.get(str(edit.path))
            if known is None or edit.before is None or _sha(edit.before) != known["wrote"]:
                first = without_us(edit)
                copy = None if first is None else f"before/{self._file.stem}-{edit.path.name}"
                if first is not None and copy is not None:
                    _keep(self._folder / copy, first)
                known = {"copy": copy, **about(edit)}
            self.files[str(edit.path)] = {**known, "wrote": _sha(edit.after)}
        if self.files:
            value = {"host": self._host, "scope": self._scope, "files": self.files}
            _keep(self._file, json.dumps(value, indent=2, ensure_ascii=False).encode())

    def forget(self) -> None:
        """Take the copies and the receipt away."""
        for known in self.files.values():
            if known["copy"] is not None:
                (self._folder / known["copy"]).unlink(missing_ok=True)
        self._file.unlink(missing_ok=True)

    def _load(self) -> dict[str, dict[str, Any]]:
        try:
            value = json.loads(self._file.read_text("utf-8"))
            return {str(path): dict(known) for path, known in value["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}


def _keep(path: Path, content: bytes) -> None:
    try:
        write(path, content)
    except OSError as e:
        raise InvalidInput(f"{path} cannot be written ({e.strerror}); nothing was changed") from None


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
