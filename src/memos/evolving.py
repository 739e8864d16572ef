"""Learning from episodes in the background: those that nobody goes on with are closed, and closed ones that are due are learned
from, one change each. Rows in the cube say what is to be done (law 2): a lost task is found again, one done twice changes
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from memos.cubes.pool import CubePool
from memos.memory.acting import Evolved
from memos.models.llm.purposes import Llms
from memos.scheduler.job import Handler
from memos.settings import Settings
from memos.storage.ports import CubeInfo
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import TaskQueue


class Evolving:
    """The learning of one system. Used within one event loop."""

    def __init__(
        self, cubes: CubePool, registry: SqliteRegistry, queue: TaskQueue, llms: Llms, settings: Settings
    ) -> None:
        self._cubes, self._registry, self._queue, self._llms, self._settings = cubes, registry, queue, llms, settings

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What the worker does with the tasks of this room."""
        return {}

    async def look(self, info: CubeInfo) -> None:
        """Have done what is to be done in a cube and no task may stand for. Raises StorageError."""

    async def soon(self, info: CubeInfo, delay: float) -> None:
        """Have a cube learned from in so many seconds: an episode was closed, or something was said of its outcome."""

    async def learn(self, info: CubeInfo, store: SqliteCube, *, now: bool = False) -> Evolved:
        """Close what is idle, and learn from every episode that is due (`now`: from all that are closed)."""
        raise NotImplementedError
