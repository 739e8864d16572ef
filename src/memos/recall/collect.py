"""From a ranking to hits: read the memories, fold what repeats, attach the facts a record is evidence of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from memos.memory.hit import Contradiction, Hit
from memos.memory.holding import holds_at
from memos.memory.model import EdgeType, Kind, Layer, Memory, Status
from memos.memory.upkeep import versions_of
from memos.recall.ask import Ask, Trace
from memos.recall.pack import empty_reply
from memos.recall.rank import Ranking
from memos.recall.recipe import Recipe
from memos.storage.ports import ANY_STATUS, CubeStore, Pool, View
from memos.storage.timeline import CONTESTED
from memos.text.courtesy import says_nothing

_TOLD = (Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT)  # what a record can be the evidence of
_SHORT = 12  # characters up to which equal words are not taken for a repetition


@dataclass(frozen=True, slots=True)
class Candidates:
    """A ranking together with where its memories are."""

    ranking: Ranking
    names: Sequence[str]
    pools: Sequence[Pool]
    cubes: Mapping[str, CubeStore]

    def relevant(self, recipe: Recipe) -> int:
        """How many candidates, from the top, have anything to do with the question: shared words nearby, a date that
        was asked for, or a meaning clearly nearer than the cube's average. The rest of the ranking is noise and never
        shown.
        """
        f = self.ranking.features
        some = (
            (f["lexical"] > 0)
            | (f["date"] > 0)
            | (f["dense_window"] >= recipe.dense_floor)
            | (f["dense"] >= recipe.dense_floor)
        )
        at = np.flatnonzero(some)
        return int(at[-1]) + 1 if len(at) else 0

    async def fetch(self, span: range) -> dict[int, Memory]:
        """The memories at these places of the ranking; those deleted meanwhile are missing."""
        out: dict[int, Memory] = {}
        for p, name in enumerate(self.names):
            mine = [i for i in span if self.ranking.pool[i] == p]
            if not mine:
                continue
            rows = self.pools[p].rows
            handles = [int(rows[self.ranking.place[i]]) for i in mine]
            found = await self.cubes[name].fetch(handles)
            out |= {i: found[h] for i, h in zip(mine, handles, strict=True) if h in found}
        return out


class Collector:
    """Takes candidates in the order of their rank and keeps one hit per thing said."""

    def __init__(self, ask: Ask, found: Candidates, trace: Trace) -> None:
        self._ask, self._found, self._trace = ask, found, trace
        self.hits: list[Hit] = []
        self._empty: list[Hit] = []
        self._asks_for_empty = says_nothing(ask.query)
        self._by_words: dict[tuple[str, str | None, str], int] = {}
        self._by_id: dict[tuple[str, str], int] = {}
        self._by_evidence: dict[tuple[str, str], int] = {}

    def take(self, memories: Mapping[int, Memory]) -> None:
        """Take the next candidates."""
        for i in sorted(memories):
            self._add(memories[i], i)

    def best(self, limit: int) -> list[Hit]:
        """The hits, best first. Replies that say nothing, found only by what is said around them, come last."""
        least = min((h.score for h in self.hits), default=1.0)
        return [*self.hits, *(replace(h, score=min(h.score, least)) for h in self._empty)][:limit]

    def _add(self, memory: Memory, i: int) -> None:
        cube = self._found.names[int(self._found.ranking.pool[i])]
        rests_on = self._evidence(memory)
        at = self._by_evidence.get((cube, memory.id))
        if at is not None:  # the raw record takes the place of the fact made from it
            fact = self.hits[at]
            self.hits[at] = replace(fact, memory=memory, text=memory.text, via=(*fact.via, fact.id))
            self._trace.folded[fact.id] = memory.id
            self._by_id[cube, memory.id] = at
            del self._by_evidence[cube, memory.id]
            return
        words = (cube, memory.speaker, " ".join(memory.text.casefold().split()))
        at = next((p for e in rests_on if (p := self._by_id.get((cube, e))) is not None), None)
        if at is None and self._ask.collapse and len(memory.text) > _SHORT:
            at = self._by_words.get(words)
        if at is not None:
            hit = self.hits[at]
            if memory.layer is Layer.DERIVED:
                self.hits[at] = replace(hit, via=(*hit.via, memory.id))
            else:
                self.hits[at] = replace(hit, also=(*hit.also, memory.id))
            self._trace.folded[memory.id] = hit.id
            return
        if not self._asks_for_empty and empty_reply(memory):
            self._empty.append(self._hit(memory, i))
            return
        place = len(self.hits)
        self._by_words.setdefault(words, place)
        self._by_id[cube, memory.id] = place
        self._by_evidence |= {(cube, e): place for e in rests_on if (cube, e) not in self._by_evidence}
        self.hits.append(self._hit(memory, i))

    def _hit(self, memory: Memory, i: int) -> Hit:
        ranking = self._found.ranking
        cube, score = self._found.names[int(ranking.pool[i])], float(ranking.score[i])
        stale = memory.status is Status.SUPERSEDED
        return Hit(memory, score, len(self.hits) + 1, cube, memory.text, self._why(i), stale=stale)

    def _evidence(self, memory: Memory) -> tuple[str, ...]:
        if not self._ask.merge_facts or memory.layer is not Layer.DERIVED or memory.kind is Kind.SUMMARY:
            return ()
        return tuple(s.memory_id for s in memory.sources if s.memory_id)

    def _why(self, i: int) -> dict[str, float]:
        shares = shares_of(self._found.ranking, i, self._ask.recipe)
        return {name: share for name, share in shares.items() if share}


def shares_of(ranking: Ranking, i: int, recipe: Recipe) -> dict[str, float]:
    """What each feature adds to the sum behind the score of the i-th candidate; words that stand in for a missing vector count
    as words."""
    features = ranking.features
    shares = {name: weight * float(features[name][i]) for name, weight in recipe.weights.items()}
    if not features["embedded"][i]:
        shares["lexical"] += shares.pop("dense") + shares.pop("dense_window")
    return {name: round(share, 4) for name, share in shares.items()}


async def with_facts(hits: list[Hit], cubes: Mapping[str, CubeStore], view: View, now: datetime) -> list[Hit]:
    """Give each raw hit the facts it is evidence of that hold in this view at `now`, and those that were replaced; a hit all of
    whose facts were replaced is stale. A plan whose day is past is neither.
    """
    holds: dict[str, list[Memory]] = {}
    replaced: dict[str, list[Memory]] = {}
    for name, store in cubes.items():
        mine = [h.id for h in hits if h.cube == name]
        links = await store.neighbors(mine, types=(EdgeType.DERIVED_FROM,), direction="in") if mine else []
        ids = list({link.edge.src for link in links})
        if not ids:
            continue
        told = {
            m.id: m for m in await store.get(ids, replace(view, as_of=None, statuses=ANY_STATUS)) if m.kind in _TOLD
        }
        valid = {m.id for m in await store.get(ids, view)} if view.as_of is not None else None
        for link in links:
            fact = told.get(link.edge.src)
            if fact is None:
                continue
            current = fact.id in valid if valid is not None else fact.status is Status.ACTIVE
            if current:
                if not holds_at(fact, now):
                    continue
                holds.setdefault(link.edge.dst, []).append(fact)
            elif fact.status is Status.SUPERSEDED and not fact.body.get("past"):
                replaced.setdefault(link.edge.dst, []).append(fact)
    out = []
    for hit in hits:
        facts, outdated = tuple(holds.get(hit.id, ())), tuple(replaced.get(hit.id, ()))
        out.append(replace(hit, facts=facts, outdated=outdated, stale=hit.stale or bool(outdated and not facts)))
    return out


async def with_contradictions(hits: list[Hit], cubes: Mapping[str, CubeStore], view: View) -> list[Hit]:
    """Give each hit what contradicts it, or one of its facts, and is visible too. Costs nothing where nothing is contested."""
    disputed = {(h.cube, m.id): m for h in hits for m in (h.memory, *h.facts) if m.body.get(CONTESTED)}
    if not disputed:
        return hits
    against: dict[tuple[str, str], list[Contradiction]] = {}
    for name in {cube for cube, _ in disputed}:
        store, ids = cubes[name], [id for cube, id in disputed if cube == name]
        edge_view = View(known_at=view.known_at)
        links = await store.neighbors(ids, types=(EdgeType.CONTRADICTS,), direction="both", view=edge_view)
        ends = {end for link in links for end in (link.edge.src, link.edge.dst)}
        there = {m.id: m for m in await store.get(sorted(ends), view)}
        for link in links:
            for of, by in ((link.edge.src, link.edge.dst), (link.edge.dst, link.edge.src)):
                if (name, of) in disputed and by in there:
                    against.setdefault((name, of), []).append(Contradiction(of, by, there[by].text))
    out = []
    for hit in hits:
        found = [c for m in (hit.memory, *hit.facts) for c in against.get((hit.cube, m.id), ())]
        out.append(replace(hit, contradicts=tuple(dict.fromkeys(found))) if found else hit)
    return out


async def by_evidence(hits: list[Hit], cubes: Mapping[str, CubeStore], view: View) -> list[Hit]:
    """Show a derived memory by the raw record it rests on, where that is visible; several from one record are one hit."""
    shown = {(h.cube, h.id) for h in hits}
    wanted = {(h.cube, source) for h in hits if (source := _record_of(h.memory)) is not None}
    found: dict[tuple[str, str], Memory] = {}
    for name, store in cubes.items():
        ids = [i for cube, i in wanted if cube == name and (cube, i) not in shown]
        found |= {(name, m.id): m for m in (await store.get(ids, view) if ids else [])}
    out: list[Hit] = []
    at: dict[tuple[str, str], int] = {}
    for hit in hits:
        source = _record_of(hit.memory)
        record = found.get((hit.cube, source)) if source is not None else None
        if record is None:
            out.append(hit)
        elif (place := at.get((hit.cube, record.id))) is not None:
            out[place] = replace(out[place], via=(*out[place].via, hit.id))
        else:
            at[hit.cube, record.id] = len(out)
            out.append(replace(hit, memory=record, text=record.text, via=(*hit.via, hit.id), stale=False))
    return out


def _record_of(memory: Memory) -> str | None:
    """The raw record that a derived memory is shown by; None for one that retells many."""
    if memory.layer is not Layer.DERIVED or memory.kind is Kind.SUMMARY or not memory.sources:
        return None
    return memory.sources[-1].memory_id


async def with_freshness(hits: list[Hit], cubes: Mapping[str, CubeStore]) -> list[Hit]:
    """A summary whose evidence was changed or taken back since it was written is stale."""
    out = []
    for hit in hits:
        if hit.memory.kind is Kind.SUMMARY and not hit.stale:
            written = versions_of(hit.memory)
            now = {m.id: m.version for m in await cubes[hit.cube].get([*written])}
            hit = replace(hit, stale=now != written)
        out.append(hit)
    return out


STALE_SHARE = 0.8  # of its score that a stale hit keeps


async def current_first(hits: list[Hit], cubes: Mapping[str, CubeStore], view: View) -> list[Hit]:
    """A record whose facts were replaced gives its place to the record of the fact that holds now, and stands behind it: a stale
    answer never comes before the current one. Under a clock nothing is moved: there the former fact is what was asked for."""
    if not view.is_now or not any(h.stale for h in hits):
        return hits
    successors = await _successors([h for h in hits if h.stale], cubes, view)
    by_place: dict[tuple[str, str], Hit] = {(h.cube, h.id): h for h in hits}
    for hit in [h for h in hits if h.stale]:
        for record, fact in successors.get((hit.cube, hit.id), ()):
            there = by_place.get((hit.cube, record.id))
            if there is None:
                lifted = replace(
                    hit, memory=record, text=record.text, facts=(fact,), outdated=(), stale=False, also=(), why={}
                )
                by_place[hit.cube, record.id] = replace(lifted, why={"replaces": hit.score})
            elif not there.stale and there.score < hit.score:
                by_place[hit.cube, record.id] = replace(there, score=hit.score)
        by_place[hit.cube, hit.id] = replace(hit, score=hit.score * STALE_SHARE)
    return sorted(by_place.values(), key=lambda h: -h.score)


async def _successors(
    stale: list[Hit], cubes: Mapping[str, CubeStore], view: View
) -> dict[tuple[str, str], list[tuple[Memory, Memory]]]:
    """For each stale hit the (record, fact) pairs that took the place of what it told."""
    out: dict[tuple[str, str], list[tuple[Memory, Memory]]] = {}
    for name, store in cubes.items():
        for hit in (h for h in stale if h.cube == name):
            facts = [f.id for f in hit.outdated] or [hit.id]
            links = await store.neighbors(facts, depth=8, types=(EdgeType.SUPERSEDES,), direction="in")
            current = await store.get(list({link.edge.src for link in links}), view) if links else []
            told = {f.sources[-1].memory_id: f for f in current if f.kind in _TOLD and f.sources}
            records = await store.get([i for i in told if i is not None], view) if told else []
            out[name, hit.id] = [(r, told[r.id]) for r in records]
    return out
