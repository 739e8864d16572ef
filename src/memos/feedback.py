"""Feedback from a stored record to what it changed: read it (by a model, where there is one, else by rules), find what is meant,
and apply it in one change. Done at once for who waits, by a task for who does not.

The record carries a mark until then, so a crash loses nothing and nothing is applied twice (laws 1 and 2).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memos.cubes.pool import CubePool
from memos.errors import UNFORESEEN, InvalidInput, MemosError, StorageError
from memos.logs import get_logger
from memos.memory.feedback import RATINGS, FeedbackReading, FeedbackResult, Rating, Told
from memos.memory.ids import is_id
from memos.memory.model import Memory
from memos.models.llm.port import ChatModel
from memos.models.llm.purposes import Llms
from memos.organize.digest import digest
from memos.organize.feedback import Applied, Plan, Stale, apply, kept, message, plan, recalled
from memos.organize.rate import rate
from memos.organize.targets import with_kin
from memos.reading.read import read_trace, speaker_of
from memos.scheduler.cube_tasks import SYSTEM, cube_of, cube_task
from memos.scheduler.job import Done, Job
from memos.scheduler.kinds import DIGEST
from memos.scheduler.kinds import FEEDBACK as KIND
from memos.storage.ports import FEEDBACK, Change, CubeInfo, CubeStore, WriteTx
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.probe import marked
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.tasks import LIVE, MAX_ATTEMPTS, NewTask, TaskQuery, TaskQueue
from memos.text.analysis import analyze

__all__ = ["FeedbackWork", "Wanted", "rehearse", "settle", "task_of"]

log = get_logger(__name__)

_ATTEMPTS = 3  # at a plan that others' writes overtake


@dataclass(frozen=True, slots=True)
class Wanted:
    """How feedback is to be taken: `targets`, the ids it is about; `hard`: what is forgotten is gone for good; `rating`: a thumb,
    or how the task ended that the memories were used for.
    """

    targets: tuple[str, ...] = ()
    hard: bool = False
    rating: Rating | None = None

    def noted(self) -> dict[str, Any]:
        """As the record keeps it."""
        more = {"hard": True} if self.hard else {}
        return {**more, **({"rating": self.rating} if self.rating else {})}

    @classmethod
    def of(cls, trace: Memory) -> Wanted:
        """As the record of the feedback has it."""
        told = trace.body.get(FEEDBACK, {})
        rating = told.get("rating")
        return cls(
            tuple(str(id) for id in trace.body.get("corrects", ())),
            bool(told.get("hard")),
            rating if rating in RATINGS else None,
        )


class _DryRun(Exception):  # no error: it takes a change back
    def __init__(self, applied: Applied) -> None:
        super().__init__()
        self.applied = applied


async def settle(
    store: SqliteCube, cube: str, trace: Memory, llm: ChatModel | None, *, again: bool = False
) -> FeedbackResult:
    """Apply a stored record of feedback, once; what came of it, also when that was before. `again`: the same words were said once
    more, and may mean what has come since.
    """
    outcome = trace.body.get(FEEDBACK, {})
    if "done" not in outcome or again:
        await _digested(store)
        outcome = await _applied(store, trace, llm, again="done" in outcome)
    done, candidates = await recalled(store, outcome)
    if "told" in outcome:  # by this very call: also of what is gone for good now
        done = outcome["told"]
    return FeedbackResult(
        cube,
        done,
        bool(outcome.get("understood")),
        str(outcome.get("message", "")),
        candidates,
        record=trace.id,
    )


async def rehearse(store: SqliteCube, cube: str, trace: Memory, llm: ChatModel | None) -> FeedbackResult:
    """What feedback would do, to the last id; nothing is stored."""
    await _digested(store)
    wanted = Wanted.of(trace)
    planned = await _plan(store, trace, wanted, llm)

    def act(tx: WriteTx) -> None:
        raise _DryRun(_act(tx, tx.put(trace, "add"), wanted, planned))

    applied = Applied()
    try:
        await store.write(act, Change(cause="dry run of feedback"))
    except _DryRun as e:
        applied = e.applied
    known = {t.id for done in applied.done for t in done.targets}
    done = tuple(
        replace(d, made=tuple(m if m.id in known else replace(m, id="") for m in d.made)) for d in applied.done
    )
    shown = tuple(Told(m.id, m.text) for m in planned.candidates)
    return FeedbackResult(cube, done, bool(done), message(planned, applied), shown, dry_run=True)


async def _digested(store: SqliteCube) -> None:
    """What was added before is read for facts first: it may be what is meant."""
    if not store.read_only:
        while (await digest(store, read_trace)).more:
            pass


async def _applied(
    store: SqliteCube, trace: Memory, llm: ChatModel | None, *, again: bool = False
) -> Mapping[str, Any]:
    """Find out what is meant and do it; a plan that others' writes overtook is made anew. `again`: only what is new."""
    wanted = Wanted.of(trace)
    for attempt in range(1, _ATTEMPTS + 1):
        planned = await _plan(store, trace, wanted, llm)
        if again and not (planned.steps and all(step.is_news for step in planned.steps)):
            outcome: Mapping[str, Any] = trace.body[FEEDBACK]
            return outcome

        def act(tx: WriteTx, planned: Plan = planned) -> tuple[Mapping[str, Any], Applied | None]:
            now = tx.get(trace.id)
            marked = tx.unmark(trace.id, FEEDBACK)
            if now is None or not (marked or again):
                return (now.body.get(FEEDBACK, {}) if now is not None else {}), None
            applied = _act(tx, now, wanted, planned)
            if again and not applied.done:
                return now.body[FEEDBACK], None
            outcome = {**now.body.get(FEEDBACK, {}), **kept(planned, applied)}
            tx.put(replace(now, body={**now.body, FEEDBACK: outcome}), FEEDBACK)
            return outcome, applied

        try:
            outcome, applied = await store.write(
                act, Change(actor=trace.owner or "system", cause=f"feedback {trace.id}")
            )
        except Stale:
            if attempt == _ATTEMPTS:
                raise
            continue
        if applied is not None and applied.purged is not None:
            await store.erase(applied.purged)
        return outcome if applied is None else {**outcome, "told": tuple(applied.done)}
    raise AssertionError("unreachable")


