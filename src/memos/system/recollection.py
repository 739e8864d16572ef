"""One recall of an agent: what is asked, the cubes it is asked of, and the work of gathering what every tier has to say.

The plan (`recall.tiers`) says which tiers are asked; what fails gives a reason, and the rest is answered (laws 2 and 7). All of a
cube that is not a search is read on one state of its file.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import apsw

from memos.errors import InvalidInput, MemosError
from memos.evolution import repair, shown
from memos.evolution.value.signals import is_only_about_before
from memos.memory.acting import Recalled, Tier, Trigger
from memos.memory.episode import Episode
from memos.memory.hit import Hit, SearchStatus
from memos.memory.learned import Action, Hint, Policy
from memos.memory.model import Kind
from memos.memory.time import load_zone
from memos.recall.agent_block import Block, Candidate, distinct, make_block, room_of
from memos.recall.ask import Ask
from memos.recall.elsewhere import Elsewhere
from memos.recall.guidance import Matched, hint_candidate, hint_line, matching, policy_candidate
from memos.recall.lore import Lore
from memos.recall.notes import episode_candidate, episode_rank, fact_candidates, step_candidate, world_candidates
from memos.recall.pack import least_score
from memos.recall.skill_lines import NAMED, fitting, named, skill_candidate
from memos.recall.tiers import Plan
from memos.settings import Settings
from memos.storage.ports import Change, CubeInfo
from memos.storage.sqlite import lived, lived_said
from memos.storage.sqlite.cube import SqliteCube
from memos.system.parts import Parts
from memos.text.applies import Applies, Situation, alike, skill_applies, words_of
from memos.text.signature import context_key

CATCH_UP = 0.02  # seconds that reading what came in just now may take before it is recalled
LEAST_EPISODE = 0.35  # score below which a past task is not shown
LEAST_BY_STEP = 0.6  # the same of one in which the user spoke of something else, and only a step has words in common
TELLING = 3  # words that a request must have for that
CALLS = 12  # of the task that is going on, from which values of parameters are taken
EPISODES = 12  # past tasks that are looked at


@dataclass(frozen=True, slots=True)
class Asked:
    """What an agent asks, checked."""

    query: str
    trigger: Trigger
    session: str
    agent: str
    environment: str
    tool: str
    error: str
    user: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Going:
    """The task that is going on in the session: its episode, its last step, its last calls (the newest first), and hints that
    were not delivered.
    """

    episode: Episode | None = None
    last: int = 0
    calls: tuple[Action, ...] = ()
    hints: tuple[Hint, ...] = ()


@dataclass(slots=True)
class _Source:
    info: CubeInfo
    store: SqliteCube
    lore: Lore = field(default_factory=Lore)


class Recollection:
    """The work of one recall."""

    def __init__(self, parts: Parts, settings: Settings, asked: Asked, plan: Plan) -> None:
        self._parts, self._asked, self._plan = parts, asked, plan
        self._zone_name, self._zone = settings.timezone, load_zone(settings.timezone)
        self._sources: list[_Source] = []
        self._reasons: list[str] = []
        self._missing = self._at_work = False
        self._going = Going()
        self._candidates: list[Candidate] = []

    def own(self, info: CubeInfo, store: SqliteCube, *, at_work: bool) -> None:
        """The cube of the session, first of all. `at_work`: the user may write there, so that an episode in it may be hers."""
        self._sources.insert(0, _Source(info, store))
        self._at_work = at_work and not store.read_only

    def further(self, info: CubeInfo, store: SqliteCube) -> None:
        """One more cube, whose memories are used too."""
        self._sources.append(_Source(info, store))

    def miss(self, reason: str) -> None:
        """Something that should have been asked could not be."""
        self._missing = True
        self._reasons.append(reason)

    async def done(self) -> Recalled:
        """What the agent should know. Trials and delivered hints are noted in one change, where there are any."""
        own = self._sources[0].store
        try:
            self._going = await own.read_lived(self._look)
        except MemosError as e:
            self.miss(f"the task of the session could not be read: {e}")
        for source in self._sources:
            await self._learned(source)
        only_thanks = self._asked.trigger is Trigger.TURN and is_only_about_before(self._asked.query)
        if not only_thanks and any(self._plan.part(t) for t in (Tier.FACT, Tier.EXPERIENCE)):
            await self._remembered()
        block = self._block()
        if self._candidates and not block.items:
            self._reasons.append(f"nothing fits into max_tokens={self._asked.max_tokens}")
        await self._note(block)
        return self._answer(block)

    # -- the session ---------------------------------------------------------------------------------------------

    def _look(self, db: apsw.Connection) -> Going:
        """The open episode of the agent in the session, and hints of the session that wait; neither for who may only read: what
        she is told is no matter of an agent at work there.
        """
        if not self._at_work:
            return Going()
        episode = lived.last_episode(db, self._asked.session, agent=self._asked.agent)
        if episode is None or not episode.is_open:
            episode = None
        again = self._asked.trigger is Trigger.REPAIR
        hints = repair.waiting(db, self._asked.session, again=again) if self._plan.part(Tier.GUIDANCE) else []
        if episode is None:
            return Going(hints=tuple(hints))
        done = repair.done_of(lived.last_calls(db, episode.id, CALLS))
        return Going(episode, lived.last_step(db, episode.id), done, tuple(hints))

    def _situation(self) -> Situation:
        asked, going = self._asked, self._going.episode
        calls = asked.trigger in (Trigger.TOOL, Trigger.REPAIR)
        return Situation(
            goal=going.goal if calls and going is not None else asked.query,
            tool=asked.tool,
            input=asked.query if calls else "",
            error=asked.error,
            environment=asked.environment or (going.environment if going is not None else ""),
            agent=asked.agent,
            earlier=self._going.calls,
        )

    # -- what was learned ----------------------------------------------------------------------------------------

    async def _learned(self, source: _Source) -> None:
        wanted = [t for t in (Tier.SKILL, Tier.GUIDANCE, Tier.WORLD) if self._plan.part(t)]
        if not wanted:
            return
        try:
            source.lore = await self._parts.lores.of(source.store)
            self._candidates += await source.store.read_lived(partial(self._from_lore, source))
        except MemosError as e:
            self.miss(f"what was learned in cube {source.info.name!r} could not be read: {e}")

    def _from_lore(self, source: _Source, db: apsw.Connection) -> list[Candidate]:
        now, name, lore = self._situation(), source.info.name, source.lore
        asked = words_of(f"{now.goal} {now.input} {now.error}" if now.tool else now.goal)
        found = matching(lore, now, words_of(now.goal) if self._plan.similar else None, self._asked.user)
        out: list[Candidate] = []
        if self._plan.part(Tier.SKILL):
            out += self._skills(db, source, found, now)
        if self._plan.part(Tier.GUIDANCE):
            hints = self._going.hints if source is self._sources[0] else ()
            told = {h.policy for h in hints}
            out += [hint_candidate(h, hint_line(h), name, h.policy or "") for h in hints]
            untold = [m for m in found if m.id not in told]
            for m in untold:
                policy = Policy(m.entry.memory, m.entry.body, shown.record_of(db, m.id, with_gain=False))
                out.append(policy_candidate(policy, m.how, name))
        if self._plan.part(Tier.WORLD):
            out += world_candidates(lore.world.values(), now, asked, name)
        return out

    def _skills(
        self, db: apsw.Connection, source: _Source, policies: Sequence[Matched], now: Situation
    ) -> list[Candidate]:
        name, asked = source.info.name, self._asked
        if asked.trigger is Trigger.SKILL:
            entry = named(source.lore, asked.query)
            if entry is None:
                return []
            own = skill_applies(entry.body, now, said=entry.words[: len(entry.body.goals)])
            of_policies = (m.how.values.items() for m in policies if m.id in entry.body.policies)
            values = dict(own.values) if own is not None else {k: v for items in of_policies for k, v in items}
            room = room_of(Tier.SKILL, asked.max_tokens)
            skill = shown.skills_of(db, [entry.memory])[0]
            return [skill_candidate(skill, Applies(NAMED, "name", values), name, whole=room)]
        fits = fitting(source.lore, policies, words_of(now.goal), now)
        if asked.trigger is Trigger.REPAIR:  # the fix itself says it shorter, where it is here
            here = {m.id for m in policies if m.how.by == "error"}
            fits = [f for f in fits if f.how.by == "error" and here.isdisjoint(f.entry.body.policies)]
        skills = shown.skills_of(db, [f.entry.memory for f in fits], with_gain=False)
        return [skill_candidate(skill, fit.how, name) for skill, fit in zip(skills, fits, strict=True)]

    # -- what was lived and told ---------------------------------------------------------------------------------

    async def _remembered(self) -> None:
        """Facts and past tasks: one search of all cubes, and the episodes that its hits are steps of."""
        try:
            hits = await self._search()
        except InvalidInput:
            raise
        except MemosError as e:
            self.miss(f"memories could not be searched: {e}")
            return
        for source in self._sources:
            mine = [h for h in hits if h.cube == source.info.name]
            try:
                self._candidates += await source.store.read_lived(partial(self._from_hits, source, mine))
            except MemosError as e:
                self.miss(f"past tasks of cube {source.info.name!r} could not be read: {e}")

    async def _search(self) -> Sequence[Hit]:
        asked, parts = self._asked, self._parts
        query = " ".join(x for x in (asked.query, asked.error) if x)
        ask = Ask(query=query, limit=self._plan.pool, zone=self._zone_name, user=asked.user, rerank=False)
        stores, embedders = {}, {}
        for source in self._sources:
            try:
                await parts.background.catch_up(source.store, CATCH_UP)
                if (embedder := await parts.vectors.embedder_of(source.store)) is not None:
                    embedders[source.info.name] = embedder
                stores[source.info.name] = source.store
            except MemosError as e:
                self.miss(f"cube {source.info.name!r} could not be searched: {e}")
        if not stores:
            return ()
        with parts.vectors.attending():
            result = await parts.recall.search(ask, stores, embedders=embedders)
        if result.status in (SearchStatus.PARTIAL, SearchStatus.FAILED):
            self._missing = True
        self._reasons += [r for r in result.reasons if not r.startswith("searched by words only")]
        return result.hits

    def _from_hits(self, source: _Source, hits: Sequence[Hit], db: apsw.Connection) -> list[Candidate]:
        current = self._going.episode.id if self._going.episode is not None else None
        of_step = lived.episodes_of(db, [h.id for h in hits])
        going = frozenset(id for id, e in of_step.items() if e == current)
        out: list[Candidate] = []
        if self._plan.part(Tier.FACT):
            told = [h for h in hits if h.id not in going and h.memory.kind not in (Kind.SKILL, Kind.TOOL_CALL)]
            elsewhere = Elsewhere.of(db, told, guided=self._plan.part(Tier.GUIDANCE) is not None)
            out += fact_candidates(told, frozenset(of_step), least_score(len(hits)), self._zone, elsewhere)
        if self._plan.part(Tier.EXPERIENCE):
            best: dict[str, float] = {}
            spoken: set[str] = set()  # the tasks of which something that the user said was found
            for hit in hits:
                episode = of_step.get(hit.id)
                if episode is not None and episode != current:
                    best[episode] = max(best.get(episode, 0.0), hit.score)
                    if hit.memory.role == "user" and hit.score >= LEAST_EPISODE:
                        spoken.add(episode)
            out += self._episodes(db, source, best, spoken)
            if self._plan.failures and self._asked.tool:
                out += self._tried(db, source, current)
        return out

    def _episodes(
        self, db: apsw.Connection, source: _Source, best: dict[str, float], spoken: Set[str]
    ) -> list[Candidate]:
        """The past tasks that are alike: by what the search says, or by the words of what was asked."""
        asked = words_of(self._situation().goal)
        found: list[tuple[float, Episode]] = []
        for id in sorted(best, key=lambda i: (-best[i], i))[:EPISODES]:
            episode = lived.episode(db, id)
            if episode is None or episode.is_open:
                continue
            likeness = alike(asked, words_of(episode.goal))
            score = max(best[id], likeness)
            telling = len(asked.terms) >= TELLING or self._asked.error
            if score >= (LEAST_EPISODE if likeness or id in spoken else LEAST_BY_STEP if telling else 1.0):
                found.append((score, episode))
        part = self._plan.part(Tier.EXPERIENCE)
        found.sort(key=lambda f: (-episode_rank(f[1], f[0]), f[1].id))
        made = (
            episode_candidate(
                *(episode, lived.steps(db, episode.id), score, source.info.name, self._zone),
                lived_said.comment_on(db, episode.id),
            )
            for score, episode in found[: part.limit + 1 if part is not None else 0]
        )
        return [c for c in made if c is not None]

    def _tried(self, db: apsw.Connection, source: _Source, current: str | None) -> list[Candidate]:
        """What came of the very same call before: worked or failed, the newest of each."""
        key = context_key(self._asked.tool, self._asked.query)
        out = []
        for ok in (True, False):
            for episode, step in lived.steps_in_context(db, self._asked.tool, key, ok=ok, but=current, limit=1):
                made = step_candidate(step, episode, 0.6 if ok else 0.5, source.info.name, self._zone)
                if made is not None:
                    out.append(made)
        return out

    # -- the end -------------------------------------------------------------------------------------------------

    def _block(self) -> Block:
        """The block, which says nothing twice: policies that a skill in it is made of are left out, where that says all they say,
        and statements about the environment that rest on what is shown.
        """
        offered = distinct(self._candidates)
        made = make_block(offered, self._plan, self._asked.max_tokens)
        for tier in (Tier.GUIDANCE, Tier.WORLD):
            rest = _without_said(offered, made, tier)
            if len(rest) < len(offered):
                offered, made = rest, make_block(rest, self._plan, self._asked.max_tokens)
        return made

    async def _note(self, block: Block) -> None:
        """Trials of what was handed out, and that hints were delivered: one small change."""
        own, going = self._sources[0], self._going
        hints = [i.hint for i in block.items if i.hint is not None]
        trials = [i for i in block.items if i.trial and i.memory] if going.episode is not None else []
        episode = going.episode.id if going.episode is not None else ""
        if not (hints or trials):
            return

        def note(tx: Any) -> None:
            for item in trials:
                home = "" if item.cube == own.info.name else item.cube
                lived.hand_out(tx, item.memory, episode, tx.now, after=going.last, home=home)
            for hint in hints:
                repair.delivered(tx, hint)

        try:
            await own.store.write(note, Change(actor=self._asked.user, cause="recall"))
        except MemosError as e:
            self.miss(f"that this was handed out could not be noted: {e}")

    def _answer(self, block: Block) -> Recalled:
        status = SearchStatus.FOUND if block.items else SearchStatus.NOTHING
        return Recalled(
            trigger=self._asked.trigger,
            context=block.text,
            items=block.items,
            tokens=-(-len(block.text) // 4),
            status=SearchStatus.PARTIAL if self._missing else status,
            reasons=tuple(self._reasons),
        )


def _without_said(offered: Sequence[Candidate], block: Block, tier: Tier) -> list[Candidate]:
    """Without what of a tier is said by what the block shows as a whole."""
    whole = {(i.memory, i.text) for i in block.items}
    shown_ = [c for c in offered if (c.item.memory, c.item.text) in whole]
    said = {p for c in shown_ if c.item.tier is Tier.SKILL for p in c.says}
    if tier is Tier.GUIDANCE:
        return [c for c in offered if c.item.tier is not tier or c.item.memory not in said or c.item.hint]
    said |= {c.item.memory for c in shown_ if c.item.tier is Tier.GUIDANCE}
    return [c for c in offered if c.item.tier is not tier or said.isdisjoint(c.says)]
