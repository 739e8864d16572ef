"""Recall: a question and the cubes to look in, to hits, a context block and an honest status.

One round trip per cube for candidates, one to read the winners; no channel gates another. What is missing (embedder, a cube)
lowers `served_by` and is named in `reasons`; it never turns into an empty answer without a word (laws 2, 6 and 7).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
import structlog
from numpy.typing import NDArray

from memos.errors import InvalidInput, MemosError, ModelError
from memos.memory.filter import Filter
from memos.memory.hit import Hit, SearchResult, SearchStatus
from memos.memory.model import EdgeType, Kind, Layer, Memory, Status
from memos.memory.time import load_zone, utcnow
from memos.models.embed import Embedder
from memos.models.rerank import Reranker
from memos.recall import pack as packing
from memos.recall.rank import Ranking, rank
from memos.recall.recipe import DEFAULT, Recipe
from memos.recall.understand import Question, understand
from memos.storage.ports import ANY_STATUS, NOW, CubeStore, Pool, Probe, View

log = structlog.get_logger(__name__)

MAX_QUERY = 20_000  # characters of a question that are read; the rest is named in `reasons`
_FETCH_EXTRA = 1.5


@dataclass(frozen=True, slots=True)
class Ask:
    """One search, with every choice spelled out."""

    query: str
    limit: int = 10
    max_tokens: int | None = None
    where: Filter | None = None
    view: View = NOW
    threshold: float = 0.0
    now: datetime | None = None
    zone: str = "UTC"
    collapse: bool = True
    merge_facts: bool = True
    force: Sequence[str] = ()
    recipe: Recipe = DEFAULT


@dataclass(slots=True)
class Trace:
    """What happened on the way, for `explain`: the question, pools and ranking, before anything was cut."""

    question: Question | None = None
    names: tuple[str, ...] = ()
    pools: tuple[Pool, ...] = ()
    ranking: Ranking | None = None
    memories: dict[tuple[int, int], Memory] = field(default_factory=dict)
    folded: dict[str, str] = field(default_factory=dict)
    result: SearchResult | None = None


class Recall:
    """Searches cubes with the embedder and reranker it was given (either may be None)."""

    def __init__(self, embedder: Embedder | None, reranker: Reranker | None = None) -> None:
        self.embedder = embedder
        self.reranker = reranker

    async def search(
        self,
        ask: Ask,
        cubes: Mapping[str, CubeStore],
        *,
        embedders: Mapping[str, Embedder] | None = None,
        trace: Trace | None = None,
    ) -> SearchResult:
        """Search all cubes as one. `embedders`: cubes whose vectors are still those of another model. Raises InvalidInput for an unusable query or limit; a failing cube or model does not raise."""
        _check(ask)
        trace = trace or Trace()
        reasons: list[str] = []
        query = ask.query
        if len(query) > MAX_QUERY:
            query = query[:MAX_QUERY]
            reasons.append(f"the query was read up to {MAX_QUERY} characters")
        vectors = await self._vectors(query, cubes, embedders or {}, reasons)
        served = ("vector",) if vectors else ()
        question = await self._understand(query, ask, cubes)
        names, pools = await self._pools(ask, question, cubes, vectors, reasons)
        trace.question, trace.names, trace.pools = question, names, pools
        if not pools:
            return _empty(ask, SearchStatus.FAILED, reasons)
        if any(p.loading for p in pools):
            reasons.append("an index is still loading; answered from the stored full-text index")
        ranking = rank(pools, question, ask.recipe)
        ranking = await self._rerank(query, ranking, names, pools, cubes, reasons)
        trace.ranking = ranking
        hits = await self._hits(ask, question, ranking, names, cubes, pools, trace)
        served_by = ("text", "context", *served, *(("speaker",) if question.speakers else ()), *(("time",) if question.spans else ()))
        result = _finish(ask, hits, reasons, served_by, ranking, len(pools) < len(cubes))
        result = replace(result, history_tokens=sum(p.history_chars for p in pools) // 4)
        trace.result = result
        return result

    async def _vectors(
        self, query: str, cubes: Mapping[str, CubeStore], embedders: Mapping[str, Embedder], reasons: list[str]
    ) -> dict[str, tuple[str, NDArray[np.float32]]]:
        """Per cube the model to compare by and the query's vector in it."""
        made: dict[str, NDArray[np.float32]] = {}
        out = {}
        for name in cubes:
            embedder = embedders.get(name, self.embedder)
            if embedder is None:
                continue
            model = embedder.model_id
            if model not in made:
                try:
                    made[model] = np.asarray((await embedder.embed([query], purpose="query"))[0], np.float32)
                except ModelError as e:
                    reasons.append(f"answered without vectors: {e}")
                    made[model] = np.zeros(0, np.float32)
            if made[model].any():
                out[name] = (model, made[model])
        return out

    async def _understand(self, query: str, ask: Ask, cubes: Mapping[str, CubeStore]) -> Question:
        speakers: dict[str, int] = {}
        for store in cubes.values():
            for name, count in (await store.speakers()).items():
                speakers[name] = speakers.get(name, 0) + count
        return understand(query, speakers, now=ask.now or utcnow(), zone=ask.zone)

    async def _pools(
        self,
        ask: Ask,
        question: Question,
        cubes: Mapping[str, CubeStore],
        vectors: Mapping[str, tuple[str, NDArray[np.float32]]],
        reasons: list[str],
    ) -> tuple[tuple[str, ...], tuple[Pool, ...]]:
        probe = Probe(
            terms=question.terms,
            speakers=question.speakers,
            spans=question.spans,
            pool=max(ask.recipe.pool, ask.limit * 2),
            weights=ask.recipe.first_stage,
            force=ask.force,
        )
        if len(cubes) > 1:
            probe = replace(probe, idf=await _joint_rarity(question, cubes))
        names, pools = [], []
        probes = {
            name: replace(probe, model=vectors[name][0], vector=vectors[name][1]) if name in vectors else probe
            for name in cubes
        }
        found = await asyncio.gather(
            *(store.gather(probes[name], where=ask.where, view=ask.view) for name, store in cubes.items()),
            return_exceptions=True,
        )
        for name, pool in zip(cubes, found, strict=True):
            if isinstance(pool, Pool):
                names.append(name)
                pools.append(pool)
            elif isinstance(pool, MemosError) and not isinstance(pool, InvalidInput):
                log.warning("cube_failed", cube=name, error=pool.code)
                reasons.append(f"cube {name!r} could not be searched: {pool}")
            else:
                raise pool
        return tuple(names), tuple(pools)

    async def _rerank(
        self,
        query: str,
        ranking: Ranking,
        names: Sequence[str],
        pools: Sequence[Pool],
        cubes: Mapping[str, CubeStore],
        reasons: list[str],
    ) -> Ranking:
        if self.reranker is None or not len(ranking.score):
            return ranking
        head = min(100, len(ranking.score))
        memories = await _fetch(range(head), ranking, names, pools, cubes)
        texts = [memories[i].text if i in memories else "" for i in range(head)]
        try:
            scores = np.asarray(await self.reranker.rerank(query, texts), np.float32)
        except ModelError as e:
            reasons.append(f"answered without the reranker: {e}")
            return ranking
        blended = 0.6 * ranking.score[:head] + 0.4 * scores * float(ranking.score[0])
        order = np.concatenate((np.argsort(-blended, kind="stable"), np.arange(head, len(ranking.score))))
        score = np.concatenate((blended, np.minimum(ranking.score[head:], blended.min())))
        return Ranking(
            ranking.pool[order],
            ranking.place[order],
            np.asarray(score[order], np.float32),
            {k: v[order] for k, v in ranking.features.items()},
        )

    async def _hits(
        self,
        ask: Ask,
        question: Question,
        ranking: Ranking,
        names: Sequence[str],
        cubes: Mapping[str, CubeStore],
        pools: Sequence[Pool],
        trace: Trace,
    ) -> list[Hit]:
        wanted = min(len(ranking.score), int(ask.limit * _FETCH_EXTRA) + 16)
        hits: list[Hit] = []
        evidence: dict[str, tuple[str, ...]] = {}
        done = 0
        while True:
            memories = await _fetch(range(done, wanted), ranking, names, pools, cubes)
            evidence |= _evidence(memories.values()) if ask.merge_facts else {}
            for i in range(done, wanted):
                if i in memories:
                    _add(hits, memories[i], i, ranking, names, evidence, ask, trace)
            done = wanted
            if len(hits) >= ask.limit or done >= len(ranking.score):
                break
            wanted = min(len(ranking.score), done * 2)
        hits = [replace(h, rank=i + 1) for i, h in enumerate(hits[: ask.limit])]
        if ask.merge_facts:
            hits = await _with_facts(hits, cubes)
        return [packing.with_passage(h, tuple(question.terms)) for h in hits]


