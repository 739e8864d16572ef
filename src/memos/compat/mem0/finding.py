"""What mem0 searches and lists, over all cubes that a filter means."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from memos.compat.mem0.filters import EXPIRES, Node
from memos.compat.mem0.labels import HIDDEN, LISTED, STATE, settle
from memos.compat.mem0.places import Place, Places
from memos.compat.mem0.shapes import READ, fields_only, item, score
from memos.door import PAGE, Door
from memos.memory.hit import Hit, SearchResult
from memos.memory.model import EdgeType, Kind, Memory, Status
from memos.memory.time import utcnow

_READ = sorted(READ)
_SPARE = 10  # messages asked for beyond the limit, in place of those that are outdated


@dataclass(frozen=True, slots=True)
class Wanted:
    """What may be shown, beside what the filter says."""

    show_expired: bool = False
    latest_only: bool = True
    categories: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None
    fields: Sequence[str] = ()

    def conditions(self) -> list[Mapping[str, Any]]:
        """As filters of ours."""
        found: list[Mapping[str, Any]] = []
        if not self.show_expired:
            today = utcnow().date().isoformat()
            found.append({"or": [{EXPIRES: {"exists": False}}, {EXPIRES: {"gte": today}}]})
        if self.categories:
            found.append({"tags": {"in": list(self.categories)}})
        if self.since is not None:
            found.append({"happened_at": {"gte": self.since}})
        if self.until is not None:
            found.append({"happened_at": {"lt": self.until}})
        return found


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of a listing, and how many there are in all."""

    results: list[dict[str, Any]]
    count: int


@dataclass(frozen=True, slots=True)
class Searched:
    """What a search found, best first. `reasons`: why something may be missing."""

    results: list[dict[str, Any]]
    reasons: tuple[str, ...] = ()


async def listed(door: Door, places: Places, node: Node, wanted: Wanted, skip: int, most: int | None) -> Listed:
    """The memories that match, the newest first: `most` of them after the first `skip`."""
    chosen = await places.matching(node)
    total, streams = 0, []
    for place, left in chosen:
        await settle(door, place)
        where = _where(wanted, left)
        here = int(await door.ask("count", cube=place.cube, filter=where, include_inactive=True))
        if here:
            total += here
            streams.append(_stream(door, place, where, skip if len(chosen) == 1 else 0))
    passed = skip if len(chosen) == 1 else 0
    shown: list[dict[str, Any]] = []
    async for place, memory in _newest(streams):
        if most is not None and len(shown) >= most:
            break
        passed += 1
        if passed > skip or len(chosen) == 1:
            places.known.saw(place.cube, [memory.id])
            shown.append(fields_only(item(memory, place.home), wanted.fields))
    return Listed(shown, total)


async def count(door: Door, place: Place, wanted: Wanted) -> int:
    """How many memories a cube holds."""
    await settle(door, place)
    return int(await door.ask("count", cube=place.cube, filter=_where(wanted, None), include_inactive=True))


