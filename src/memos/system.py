"""`AsyncMemOS`: the verbs, wired to the rooms. The only file that knows them all; `memos.sync` is its synchronous face.

Every verb names a user and works on one cube (the user's own by default), which `cubes.access` opens or refuses.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import os
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from memos.arguments import checked_tags, listed, member, with_kinds
from memos.background import Background
from memos.cubes import archive
from memos.cubes.access import resolve
from memos.cubes.accounts import Accounts
from memos.cubes.last_use import Role, note_use
from memos.cubes.locate import find_homes
from memos.cubes.pool import CubePool
from memos.errors import Conflict, InvalidInput, ModelError, NotFound, StorageError
from memos.health import Counts, Health, Usage, examine, usage
from memos.memory.filter import Filter, parse_filter
from memos.memory.hit import Explanation, SearchResult, SearchStatus
from memos.memory.ids import is_id
from memos.memory.model import EdgeType, Kind, Layer, Memory, Status, Version
from memos.memory.number import share
from memos.memory.time import parse_time, utcnow
from memos.models.embed import Embedder
from memos.models.given import GivenEmbedder, GivenReranker
from memos.models.rerank import Reranker
from memos.organize.forget import Selection, retract, retract_derived, select, undo
from memos.organize.retire import recover, retire
from memos.reading.hygiene import strip_injected
from memos.reading.messages import checked_info, parse_context, parse_messages
from memos.reading.parts import is_blank, well_formed
from memos.reading.store import store_records
from memos.reading.traces import to_records, with_injected
from memos.recall.ask import Ask
from memos.recall.engine import Recall
from memos.recall.explain import explain
from memos.recall.models import configured_embedder, configured_reranker
from memos.recall.recipe import DEFAULT, Recipe
from memos.results import AddResult, DeleteResult, FileResult, Graph, Stats
from memos.scheduler.queues import make_queue
from memos.scheduler.tasks import Tasks
from memos.settings import Settings
from memos.storage.ports import ANY_STATUS, DIGEST, Change, CubeInfo, Direction, Link, Page, View, WriteTx
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import SqliteRegistry, check_name

DEFAULT_USER = "default"
DEFAULT_SESSION = "default"
FORKED = "this MemOS was made before fork; make a new MemOS in this process"
When = datetime | str | float | None
_WHOLE = (SearchStatus.FOUND, SearchStatus.NOTHING)  # what a search must not claim when a cube could not be searched


class AsyncMemOS:
    """The memory system, for asyncio. Nothing is opened before the first call; `close` (or `async with`) ends it
    cleanly.

    Parameters: `home`, the data folder (default `~/.memos`); `settings` or any field of `Settings` as a keyword;
    `embedder` and `reranker`, a spec such as "default", "none", "openai:text-embedding-3-small", or an object.
    """

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: str | Embedder | None = None,
        reranker: str | Reranker | None = None,
        **options: Any,
    ) -> None:
        base = settings or Settings.load(
            home=Path(home) if home is not None else None,
            embedder=embedder if isinstance(embedder, str) else None,
            reranker=reranker if isinstance(reranker, str) else None,
            **options,
        )
        if settings is not None and (
            home is not None or options or isinstance(embedder, str) or isinstance(reranker, str)
        ):
            raise InvalidInput("give either settings or single options, not both")
        self.settings = base
        self._given_embedder = None if embedder is None or isinstance(embedder, str) else GivenEmbedder(embedder)
        self._given_reranker = None if reranker is None or isinstance(reranker, str) else GivenReranker(reranker)
        self._started: _Parts | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- writing -----------------------------------------------------------------------------------------------

    async def add(
        self,
        messages: object,
        *,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        session: str | None = None,
        role: str = "user",
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        retry_key: str | None = None,
        derive: bool = True,
        wait: bool = False,
        task_id: str | None = None,
        context: object = None,
        corrects: Sequence[str] | None = None,
    ) -> AddResult:
        """Store what happened: a text, a chat message, or a list of them. Returns once it is durable and searchable.

        Facts, entities and vectors are derived in the background; `wait=True` returns when that is done too. The same
        message (by `message_id`, `idempotency_key`, or same words) is stored once. `retry_key`: one for each call, given
        again when the call is repeated; it matters only where nothing else tells a repetition. `derive=False` keeps the raw
        record only and never reads it for facts. `task_id`: a name of your own to ask `tasks` for what became of it.
        `context`: messages said before, by which these are understood, but which are not stored. `corrects`: that these
        correct something ("no, it's Bergen, not Oslo"): ids of what they are about, or an empty list to have it found.
        Raises InvalidInput when nothing can be stored, and Busy, storing nothing, when too much of the user's waits.
        """
        parsed = parse_messages(messages, now=utcnow(), zone=self.settings.timezone, default_role=role)
        name = check_name(session, "session") if session is not None else DEFAULT_SESSION
        for value, what in (
            (idempotency_key, "idempotency_key"),
            (retry_key, "retry_key"),
            (task_id, "task_id"),
        ):
            if value is not None:
                check_name(value, what)
        records = to_records(
            parsed.messages,
            session=name,
            owner=user,
            tags=checked_tags(tags),
            info=checked_info(info, "info"),
            idempotency_key=idempotency_key,
            retry_key=retry_key,
            context=parse_context(context, now=utcnow(), zone=self.settings.timezone),
            corrects=None if corrects is None else [str(id) for id in listed(corrects, "corrects")],
        )
        parts = self._parts()
        await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (cube_info, store):
            named = idempotency_key is not None
            added = await store.write(
                lambda tx: store_records(tx, records, derive=derive, named=named), Change(actor=user, cause="add")
            )
            notices, pending = parsed.notices, not wait
            try:
                if wait:
                    await parts.background.finish(store)
            except ModelError as e:  # the records are stored all the same
                notices, pending = (*notices, f"stored, but not embedded yet: {e}"), True
            task = None
            if task_id is not None or (derive and pending):  # who gave a name may ask for it, whatever there is to do
                ids = [record.id for record in added if record.new or task_id is not None]
                handed = await parts.background.added(cube_info, ids, user, task_id)
                task = handed.task
                if handed.notice is not None:
                    notices = (*notices, handed.notice)
        parts.counts.adds += 1
        parts.counts.messages += len(records)
        return AddResult(cube_info.name, tuple(added), notices, pending=pending, task=task)

    async def add_file(
        self,
        data: bytes,
        *,
        name: str,
        media_type: str | None = None,
        document_id: str | None = None,
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
    ) -> FileResult:
        """Store what a file says (text, Markdown, HTML, JSON, CSV; PDF and Word with the extra `files`) as one document whose
        pieces are found. Under the same `document_id` a new edition takes the place of the former one.

        Raises UnknownFileType, UnreadableFile and FileTooLarge, and Unavailable when the package for the type is missing.
        """
        from memos.reading.documents import read_aside, store_edition

        check_name(name, "name")
        if document_id is not None:
            check_name(document_id, "document_id")
        labels, more = checked_tags(tags), checked_info(info, "info")
        parts = self._parts()
        await parts.background.check_room(user)
        async with self._cube(user, cube, "write") as (cube_info, store):
            edition = await read_aside(
                data, name, media_type, document_id=document_id, owner=user, tags=labels, info=more
            )
            kept = await store.write(lambda tx: store_edition(tx, edition), Change(actor=user, cause="add document"))
            parts.background.wake(cube_info, user)
        return FileResult(cube_info.name, kept.memory, kept.new, kept.replaced)

    async def update(
        self,
        id: str,
        *,
        text: str | None = None,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        info: Mapping[str, Any] | None = None,
        importance: float | None = None,
        valid_from: When = None,
        valid_to: When = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        cause: str | None = None,
        if_version: int | None = None,
    ) -> Memory:
        """Change a memory; the former version stays in its history. `info` is merged, None values remove keys.

        `if_version`: only while the memory has this version. Raises NotFound, Conflict for another version, and
        InvalidInput for a blank text or when nothing is to be changed.
        """
        if text is not None and (not isinstance(text, str) or is_blank(text)):
            raise InvalidInput(f"text is blank or no text ({text!r:.40}); delete the memory instead")
        text = well_formed(text) if text is not None else None
        if title is not None and (not isinstance(title, str) or is_blank(title)):
            raise InvalidInput(f"title is blank or no text ({title!r:.40})")
        more = checked_info(info, "info")
        if importance is not None:
            share(importance, "importance")
        changes: dict[str, Any] = {}
        changes |= {"text": text} if text is not None else {}
        changes |= {"title": well_formed(title)} if title is not None else {}
        changes |= {"tags": checked_tags(tags)} if tags is not None else {}
        changes |= {"importance": importance} if importance is not None else {}
        changes |= {"valid_from": self._time(valid_from)} if valid_from is not None else {}
        changes |= {"valid_to": self._time(valid_to)} if valid_to is not None else {}
        if not changes and info is None:
            raise InvalidInput("nothing to change; give text, title, tags, info, importance, valid_from or valid_to")

        def apply(tx: WriteTx) -> Memory:
            memory = _existing(tx, id, if_version)
            if text is not None and text != memory.text and memory.layer is Layer.TRACE:
                retract_derived(tx, memory)
                tx.mark(id, DIGEST)
                memory = with_injected(memory, strip_injected(text)[1])
            merged = {k: v for k, v in {**memory.info, **more}.items() if v is not None}
            changed = replace(memory, info=merged, **changes)
            if (
                changed.valid_from is not None
                and changed.valid_to is not None
                and changed.valid_to < changed.valid_from
            ):
                raise InvalidInput(f"valid_to ({changed.valid_to}) lies before valid_from ({changed.valid_from})")
            return tx.put(changed, "update")

        async with self._cube(user, cube, "write") as (cube_info, store):
            updated = await store.write(apply, Change(actor=user, cause=cause or "update"))
            self._parts().background.wake(cube_info, user)
            return updated

    async def delete(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        filter: Filter | Mapping[str, Any] | None = None,
        session: str | None = None,
        everything: bool = False,
        hard: bool = True,
        dry_run: bool = False,
        vacuum: bool | None = None,
        user: str = DEFAULT_USER,
        cube: str | None = None,
        if_version: int | None = None,
    ) -> DeleteResult:
        """Delete by exactly one of `ids`, `filter`, `session` or `everything=True`.

        Hard (the default): the memories, all their versions and what is derived from nothing else are gone from every
        index, and from the pages of the file. `hard=False` retracts: hidden from reads, kept in history, undoable.
        `dry_run` only counts. `if_version`: one id, and only while it has this version. Raises NotFound when an id does
        not exist, Conflict for another version, and InvalidInput for no or several selectors.
        """
        selection = Selection.of(ids, parse_filter(filter), session, everything)
        if if_version is not None and len(selection.ids) != 1:
            raise InvalidInput("if_version is the version of one memory; give one id (nothing was deleted)")

        def check(tx: WriteTx) -> None:
            if if_version is not None:
                _existing(tx, selection.ids[0], if_version)

        def take_back(tx: WriteTx) -> int:
            check(tx)
            return retract(tx, chosen)

        async with self._cube(user, cube, "write") as (cube_info, store):
            chosen = await select(store, selection)
            change = Change(actor=user, cause=f"delete by {selection.how}")
            if dry_run and if_version is not None:
                _expected((await store.get(chosen, View(statuses=ANY_STATUS)))[0], if_version)
            if not chosen or (dry_run and not hard):
                return DeleteResult(cube_info.name, hard, asked=len(chosen), dry_run=dry_run)
            if dry_run:
                return DeleteResult.purged(cube_info.name, len(chosen), await store.plan_purge(chosen), dry_run=True)
            if not hard:
                count = await store.write(take_back, change)
                return DeleteResult(cube_info.name, hard, asked=len(chosen), retracted=count)
            purged = await store.purge(chosen, change, vacuum=vacuum, check=check)
            return DeleteResult.purged(cube_info.name, len(chosen), purged)

    async def undo(self, id: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> list[Memory]:
        """Revert the last change of a memory, and whatever else that change did. Returns the memories as they are
        now.
        """
        async with self._cube(user, cube, "write") as (cube_info, store):
            restored = await store.write(lambda tx: undo(tx, id), Change(actor=user, cause=f"undo {id}"))
            self._parts().background.wake(cube_info, user)  # a text that came back may have to be read again
            return restored

    async def retire(self, record: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> int:
        """Take back everything in a cube under the name of a record: hidden from reads, to be had again by `recover`.
        Returns how many memories that were.
        """
        check_name(record, "record")
        async with self._cube(user, cube, "write") as (_, store):
            return await retire(store, record, Change(actor=user, cause=f"retire under {record}"))

    async def recover(self, record: str, *, user: str = DEFAULT_USER, cube: str | None = None) -> int:
        """Bring back exactly what `retire` took back under this record; returns how many memories. Raises NotFound."""
        check_name(record, "record")
        async with self._cube(user, cube, "write") as (cube_info, store):
            count = await recover(store, record, Change(actor=user, cause=f"recover {record}"))
            self._parts().background.wake(cube_info, user)  # what was not digested then is digested now
            return count

    # -- reading -----------------------------------------------------------------------------------------------

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
            merge_facts=kinds is None,
            collapse=collapse,
            rerank=rerank,
            recipe=recipe or DEFAULT,
        )
        parts = self._parts()
        async with contextlib.AsyncExitStack() as stack:
            stores: dict[str, SqliteCube] = {}
            embedders: dict[str, Embedder] = {}
            failed: list[tuple[str, StorageError]] = []
            waiting = 0
            for name in dict.fromkeys(check_name(c, "cube") for c in cubes) if cubes is not None else (cube,):
                try:
                    cube_info, store = await stack.enter_async_context(self._cube(user, name, "read"))
                    waiting += await parts.background.catch_up(store)
                    if (embedder := await parts.background.embedder_of(store)) is not None:
                        embedders[cube_info.name] = embedder
                    stores[cube_info.name] = store
                except StorageError as e:
                    failed.append((name or user, e))
            if not stores:
                raise failed[0][1]
            with parts.background.searching():
                result = await parts.recall.search(ask, stores, embedders=embedders)
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

    # -- cubes -------------------------------------------------------------------------------------------------

    async def create_cube(
        self, name: str, *, user: str = DEFAULT_USER, info: Mapping[str, Any] | None = None
    ) -> CubeInfo:
        """A new cube owned by `user`. Raises InvalidInput when the name is taken."""
        found, new = self._parts().registry.create(name, user, checked_info(info, "info"))
        if not new:
            raise InvalidInput(f"a cube named {name!r} exists already; choose another name or open that one")
        return found

    async def open_cube(self, name: str, *, user: str = DEFAULT_USER) -> CubeInfo:
        """What is known of a cube the user may read. Raises NotFound."""
        return resolve(self._parts().registry, user, name, "read")

    async def owner_of(self, name: str) -> str | None:
        """Who owns a cube; None when there is no such cube. For callers that may act for every user."""
        found = self._parts().registry.find(check_name(name, "cube"))
        return found.owner if found is not None else None

    async def list_cubes(self, *, user: str = DEFAULT_USER) -> builtins.list[CubeInfo]:
        """The cubes a user owns or was granted, by name."""
        return self._parts().registry.list(user)

    async def delete_cube(self, name: str, *, user: str = DEFAULT_USER) -> int:
        """Delete a cube with everything in it and its files; returns the bytes freed. Only an admin of the cube may."""
        return await self._remove(resolve(self._parts().registry, user, name, "admin"))

    async def share(
        self, name: str, with_user: str, level: str | None = "read", *, user: str = DEFAULT_USER
    ) -> CubeInfo:
        """Give another user read, write or admin on a cube, or take every right away with None."""
        parts = self._parts()
        found = resolve(parts.registry, user, name, "admin")
        if with_user == found.owner:
            raise InvalidInput(f"{with_user!r} owns cube {name!r} and has every right already")
        parts.registry.grant(name, with_user, level, user)
        return parts.registry.find(name) or found

    async def export_cube(
        self, path: str | Path, *, user: str = DEFAULT_USER, cube: str | None = None, overwrite: bool = False
    ) -> archive.Report:
        """Write a cube to one portable, checksummed archive file. Raises InvalidInput when it exists, unless
        `overwrite`.
        """
        async with self._cube(user, cube, "read") as (cube_info, store):
            return await archive.export(store, cube_info, Path(path), home=self.settings.home, overwrite=overwrite)

    async def import_cube(self, path: str | Path, name: str, *, user: str = DEFAULT_USER) -> archive.Report:
        """Read an archive into a new cube. Raises ArchiveError, and creates nothing, when it is damaged or hostile."""
        parts = self._parts()
        if parts.registry.find(check_name(name, "cube")) is not None:
            raise InvalidInput(f"a cube named {name!r} exists already; import under another name")
        return await archive.restore(Path(path), name, user, parts.registry, parts.cubes)

    @property
    def tasks(self) -> Tasks:
        """The background work: look up, wait for, retry, cancel."""
        return Tasks(lambda: self._parts().queue)

    @property
    def accounts(self) -> Accounts:
        """Users, API keys and grants."""
        return Accounts(lambda: self._parts().registry, self._remove)

    # -- life --------------------------------------------------------------------------------------------------

    async def start(self, role: Role | None = None) -> None:
        """Open the data folder and start background work now, instead of at the first call. `role`: as what the process runs,
        which is remembered with its queue and embedder, so that others can say when theirs differ.
        """
        parts = self._parts()
        if role is not None:
            await asyncio.to_thread(note_use, parts.registry, role, self.settings)
        await parts.background.begun()

    async def flush(self, *, user: str = DEFAULT_USER, cube: str | None = None) -> None:
        """Return when everything added to a cube so far is digested and embedded."""
        async with self._cube(user, cube, "read") as (_, store):
            await self._parts().background.finish(store)

    async def health(self) -> Health:
        """Whether every part of the system answers, and how much waits; no model is called."""
        parts = self._parts()
        return await examine(parts.registry, parts.queue, parts.embedder, self.settings.home)

    async def usage(self) -> Usage:
        """What this process holds and has done, for metrics."""
        parts = self._parts()
        return await usage(parts.cubes, parts.queue, parts.background.metrics, parts.counts)

    async def close(self) -> None:
        """Stop background work (what is left is taken up at the next start) and close every file."""
        mine = self._started is not None and self._started.pid == os.getpid()  # what is the parent's, the parent closes
        if mine and self._started is not None:
            self._started.check_loop(ended=True)
        self._closed = True
        if mine and self._started is not None:
            parts, self._started = self._started, None
            if not parts.loop.is_closed():
                await parts.background.stop()
            await parts.queue.close()
            await parts.cubes.close()
            parts.registry.close()

    def _parts(self) -> _Parts:
        if self._closed:
            raise InvalidInput("this MemOS is closed; make a new one")
        if self._started is None:
            self._started = _Parts(self.settings, self._given_embedder, self._given_reranker)
        elif self._started.pid != os.getpid():
            raise InvalidInput(FORKED)
        self._started.check_loop()
        return self._started

    @contextlib.asynccontextmanager
    async def _cube(self, user: str, cube: str | None, need: str) -> AsyncIterator[tuple[CubeInfo, SqliteCube]]:
        parts = self._parts()
        if need == "read" and parts.registry.find(check_name(cube or user, "cube")) is None and cube in (None, user):
            check_name(user, "user")
            async with parts.cubes.nothing(user) as empty:  # a reader makes no files: a mistyped name stays a question
                yield empty
            return
        found = await self._resolved(user, cube, need)
        async with parts.cubes.use(found) as store:
            if not store.read_only:
                parts.background.greet(found)
            yield found, store

    async def _resolved(self, user: str, cube: str | None, need: str) -> CubeInfo:
        """See `resolve`; a cube that is made first waits for the disk, and nobody else does."""
        registry = self._parts().registry
        if registry.find(check_name(user if cube is None else cube, "cube")) is None:
            return await asyncio.to_thread(resolve, registry, user, cube, need)
        return resolve(registry, user, cube, need)

    async def _remove(self, cube: CubeInfo) -> int:
        parts = self._parts()
        await parts.background.leave(cube)
        freed = await parts.cubes.remove(cube)
        await parts.background.leave(cube)
        return freed

    def _time(self, value: When) -> datetime | None:
        return None if value is None else parse_time(value, default_zone=self.settings.timezone).instant

    def _view(self, as_of: When, known_at: When, include_superseded: bool) -> View:
        statuses = frozenset({Status.ACTIVE, Status.SUPERSEDED}) if include_superseded else None
        return View(as_of=self._time(as_of), known_at=self._time(known_at), statuses=statuses)


class _Parts:
    """What a started system holds."""

    def __init__(self, settings: Settings, embedder: Embedder | None, reranker: Reranker | None) -> None:
        self.loop, self.pid = asyncio.get_running_loop(), os.getpid()
        self.embedder = embedder if embedder is not None else configured_embedder(settings)
        self.recall = Recall(self.embedder, reranker if reranker is not None else configured_reranker(settings))
        self.registry = SqliteRegistry(settings.home, durability=settings.durability)
        self.cubes = CubePool(self.registry, settings)
        self.counts = Counts()
        self.queue = make_queue(settings)
        self.background = Background(
            self.cubes,
            self.registry,
            self.queue,
            self.embedder,
            settings.embedder,
            former=lambda spec: configured_embedder(settings, spec),
            slots=settings.workers,
            enabled=settings.background,
        )
        self.background.start()

    def check_loop(self, *, ended: bool = False) -> None:
        """Raise InvalidInput in another event loop than the first call's (unless that one has `ended`)."""
        if asyncio.get_running_loop() is not self.loop and not (ended and self.loop.is_closed()):
            raise InvalidInput(
                "this AsyncMemOS belongs to another event loop; make one in each asyncio.run, or use MemOS"
            )


def _existing(tx: WriteTx, id: str, version: int | None = None) -> Memory:
    memory = tx.get(id)
    if memory is None:
        raise NotFound(f"memory {id} does not exist in this cube")
    return _expected(memory, version)


def _expected(memory: Memory, version: int | None) -> Memory:
    if version is not None and memory.version != version:
        raise Conflict(f"memory {memory.id} is at version {memory.version}, not {version}; read it again and retry")
    return memory