def _check(ask: Ask) -> None:
    if not isinstance(ask.query, str) or not ask.query.strip():
        raise InvalidInput("the query is empty; use list() to read memories without a question")
    if isinstance(ask.limit, bool) or not isinstance(ask.limit, int) or not 1 <= ask.limit <= 10_000:
        raise InvalidInput(f"limit must be an integer from 1 to 10,000, got {ask.limit!r}; page with list() for more")
    if ask.max_tokens is not None and (not isinstance(ask.max_tokens, int) or ask.max_tokens < 1):
        raise InvalidInput(f"max_tokens must be a positive integer or None, got {ask.max_tokens!r}")
    if not 0 <= ask.threshold <= 1:
        raise InvalidInput(f"threshold must be between 0 and 1, got {ask.threshold!r}")


async def _joint_rarity(question: Question, cubes: Mapping[str, CubeStore]) -> dict[str, float]:
    total, counts = 0, dict.fromkeys(question.terms, 0)
    for documents, found in await asyncio.gather(*(s.frequencies(tuple(question.terms)) for s in cubes.values())):
        total += documents
        for term, n in found.items():
            counts[term] += n
    return {t: float(np.log(1 + (max(total, n) - n + 0.5) / (n + 0.5))) for t, n in counts.items()}


async def _fetch(
    span: range, ranking: Ranking, names: Sequence[str], pools: Sequence[Pool], cubes: Mapping[str, CubeStore]
) -> dict[int, Memory]:
    """The memories at these places of the ranking."""
    out: dict[int, Memory] = {}
    for p, name in enumerate(names):
        mine = [i for i in span if ranking.pool[i] == p]
        if not mine:
            continue
        handles = [int(pools[p].rows[ranking.place[i]]) for i in mine]
        found = await cubes[name].fetch(handles)
        by_handle = dict(zip(handles, found, strict=False)) if len(found) == len(handles) else None
        if by_handle is None:  # something was deleted between the two reads: match one by one
            by_handle = {h: m[0] for h in handles if (m := await cubes[name].fetch([h]))}
        out |= {i: by_handle[h] for i, h in zip(mine, handles, strict=True) if h in by_handle}
    return out


