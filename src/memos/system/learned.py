"""The verbs that show what was lived and learned: episodes, policies, the world, lineage, the stream of events and a report."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

import apsw

from memos.arguments import listed, member
from memos.errors import InvalidInput, NotFound
from memos.evolution.by_hand import set_state
from memos.evolution.lineage import lineage
from memos.evolution.report import report
from memos.evolution.shown import policies_of, skills_of
from memos.evolution.skills import skills
from memos.memory.acting import Evolved, LearningEvents, LearningReport, Lineage, WorldAnswer, WorldPath
from memos.memory.episode import EpisodeDetail, Episodes
from memos.memory.filter import Compare, Field, Op
from memos.memory.ids import is_id
from memos.memory.learned import Form, Policy, PolicyBody, Skill, State, WorldBody, WorldStatement
from memos.memory.model import Kind, Memory, Status
from memos.memory.number import whole
from memos.memory.time import utcnow
from memos.reading.parts import is_blank, well_formed
from memos.recall.ask import Ask
from memos.recall.engine import MAX_QUERY
from memos.recall.paths import paths_in, rarity
from memos.storage.ports import ANY_STATUS, Change, CubeInfo, View, WriteTx
from memos.storage.sqlite import lived
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_USER, Base, When
from memos.text.analysis import analyze

E = TypeVar("E", bound=StrEnum)
MOST = 1_000
WEEK = timedelta(days=7)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Learned(Base):
    """See `AsyncMemOS`."""

    async def evolve(self, *, now: bool = False, user: str = DEFAULT_USER, cube: str | None = None) -> Evolved:
        """Learn from every closed episode that is due, instead of waiting for the background. `now`: also from those that wait
        for feedback.
        """
        async with self._cube(user, cube, "write") as (info, store):
            return await self._parts().evolving.learn(info, store, now=now)

    async def episodes(
        self,
        *,
        session: str | None = None,
        agent: str | None = None,
        is_open: bool | None = None,
        limit: int = 50,
        cursor: str | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Episodes:
        """The episodes of a cube, newest first, a page at a time."""
        whole(limit, "limit", most=MOST)
        before = _position(cursor)
        session = None if session is None else check_name(session, "session")
        agent = None if agent is None else check_name(agent, "agent")
        async with self._cube(user, cube, "read") as (_, store):
            items, last = await store.lived(
                lived.episodes, limit=limit, before=before, session=session, agent=agent, is_open=is_open
            )
        return Episodes(tuple(items), None if last is None else str(last))

    async def episode(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> EpisodeDetail:
        """An episode with its steps, what was said of its outcome, and what was handed out in it. Raises NotFound."""

        def read(db: apsw.Connection) -> EpisodeDetail | None:
            found = lived.episode(db, id)
            if found is None:
                return None
            steps, signals = tuple(lived.steps(db, id)), tuple(lived.signals(db, id))
            return EpisodeDetail(found, steps, signals, tuple(lived.trials(db, episode=id)))

        async with self._cube(user, cube, "read") as (_, store):
            detail = await store.read_lived(read) if is_id(id) else None
        if detail is None:
            raise NotFound(f"episode {id} does not exist in this cube")
        return detail

    async def policies(
        self,
        query: str | None = None,
        *,
        states: Collection[State | str] | None = None,
        forms: Collection[Form | str] | None = None,
        limit: int = 100,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> builtins.list[Policy]:
        """The policies of a cube: those that answer a question, best first, or all, newest first. `states`: candidate, active,
        retired (by default all); `forms`: fix, path, avoid, directive.
        """
        whole(limit, "limit", most=MOST)
        wanted = _members(State, states, "states")
        shapes = _members(Form, forms, "forms")
        async with self._cube(user, cube, "read") as (info, store):
            if query is None:
                found = await store.lived(lived.learned_memories, Kind.POLICY.value, states=wanted, limit=MOST)
            else:
                found = await self._found(info, store, query, Kind.POLICY)
            chosen = [
                m
                for m in found
                if (wanted is None or PolicyBody.of(m).state in wanted)
                and (shapes is None or PolicyBody.of(m).form in shapes)
            ][:limit]
            return await store.read_lived(lambda db: policies_of(db, chosen))

    async def policy(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Policy:
        """A policy with what is counted of it. Raises NotFound."""
        async with self._cube(user, cube, "read") as (_, store):
            memory = await _one(store, id, Kind.POLICY, "policy")
            return (await store.read_lived(lambda db: policies_of(db, [memory])))[0]

    async def world(
        self,
        query: str | None = None,
        *,
        environment: str | None = None,
        hops: int = 3,
        limit: int = 20,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> WorldAnswer:
        """What is known of an environment, or of all: statements with their evidence; for a question also paths of at most `hops`
        hops in the graph that connect what it names ("who asked for this, and what did they agree to before?"). Statements that
        do not hold any more are left out; of an environment, those are told too that hold everywhere.
        """
        whole(hops, "hops", most=8)
        whole(limit, "limit", most=MOST)
        async with self._cube(user, cube, "read") as (info, store):
            if query is None:
                found = await store.lived(lived.learned_memories, Kind.WORLD_MODEL.value, limit=MOST)
            else:
                found = await self._found(info, store, query, Kind.WORLD_MODEL)
            stated = [
                WorldStatement(m, body)
                for m in found
                if m.status is Status.ACTIVE
                and ((body := WorldBody.of(m)).environment in (environment, "") or environment is None)
            ]
            paths: tuple[WorldPath, ...] = ()
            if query is not None:
                asked = query[:MAX_QUERY]
                rare = await rarity(store, asked)
                stated = _telling_first(stated[:limit], rare)
                paths = tuple(
                    await store.read_lived(
                        lambda db: paths_in(db, asked, hops=hops, limit=limit, environment=environment, rare=rare)
                    )
                )
        return WorldAnswer(query or "", tuple(stated[:limit]), paths, _missing(query, environment, stated, paths))

    async def world_statement(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> WorldStatement:
        """A statement of the world model. Raises NotFound."""
        async with self._cube(user, cube, "read") as (_, store):
            memory = await _one(store, id, Kind.WORLD_MODEL, "statement")
            return WorldStatement(memory, WorldBody.of(memory))

    async def set_state(
        self, id: str, state: State | str, *, reason: str = "", user: str = DEFAULT_USER, cube: str | None = None
    ) -> Policy | Skill | WorldStatement:
        """Retire a policy, a skill or a statement by hand, or bring it back as active or on probation; learning does not undo a
        decision made by hand. Raises NotFound, InvalidInput.
        """
        chosen = member(State, state, "state")
        if not isinstance(reason, str):
            raise InvalidInput("reason is a text")

        def decide(tx: WriteTx) -> Memory:
            decided = set_state(tx, id, chosen, well_formed(reason))
            skills.settle(
                tx, {decided.id} if decided.kind is Kind.POLICY else ()
            )  # a skill goes and comes with its policies
            return decided

        async with self._cube(user, cube, "write") as (_, store):
            memory = await store.write(decide, Change(actor=user, cause=f"{chosen.value} by hand"))
            if memory.kind is Kind.WORLD_MODEL:
                return WorldStatement(memory, WorldBody.of(memory))
            if memory.kind is Kind.SKILL:
                return (await store.read_lived(lambda db: skills_of(db, [memory])))[0]
            return (await store.read_lived(lambda db: policies_of(db, [memory])))[0]

    async def lineage(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> Lineage:
        """Where something learned comes from, down to the steps and episodes it rests on, and what was made of it, up to skills.
        For any memory: a step's lineage shows what it taught. Raises NotFound.
        """
        if not is_id(id):
            raise NotFound(f"memory {id} does not exist in this cube")
        async with self._cube(user, cube, "read") as (_, store):
            return await store.read_lived(lambda db: lineage(db, id))

    async def learning_events(
        self, *, after: int = 0, limit: int = 100, user: str = DEFAULT_USER, cube: str | None = None
    ) -> LearningEvents:
        """What was learned after event number `after`, in order: the stream that can be followed and resumed."""
        whole(limit, "limit", most=MOST)
        whole(after, "after", least=0, most=(1 << 63) - 1)
        async with self._cube(user, cube, "read") as (_, store):
            items = await store.lived(lived.events, after=after, limit=limit)
        return LearningEvents(tuple(items), items[-1].number if items else after)

    async def learning_report(
        self, *, since: When = None, until: When = None, user: str = DEFAULT_USER, cube: str | None = None
    ) -> LearningReport:
        """What changed in a span of time (by default the last seven days): episodes and how they went, what was learned, promoted
        and retired.
        """
        end = self._time(until) or utcnow()
        if end <= EPOCH:
            raise InvalidInput(f"until ({end.isoformat()}) is before {EPOCH.date()}, when nothing was learned")
        begin = self._time(since) or end - WEEK
        if begin >= end:
            raise InvalidInput(f"since ({begin.isoformat()}) is not before until ({end.isoformat()})")
        begin = max(begin, EPOCH)  # the span before it begins earlier still
        async with self._cube(user, cube, "read") as (info, store):
            return await store.read_lived(lambda db: report(db, info.name, begin, end))

    async def _found(self, info: CubeInfo, store: SqliteCube, query: str, kind: Kind) -> builtins.list[Memory]:
        """The memories of a kind that answer a question, best first, retired ones too."""
        if not isinstance(query, str) or is_blank(query):
            raise InvalidInput("the query is empty; leave it out for all")
        where = Compare(Field("kind"), Op.EQ, kind.value)
        view = View(statuses=ANY_STATUS)
        ask = Ask(query=query, limit=MOST, where=where, view=view, merge_facts=False, rerank=False)
        return [hit.memory for hit in (await self._parts().ask(info, store, ask)).hits]


async def _one(store: SqliteCube, id: str, kind: Kind, what: str) -> Memory:
    found = await store.get([id], View(statuses=ANY_STATUS)) if is_id(id) else []
    if not found or found[0].kind is not kind:
        raise NotFound(f"{what} {id} does not exist in this cube")
    return found[0]


def _telling_first(stated: Sequence[WorldStatement], rare: Mapping[str, float]) -> builtins.list[WorldStatement]:
    """The statements as they were found, but those of what is merely there after those of what follows or must be, unless they
    hold more of the question's words (`rare`: how much each says).
    """

    def held(s: WorldStatement) -> float:
        terms = frozenset(analyze(s.memory.text).terms)
        return sum(says for term, says in rare.items() if term in terms)

    most = max((held(s) for s in stated if s.body.section != "environment"), default=0.0)
    return sorted(stated, key=lambda s: s.body.section == "environment" and held(s) <= most)


def _missing(
    query: str | None, environment: str | None, stated: Collection[WorldStatement], paths: Collection[WorldPath]
) -> tuple[str, ...]:
    """Why an answer of the world model says little."""
    out = [] if stated else [f"no statement holds{f' of {environment}' if environment else ''}"]
    return (*out, *(() if paths or query is None else ("no path connects what the question names",)))


def _members(of: type[E], given: Collection[E | str] | None, what: str) -> frozenset[E] | None:
    return None if given is None else frozenset(member(of, one, what) for one in listed(given, what))


def _position(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not isinstance(cursor, str) or not cursor.isascii() or not cursor.isdigit() or len(cursor) > 18:
        raise InvalidInput("the cursor is none that a page gave; leave it out to begin with the newest")
    return int(cursor)
