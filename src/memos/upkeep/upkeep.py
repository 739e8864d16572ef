"""The upkeep of the cubes of one system: what its tasks do, when they are asked for, and what its verbs need at once."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from weakref import WeakValueDictionary

from memos.cubes.pool import CubePool
from memos.errors import InvalidInput, MemosError, StorageFull
from memos.logs import get_logger
from memos.memory.filter import And, Compare, Field, Op
from memos.memory.hit import Hit, SearchResult
from memos.memory.model import Kind, Layer, Memory
from memos.memory.time import utcnow
from memos.memory.upkeep import Reorganized, RetentionPlan, RetentionRule, RetentionRun, Topic, Working, WorkingItem
from memos.models.llm.port import ChatModel
from memos.organize import retention, retention_rules, summary, topics, working
from memos.recall.ask import Ask
from memos.recall.collect import with_facts
from memos.scheduler.cube_tasks import SYSTEM, cube_of, cube_task
from memos.scheduler.job import Done, Handler, Job
from memos.scheduler.kinds import FORGET, ORGANIZE
from memos.scheduler.middleware import named
from memos.storage.ports import NOW, Change, CubeInfo
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.sqlite.upkept import Kept, KeptSet
from memos.storage.tasks import TaskQueue
from memos.upkeep.uses import Uses

log = get_logger(__name__)

SETTLE_SECONDS = 5.0  # after a digest, until the working sets of its sessions are chosen anew
TOPICS_SECONDS = 60.0  # the same for topics, where the setting asks for them
TOPICS_AFTER = 20  # versions of memories stored since the last time, from which topics are looked at again
HOUR = 3600.0  # how often retention rules are applied
FIRST_HOUR = 60.0  # seconds after a start until they are looked at first: a short command is not held up by them
RUN_KEY = "retention_run"  # in a cube's meta
RUN = "retention.run"  # in the audit trail
TOPICS_KEY = "reorganized"  # in a cube's meta: up to which row

WORKING, TOPICS = "working", "topics"  # the work of an ORGANIZE task

Search = Callable[[CubeInfo, SqliteCube, Ask], Awaitable[SearchResult]]


class Upkeep:
    """The upkeep of one system. Used within one event loop.

    `search` asks one cube, as the verb does; `model_of` names the model whose vectors a cube has; `llm` is the language model
    that writes for a user. `topics`: whether topics are kept without being asked for.
    """

    def __init__(
        self,
        cubes: CubePool,
        registry: SqliteRegistry,
        queue: TaskQueue,
        search: Search,
        model_of: Callable[[SqliteCube], Awaitable[str | None]],
        llm: Callable[[str], ChatModel | None],
        *,
        zone: tzinfo = UTC,
        topics: bool = False,
        enabled: bool = True,
    ) -> None:
        self._cubes, self._registry, self._queue, self._search = cubes, registry, queue, search
        self._model_of, self._llm, self._zone = model_of, llm, zone
        self._topics, self._enabled = topics, enabled
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._clock: asyncio.Task[None] | None = None
        self.uses = Uses(cubes)

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What the worker does with the tasks of this room."""
        return {ORGANIZE: self._organize_task, FORGET: self._forget_task}

    def start(self) -> None:
        """Begin to look, each hour, whether retention rules are due."""
        if self._enabled:
            self._clock = asyncio.get_running_loop().create_task(self._each_hour())

    async def stop(self) -> None:
        """Stop looking; write what was counted."""
        if self._clock is not None:
            self._clock.cancel()
            await asyncio.gather(self._clock, return_exceptions=True)
        await self.uses.stop()

    async def digested(self, info: CubeInfo, store: SqliteCube, ids: Collection[str] | None) -> None:
        """Records were read (None: nobody knows which): choose the working sets of their sessions anew in a while."""
        tasks = []
        if await store.kept_sessions(ids):
            tasks.append(cube_task(ORGANIZE, info, payload={"work": WORKING}, delay=SETTLE_SECONDS))
        if self._topics:
            tasks.append(cube_task(ORGANIZE, info, payload={"work": TOPICS}, delay=TOPICS_SECONDS))
        if self._enabled and tasks:
            await self._queue.enqueue(tasks)

    # -- working sets ------------------------------------------------------------------------------------------

    async def working(self, info: CubeInfo, store: SqliteCube, session: str) -> Working:
        """The working set of a session: the one kept, or, where there is none or messages came since, a new one."""
        kept = await store.working_set(session)
        last = await _messages(store, session, 1)
        if kept is None or _is_behind(kept, last):
            if not last:
                return Working(info.name, session)
            kept = await self._choose(info, store, session, asked=True)
        return Working(info.name, session, await _standing(info, store, kept), kept.made_at)

    async def _choose(self, info: CubeInfo, store: SqliteCube, session: str, *, asked: bool) -> KeptSet:
        """Choose, and keep, the working set of a session that has messages."""
        messages = await _messages(store, session, working.MESSAGES)
        items: tuple[Kept, ...] = ()
        if question := working.question_of(messages):
            ask = Ask(query=question, limit=working.FOUND, rerank=False)
            items = working.choose(await self._search(info, store, ask), {m.id for m in messages})
        new = KeptSet(session, utcnow(), messages[0].id if messages else None, items)
        if not store.read_only:
            try:
                await store.keep_working_set(new, asked=asked)
            except StorageFull as e:  # it is the right answer all the same
                log.warning("working_set_not_kept", error=named(e))
        return new

    async def _organize_task(self, job: Job) -> Done:
        info = await cube_of(job.tasks[0], self._registry, self._queue)
        if info is None:
            return Done()
        await self.uses.flush(info)
        async with self._cubes.use(info) as store:
            if store.read_only:
                return Done()
            work = job.tasks[0].payload.get("work")
            if work == WORKING:
                await self._choose_again(info, store)
            elif work == TOPICS and await self._are_topics_due(store):
                await self.reorganize(info, store, SYSTEM, info.owner)
        return Done()

    async def _choose_again(self, info: CubeInfo, store: SqliteCube) -> None:
        for session in await store.kept_sessions():
            kept = await store.working_set(session)
            if kept is not None and _is_behind(kept, await _messages(store, session, 1)):
                await self._choose(info, store, session, asked=False)

    # -- topics ------------------------------------------------------------------------------------------------

    async def reorganize(self, info: CubeInfo, store: SqliteCube, actor: str, user: str) -> Reorganized:
        """Bring the topics of a cube up to date; written by the language model of a user where there is one."""
        lock = self._locks.setdefault(info.location, asyncio.Lock())
        async with lock:
            upto = await store.newest_row()
            llm = self._llm(user)
            writer = None if llm is None else partial(summary.by_model, llm, zone=self._zone)
            change = Change(actor=actor, cause="reorganize")
            done = await topics.reorganize(
                store, info.name, change, model=await self._model_of(store), writer=writer, zone=self._zone
            )
            await store.set_meta(TOPICS_KEY, str(upto))
            return done

    async def topics(self, info: CubeInfo, store: SqliteCube, query: str | None, limit: int) -> list[Topic]:
        """The topics of a cube: those that answer a question, best first, or the largest."""
        if query is None:
            return (await topics.topics(store))[:limit]
        kind = Compare(Field("kind"), Op.EQ, Kind.SUMMARY.value)
        found = await self._search(info, store, Ask(query=query, limit=limit, where=kind, merge_facts=False))
        return [await topics.topic_of(store, hit.memory) for hit in found.hits]

    async def _are_topics_due(self, store: SqliteCube) -> bool:
        upto = await store.meta(TOPICS_KEY) or "0"
        return await store.newest_row() - (int(upto) if upto.isdigit() else 0) >= TOPICS_AFTER

    # -- retention ---------------------------------------------------------------------------------------------

    async def set_rules(
        self, info: CubeInfo, store: SqliteCube, rules: Sequence[RetentionRule], actor: str
    ) -> CubeInfo:
        """Keep the rules of a cube (none: nothing goes). They are first applied at the next full hour."""
        last = retention_rules.LastRun.from_text(await store.meta(RUN_KEY))
        if last is None or not retention_rules.rules_of(info.info):
            await store.set_meta(RUN_KEY, retention_rules.LastRun(utcnow()).to_text())
        kept = retention_rules.as_info(rules) or None
        return await asyncio.to_thread(self._registry.set_info, info.name, retention_rules.INFO, kept, actor)

    async def plan(
        self, info: CubeInfo, store: SqliteCube, rules: Sequence[RetentionRule] | None, limit: int
    ) -> RetentionPlan:
        """What these rules (None: those of the cube) would take now. Nothing is changed."""
        asked = retention_rules.rules_of(info.info) if rules is None else tuple(rules)
        now = utcnow()
        found = await retention.plan(store, info.name, asked, now, limit=limit)
        refused = await self._refusal(store, now) if rules is None and asked else None
        return replace(found, refused=refused)

    async def apply(
        self, info: CubeInfo, store: SqliteCube, actor: str, *, despite_clock: bool = False
    ) -> RetentionRun:
        """Apply the rules of a cube now, and tell the audit trail what went; a refusal is told once."""
        rules, now = retention_rules.rules_of(info.info), utcnow()
        if not rules:
            raise InvalidInput(f"cube {info.name!r} has no retention rules; set some first")
        last = retention_rules.LastRun.from_text(await store.meta(RUN_KEY))
        refused = None if despite_clock else await self._refusal(store, now)
        words = tuple(map(str, rules))
        if refused is not None:
            log.warning("retention_refused", cube=info.location, reason="clock")
            run = RetentionRun(info.name, now, actor, rules=words, refused=refused)
            if last is None:  # these are applied by nobody, until somebody sets them
                return run
            if not last.refused:
                await store.set_meta(RUN_KEY, retention_rules.with_run(last, now, refused=True).to_text())
                await self._tell(info, run)
            return run
        done = await retention.apply(store, rules, now, Change(actor=actor, cause="retention"))
        run = RetentionRun(info.name, now, actor, done.removed, done.along, words, more=done.more)
        await store.set_meta(RUN_KEY, retention_rules.with_run(last, now, refused=False).to_text())
        if run.count:
            await self._tell(info, run)
        return run

    def runs(self, info: CubeInfo, limit: int) -> list[RetentionRun]:
        """The runs on a cube that took anything or were refused, newest first."""
        found = self._registry.told(RUN, info.name, limit)
        return [_run(info.name, entry.at, entry.actor, entry.detail) for entry in found.items]

    async def _refusal(self, store: SqliteCube, now: datetime) -> str | None:
        last = retention_rules.LastRun.from_text(await store.meta(RUN_KEY))
        return retention_rules.refusal(now, await store.newest_record(), last)

    async def _tell(self, info: CubeInfo, run: RetentionRun) -> None:
        detail = {"removed": dict(run.removed), "along": run.along, "rules": [*run.rules], "refused": run.refused}
        told = json.dumps(detail, ensure_ascii=False)
        await asyncio.to_thread(self._registry.tell, RUN, info, run.actor, told)

    async def _forget_task(self, job: Job) -> Done:
        task = job.tasks[0]
        info = await cube_of(task, self._registry, self._queue)
        if info is None or not retention_rules.rules_of(info.info):
            return Done()
        async with self._cubes.use(info) as store:
            if store.read_only:
                return Done()
            run = await self.apply(info, store, SYSTEM)
            if run.more:
                await self._queue.enqueue([cube_task(FORGET, info)])
        return Done(results={task.id: {"removed": run.count, "refused": run.refused is not None}})

    async def _each_hour(self) -> None:
        await asyncio.sleep(FIRST_HOUR)
        while True:
            try:
                await self.sweep()
            except MemosError as e:  # a queue or a disk that is away: the next hour tries again
                log.warning("retention_not_enqueued", error=named(e))
            await asyncio.sleep(HOUR)

    async def sweep(self) -> int:
        """Enqueue the application of all rules, once an hour over all processes; returns for how many cubes."""
        hour = int(time.time() // HOUR)
        tasks = [
            replace(cube_task(FORGET, info), key=f"{info.location}:{hour}")
            for info in await asyncio.to_thread(self._registry.list)
            if retention_rules.rules_of(info.info)
        ]
        if tasks:
            await self._queue.enqueue(tasks)
        return len(tasks)


def _is_behind(kept: KeptSet, last: Sequence[Memory]) -> bool:
    """Whether a working set was chosen before the last message of its session, or after one that is gone."""
    return bool(last) and kept.upto != last[0].id


async def _standing(info: CubeInfo, store: SqliteCube, kept: KeptSet) -> tuple[WorkingItem, ...]:
    """What of a working set holds: without what was taken back or replaced since, and records all of whose facts were."""
    there = {m.id: m for m in await store.get([item.id for item in kept.items])}
    shown = [i for i in kept.items if i.id in there]
    hits = [Hit(there[i.id], i.score, place + 1, info.name, there[i.id].text) for place, i in enumerate(shown)]
    stale = {hit.id for hit in await with_facts(hits, {info.name: store}, NOW, utcnow()) if hit.stale}
    return tuple(WorkingItem(there[i.id], i.score, i.reason) for i in shown if i.id not in stale)


async def _messages(store: SqliteCube, session: str, count: int) -> list[Memory]:
    """The last raw records of a session that stand, newest first."""
    where = And((Compare(Field("session"), Op.EQ, session), Compare(Field("layer"), Op.EQ, Layer.TRACE.value)))
    return [*(await store.list(where, limit=count)).items]


def _run(cube: str, at: datetime, actor: str, detail: str) -> RetentionRun:
    try:
        told = json.loads(detail)
        removed = {str(rule): int(n) for rule, n in told["removed"].items()}
        return RetentionRun(cube, at, actor, removed, int(told["along"]), tuple(told["rules"]), told["refused"])
    except (ValueError, KeyError, TypeError, AttributeError):
        return RetentionRun(cube, at, actor)