def _evidence(memories: Iterable[Memory]) -> dict[str, tuple[str, ...]]:
    """For each derived memory the raw records it rests on."""
    return {
        m.id: tuple(s.memory_id for s in m.sources if s.memory_id) for m in memories if m.layer is Layer.DERIVED
    }


def _add(
    hits: list[Hit],
    memory: Memory,
    i: int,
    ranking: Ranking,
    names: Sequence[str],
    evidence: Mapping[str, tuple[str, ...]],
    ask: Ask,
    trace: Trace,
) -> None:
    """Add a candidate to the hits, unless it repeats one: same words, or a fact whose raw record is already there."""
    cube = names[int(ranking.pool[i])]
    for at, hit in enumerate(hits):
        if hit.cube != cube:
            continue
        if memory.id in evidence.get(hit.id, ()):  # the raw record takes the place of the fact made from it
            hits[at] = replace(hit, memory=memory, text=memory.text, also=(*hit.also, hit.id))
            trace.folded[hit.id] = memory.id
            return
        if hit.id in evidence.get(memory.id, ()) or (ask.collapse and _same_words(hit.memory, memory)):
            hits[at] = replace(hit, also=(*hit.also, memory.id))
            trace.folded[memory.id] = hit.id
            return
    why = {
        name: round(float(weight * ranking.features[name][i]), 4)
        for name, weight in ask.recipe.weights.items()
        if ranking.features[name][i]
    }
    stale = memory.status is Status.SUPERSEDED
    hits.append(Hit(memory, float(ranking.score[i]), len(hits) + 1, cube, memory.text, why, stale=stale))


def _same_words(a: Memory, b: Memory) -> bool:
    return len(a.text) > 12 and a.speaker == b.speaker and a.text.casefold().split() == b.text.casefold().split()


async def _with_facts(hits: list[Hit], cubes: Mapping[str, CubeStore]) -> list[Hit]:
    """Give each raw hit the current facts it is evidence of, and mark it stale when all it told was replaced."""
    derived: dict[str, list[Memory]] = {}
    for name, store in cubes.items():
        mine = [h.id for h in hits if h.cube == name]
        if not mine:
            continue
        links = await store.neighbors(mine, types=(EdgeType.DERIVED_FROM,), direction="in", limit=10_000)
        found = await store.get(list({link.edge.src for link in links}), View(statuses=ANY_STATUS)) if links else []
        by_id = {m.id: m for m in found if m.kind is not Kind.ENTITY}
        for link in links:
            if link.edge.src in by_id:
                derived.setdefault(link.edge.dst, []).append(by_id[link.edge.src])
    out = []
    for hit in hits:
        told = derived.get(hit.id, [])
        current = tuple(m for m in told if m.status is Status.ACTIVE)
        stale = bool(told) and not current and any(m.status is Status.SUPERSEDED for m in told)
        out.append(replace(hit, facts=current, stale=hit.stale or stale))
    return out


def _finish(
    ask: Ask, hits: list[Hit], reasons: list[str], served_by: tuple[str, ...], ranking: Ranking, partial: bool
) -> SearchResult:
    best = float(ranking.score.max(initial=0.0))
    kept = tuple(h for h in hits if h.score >= ask.threshold)
    if kept:
        status = SearchStatus.PARTIAL if partial else SearchStatus.FOUND
    elif hits:
        status = SearchStatus.BELOW_THRESHOLD
        reasons = [*reasons, f"the best score is {best:.2f}, below the threshold of {ask.threshold:.2f}"]
    else:
        status = SearchStatus.NOTHING
    context = packing.pack(kept, ask.max_tokens, load_zone(ask.zone))
    if kept and not context:
        reasons = [*reasons, f"no hit fits into max_tokens={ask.max_tokens}"]
    facts = tuple({f.id: f for h in kept for f in h.facts}.values())
    return SearchResult(
        query=ask.query,
        hits=kept,
        status=status,
        context=context,
        facts=facts,
        served_by=served_by,
        reasons=tuple(reasons),
        tokens=packing.tokens(context),
        best_score=best,
        threshold=ask.threshold,
    )


def _empty(ask: Ask, status: SearchStatus, reasons: list[str]) -> SearchResult:
    return SearchResult(query=ask.query, hits=(), status=status, reasons=tuple(reasons), threshold=ask.threshold)
