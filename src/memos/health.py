"""How the parts of a running system are: whether each answers, how much waits, how much is held. No model is called."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from memos.cubes.pool import CubePool
from memos.errors import MemosError
from memos.memory.model import EMPTY
from memos.memory.spending import LlmUse
from memos.models.embed import Embedder
from memos.models.llm.purposes import Llms
from memos.models.ready import why_not_answering, why_not_ready
from memos.scheduler.middleware import TaskMetrics
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import KindStats, TaskQueue

LEAST_FREE = 64 << 20  # bytes on the disk of the data folder
LATE_SECONDS = 300.0  # a task that waits longer than this means that the workers do not keep pace
ANSWER_SECONDS = 5.0


class Condition(StrEnum):
    """`ready`: all is well. `degraded`: calls are answered, but something wants attention. `failing`: they are not."""

    READY = "ready"
    DEGRADED = "degraded"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Check:
    """One part: `registry`, `queue`, `disk`, `embedder` or `llm`. `detail` says what is wrong, or how much there is."""

    name: str
    condition: Condition
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Health:
    """The parts, and the worst condition among them."""

    checks: tuple[Check, ...]

    @property
    def condition(self) -> Condition:
        """Of the whole."""
        found = {check.condition for check in self.checks}
        return next((c for c in (Condition.FAILING, Condition.DEGRADED) if c in found), Condition.READY)


@dataclass(slots=True)
class Counts:
    """What a process has taken in since it began."""

    adds: int = 0
    messages: int = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process holds and has done. `tasks` counts its own attempts, `queue` is what all processes have to do, `llm` what
    its language models used, by purpose and model.
    """

    open_cubes: int
    resident_bytes: int
    adds: int
    messages: int
    tasks: TaskMetrics
    queue: Mapping[str, KindStats] = field(default_factory=lambda: EMPTY)
    llm: tuple[LlmUse, ...] = ()


async def examine(
    registry: SqliteRegistry, queue: TaskQueue, embedder: Embedder | None, llms: Llms, home: Path
) -> Health:
    """Ask every part how it is."""
    return Health((_registry(registry), await _queue(queue), await _disk(home), _embedder(embedder), _llm(llms)))


async def usage(
    cubes: CubePool, queue: TaskQueue, tasks: TaskMetrics, counts: Counts, llm: tuple[LlmUse, ...] = ()
) -> Usage:
    """What is held and done. A queue that does not answer is left out."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            stats = await queue.stats()
    except (MemosError, TimeoutError):
        stats = EMPTY
    return Usage(cubes.open_count, cubes.resident_bytes, counts.adds, counts.messages, tasks, stats, llm)


def _registry(registry: SqliteRegistry) -> Check:
    try:
        registry.find("default")
    except MemosError as error:
        return Check("registry", Condition.FAILING, str(error))
    return Check("registry", Condition.READY)


async def _queue(queue: TaskQueue) -> Check:
    begun = time.monotonic()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            kinds = (await queue.stats()).values()
    except MemosError as error:
        return Check("queue", Condition.FAILING, str(error))
    except TimeoutError:
        return Check("queue", Condition.FAILING, f"no answer within {time.monotonic() - begun:.0f} s")
    waiting, failed = sum(k.waiting + k.in_progress for k in kinds), sum(k.failed for k in kinds)
    oldest = max((k.oldest_seconds for k in kinds), default=0.0)
    fine = not failed and oldest < LATE_SECONDS
    detail = f"{waiting} tasks to do, the oldest for {oldest:.0f} s; {failed} failed for good"
    return Check("queue", Condition.READY if fine else Condition.DEGRADED, detail)


async def _disk(home: Path) -> Check:
    try:
        free = (await asyncio.to_thread(shutil.disk_usage, home)).free
    except OSError as error:
        return Check("disk", Condition.FAILING, f"{error.strerror or error}")
    enough = free >= LEAST_FREE
    return Check("disk", Condition.READY if enough else Condition.FAILING, f"{free >> 20:,} MB free")


def _embedder(embedder: Embedder | None) -> Check:
    if embedder is None:
        return Check("embedder", Condition.READY, "none: search by words alone")
    problem = why_not_ready(embedder)
    if problem is not None:  # search goes on without it
        return Check("embedder", Condition.DEGRADED, problem)
    return Check("embedder", Condition.READY, embedder.model_id)


def _llm(llms: Llms) -> Check:
    if not llms.models:
        return Check("llm", Condition.READY, "none: everything by rules")
    problems: dict[str, list[str]] = {}
    for purpose, model in llms.models.items():
        if (why := why_not_answering(model)) is not None:
            problems.setdefault(why, []).append(purpose)
    if problems:  # rules go on without it, and what it had to read waits
        every = len(llms.models)
        said = [why if len(of) == every else f"{', '.join(of)}: {why}" for why, of in problems.items()]
        return Check("llm", Condition.DEGRADED, "; ".join(said))
    return Check("llm", Condition.READY, llms.told)
