"""The verbs that read: search and explain, get and list, history, neighbours and counts. None of them writes a record."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memos.arguments import listed, member, with_kinds
from memos.cubes.locate import find_homes
from memos.errors import InvalidInput, NotFound, StorageError
from memos.memory.filter import Filter, parse_filter
from memos.memory.hit import Explanation, SearchResult, SearchStatus
from memos.memory.ids import is_id
from memos.memory.model import EdgeType, Kind, Memory, Version
from memos.models.embed import Embedder
from memos.reading.parts import is_blank
from memos.recall.ask import Ask
from memos.recall.explain import explain
from memos.recall.recipe import DEFAULT, Recipe
from memos.results import Graph, Stats
from memos.storage.ports import ANY_STATUS, CubeInfo, Direction, Link, Page, View
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import check_name
from memos.system.base import DEFAULT_USER, Base, When
from memos.upkeep import COUNTED

_WHOLE = (SearchStatus.FOUND, SearchStatus.NOTHING)  # what a search must not claim when a cube could not be searched


class Finding(Base):
    """See `AsyncMemOS`."""

    async def search(
        self,
        query: str,
        *,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        cubes: Sequence[str] | None = None,
        limit: int | None = None,
        max_tokens: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        kinds: Collection[Kind | str] | None = None,
        as_of: When = None,
        known_at: When = None,
        reference_time: When = None,
        threshold: float = 0.0,
        include_superseded: bool = False,
        collapse: bool = True,
        rerank: bool = True,
        recipe: Recipe | None = None,
    ) -> SearchResult:
        """Find what answers `query`, in one cube or several, ranked together.

        `limit`: hits at most (default 10, or 200 where `max_tokens` is what bounds). `max_tokens`: hard budget of the
        context block. `as_of`: what was true then; `known_at`: what was known then; `reference_time`: what "last
        week" in the query is relative to. `threshold`: lowest score, 0 to 1. `collapse=False` keeps repetitions apart;
        `rerank=False` leaves a configured reranker out. Raises InvalidInput, InvalidFilter, NotFound.
        """
        if cube is not None and cubes is not None:
            raise InvalidInput("give cube or cubes, not both")
        if cubes is not None and (isinstance(cubes, str) or not listed(cubes, "cubes")):
            raise InvalidInput(f"cubes is a list of at least one cube name, got {cubes!r}")
        ask = Ask(
            query=query,
            limit=limit if limit is not None else (200 if max_tokens is not None else 10),
            max_tokens=max_tokens,
            where=with_kinds(parse_filter(filter), kinds),
            view=self._view(as_of, known_at, include_superseded),
            threshold=threshold,
            now=self._time(reference_time),
            zone=self.settings.timezone,
            user=user,
            merge_facts=kinds is None,
            collapse=collapse,
            rerank=rerank,
            recipe=recipe or DEFAULT,
        )
        parts = self._parts()
        async with contextlib.AsyncExitStack() as stack:
            stores: dict[str, SqliteCube] = {}
            infos: dict[str, CubeInfo] = {}
            embedders: dict[str, Embedder] = {}
            failed: list[tuple[str, StorageError]] = []
            waiting = 0
            for name in dict.fromkeys(check_name(c, "cube") for c in cubes) if cubes is not None else (cube,):
                try:
                    cube_info, store = await stack.enter_async_context(self._cube(user, name, "read"))
                    waiting += await parts.background.catch_up(store)
                    if (embedder := await parts.vectors.embedder_of(store)) is not None:
                        embedders[cube_info.name] = embedder
                    stores[cube_info.name], infos[cube_info.name] = store, cube_info
                except StorageError as e:
                    failed.append((name or user, e))
            if not stores:
                raise failed[0][1]
            with parts.vectors.attending():
                result = await parts.recall.search(ask, stores, embedders=embedders)
        for name, info in infos.items():
            parts.upkeep.uses.shown(info, [hit for hit in result.hits[:COUNTED] if hit.cube == name])
        reasons = [f"cube {name!r} could not be searched: {e}" for name, e in failed]
        if waiting:
            reasons.append(f"{waiting} messages are not digested yet")
        partial = SearchStatus.PARTIAL if failed and result.status in _WHOLE else result.status
        return replace(result, status=partial, reasons=(*result.reasons, *reasons)) if reasons else result

    async def explain(
        self,
        query: str,
        memory_id: str,
        *,
        limit: int | None = None,
        max_tokens: int | None = None,
        filter: Filter | Mapping[str, Any] | None = None,
        as_of: When = None,
        known_at: When = None,
        reference_time: When = None,
        threshold: float = 0.0,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Explanation:
        """Why a memory is, or is not, among the hits of a search with these options: ranks and values per stage."""
        ask = Ask(
            query=query,
            limit=limit if limit is not None else (200 if max_tokens is not None else 10),
            max_tokens=max_tokens,
            where=parse_filter(filter),
            view=self._view(as_of, known_at, False),
            threshold=threshold,
            now=self._time(reference_time),
            zone=self.settings.timezone,
            user=user,
        )
        parts = self._parts()
        async with self._cube(user, cube, "read") as (cube_info, store):
            await parts.background.catch_up(store)
            return await explain(parts.recall, ask, cube_info.name, store, memory_id)

    async def judge(self, query: str, texts: Sequence[str]) -> builtins.list[float]:
        """How well each text answers a question, 0 to 1: by the reranker where there is one, else by words and meaning."""
        from memos.recall.judge import judge

        if not isinstance(query, str) or is_blank(query):
            raise InvalidInput("the query is empty; give the question that the texts are to answer")
        parts = self._parts()
        return await judge(query, texts, parts.embedder, parts.recall.reranker)

    async def get(
        self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None, as_of: When = None, known_at: When = None
    ) -> Memory:
        """A memory by id, whatever its status. Raises NotFound when there is none (or was none yet, under a clock)."""
        view = View(as_of=self._time(as_of), known_at=self._time(known_at), statuses=ANY_STATUS)
        async with self._cube(user, cube, "read") as (_, store):
            found = await store.get([id], view)
        if not found:
            raise NotFound(f"memory {id} does not exist in this cube{' at that time' if as_of or known_at else ''}")
        return found[0]

    async def find_ids(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> builtins.list[str]:
        """The ids, ten at most, that begin or end with this part of one (hexadecimal; dashes do not count)."""
        async with self._cube(user, cube, "read") as (_, store):
            return await store.find_ids(id.replace("-", "").casefold())

    async def list(
        self,
        *,
        filter: Filter | Mapping[str, Any] | None = None,
        kinds: Collection[Kind | str] | None = None,
        limit: int = 100,
        cursor: str | None = None,
        newest_first: bool = True,
        as_of: When = None,
        known_at: When = None,
        include_inactive: bool = False,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Page:
        """Memories in order of creation, a page at a time; go on with `cursor=page.cursor` until it is None."""
        where = with_kinds(parse_filter(filter), kinds)
        view = self._view(as_of, known_at, False)
        if include_inactive:
            view = replace(view, statuses=ANY_STATUS)
        async with self._cube(user, cube, "read") as (_, store):
            await self._parts().background.catch_up(store)
            return await store.list(where, view=view, limit=limit, cursor=cursor, newest_first=newest_first)

    async def history(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> builtins.list[Version]:
        """Every version of a memory, oldest first, with who changed it, how, why and when."""
        async with self._cube(user, cube, "read") as (_, store):
            return await store.history(id)

    async def neighbors(
        self,
        id: str,
        *,
        depth: int = 1,
        types: Collection[EdgeType | str] | None = None,
        direction: Direction = "both",
        limit: int | None = None,
        as_of: When = None,
        known_at: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> builtins.list[Link]:
        """Edges within `depth` hops of a memory, nearest first: all, unless `limit` is given."""
        wanted = None if types is None else [member(EdgeType, t, "edge type") for t in listed(types, "types")]
        view = View(as_of=self._time(as_of), known_at=self._time(known_at))
        async with self._cube(user, cube, "read") as (_, store):
            await self._parts().background.catch_up(store)
            return await store.neighbors([id], depth=depth, types=wanted, direction=direction, view=view, limit=limit)

    async def graph(
        self,
        ids: Sequence[str],
        *,
        depth: int = 1,
        types: Collection[EdgeType | str] | None = None,
        direction: Direction = "both",
        include_inactive: bool = False,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> Graph:
        """These memories, those within `depth` hops of them (active ones, unless asked otherwise), and the edges walked.
        Unknown ids are left out.
        """
        wanted = None if types is None else [member(EdgeType, t, "edge type") for t in listed(types, "types")]
        async with self._cube(user, cube, "read") as (_, store):
            await self._parts().background.catch_up(store)
            start = await store.get(ids, View(statuses=ANY_STATUS))
            links = await store.neighbors([m.id for m in start], depth=depth, types=wanted, direction=direction)
            met = {end for link in links for end in (link.edge.src, link.edge.dst)} - {m.id for m in start}
            around = await store.get(sorted(met), View(statuses=ANY_STATUS) if include_inactive else View())
        there = {m.id for m in (*start, *around)}
        edges = tuple(link.edge for link in links if link.edge.src in there and link.edge.dst in there)
        return Graph((*start, *around), edges)

    async def stats(self, *, user: str = DEFAULT_USER, cube: str | None = None) -> Stats:
        """Counts, sizes and waiting work of a cube."""
        parts = self._parts()
        async with self._cube(user, cube, "read") as (cube_info, store):
            model = parts.embedder.model_id if parts.embedder else None
            counts = await store.stats()
            waiting = dict(counts.pending)
            if model is not None:
                waiting["embed"] = await store.count_pending_vectors(model)
            return Stats(cube_info.name, counts, waiting, model)

    async def count(
        self,
        *,
        filter: Filter | Mapping[str, Any] | None = None,
        kinds: Collection[Kind | str] | None = None,
        include_inactive: bool = False,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> int:
        """How many memories of a cube match."""
        view = View(statuses=ANY_STATUS) if include_inactive else View()
        async with self._cube(user, cube, "read") as (_, store):
            await self._parts().background.catch_up(store)
            return await store.count(with_kinds(parse_filter(filter), kinds), view=view)

    async def locate(self, ids: Sequence[str], *, user: str | None = None) -> dict[str, str]:
        """The cubes that hold these memories, by id, among those the user may read (None: among all)."""
        registry = self._parts().registry
        if user is not None:
            check_name(user, "user")
        return await find_homes(registry, [id for id in ids if is_id(id)], registry.list(user))
