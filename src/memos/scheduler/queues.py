"""The task queue that the settings name."""

from __future__ import annotations

from memos.settings import Settings
from memos.storage.tasks import Limits, TaskQueue


def make_queue(settings: Settings) -> TaskQueue:
    """`sqlite`: in the control file of the data folder. A Redis URL: on that server. Raises Unavailable."""
    limits = Limits(settings.tasks_per_user, settings.tasks_total)
    if settings.queue == "sqlite":
        from memos.storage.sqlite.queue import SqliteTaskQueue

        return SqliteTaskQueue(settings.home, limits=limits, durability=settings.durability)
    from memos.storage.redis.queue import RedisTaskQueue

    return RedisTaskQueue(settings.queue, limits=limits)
