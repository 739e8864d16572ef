"""The suite a home of the task queue must pass unchanged.

Subclass `QueueConformance` and give one fixture, `home`: a function that makes a new, empty home and returns a `Make`, an async
function `make(clock=..., limits=...)` that opens one more queue over that home (two queues are as two processes). The
fixture closes what is still open when the test ends; closing twice must do no harm.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from queue_asking import Asking
from queue_enqueueing import Enqueueing
from queue_histories import Histories
from queue_leasing import Leasing
from queue_making import Clock, Make
from queue_scheduling import Scheduling
from queue_waiting import Waiting

from memos.storage.tasks import TaskQueue

__all__ = ["QueueConformance"]


class QueueConformance(Enqueueing, Scheduling, Leasing, Asking, Waiting, Histories):
    """Everything `TaskQueue` promises."""

    @pytest.fixture
    def make(self, home: Callable[[], Make]) -> Make:
        return home()

    @pytest.fixture
    def clock(self) -> Clock:
        return Clock()

    @pytest.fixture
    async def queue(self, make: Make, clock: Clock) -> TaskQueue:
        return await make(clock=clock)

    @pytest.fixture
    async def other(self, make: Make, clock: Clock, queue: TaskQueue) -> TaskQueue:
        """The same home as `queue`, opened by another."""
        return await make(clock=clock)
