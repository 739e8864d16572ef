"""Learning from episodes in the background: those that nobody goes on with are closed, and closed ones that are due are learned
from, one change each. Rows in the cube say what is to be done (law 2): a lost task is found again, one done twice changes
nothing.

A model is asked for its judgement where there is one. While it is away or busy nothing waits for it: episodes are learned from by
rules, and asked about again when the time comes that it wished (law 6).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import structlog

from memos.cubes.access import resolve
from memos.cubes.pool import CubePool
from memos.errors import (
    AccessDenied,
    InvalidInput,
    MemosError,
    ModelBusy,
    ModelTimeout,
    ModelUnavailable,
    NotFound,
    OverBudget,
    StorageError,
)
from memos.evolution import judging
from memos.evolution.carry import carried_home
from memos.evolution.learn import CaseBuilder, close_idle, learn_episode
from memos.memory.acting import Evolved
from memos.memory.episode import Signal
from memos.memory.time import to_micros, utcnow
from memos.models.llm.purposes import Llms
from memos.scheduler.cube_tasks import cube_of, cube_task
from memos.scheduler.job import Done, Handler, Job
from memos.scheduler.kinds import EVOLVE
from memos.scheduler.locks import Locks
from memos.scheduler.middleware import named
from memos.scheduler.worker import backoff
from memos.settings import Settings
from memos.storage.ports import Change, CubeInfo
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.lived import Uncarried
from memos.storage.sqlite.probe import next_learning
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import NewTask, TaskQueue

log = structlog.get_logger(__name__)

SLICE_SECONDS = 20.0  # how long one task begins to learn before other cubes have their turn
AT_ONCE = 1.0  # seconds below which a task does not wait in a lane of its own
ASKED_FOR = timedelta(hours=24)  # after its end, until which a model that is away is asked about an episode again
OVER_SECONDS = 900.0  # at most, until it is looked again whether a user may have more judged
BROKEN = timedelta(hours=1)  # until an episode is tried again that could not be learned from
MOST_HOPS = 4  # from a copy to what it is a copy of
IDLE_AT_ONCE = 100  # episodes closed in one change
ACTOR = "evolve"
AWAY = "the language model is away or busy: rules valued the episodes, and it is asked about them later"

_FAILURES = (
    *(MemosError, ValueError, LookupError, TypeError, AttributeError, AssertionError),
    *(RecursionError, ArithmeticError),
)


@dataclass(slots=True)
class _Run:
    """What became of one go at a cube."""

    closed: int = 0
    learned: int = 0
    asked: int = 0  # calls of a model
    later: bool = False  # time was up
    reasons: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a model said of an episode, as signals under their keys, and when it is to be asked (again)."""

    kept: tuple[tuple[str, Signal], ...] = ()
    again_at: datetime | None = None