def _act(tx: WriteTx, trace: Memory, wanted: Wanted, planned: Plan) -> Applied:
    applied = apply(tx, trace, planned, hard=wanted.hard)
    if wanted.rating is not None and (rated := rate(tx, trace, wanted.targets, wanted.rating)) is not None:
        applied.done.append(rated)
    return applied


async def _plan(store: CubeStore, trace: Memory, wanted: Wanted, llm: ChatModel | None) -> Plan:
    me = _names(trace)
    if wanted.rating is not None and not analyze(trace.text).terms:
        return Plan()
    if llm is not None:
        from memos.reading.feedback_model import ask_model

        shown = await _shown(store, trace, wanted.targets)
        reading = await ask_model(llm, trace, shown)
        if reading is not None:
            planned = await plan(store, trace, reading, me, wanted.targets)
            if planned.steps:
                return planned
    reading = await asyncio.to_thread(_by_rules, trace)
    return await plan(store, trace, reading, me, wanted.targets)


def _by_rules(trace: Memory) -> FeedbackReading:
    from memos.reading.feedback import read_feedback  # its patterns take a while to be compiled

    return read_feedback(trace)


def _names(trace: Memory) -> Collection[str]:
    """What the speaker of a record is called in the slots of facts."""
    return dict.fromkeys([speaker_of(trace).casefold(), "user"])


async def _shown(store: CubeStore, trace: Memory, targets: Sequence[str]) -> list[Memory]:
    """The memories a model is shown, most likely ones first."""
    from memos.organize.targets import likely

    named = list((await with_kin(store, targets)).values()) if targets else []
    return list({m.id: m for m in (*named, *await likely(store, trace))}.values())


class FeedbackWork:
    """The background side: the handler of feedback tasks, and the look for records whose feedback is not applied yet."""

    def __init__(self, cubes: CubePool, registry: SqliteRegistry, queue: TaskQueue, llms: Llms) -> None:
        self._cubes, self._registry, self._queue, self._llms = cubes, registry, queue, llms

    async def handle(self, job: Job) -> Done:
        """Apply what the tasks name, or, for one that names nothing, all that is marked."""
        failed: dict[str, BaseException] = {}
        for task in job.tasks:
            info = await cube_of(task, self._registry, self._queue)
            if info is None:
                continue
            ids = task.payload.get("ids")
            if ids is not None and not (isinstance(ids, list) and all(isinstance(i, str) and is_id(i) for i in ids)):
                failed[task.id] = InvalidInput("the task's ids are no list of memory ids")
                continue
            async with self._cubes.use(info) as store:
                if (error := await self._settle_all(store, info, ids)) is not None:
                    failed[task.id] = error
            await self._queue.enqueue([cube_task(DIGEST, info, task.user)])  # what is new has no vectors yet
        return Done(failed=failed)

    async def _settle_all(self, store: SqliteCube, info: CubeInfo, ids: list[str] | None) -> MemosError | None:
        marks = await store.todo(FEEDBACK, 1_000, ids=ids, attempts_below=None if ids else MAX_ATTEMPTS)
        error: MemosError | None = None
        for trace in await store.get([mark.id for mark in marks]):
            try:
                await settle(store, info.name, trace, self._llms.of("feedback", trace.owner or "system"))
            except StorageError:
                raise
            except UNFORESEEN as e:
                log.warning("feedback_failed", memory=trace.id, error=type(e).__name__)
                reason = f"{type(e).__name__}: {e}"
                await _failed(store, trace.id, reason)
                error = MemosError(reason)
        return error

    async def look(self, info: CubeInfo) -> None:
        """Enqueue a task for what is marked in a cube, unless there is one. Raises StorageError."""
        if not await asyncio.to_thread(marked, self._registry.path(info), FEEDBACK, MAX_ATTEMPTS):
            return
        if not (await self._queue.find(TaskQuery(cube=info.name, kinds=[KIND], states=LIVE), limit=1)).items:
            await self._queue.enqueue([task_of(info, SYSTEM)])


async def _failed(store: SqliteCube, id: str, reason: str) -> None:
    await store.write(lambda tx: tx.fail(id, FEEDBACK, reason), Change(actor="feedback"))


def task_of(info: CubeInfo, user: str, ids: Sequence[str] = (), caller_id: str | None = None) -> NewTask:
    """The task that applies records of feedback in a cube; of no ids: of all that are marked."""
    payload = {"ids": list(ids)} if ids else None
    return cube_task(KIND, info, user, caller_id=caller_id, payload=payload, merge=not ids)
