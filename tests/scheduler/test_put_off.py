"""Learning that is put off until its time is no work that waits: nobody who waits for the work to be done waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from memos import AsyncMemOS
from memos.memory.time import utcnow
from memos.scheduler.kinds import EVOLVE
from memos.storage.tasks import TaskQuery, TaskState


@pytest.fixture
async def memos(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    """A system with an episode that goes on, which is closed in two hours."""
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as before:
        await before.start_turn("Rotate the logs.", session="ops", user="ada", recall=False)
    async with AsyncMemOS(tmp_path / "home", embedder="none", durability="normal") as memos:
        await memos.flush(user="ada")  # whoever opens the cube first looks what is to be done in it
        yield memos


async def alarm(memos: AsyncMemOS) -> str:
    """The task that is put off, once it is there."""
    for _ in range(200):
        found = (await memos.tasks.find(TaskQuery(kinds=[EVOLVE], states=[TaskState.WAITING]))).items
        if found and found[0].available_at > utcnow() + timedelta(hours=1):
            return found[0].id
        await asyncio.sleep(0.05)
    raise AssertionError("nothing is put off")


async def test_it_waits_and_yet_nothing_is_busy(memos: AsyncMemOS) -> None:
    await alarm(memos)
    assert await memos.tasks.wait(TaskQuery(), timeout=20)
    assert (await memos.tasks.counts(TaskQuery(kinds=[EVOLVE])))[TaskState.WAITING] == 1
    assert not await memos.tasks.busy()
    assert not await memos.tasks.busy([EVOLVE])
    assert await memos.tasks.wait(TaskQuery(cube="ada", states=[TaskState.WAITING]), timeout=5)


async def test_who_follows_a_cube_comes_to_an_end(memos: AsyncMemOS) -> None:
    id = await alarm(memos)
    seen = [task.id async for task in memos.tasks.follow(TaskQuery(cube="ada"))]
    assert id in seen


async def test_who_asks_for_it_by_its_id_waits_for_it(memos: AsyncMemOS) -> None:
    assert not await memos.tasks.wait([await alarm(memos)], timeout=0.2)


async def test_once_it_is_time_it_is_work(memos: AsyncMemOS) -> None:
    await memos.end_turn("Done.", session="ops", user="ada")
    await memos.end_session("ops", user="ada")
    await memos.report_outcome(1, session="ops", user="ada")  # is learned from at once
    assert await memos.tasks.wait(TaskQuery(), timeout=20)
    assert (await memos.episodes(user="ada")).items[0].learned_at is not None
