"""With which queue and embedder a server or worker last ran on a data folder, so that others can say when theirs differ."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from typing import Literal

from memos.errors import StorageError
from memos.memory.url import without_password
from memos.settings import Settings
from memos.storage.sqlite.registry import SqliteRegistry

Role = Literal["server", "worker"]


@dataclass(frozen=True, slots=True)
class LastUse:
    """`queue` is `sqlite` or a URL without its password, `embedder` is as in the settings."""

    queue: str
    embedder: str

    @classmethod
    def of(cls, settings: Settings) -> LastUse:
        """What a process with these settings uses."""
        return cls(without_password(settings.queue), settings.embedder)


def note_use(registry: SqliteRegistry, role: Role, settings: Settings) -> None:
    """Remember it in the control file; where that cannot be written, it is not remembered."""
    with contextlib.suppress(StorageError):
        registry.note(f"used:{role}", json.dumps(asdict(LastUse.of(settings))))


def last_use(registry: SqliteRegistry, role: Role) -> LastUse | None:
    """What was remembered, None for nothing (or what a later version wrote differently)."""
    try:
        said = json.loads(registry.noted(f"used:{role}") or "{}")
        return LastUse(str(said["queue"]), str(said["embedder"]))
    except (ValueError, KeyError, TypeError):
        return None
