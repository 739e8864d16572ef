"""POST /product/search: one question to one cube or several, ranked together, in the buckets of the wire.

`top_k` counts over all cubes; `relativity` is our calibrated score, the same in every cube, so a threshold means one thing
(`docs/memos-wire.md` has the measurements). What a field asks for and does not exist here is told in `notices`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from memos.errors import Unavailable
from memos.memory.filter import Filter
from memos.memory.hit import Hit, SearchResult, SearchStatus
from memos.memory.model import Kind, Memory
from memos.memory.time import load_zone
from memos.server import briefly
from memos.server.caller import READ, Caller
from memos.server.product import preferences, wording, working
from memos.server.product.evidence import evidence_of
from memos.server.product.models import SearchBody
from memos.server.product.replies import ok
from memos.server.product.translate import filters_by_cube, found
from memos.server.translate import PREFERENCES, SESSION_BONUS, SKILLS, TEXTS, TOOLS, kinds_of, relativity
from memos.system import AsyncMemOS
from memos.text.analysis import analyze

SPARE = 10  # hits asked for beyond top_k and a quarter: repetitions are taken out, hits of the session lifted
MOST = 10_000  # hits of one core search
SPECIAL_POOL = 100  # preferences, tools and skills looked at together
SAME = 0.95  # share of content terms that two texts have in common when one says what the other does


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The buckets that are asked for: the kinds of each (None: all texts, shown by their records) and how many."""

    texts: Collection[Kind] | None
    text_k: int
    preferences: int
    tools: int
    tool_kinds: frozenset[Kind]
    skills: int

    @property
    def special(self) -> frozenset[Kind]:
        """The kinds of the other buckets."""
        return (
            (PREFERENCES if self.preferences else frozenset())
            | (self.tool_kinds if self.tools else frozenset())
            | (SKILLS if self.skills else frozenset())
        )

    @property
    def asked_k(self) -> int:
        """How many texts the core is asked for."""
        return min(self.text_k + self.text_k // 4 + SPARE, MOST) if self.text_k else 0

    @property
    def special_k(self) -> int:
        """How many of those are looked at together."""
        asked = self.preferences + self.tools + self.skills
        return min(max(SPECIAL_POOL, 4 * asked), MOST) if self.special else 0


@dataclass(frozen=True, slots=True)
class _Answer:
    """The hits of several core searches, best first, and how they ended."""

    hits: tuple[Hit, ...] = ()
    results: tuple[SearchResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Buckets:
    """What a search found in some cubes, by bucket, best first, and the core searches it comes from."""

    cubes: tuple[str, ...]
    hits: Mapping[str, list[Hit]]
    results: tuple[SearchResult, ...]


async def search(core: AsyncMemOS, caller: Caller, body: SearchBody) -> Response:
    """Answer in buckets of text, preferences, tools and skills, one per cube each."""
    user = caller.acting(body.user_id, READ)
    buckets = await find(core, user, body)
    evidence = await evidence_of(core, user, [(h.cube, h.memory) for hits in buckets.hits.values() for h in hits])
    zone = load_zone(core.settings.timezone)

    def shown(hits: Sequence[Hit], cube: str) -> dict[str, Any]:
        mine = [found(h, zone, evidence=evidence) for h in hits if h.cube == cube]
        mine = [working.as_working(one) for one in mine] if body.search_memory_type == working.TYPE else mine
        return {"cube_id": cube, "memories": mine, "total_nodes": len(mine)}

    data: dict[str, Any] = {name: [shown(hits, cube) for cube in buckets.cubes] for name, hits in buckets.hits.items()}
    data |= {"act_mem": [], "para_mem": []}
    data |= preferences.rendered([h.memory for h in buckets.hits["pref_mem"]], body.query)
    data["status"] = status_of(buckets)
    data["reasons"] = reasons_of(buckets)
    data["notices"] = _notices(body)
    return ok(wording.SEARCHED, data)


async def find(core: AsyncMemOS, user: str, body: SearchBody) -> Buckets:
    """The hits that a search shows. Raises Unavailable when it failed."""
    cubes = list(dict.fromkeys(body.readable_cube_ids or [user]))
    wanted = _wanted(body)
    filters = filters_by_cube(body.filter, cubes)
    if body.search_memory_type == working.TYPE:
        filters = await working.within(core, user, filters, body.session_id)
    texts, special = await asyncio.gather(
        _ask(core, body, user, filters, wanted.texts, wanted.asked_k),
        _ask(core, body, user, filters, wanted.special, wanted.special_k),
    )
    hits = {
        "text_mem": _chosen(body, texts.hits, wanted.texts or TEXTS, wanted.text_k),
        "pref_mem": _chosen(body, special.hits, PREFERENCES, wanted.preferences),
        "tool_mem": _chosen(body, special.hits, wanted.tool_kinds, wanted.tools, threshold=0.0),
        "skill_mem": _chosen(body, special.hits, SKILLS, wanted.skills, threshold=0.0),
    }
    shown = {name: [*map(briefly.hit, chosen)] for name, chosen in hits.items()}
    return Buckets(tuple(cubes), shown, texts.results + special.results)


def _wanted(body: SearchBody) -> _Wanted:
    """Which buckets a search fills: all as asked, or those of one memory type."""
    kind = body.search_memory_type
    if kind == working.TYPE:  # whatever is at hand
        return _Wanted(
            texts=TEXTS | PREFERENCES, text_k=body.top_k, preferences=0, tools=0, tool_kinds=frozenset(), skills=0
        )
    only = None if kind == "All" else kinds_of(kind)
    texts = None if only is None else only & TEXTS
    tools = TOOLS if only is None else only & TOOLS
    return _Wanted(
        texts=texts,
        text_k=body.top_k if texts is None or texts else 0,
        preferences=body.pref_top_k if body.include_preference and (only is None or only & PREFERENCES) else 0,
        tools=body.tool_mem_top_k if body.search_tool_memory and tools else 0,
        tool_kinds=frozenset(tools),
        skills=body.skill_mem_top_k if body.include_skill_memory and (only is None or only & SKILLS) else 0,
    )


async def _ask(
    core: AsyncMemOS,
    body: SearchBody,
    user: str,
    filters: dict[str, Filter | None],
    kinds: Collection[Kind] | None,
    limit: int,
) -> _Answer:
    """One core search for all cubes that have the same filter. Scores are comparable, so the answers are merged by them."""
    if not limit:
        return _Answer()
    groups: dict[Filter | None, list[str]] = {}
    for cube, where in filters.items():
        groups.setdefault(where, []).append(cube)

    async def ask(where: Filter | None, cubes: list[str]) -> SearchResult:
        return await core.search(
            body.query,
            user=user,
            cubes=cubes,
            limit=limit,
            filter=where,
            kinds=kinds,
            reference_time=body.reference_time,
            collapse=body.dedup != "no",
            rerank=body.rerank,
        )

    results = await asyncio.gather(*(ask(where, cubes) for where, cubes in groups.items()))
    failed = [reason for result in results if result.status is SearchStatus.FAILED for reason in result.reasons]
    if failed:
        raise Unavailable(f"the search failed: {'; '.join(failed)}")
    hits = [_preferred(hit, body.session_id) for result in results for hit in result.hits]
    return _Answer(tuple(sorted(hits, key=lambda h: -h.score)), tuple(results))


def _preferred(hit: Hit, session: str | None) -> Hit:
    """A hit of the session asked for, a little better; a session is never a condition."""
    if session is None or hit.memory.session != session:
        return hit
    return replace(hit, score=min(1.0, hit.score + SESSION_BONUS))


def _chosen(
    body: SearchBody, hits: Iterable[Hit], kinds: Collection[Kind], limit: int, *, threshold: float | None = None
) -> list[Hit]:
    """The best `limit` hits of these kinds that reach the threshold, without those that say what a better one does."""
    least = body.relativity if threshold is None else threshold
    repeats = _Repeats() if body.dedup in ("sim", "mmr") else None
    out: list[Hit] = []
    for hit in hits:
        if len(out) == limit:
            break
        if hit.memory.kind in kinds and relativity(hit.score) >= least and not (repeats and repeats.has(hit.memory)):
            out.append(hit)
    return out


class _Repeats:
    """Finds texts that say what one before them did: nearly the same content words, the same numbers and the same day.

    Nothing else is taken out. That a memory is merely similar to another does not make it useless, and was measured to
    hurt the answers (`docs/recall.md`).
    """

    def __init__(self) -> None:
        self._seen: list[tuple[object, list[str], frozenset[str]]] = []

    def has(self, memory: Memory) -> bool:
        """Whether this was said before; remembers it when not."""
        terms = frozenset(analyze(memory.text).terms)
        day = memory.happened_at.date() if memory.happened_at else None
        about = (memory.speaker, memory.kind, day)
        numbers = re.findall(r"\d+", memory.text)
        for other, others_numbers, others in self._seen:
            if about == other and numbers == others_numbers and _share(terms, others) >= SAME:
                return True
        self._seen.append((about, numbers, terms))
        return False


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


def status_of(found: Buckets) -> SearchStatus:
    """How the search ended, over all its parts."""
    if any(result.status is SearchStatus.PARTIAL for result in found.results):
        return SearchStatus.PARTIAL
    if any(found.hits.values()):
        return SearchStatus.FOUND
    return SearchStatus.BELOW_THRESHOLD if any(result.hits for result in found.results) else SearchStatus.NOTHING


def reasons_of(found: Buckets) -> list[str]:
    """Why anything is missing, each reason once."""
    return list(dict.fromkeys(reason for result in found.results for reason in result.reasons))


_NOTICES: tuple[tuple[Callable[[SearchBody], bool], str], ...] = (
    (lambda b: b.internet_search, wording.NO_INTERNET),
    (lambda b: b.mode != "fast", wording.SAME_MODE),
    (lambda b: b.neighbor_discovery, wording.NO_NEIGHBORS),
    (lambda b: bool(b.chat_history), wording.NO_HISTORY),
    (lambda b: b.source is not None, wording.NO_SOURCE),
    (lambda b: b.threshold is not None, wording.NO_THRESHOLD),
    (lambda b: b.context_format not in ("memory", "mixed"), wording.NO_CONTEXT_FORMAT),
)


def _notices(body: SearchBody) -> list[str]:
    """A sentence for each field that asks for what does not exist here."""
    return [text.format(mode=body.mode, given=body.context_format) for asked, text in _NOTICES if asked(body)]
