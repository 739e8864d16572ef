"""The learning of the cubes of one system: what its tasks do, when they are asked for, and what its verb needs at once.

A model is asked for its judgement, and for better words, where there is one. While it is away or busy nothing waits for it:
episodes are learned from by rules, and asked about again when the time comes that it wished (law 6).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from memos.cubes.pool import CubePool
from memos.errors import StorageError
from memos.evolution.learn import CaseBuilder, close_idle, learn_episode
from memos.evolution.policies import refining
from memos.evolution.skills import writing as skill_writing
from memos.evolution.value import judging
from memos.evolution.world.model import abstract_world
from memos.evolving.asking import FAILURES, Asking, Away
from memos.evolving.carrying import carry
from memos.logs import get_logger
from memos.memory.acting import Evolved
from memos.memory.episode import Signal
from memos.memory.time import to_micros, utcnow
from memos.models.llm.purposes import Llms
from memos.scheduler.cube_tasks import cube_of, cube_task
from memos.scheduler.job import Done, Handler, Job
from memos.scheduler.kinds import EVOLVE
from memos.scheduler.locks import Locks
from memos.scheduler.middleware import named
from memos.settings import Settings
from memos.storage.ports import Change, CubeInfo
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.probe import next_learning
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import NewTask, TaskQueue

log = get_logger(__name__)

SLICE_SECONDS = 20.0  # how long one task begins to learn before other cubes have their turn
LOOK_SECONDS = 2.0  # until it is looked what is due, so that no call which follows at once has to wait for a change
QUIET = 0.05  # since the last change of a cube, until the next episode is learned from
LONGEST_REST = 0.2  # that it is waited for this between two episodes
AT_ONCE = 1.0  # seconds below which a task does not wait in a lane of its own
ASKED_FOR = timedelta(hours=24)  # after its end, until which a model that is away is asked about an episode again
BROKEN = timedelta(hours=1)  # until an episode is tried again that could not be learned from
IDLE_AT_ONCE = 100  # episodes closed in one change
WORLD_CALLS = 2  # of a model that states the world, in one go
ACTOR = "evolve"
AWAY = "the language model is away or busy: rules valued the episodes, and it is asked about them later"


@dataclass(slots=True)
class _Run:
    """What became of one go at a cube. `broken`: episodes that could not be learned from in it."""

    closed: int = 0
    learned: int = 0
    broken: set[str] = field(default_factory=set)
    reasons: dict[str, None] = field(default_factory=dict)
    events: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a model said of an episode, as signals under their keys, and when it is to be asked (again). `everybody`: it is away
    for all episodes.
    """

    kept: tuple[tuple[str, Signal], ...] = ()
    again_at: datetime | None = None
    everybody: bool = False


