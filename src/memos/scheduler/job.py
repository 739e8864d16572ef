"""What a handler gets and gives: the tasks of one lease, and what became of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memos.errors import MemosError
from memos.memory.model import EMPTY
from memos.storage.tasks import Task

Progress = Callable[[str, float], Awaitable[None]]


class NotNow(MemosError):
    """What a task needs is known to be away, and was not asked: the attempt does not count. Again after `retry_after` seconds."""

    code = "not_now"

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class GaveUp(MemosError):
    """What a task is for was tried as often as makes sense. It rests, and is told as failed, until somebody asks for it again."""

    code = "gave_up"


@dataclass(frozen=True, slots=True)
class Job:
    """Tasks of one kind and lane, in order. `progress(id, share)` tells how far one is, 0 to 1."""

    tasks: tuple[Task, ...]
    progress: Progress

    @property
    def kind(self) -> str:
        """The kind of all its tasks."""
        return self.tasks[0].kind

    @property
    def lane(self) -> str:
        """The lane of all its tasks."""
        return self.tasks[0].lane


@dataclass(frozen=True, slots=True)
class Done:
    """How a handler ended. Tasks named in `failed` failed for the reason given, all others are done.

    An exception that leaves a handler counts for every task of the job. `NotNow` is no failure: the task is put off.
    """

    failed: Mapping[str, BaseException] = field(default_factory=lambda: EMPTY)
    results: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)


Handler = Callable[[Job], Awaitable[Done]]
Middleware = Callable[[Job, Handler], Awaitable[Done]]


def wrapped(handler: Handler, middleware: Sequence[Middleware]) -> Handler:
    """The handler with middleware around it; the first is outermost."""
    for layer in reversed(middleware):
        handler = _around(layer, handler)
    return handler


def _around(layer: Middleware, inner: Handler) -> Handler:
    async def call(job: Job) -> Done:
        return await layer(job, inner)

    return call
