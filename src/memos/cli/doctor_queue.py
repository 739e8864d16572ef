"""What the doctor finds in the task queue: whether it can be reached, what failed for good, and work that no task stands for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memos.cli.doctor_models import Unread, waiting_for_models
from memos.cli.place import differences
from memos.cli.render import many
from memos.errors import MemosError
from memos.memory.url import without_password
from memos.scheduler.kinds import DIGEST, EMBED
from memos.scheduler.queues import make_queue
from memos.settings import Settings
from memos.storage.tasks import LIVE, TaskQuery, TaskQueue

ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class QueueReport:
    """The state of the queue. `home`: its path, or its Redis address without a password. `failed`: for good, by kind."""

    home: str
    reachable: bool = False
    waiting: int = 0
    in_progress: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    oldest_seconds: float = 0.0
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lacking:
    """A cube of which so many texts have no vector."""

    cube: str
    owner: str
    count: int


def examine_queue(
    settings: Settings, lacking: Sequence[Lacking], unread: Sequence[Unread] = (), model: str = ""
) -> QueueReport:
    """Look at the queue, also for tasks that make what cubes lack. `model`: the name of what reads, where one is configured."""
    in_folder = settings.queue == "sqlite"
    home = str(settings.home / "control.db") if in_folder else without_password(settings.queue)
    try:
        return asyncio.run(_examined(settings, home, lacking, unread, model))
    except (MemosError, TimeoutError) as e:
        why = str(e) or f"no answer within {ANSWER_SECONDS:.0f} s"
        return QueueReport(home, problems=(f"the task queue {home} cannot be used: {why}",))


async def _examined(
    settings: Settings, home: str, lacking: Sequence[Lacking], unread: Sequence[Unread], model: str
) -> QueueReport:
    queue = make_queue(settings)
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            stats = await queue.stats()
            left = await _without_task(queue, lacking)
            waits = await waiting_for_models(queue, unread, model)
    finally:
        await queue.close()
    failed = {kind: of.failed for kind, of in sorted(stats.items()) if of.failed}
    problems = [_said(failed)] if failed else []
    problems += [
        f"cube {c.cube}: {many(c.count, 'text')} without a vector, and no task waits to make them: "
        f"`memos flush --user {c.owner} --cube {c.cube}` does, and so does a server or worker with this embedder"
        for c in left
    ]
    problems += waits
    return QueueReport(
        home,
        True,
        sum(of.waiting for of in stats.values()),
        sum(of.in_progress for of in stats.values()),
        failed,
        max((of.oldest_seconds for of in stats.values()), default=0.0),
        tuple(problems),
        tuple(differences(settings, embedder=True)),
    )


def _said(failed: Mapping[str, int]) -> str:
    count = sum(failed.values())
    kinds = ", ".join(f"{n} {kind}" for kind, n in failed.items())
    return (
        f"{many(count, 'task')} failed for good ({kinds}): `memos tasks list --state failed` shows them "
        "with the reasons, `memos tasks retry --all` has them tried again"
    )


async def _without_task(queue: TaskQueue, cubes: Sequence[Lacking]) -> list[Lacking]:
    """The cubes that no live task will embed."""
    kinds = [DIGEST, EMBED]  # reading ends with asking for vectors
    return [c for c in cubes if not (await queue.find(TaskQuery(cube=c.cube, kinds=kinds, states=LIVE), limit=1)).items]