class Evolving:
    """The learning of one system. Used within one event loop."""

    def __init__(
        self, cubes: CubePool, registry: SqliteRegistry, queue: TaskQueue, llms: Llms, settings: Settings
    ) -> None:
        self._cubes, self._registry, self._queue, self._settings = cubes, registry, queue, settings
        self._asking = Asking(llms)
        self._locks = Locks()
        self._gap = timedelta(minutes=settings.episode_gap)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What the worker does with the tasks of this room."""
        return {EVOLVE: self._task} if self._settings.evolve else {}

    async def look(self, info: CubeInfo) -> None:
        """Have done what is to be done in a cube and no task may stand for. Raises StorageError."""
        if not self._settings.evolve:
            return
        at = await asyncio.to_thread(next_learning, self._registry.path(info), *self._when())
        if at is not None:
            await self._enqueue(info, _seconds_until(at))

    async def soon(self, info: CubeInfo, delay: float) -> None:
        """Have a cube learned from in so many seconds: an episode was closed, or something was said of its outcome. It is looked
        sooner whether some is due already: of what somebody has told how it went, nothing more is waited for.
        """
        if self._settings.evolve and self._settings.background:
            await self._enqueue(info, min(delay, LOOK_SECONDS))

    async def again(self, info: CubeInfo, store: SqliteCube) -> None:
        """Have learned anew, in the background, what is due now: after a deletion, something else may follow from the rest."""
        due = await store.lived(lived.due, utcnow(), 1)
        if due:
            await self.soon(info, 0)

    async def learn(self, info: CubeInfo, store: SqliteCube, *, now: bool = False) -> Evolved:
        """Close what is idle, and learn from every episode that is due (`now`: from all that are closed)."""
        if store.read_only:
            return Evolved(info.name, reasons=("this cube cannot be written here; nothing is learned",))
        run = await self._go(info, store, until=None, everything=now)
        waiting = await store.lived(lived.waiting)
        return Evolved(info.name, run.closed, run.learned, run.events, waiting, tuple(run.reasons))

    # -- the task ----------------------------------------------------------------------------------------------

    async def _task(self, job: Job) -> Done:
        info = await cube_of(job.tasks[0], self._registry, self._queue)
        if info is None:
            return Done()
        async with self._cubes.use(info) as store:
            if store.read_only:
                return Done()
            if _is_at_once(job.tasks[0].lane, info):  # the one lane in which a cube is learned from
                await self._go(info, store, until=time.monotonic() + SLICE_SECONDS)
            at = await store.lived(lived.next_work, *self._when())
        if at is not None:
            await self._enqueue(info, _seconds_until(at))
        return Done()

    def _when(self) -> tuple[int, bool]:
        """What `lived.next_work` is asked with."""
        return self._gap // timedelta(microseconds=1), self._asking.has_model

    async def _enqueue(self, info: CubeInfo, delay: float) -> None:
        await self._queue.enqueue([_task_in(info, max(0.0, delay))])

    # -- learning ----------------------------------------------------------------------------------------------

    async def _go(self, info: CubeInfo, store: SqliteCube, *, until: float | None, everything: bool = False) -> _Run:
        """Close, learn, judge and carry what there is, for a while or to the end."""
        run = _Run()
        async with self._locks.of(str(store.path)):
            before = await store.lived(lived.last_event)  # what a run before this one did is not of this one
            await self._close(store, run)
            while until is None or time.monotonic() < until:
                found = await store.lived(lived.due, None if everything else utcnow(), len(run.broken) + 1)
                id = next((id for id in found if id not in run.broken), None)
                if id is None:
                    break
                asked = await self._ask(info, store, id, run)
                if until is not None:
                    await _quiet(store)
                await self._learn(store, id, asked, run)
            if self._asking.has_model:
                await self._catch_up(info, store, run, until)
                await self._find_words(info, store)
            await carry(self._cubes, self._registry, info, store, ACTOR)
            if until is None:
                run.events = await store.lived(lived.told_since, before)
        return run

    async def _close(self, store: SqliteCube, run: _Run) -> None:
        before = utcnow() - self._gap
        change = Change(actor=ACTOR, cause="nothing happened for a while")
        while await store.lived(lived.idle, before, 1):
            closed = await store.write(partial(close_idle, before=before, limit=IDLE_AT_ONCE), change)
            run.closed += len(closed)
            if not closed:
                return

    async def _learn(self, store: SqliteCube, id: str, asked: _Asked, run: _Run) -> None:
        """Learn from one episode. One that cannot be learned from is put off, so that it holds up no other."""

        def keep(tx: Any) -> None:
            if lived.episode(tx.db, id) is not None:
                for key, signal in asked.kept:
                    lived.add_signal(tx, id, signal, key)
                lived.set_judge(tx, id, asked.again_at)

        def learn(tx: Any) -> bool:
            keep(tx)
            return learn_episode(tx, id) is not None

        def put_off(tx: Any) -> None:
            keep(tx)
            lived.postpone(tx, id, utcnow() + BROKEN)

        try:
            run.learned += await store.write_patiently(learn, Change(actor=ACTOR, cause=f"learned from episode {id}"))
        except StorageError:
            raise
        except FAILURES as e:
            log.warning("episode_not_learned", episode=id, error=named(e))
            run.broken.add(id)
            run.reasons[f"an episode could not be learned from ({named(e)}); it is tried again in an hour"] = None
            await store.write(put_off, Change(actor=ACTOR))

    # -- asking a model ----------------------------------------------------------------------------------------

    async def _ask(self, info: CubeInfo, store: SqliteCube, id: str, run: _Run) -> _Asked:
        """What a model says of an episode, which is asked once for each version of it; nothing without a model."""
        if not self._asking.has_model:
            return _Asked()
        case = await store.read_lived(lambda db: CaseBuilder(db).case(id))
        if case is None or not judging.is_worth_asking(case):
            return _Asked()
        try:
            kept = await self._asking.ask(case.episode.owner or info.owner, partial(judging.judge, case=case))
            return _Asked(tuple(kept or ()))
        except Away as e:
            run.reasons[AWAY] = None
            later, closed = utcnow() + timedelta(seconds=e.seconds), case.episode.closed_at or utcnow()
            return _Asked(again_at=later if later < closed + ASKED_FOR else None, everybody=e.everybody)
        except FAILURES as e:  # what it says cannot be used: rules value this version of the episode
            log.warning("judgement_unusable", episode=id, error=named(e))
            return _Asked(tuple(judging.no_judgement(case)))

    async def _catch_up(self, info: CubeInfo, store: SqliteCube, run: _Run, until: float | None) -> None:
        """Ask about the episodes that were learned from while the model was away, and learn from them again."""
        while until is None or time.monotonic() < until:
            now = utcnow()
            found = await store.lived(lived.to_judge, now)
            if not found:
                return
            asked = await self._ask(info, store, found[0], run)
            if asked.kept or asked.again_at is None:
                await self._learn(store, found[0], asked, run)
            elif asked.everybody:  # it is asked once, and not once for each
                late, change = asked.again_at - ASKED_FOR, Change(actor=ACTOR, cause="the model is away")
                put_off = partial(lived.put_off_judging, now=now, later=asked.again_at, closed_before=late)
                await store.write(put_off, change)
            else:
                put_off = partial(lived.set_judge, id=found[0], at=asked.again_at)
                await store.write(put_off, Change(actor=ACTOR, cause="no more may be asked for her today"))

    async def _find_words(self, info: CubeInfo, store: SqliteCube) -> None:
        """Have a model find better words for what rules wrote, once for each version of it; while it is away, with the next
        learning.
        """
        try:
            for memory in await store.lived(refining.unrefined):
                await self._write(info, store, memory, refining.refine, refining.keep)
            for memory in await store.lived(skill_writing.unwritten):
                await self._write(info, store, memory, skill_writing.write, skill_writing.keep)
            await self._asking.ask(info.owner, partial(_world, store))
        except Away:
            return
        except StorageError:
            raise
        except FAILURES as e:
            log.warning("words_unusable", error=named(e))

    async def _write(
        self, info: CubeInfo, store: SqliteCube, memory: Any, write: Callable[..., Any], keep: Callable[..., Any]
    ) -> None:
        """Ask for one memory's words, and keep them, or that none could be used."""
        words = None
        try:
            words = await self._asking.ask(memory.owner or info.owner, partial(write, memory=memory))
        except Away:
            raise
        except FAILURES as e:
            log.warning("words_unusable", memory=memory.id, error=named(e))
        await store.write(partial(keep, memory=memory, words=words), Change(actor=ACTOR, cause="a model's words"))


async def _quiet(store: SqliteCube) -> None:
    """Wait until nobody has changed a cube for a moment, so that an agent in the midst of a turn meets no learning; not for long
    in one that is changed all the time.
    """
    end = time.monotonic() + LONGEST_REST
    while (left := QUIET - store.quiet_seconds) > 0 and time.monotonic() < end:  # noqa: ASYNC110 - a time is waited for
        await asyncio.sleep(left)


async def _world(store: SqliteCube, model: Any) -> int:
    return await abstract_world(store, model, calls=WORLD_CALLS)


def _task_in(info: CubeInfo, delay: float) -> NewTask:
    """The task that learns from a cube after so many seconds. What waits has lanes of its own, one for each doubling: in a lane
    the first goes first, and none may hold up one that is to be done sooner.
    """
    task = cube_task(EVOLVE, info, delay=delay)
    return task if delay < AT_ONCE else replace(task, lane=f"{EVOLVE}-{int(delay).bit_length()}:{info.location}")


def _is_at_once(lane: str, info: CubeInfo) -> bool:
    return lane == cube_task(EVOLVE, info).lane


def _seconds_until(micros: int) -> float:
    return max(0.0, micros - to_micros(datetime.now(UTC))) / 1e6
