"""Which process is still at work on a file: a lock that the system takes away when the process ends, however it ends."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows, where the file's age has to do
    fcntl = None  # type: ignore[assignment]

GRACE_SECONDS = 24 * 3600.0  # where there are no such locks: how long whoever works on a file may leave it untouched


def hold(file: IO[bytes]) -> None:
    """Mark an open file as worked on until it is closed. (Never SQLite's own files: closing them would drop its locks.)"""
    if fcntl is not None:
        with contextlib.suppress(OSError):  # some network file systems have none
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def abandoned(path: Path) -> bool:
    """Whether nobody works on the file any more; True when it is gone."""
    try:
        with path.open("rb") as file:
            if fcntl is None:  # pragma: no cover
                return time.time() - path.stat().st_mtime > GRACE_SECONDS
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except FileNotFoundError:
        return True
    except OSError:
        return False
