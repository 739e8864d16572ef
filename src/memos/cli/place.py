"""What a command acts on, data folder and queue, and whether that is what the server and the workers use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memos.memory.url import without_password

if TYPE_CHECKING:
    from memos.settings import Settings


def place_of(settings: Settings) -> str:
    """Data folder and queue, without a password."""
    queue = "in it" if settings.queue == "sqlite" else without_password(settings.queue)
    return f"data folder {settings.home}, queue {queue}"


def differences(settings: Settings, *, embedder: bool = False) -> list[str]:
    """What differs from the server (or, where none ever ran, the worker) that last ran on this folder, a sentence each."""
    from memos.cubes.last_use import LastUse, last_use
    from memos.storage.sqlite.registry import SqliteRegistry

    if not (settings.home / "control.db").is_file():
        return []
    registry = SqliteRegistry(settings.home, durability=settings.durability)
    try:
        server = last_use(registry, "server")
        there, mine = server or last_use(registry, "worker"), LastUse.of(settings)
    finally:
        registry.close()
    if there is None:
        return []
    who = f"the {'server' if server else 'worker'} that last ran on {settings.home}"
    out = []
    if there.queue != mine.queue:
        out.append(f"{who} uses the queue {there.queue}, this command {mine.queue}; set MEMOS_QUEUE to the same")
    if embedder and there.embedder != mine.embedder:
        out.append(
            f"{who} uses the embedder {there.embedder}, this command {mine.embedder}; set MEMOS_EMBEDDER to the same"
        )
    return out
