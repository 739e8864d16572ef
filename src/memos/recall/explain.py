"""Why a memory was, or was not, in an answer: its value and rank at each stage, what removed it, what would have
brought it in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from memos.errors import NotFound
from memos.memory.filter import matches, to_json
from memos.memory.hit import Explanation, Stage
from memos.memory.model import Memory
from memos.recall.ask import Ask, Trace
from memos.recall.collect import shares_of
from memos.recall.engine import Recall
from memos.storage.ports import ANY_STATUS, CubeStore, Pool, View


async def explain(recall: Recall, ask: Ask, cube: str, store: CubeStore, memory_id: str) -> Explanation:
    """Run the search once as asked and look at one memory in it. Raises NotFound when the cube has no such memory."""
    known = await store.get([memory_id], View(statuses=ANY_STATUS))
    if not known:
        raise NotFound(f"memory {memory_id} does not exist in this cube")
    memory = known[0]
    trace = Trace()
    result = await recall.search(ask, {cube: store}, trace=trace)
    hit = next((h for h in result.hits if h.id == memory_id), None)
    stages: list[Stage] = []
    removed, help_ = _visible(memory, ask, stages)
    if hit is None and removed is None:
        removed, help_ = await _candidate(recall, ask, cube, store, memory, stages)
    elif hit is not None:
        pool = trace.pools[0]
        at = await _place(store, pool.rows, memory)
        if at is not None:
            _pool_stage(stages, pool, at, forced=False)
    features, shares = await _features(recall, ask, cube, store, memory, trace)
    if hit is not None:
        stages.append(Stage("ranked", hit.score, hit.rank, True))
        in_context = hit.text[:60] in result.context if result.context else False
        stages.append(Stage("packed", None, None, in_context, "" if in_context else "did not fit into max_tokens"))
    return Explanation(
        memory_id=memory_id,
        query=ask.query,
        found=hit is not None,
        rank=hit.rank if hit else None,
        score=hit.score if hit else features.get("score"),
        stages=tuple(stages),
        features=features,
        shares=shares,
        removed_by=removed,
        would_help=tuple(help_),
    )


def _visible(memory: Memory, ask: Ask, stages: list[Stage]) -> tuple[str | None, list[str]]:
    """Status, clocks and filter: what hides a memory before anything is scored."""
    if memory.status not in ask.view.visible:
        stages.append(Stage("status", None, None, False, f"it is {memory.status}"))
        return "status", [f"search with the {memory.status} status visible (include_superseded, or a clock)"]
    stages.append(Stage("status", None, None, True))
    at = ask.view.as_of
    if at is not None and (
        (memory.valid_from is not None and memory.valid_from > at)
        or (memory.valid_to is not None and memory.valid_to <= at)
    ):
        stages.append(Stage("as_of", None, None, False, f"true from {memory.valid_from} to {memory.valid_to}"))
        return "as_of", [f"as_of between {memory.valid_from} and {memory.valid_to or 'now'}"]
    known = ask.view.known_at
    if known is not None and memory.recorded_at is not None and memory.recorded_at > known:
        stages.append(Stage("known_at", None, None, False, f"recorded at {memory.recorded_at}"))
        return "known_at", [f"known_at after {memory.recorded_at}"]
    if ask.where is not None and not matches(ask.where, memory):
        stages.append(Stage("filter", None, None, False, f"the filter {to_json(ask.where)} is false for it"))
        return "filter", ["a filter that lets it through"]
    stages.append(Stage("filter", None, None, True))
    return None, []


async def _candidate(
    recall: Recall, ask: Ask, cube: str, store: CubeStore, memory: Memory, stages: list[Stage]
) -> tuple[str, list[str]]:
    """The memory is visible but was not a hit: find out where it stopped, with the memory forced into the pool."""
    trace = Trace()
    wide = replace(ask, force=(memory.id,), limit=10_000, threshold=0.0, max_tokens=None)
    result = await recall.search(wide, {cube: store}, trace=trace)
    pool, ranking = trace.pools[0], trace.ranking
    at = await _place(store, pool.rows, memory)
    if at is None or ranking is None:
        stages.append(Stage("indexed", None, None, False, "it is not in the index"))
        return "indexed", ["run `memos doctor`"]
    normal = max(ask.recipe.text_pool, ask.limit * 2)
    outside = pool.documents > normal and pool.first_rank[at] > normal
    _pool_stage(stages, pool, at, forced=outside)
    rank = int(np.flatnonzero(ranking.place == at)[0]) + 1
    score = float(ranking.score[rank - 1])
    if outside:
        return "pool", [
            f"words of it in the query: its first-stage rank is {int(pool.first_rank[at])}, the pool holds {normal}"
        ]
    if memory.id in trace.folded:
        stages.append(Stage("folded", score, rank, False, f"told by hit {trace.folded[memory.id]}"))
        return "folded", [f"nothing: it is shown as part of {trace.folded[memory.id]}"]
    position = next((h.rank for h in result.hits if h.id == memory.id), rank)
    stages.append(Stage("ranked", score, position, position <= ask.limit))
    if score < ask.threshold:
        return "threshold", [f"threshold ≤ {score:.2f} (it is {ask.threshold:.2f})"]
    return "limit", [f"limit {ask.limit} → {position}", *_missing_words(pool.columns["lexical"][at])]


def _pool_stage(stages: list[Stage], pool: Pool, at: int, *, forced: bool) -> None:
    for name in ("lexical", "dense", "dense_window"):
        column = pool.columns[name]
        rank = int((column > column[at]).sum()) + 1
        stages.append(Stage(name, round(float(column[at]), 4), rank, bool(column[at] > 0)))
    stages.append(Stage("pool", round(float(pool.columns["coarse"][at]), 4), int(pool.first_rank[at]), not forced))


async def _features(
    recall: Recall, ask: Ask, cube: str, store: CubeStore, memory: Memory, trace: Trace
) -> tuple[dict[str, float], dict[str, float]]:
    """Each feature's value and what it adds to the score: of the search as it ran, or, for a memory that never was a candidate,
    of one in which it is made one."""
    at = await _place(store, trace.pools[0].rows, memory) if trace.pools else None
    if at is None:
        forced = replace(ask, force=(memory.id,), where=None, view=View(statuses=ANY_STATUS), threshold=0.0)
        trace = Trace()
        await recall.search(forced, {cube: store}, trace=trace)
        at = await _place(store, trace.pools[0].rows, memory) if trace.pools else None
    if at is None or trace.ranking is None:
        return {}, {}
    i = int(np.flatnonzero(trace.ranking.place == at)[0])
    out = {name: round(float(values[i]), 4) for name, values in trace.ranking.features.items()}
    out["score"] = round(float(trace.ranking.score[i]), 4)
    return out, shares_of(trace.ranking, i, ask.recipe)


async def _place(store: CubeStore, rows: Iterable[int], memory: Memory) -> int | None:
    """Where in a pool a memory stands."""
    handles = [int(r) for r in rows]
    found = await store.fetch(handles)
    return next((i for i, h in enumerate(handles) if h in found and found[h].id == memory.id), None)


def _missing_words(lexical: float) -> list[str]:
    return ["words of it in the query: it and its neighbours share none with it"] if lexical <= 0 else []