class Evolving:
    """The learning of one system. Used within one event loop."""

    def __init__(
        self, cubes: CubePool, registry: SqliteRegistry, queue: TaskQueue, llms: Llms, settings: Settings
    ) -> None:
        self._cubes, self._registry, self._queue, self._llms, self._settings = cubes, registry, queue, llms, settings
        self._locks = Locks()
        self._asked_again: dict[
            str, float
        ] = {}  # by model, or user who has used up hers: when it may be asked (monotonic)
        self._strikes: Counter[str] = Counter()  # failures in a row, by model
        self._gap = timedelta(minutes=settings.episode_gap)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What the worker does with the tasks of this room."""
        return {EVOLVE: self._task} if self._settings.evolve else {}

    @property
    def has_model(self) -> bool:
        """Whether a model is configured for evolution."""
        return self._llms.of("evolution") is not None

    async def look(self, info: CubeInfo) -> None:
        """Have done what is to be done in a cube and no task may stand for. Raises StorageError."""
        if not self._settings.evolve:
            return
        gap = self._gap // timedelta(microseconds=1)
        at = await asyncio.to_thread(next_learning, self._registry.path(info), gap, self.has_model)
        if at is not None:
            await self._enqueue(info, _seconds_until(at))

    async def soon(self, info: CubeInfo, delay: float) -> None:
        """Have a cube learned from in so many seconds: an episode was closed, or something was said of its outcome."""
        if self._settings.evolve and self._settings.background:
            await self._enqueue(info, delay)

    async def learn(self, info: CubeInfo, store: SqliteCube, *, now: bool = False) -> Evolved:
        """Close what is idle, and learn from every episode that is due (`now`: from all that are closed)."""
        if store.read_only:
            return Evolved(info.name, reasons=("this cube cannot be written here; nothing is learned",))
        before = await store.lived(lived.last_event)
        run = await self._go(info, store, until=None, everything=now)
        events = await store.lived(lived.told_since, before)
        waiting = await store.lived(lived.waiting)
        return Evolved(info.name, run.closed, run.learned, events, waiting, tuple(run.reasons))

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
            delay = await self._delay(store)
        if delay is not None:
            await self._enqueue(info, delay)
        return Done()

    async def _delay(self, store: SqliteCube) -> float | None:
        """Seconds until there is something to do in a cube; None when there is nothing."""
        gap = self._gap // timedelta(microseconds=1)
        at = await store.lived(lived.next_work, gap, self.has_model)
        return None if at is None else _seconds_until(at)

    async def _enqueue(self, info: CubeInfo, delay: float) -> None:
        await self._queue.enqueue([_task_in(info, max(0.0, delay))])

    # -- learning ----------------------------------------------------------------------------------------------

    async def _go(self, info: CubeInfo, store: SqliteCube, *, until: float | None, everything: bool = False) -> _Run:
        """Close, learn, judge and carry what there is, for a while or to the end."""
        run = _Run()
        async with self._locks.of(str(store.path)):
            await self._close(store, run)
            while not self._is_over(until, run):
                found = await store.lived(lived.due, None if everything else utcnow())
                if not found:
                    break
                await self._learn(store, found[0], await self._ask(info, store, found[0], run), run)
            while not self._is_over(until, run) and self.has_model:
                now = utcnow()
                found = await store.lived(lived.to_judge, now)
                if not found:
                    break
                asked = await self._ask(info, store, found[0], run)
                if asked.kept or asked.again_at is None:
                    await self._learn(store, found[0], asked, run)
                else:
                    await self._put_off_all(store, now, asked.again_at)
            await self._carry(info, store)
        return run

    def _is_over(self, until: float | None, run: _Run) -> bool:
        run.later = until is not None and time.monotonic() >= until
        return run.later

    async def _close(self, store: SqliteCube, run: _Run) -> None:
        while True:
            before = utcnow() - self._gap
            if not await store.lived(lived.idle, before, 1):
                return
            closed = await store.write(
                lambda tx, before=before: close_idle(tx, before, IDLE_AT_ONCE),  # type: ignore[misc]
                Change(actor=ACTOR, cause="nothing happened for a while"),
            )
            run.closed += len(closed)
            if len(closed) < IDLE_AT_ONCE:
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
            run.learned += await store.write(learn, Change(actor=ACTOR, cause=f"learned from episode {id}"))
        except StorageError:
            raise
        except _FAILURES as e:
            log.warning("episode_not_learned", episode=id, error=named(e))
            run.reasons[f"an episode could not be learned from ({named(e)}); it is tried again in an hour"] = None
            await store.write(put_off, Change(actor=ACTOR))

    # -- asking a model ----------------------------------------------------------------------------------------

    async def _ask(self, info: CubeInfo, store: SqliteCube, id: str, run: _Run) -> _Asked:
        """What a model says of an episode, which is asked once for each version of it; nothing without a model."""
        if not self.has_model:
            return _Asked()
        case = await store.read_lived(lambda db: CaseBuilder(db).case(id))
        if case is None or not judging.is_worth_asking(case):
            return _Asked()
        owner = case.episode.owner or info.owner
        model = self._llms.of("evolution", owner)
        if model is None:
            return _Asked()
        wait = self._wait(model.model_id, owner)
        if wait <= 0:
            run.asked += 1
            try:
                kept = await judging.judge(model, case)
                self._strikes[model.model_id] = 0
                return _Asked(tuple(kept))
            except (ModelBusy, ModelTimeout, ModelUnavailable) as e:
                wait = self._put_off(model.model_id, owner, e)
                log.info("judgement_put_off", error=e.code, seconds=round(wait, 1))
            except _FAILURES as e:  # what it says cannot be used: rules value this version of the episode
                log.warning("judgement_unusable", episode=id, error=named(e))
                return _Asked(tuple(judging.no_judgement(case)))
        run.reasons[AWAY] = None
        later = utcnow() + timedelta(seconds=wait)
        closed = case.episode.closed_at or utcnow()
        return _Asked(again_at=later if later < closed + ASKED_FOR else None)

    async def _put_off_all(self, store: SqliteCube, now: datetime, later: datetime) -> None:
        """Ask about all episodes later that would be asked about now: whoever is away is asked once, not once for each."""
        change = Change(actor=ACTOR, cause="the model is away")
        await store.write(lambda tx: lived.put_off_judging(tx, now, later, later - ASKED_FOR), change)

    def _wait(self, model: str, owner: str) -> float:
        """Seconds until a model may be asked for a user."""
        until = max(self._asked_again.get(model, 0.0), self._asked_again.get(f"{model}\0{owner}", 0.0))
        return max(0.0, until - time.monotonic())

    def _put_off(self, model: str, owner: str, error: MemosError) -> float:
        """Note that a model was away, and for how many seconds it is left alone: as it wished, longer each time in a row."""
        wished = float(getattr(error, "retry_after", 0.0))
        if isinstance(error, OverBudget):
            wait, key = min(max(wished, 1.0), OVER_SECONDS), f"{model}\0{owner}"
        else:
            self._strikes[model] += 1
            wait, key = max(wished, backoff(self._strikes[model] + 2)), model
        self._asked_again[key] = time.monotonic() + wait
        return wait

    # -- trials that count elsewhere ---------------------------------------------------------------------------

    async def _carry(self, info: CubeInfo, store: SqliteCube) -> None:
        """Tell other cubes what came of what is theirs. One that is gone, or that may not be read any more, is told nothing, and
        that is an event here.
        """
        while found := await store.lived(lived.uncarried):
            done = [(trial, await self._carry_one(info, trial)) for trial in found]

            def mark(tx: Any, done: list[tuple[Uncarried, bool]] = done) -> None:
                for trial, told in done:
                    lived.mark_carried(tx, trial)
                    if not told:
                        lived.tell(tx, "trial.dropped", episode=trial.episode, numbers={"outcome": trial.outcome})

            await store.write(mark, Change(actor=ACTOR, cause="told where it belongs"))

    async def _carry_one(self, info: CubeInfo, trial: Uncarried) -> bool:
        """Count a trial where it belongs, and, of a copy, where that is from, and so on; False where nobody was told."""
        reader, told = trial.owner or info.owner, {info.location}
        for _ in range(MOST_HOPS):
            try:
                home = resolve(self._registry, reader, trial.home, "read")
            except (NotFound, AccessDenied, InvalidInput):
                break
            if home.location in told:
                break
            change = Change(actor=ACTOR, cause="tried in another cube")
            async with self._cubes.use(home) as store:
                if store.read_only:
                    break
                told.add(home.location)
                copied = await store.write(partial(carried_home, trial=trial, cube=info.name), change)
            if copied is None:
                break
            reader, trial = copied.owner, replace(trial, home=copied.home, source=copied.source)
        return len(told) > 1


def _task_in(info: CubeInfo, delay: float) -> NewTask:
    """The task that learns from a cube after so many seconds. What waits has lanes of its own, one for each doubling: in a lane the
    first goes first, and none may hold up one that is to be done sooner.
    """
    task = cube_task(EVOLVE, info, delay=delay)
    return task if delay < AT_ONCE else replace(task, lane=f"{EVOLVE}-{int(delay).bit_length()}:{info.location}")


def _is_at_once(lane: str, info: CubeInfo) -> bool:
    return lane == cube_task(EVOLVE, info).lane


def _seconds_until(micros: int) -> float:
    return max(0.0, micros - to_micros(datetime.now(UTC))) / 1e6
