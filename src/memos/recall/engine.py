"""Recall: a question and the cubes to look in, to hits, a context block and an honest status.

One round trip per cube for candidates, one to read the winners; no channel gates another. What is missing (embedder,
a cube) lowers `served_by` and is named in `reasons`; it never turns into an empty answer without a word (laws 2, 6
and 7).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from memos.errors import InvalidInput, MemosError, ModelError
from memos.logs import get_logger
from memos.memory.hit import Hit, SearchResult, SearchStatus
from memos.memory.number import share, whole
from memos.memory.time import load_zone, utcnow
from memos.models.embed import Embedder, LocalEmbedder, Vectors
from memos.models.rerank import Reranker
from memos.recall import pack as packing
from memos.recall.ask import Ask, Trace
from memos.recall.collect import (
    Candidates,
    Collector,
    by_evidence,
    current_first,
    with_contradictions,
    with_facts,
    with_freshness,
)
from memos.recall.rank import Ranking, rank
from memos.recall.understand import Question, understand
from memos.storage.ports import CubeStore, Outline, Pool, Probe

log = get_logger(__name__)

QUERY_SECONDS = 2.0  # how long a search waits for its question to be embedded
MAX_QUERY = 20_000  # characters of a question that are read; the rest is named in `reasons`


class Recall:
    """Searches cubes with the embedder and reranker it was given (either may be None)."""

    def __init__(self, embedder: Embedder | None, reranker: Reranker | None = None) -> None:
        self.embedder = embedder
        self._embedding: dict[tuple[asyncio.AbstractEventLoop, str, str], asyncio.Task[Vectors]] = {}
        self.reranker = reranker
        self._warmed = False

    async def search(
        self,
        ask: Ask,
        cubes: Mapping[str, CubeStore],
        *,
        embedders: Mapping[str, Embedder] | None = None,
        trace: Trace | None = None,
    ) -> SearchResult:
        """Search all cubes as one. `embedders`: cubes whose vectors are still those of another model. Raises
        InvalidInput for an unusable query or limit; a failing cube or model does not raise.
        """
        _check(ask)
        trace = trace or Trace()
        reasons: list[str] = []
        query = ask.query
        if len(query) > MAX_QUERY:
            query = query[:MAX_QUERY]
            reasons.append(f"the query was read up to {MAX_QUERY} characters")
        question = await self._understand(query, ask, cubes)
        probe = await _probe(ask, question, cubes)
        vectors: dict[str, tuple[str, NDArray[np.float32]]] = {}
        if self.embedder is not None or embedders:  # without one there is nothing to wait for, so no head start either
            vectors, _ = await asyncio.gather(
                self._vectors(question.meaning, cubes, embedders or {}, reasons), _prepared(probe, cubes)
            )
        served = ("vector",) if vectors else ()
        names, pools = await self._pools(ask, probe, cubes, vectors, reasons)
        trace.question, trace.names, trace.pools = question, names, pools
        if not pools:
            return _empty(ask, SearchStatus.FAILED, reasons)
        if any(p.loading for p in pools):
            reasons.append("an index is still loading; answered from the stored full-text index")
        found = Candidates(rank(pools, question, ask.recipe), names, pools, cubes)
        if ask.rerank:
            found = await self._rerank(query, found, reasons, ask.user)
        trace.ranking = ranking = found.ranking
        hits = await self._hits(ask, question, found, trace)
        served_by = (
            "text",
            "context",
            *served,
            *(("speaker",) if question.speakers else ()),
            *(("time",) if question.spans else ()),
        )
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
            if embedder is not self.embedder and self.embedder is not None:
                reasons.append(f"cube {name!r} is searched by vectors of {model} until all of it is embedded anew")
            if model not in made:
                made[model] = await self._vector(embedder, query, reasons)
            if made[model].any():
                out[name] = (model, made[model])
        return out

    async def _vector(self, embedder: Embedder, query: str, reasons: list[str]) -> NDArray[np.float32]:
        """The question's vector, or an empty one with a reason: a model that fails, or is slow to load, holds no answer up."""
        task = self._asked(embedder, query)
        done, _ = await asyncio.wait({task}, timeout=QUERY_SECONDS)
        if not done:
            reasons.append(
                f"answered without vectors: {embedder.model_id} needs more than {QUERY_SECONDS:.0f} s (it may be loading)"
            )
            return np.zeros(0, np.float32)
        try:
            return np.asarray(task.result()[0], np.float32)
        except ModelError as e:
            reasons.append(f"answered without vectors: {e}")
            return np.zeros(0, np.float32)

    def _asked(self, embedder: Embedder, query: str) -> asyncio.Task[Vectors]:
        """The embedding of a question; two searches at once that ask the same share it."""
        key = (asyncio.get_running_loop(), embedder.model_id, query)
        task = self._embedding.get(key)
        if task is None:
            task = self._embedding[key] = asyncio.ensure_future(embedder.embed([query], purpose="query"))

            def done(ended: asyncio.Task[Vectors]) -> None:
                del self._embedding[key]
                if not ended.cancelled():
                    ended.exception()  # one that comes too late is nobody's concern

            task.add_done_callback(done)
        return task

    async def _understand(self, query: str, ask: Ask, cubes: Mapping[str, CubeStore]) -> Question:
        answers = await asyncio.gather(
            *(store.outline() for store in cubes.values()), self._warm(), return_exceptions=True
        )
        outlines = [
            o for o in answers if isinstance(o, Outline)
        ]  # a cube that fails is told of when its pool is asked for
        speakers: dict[str, int] = {}
        for outline in outlines:
            for name, count in outline.speakers.items():
                speakers[name] = speakers.get(name, 0) + count
        times = [t for o in outlines for t in (o.first, o.last) if t is not None]
        years = range(max(min(times).year, max(times).year - 20), max(times).year + 1) if times else None
        aliases = [names for o in outlines for names in o.aliases]
        return understand(query, speakers, now=ask.now or utcnow(), zone=ask.zone, years=years, aliases=aliases)

    async def _warm(self) -> None:
        """Load a local model while the first cube's index loads, so that the first answer waits for only one of them."""
        if not self._warmed and isinstance(self.embedder, LocalEmbedder):
            self._warmed = True
            await self.embedder.embed(["first"], purpose="query")

    async def _pools(
        self,
        ask: Ask,
        probe: Probe,
        cubes: Mapping[str, CubeStore],
        vectors: Mapping[str, tuple[str, NDArray[np.float32]]],
        reasons: list[str],
    ) -> tuple[tuple[str, ...], tuple[Pool, ...]]:
        names, pools = [], []
        probes = {
            name: replace(probe, model=vectors[name][0], vector=vectors[name][1]) if name in vectors else probe
            for name in cubes
        }
        found = await asyncio.gather(
            *(_gathered(store, probes[name], ask, reasons) for name, store in cubes.items()),
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

    async def _rerank(self, query: str, found: Candidates, reasons: list[str], user: str) -> Candidates:
        """Blend a reranker's opinion of the best 100 into their scores; a failing reranker changes nothing."""
        ranking = found.ranking
        if self.reranker is None or not len(ranking.score):
            return found
        for_user = getattr(self.reranker, "for_user", None)
        reranker = self.reranker if for_user is None else for_user(user)
        head = min(100, len(ranking.score))
        memories = await found.fetch(range(head))
        texts = [memories[i].text if i in memories else "" for i in range(head)]
        try:
            scores = np.asarray(await reranker.rerank(query, texts), np.float32)
            if scores.shape != (head,) or not ((scores >= 0) & (scores <= 1)).all():
                raise ModelError(f"it gave no score between 0 and 1 for each of {head} texts")
        except ModelError as e:
            reasons.append(f"answered without the reranker: {e}")
            return found
        blended = 0.6 * ranking.score[:head] + 0.4 * scores * float(ranking.score[0])
        order = np.concatenate((np.argsort(-blended, kind="stable"), np.arange(head, len(ranking.score))))
        score = np.concatenate((blended, np.minimum(ranking.score[head:], blended.min())))
        reordered = Ranking(
            ranking.pool[order],
            ranking.place[order],
            np.asarray(score[order], np.float32),
            {k: v[order] for k, v in ranking.features.items()},
        )
        return replace(found, ranking=reordered)

    async def _hits(self, ask: Ask, question: Question, found: Candidates, trace: Trace) -> list[Hit]:
        """Read the best candidates and make hits of them, more as long as too many fold together."""
        collector = Collector(ask, found, trace)
        total = found.relevant(ask.recipe)
        wanted, done = min(total, ask.limit + ask.limit // 4 + 8), 0
        while True:
            memories = await found.fetch(range(done, wanted))
            collector.take(memories)
            done = wanted
            if len(collector.hits) >= ask.limit or done >= total:
                break
            wanted = min(total, done * 2)
        hits = collector.best(ask.limit)
        if ask.merge_facts:
            if ask.where is None:
                hits = await by_evidence(hits, found.cubes, ask.view)
            hits = await with_facts(hits, found.cubes, ask.view, _time_of(ask))
            hits = (await current_first(hits, found.cubes, ask.view))[: ask.limit]
        hits = await with_contradictions(hits, found.cubes, ask.view)
        hits = await with_freshness(hits, found.cubes)
        hits = [replace(h, rank=i + 1) for i, h in enumerate(hits)]
        terms = frozenset(question.terms)
        return [packing.with_passage(h, terms) for h in hits]


async def _probe(ask: Ask, question: Question, cubes: Mapping[str, CubeStore]) -> Probe:
    """The question as every cube is asked it, its vector aside."""
    probe = Probe(
        terms=question.terms,
        speakers=question.speakers,
        spans=question.spans,
        text_pool=max(ask.recipe.text_pool, ask.limit * 2),
        dense_pool=max(ask.recipe.dense_pool, ask.limit),
        weights=ask.recipe.first_stage(),
        force=ask.force,
    )
    if len(cubes) > 1:
        probe = replace(probe, idf=await _joint_rarity(question, cubes))
    return probe


async def _prepared(probe: Probe, cubes: Mapping[str, CubeStore]) -> None:
    """A head start by words, while the question is embedded; a cube that fails says so when it is gathered."""
    with contextlib.suppress(MemosError):
        await asyncio.gather(*(store.prepare(probe) for store in cubes.values()))


async def _gathered(store: CubeStore, probe: Probe, ask: Ask, reasons: list[str]) -> Pool:
    """The candidates of one cube; by words alone where the question's vector does not fit the cube's."""
    try:
        return await store.gather(probe, where=ask.where, view=ask.view)
    except ModelError as e:
        reasons.append(f"answered without vectors: {e}")
        return await store.gather(replace(probe, vector=None, model=None), where=ask.where, view=ask.view)


def _check(ask: Ask) -> None:
    if not isinstance(ask.query, str) or not ask.query.strip():
        raise InvalidInput("the query is empty; use list() to read memories without a question")
    whole(ask.limit, "limit", hint="; page with list() for more")
    if ask.max_tokens is not None:
        whole(ask.max_tokens, "max_tokens", most=1 << 53)
    share(ask.threshold, "threshold")


async def _joint_rarity(question: Question, cubes: Mapping[str, CubeStore]) -> dict[str, float]:
    total, counts = 0, dict.fromkeys(question.terms, 0)
    asked = (store.frequencies(tuple(question.terms)) for store in cubes.values())
    for answer in await asyncio.gather(*asked, return_exceptions=True):
        if isinstance(answer, BaseException):  # told of when the cube's pool is asked for
            continue
        documents, found = answer
        total += documents
        for term, n in found.items():
            counts[term] += n
    return {t: float(np.log(1 + (max(total, n) - n + 0.5) / (n + 0.5))) for t, n in counts.items()}


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
        status = SearchStatus.PARTIAL if partial else SearchStatus.NOTHING
        if "vector" not in served_by:
            reasons = [*reasons, "searched by words only: no vectors were used"]
    context = packing.pack(kept, ask.max_tokens, load_zone(ask.zone), now=_time_of(ask))
    if kept and not context:
        reasons = [*reasons, f"no hit fits into max_tokens={ask.max_tokens}"]
    facts = tuple({f.id: f for h in kept for f in h.facts}.values())
    contradicts = tuple(dict.fromkeys(c for h in kept for c in h.contradicts))
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
        weak=best < ask.recipe.weak,
        contradicts=contradicts,
    )


def _time_of(ask: Ask) -> datetime:
    """The time at which what is told is to hold."""
    return ask.view.as_of or ask.now or utcnow()


def _empty(ask: Ask, status: SearchStatus, reasons: list[str]) -> SearchResult:
    return SearchResult(query=ask.query, hits=(), status=status, reasons=tuple(reasons), threshold=ask.threshold)