def _where(wanted: Wanted, left: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What a listing of a cube shows: what was read, and messages that are memories themselves."""
    memories: Mapping[str, Any] = {"or": [{"kind": {"in": _READ}}, {STATE: {"in": list(LISTED)}}]}
    status = [Status.ACTIVE.value] if wanted.latest_only else [Status.ACTIVE.value, Status.SUPERSEDED.value]
    return {"and": [memories, {"status": {"in": status}}, *wanted.conditions(), *([left] if left else [])]}


async def _stream(door: Door, place: Place, where: Mapping[str, Any], skip: int) -> AsyncIterator[tuple[Place, Memory]]:
    """The memories of a cube after the first `skip`, the newest first."""
    cursor: str | None = None
    while True:
        limit = min(skip, PAGE) if skip else PAGE
        page = await door.ask(
            "list",
            cube=place.cube,
            filter=where,
            kinds=[*_READ, "trace"],
            limit=limit,
            cursor=cursor,
            include_inactive=True,
        )
        if not skip:
            for memory in page.items:
                yield place, memory
        skip, cursor = max(0, skip - limit), page.cursor
        if cursor is None:
            return


async def _newest(streams: Sequence[AsyncIterator[tuple[Place, Memory]]]) -> AsyncIterator[tuple[Place, Memory]]:
    """Several listings as one."""
    heads = {}
    for number, stream in enumerate(streams):
        if (head := await anext(stream, None)) is not None:
            heads[number] = head
    while heads:
        first = max(heads, key=lambda number: heads[number][1].id)
        yield heads[first]
        if (head := await anext(streams[first], None)) is not None:
            heads[first] = head
        else:
            del heads[first]


async def search(
    door: Door,
    places: Places,
    query: str,
    node: Node,
    wanted: Wanted,
    *,
    limit: int = 10,
    threshold: float = 0.0,
    rerank: bool = True,
    at: object = None,
    breakdown: bool = False,
) -> Searched:
    """What answers a question: what was read, and messages; each with a score in [0, 1] that is at least `threshold`."""
    if limit == 0:
        return Searched([])
    groups: dict[str, tuple[Mapping[str, Any] | None, list[Place]]] = {}
    for place, left in await places.matching(node):
        await settle(door, place)
        groups.setdefault(json.dumps(left, sort_keys=True, default=str), (left, []))[1].append(place)
    found: list[tuple[Place, Hit]] = []
    reasons: list[str] = []
    how = {"include_superseded": not wanted.latest_only, "rerank": rerank, "reference_time": at}
    for left, here in groups.values():
        by_name = {place.cube: place for place in here}
        shown = [*wanted.conditions(), *([left] if left else [])]
        facts, said = await _both(door, query, [*by_name], shown, limit, how)
        hits = [(by_name[hit.cube], hit) for hit in (*facts.hits, *said.hits)]
        if wanted.latest_only:
            outdated = await _outdated(door, hits)
            hits = [pair for pair in hits if pair[1].memory.id not in outdated]
        found += hits
        reasons += [*facts.reasons, *said.reasons]
    found = [pair for pair in found if score(pair[1]) >= threshold]
    found.sort(key=lambda pair: (-score(pair[1]), pair[1].memory.kind is Kind.TRACE, pair[1].rank))
    for place, hit in found[:limit]:
        places.known.saw(place.cube, [hit.memory.id])
    results = [
        fields_only(item(hit.memory, place.home, hit, breakdown=breakdown), wanted.fields)
        for place, hit in found[:limit]
    ]
    return Searched(results, tuple(dict.fromkeys(reasons)))


async def _both(
    door: Door, query: str, cubes: Sequence[str], shown: Sequence[Mapping[str, Any]], limit: int, how: Mapping[str, Any]
) -> tuple[SearchResult, SearchResult]:
    """Facts and messages apart, for their scores are not those of one another."""

    async def ask(kinds: Sequence[str], where: Sequence[Mapping[str, Any]], most: int) -> SearchResult:
        both = {"and": list(where)} if where else None
        result = await door.ask("search", query, cubes=list(cubes), kinds=kinds, filter=both, limit=most, **how)
        assert isinstance(result, SearchResult)
        return result

    messages = [*shown, {STATE: {"ne": HIDDEN}}]
    if not door.is_async:
        return await ask(_READ, shown, limit), await ask(["trace"], messages, limit + _SPARE)
    facts, said = await asyncio.gather(ask(_READ, shown, limit), ask(["trace"], messages, limit + _SPARE))
    return facts, said


async def _outdated(door: Door, hits: Sequence[tuple[Place, Hit]]) -> set[str]:
    """The messages that told something which no longer holds."""
    found: set[str] = set()
    by_place: dict[str, tuple[Place, list[str]]] = {}
    for place, hit in hits:
        if hit.memory.kind is Kind.TRACE:
            by_place.setdefault(place.cube, (place, []))[1].append(hit.memory.id)
    for place, ids in by_place.values():
        graph = await door.ask("graph", ids, cube=place.cube, types=[EdgeType.DERIVED_FROM], include_inactive=True)
        over = {m.id for m in graph.memories if m.kind in READ and m.status is not Status.ACTIVE}
        found |= {edge.dst for edge in graph.edges if edge.src in over}
    return found & {hit.memory.id for _, hit in hits}


def span(start: datetime | None, end: datetime | None, *, whole_day: bool) -> tuple[datetime | None, datetime | None]:
    """From a first moment to before a last one; an end that names a day means the whole of it."""
    step = timedelta(days=1) if whole_day else timedelta(microseconds=1)
    return start, end + step if end is not None else None
