"""What is still to be told, on disk: written before anything else is done with it, taken away when it is stored.

In `HOME/hosts/hermes`, readable for its owner only: a folder for each memory, in it one for each process, in that a file for each
report. What a process that was killed left, the next session of the same memory takes over; the keys of reports keep what was
stored already single.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from memos.hosts.session import digest

try:
    import fcntl
except ImportError:  # Windows: what a process left is taken over when it is a day old
    fcntl = None  # type: ignore[assignment]

_LOCK = "lock"
_OLD = 86_400.0  # seconds

Op = tuple[str, dict[str, Any]]


def root_of(home: Path, user: str | None, cube: str | None, agent: str) -> Path:
    """Where the reports of one memory are: nobody else's session may take them over, and store them as its own."""
    return home / "hosts" / "hermes" / digest(json.dumps([user, cube, agent]))


class Outbox:
    """The reports of this process. Safe from one thread at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folder = root / f"{time.time_ns():020d}-{os.getpid()}"
        self._lock = -1
        self._held: list[tuple[Path, int]] = []
        self._number = 0

    def put(self, ops: list[Op]) -> Path:
        """Write down what is to be told; it is on disk then. Raises OSError."""
        if self._lock < 0:
            for folder in (*reversed(self._root.parents[:2]), self._root, self._folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = _locked(self._folder)
        self._number += 1
        path = self._folder / f"{self._number:08d}.json"
        handle = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            json.dump(ops, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{path}.new", path)
        return path

    def left(self) -> list[Path]:
        """What processes that are gone have left, oldest first. Their folders are this process's from now on."""
        out: list[Path] = []
        for folder in sorted(p for p in self._root.glob("*-*") if p.is_dir() and p != self._folder):
            if fcntl is None and time.time() - folder.stat().st_mtime < _OLD:
                continue
            with contextlib.suppress(OSError):
                lock = _locked(folder)
                for half in folder.glob("*.new"):  # nobody was told that it is on disk
                    half.unlink(missing_ok=True)
                found = sorted(folder.glob("*.json"))
                if found:
                    out += found
                    self._held.append((folder, lock))
                else:
                    _gone(folder, lock)
        return out

    def close(self) -> None:
        """Leave: a folder with nothing in it goes, and what is in others is free for the next to take over."""
        for folder, lock in self._held:
            _gone(folder, lock)
        self._held.clear()
        if self._lock >= 0:
            _gone(self._folder, self._lock)
            self._lock = -1


def ops_of(path: Path) -> list[Op] | None:
    """What a file says is to be told; None when it cannot be read."""
    try:
        value = json.loads(path.read_text("utf-8", "surrogatepass"))
        return [(str(verb), dict(fields)) for verb, fields in value]
    except (OSError, ValueError, TypeError):
        return None


def told(path: Path) -> None:
    """It is stored: take the file away."""
    path.unlink(missing_ok=True)


def set_aside(path: Path) -> None:
    """It cannot be told as it is: keep it under another name, for somebody to look at."""
    with contextlib.suppress(OSError):
        os.replace(path, f"{path}.kept")


def waiting(home: Path) -> int:
    """How many reports are still to be told on a data folder, of all processes and users."""
    return sum(1 for _ in (home / "hosts" / "hermes").glob("*/*-*/*.json"))


def _locked(folder: Path) -> int:
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    if fcntl is not None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise
    return lock


def _gone(folder: Path, lock: int) -> None:
    if not any(folder.glob("*.json*")):
        for file in folder.glob("*"):
            file.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            folder.rmdir()
    if lock >= 0:
        os.close(lock)
