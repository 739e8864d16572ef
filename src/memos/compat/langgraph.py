"""LangGraph's `BaseStore` over a cube: what agents `put` are memories, found by meaning, kept in all their versions.

    store = MemosStore(MemOS(), user="alice"); graph = builder.compile(store=store)

An item is one raw record: its text is what the item is searched by, its value is in `info["langgraph"]`. Needs the extra
`memos[langgraph]`.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from threading import Event, Thread
from typing import Any
from uuid import uuid4

from memos.compat.items import NAME, Entry, expiry, place, read, searchable
from memos.compat.matching import begins_with, fits, namespace_fits, pushed_down
from memos.door import Door, plain
from memos.errors import InvalidInput, MemosError, NotFound, Unavailable
from memos.logs import get_logger
from memos.memory.hit import SearchStatus
from memos.memory.model import Status

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        validate_op_namespace,
    )
except ImportError as e:
    raise ImportError(
        "memos.compat.langgraph needs LangGraph: pip install '.[langgraph]' in a checkout of MemOS"
    ) from e

log = get_logger(__name__)
_MOST_HITS = 10_000
_AT_ONCE = 500  # new items of one change
_MOST_IDS = 10_000  # of items that were got, remembered
_SETTLING = 2.0  # seconds at most that a search waits for the vectors of what was put before it


class MemosStore(BaseStore):
    """A LangGraph store whose items are memories of one cube. Works with every memory, synchronous or not.

    `fields`: the paths of a value by whose texts an item is searched (None: all of them); `index=` of a put goes before it.
    `ttl`: LangGraph's `TTLConfig`; items that have expired are not served unless `omit_expired` is False. `derive=True` has items
    read for facts, as conversations are. `hard=False`: what is deleted is taken back and stays in the history.
    """

    supports_ttl = True

    def __init__(
        self,
        memos: object,
        *,
        user: str | None = None,
        cube: str | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
        derive: bool = False,
        hard: bool = True,
    ) -> None:
        self._door = Door(memos, user, cube)
        self._fields = None if fields is None or "$" in fields else tuple(fields)
        self._derive, self._hard = derive, hard
        self.ttl_config = ttl
        self._omit = ttl is None or ttl.get("omit_expired", True)
        self._ids: dict[tuple[tuple[str, ...], str], str] = {}
        self._unsettled = False  # something was put since the last search
        self._sweeper: tuple[Thread, Event] | None = None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of the operations, in their order: reads see what was before the puts, the last put of a key stays."""
        given = list(ops)
        return self._door.run(lambda: self._batch(given))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """See `batch`."""
        given = list(ops)
        return await self._door.arun(lambda: self._batch(given))

    def sweep_ttl(self) -> int:
        """Delete the items that have expired; returns how many."""
        return self._door.run(self._sweep)

    async def asweep_ttl(self) -> int:
        """See `sweep_ttl`."""
        return await self._door.arun(self._sweep)

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> None:
        """Delete what has expired every so many minutes (as `ttl` says, else 5), until `stop_ttl_sweeper`. A second start does
        nothing.
        """
        if self._sweeper is not None:
            return
        configured = (self.ttl_config or {}).get("sweep_interval_minutes")
        minutes = sweep_interval_minutes or configured or 5.0
        stop = Event()

        def sweeping() -> None:
            while not stop.wait(minutes * 60):
                try:
                    self.sweep_ttl()
                except InvalidInput:  # the memory is closed
                    return
                except MemosError as e:  # what has expired is not served; the next sweep finds it
                    log.warning("sweep_failed", code=e.code)

        thread = Thread(target=sweeping, name="memos-langgraph-sweeper", daemon=True)
        self._sweeper = (thread, stop)
        thread.start()

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """End the sweeper; whether it has ended within `timeout` seconds."""
        if self._sweeper is None:
            return True
        thread, stop = self._sweeper
        stop.set()
        thread.join(timeout)
        if thread.is_alive():
            return False
        self._sweeper = None
        return True

    # --- operations ---------------------------------------------------------------------------------------------------

    async def _batch(self, ops: Sequence[Op]) -> list[Result]:
        results: list[Result] = [None] * len(ops)
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            validate_op_namespace(op)
        for i, op in enumerate(ops):
            if isinstance(op, GetOp):
                results[i] = await self._get(op)
            elif isinstance(op, SearchOp):
                results[i] = await self._search(op)
            elif isinstance(op, ListNamespacesOp):
                results[i] = await self._namespaces(op)
            elif isinstance(op, PutOp):
                puts[(op.namespace, op.key)] = op
            else:
                raise ValueError(f"unknown operation {type(op).__name__}")
        if puts:
            async with self._door.turn():
                await self._put(puts)
        return results

    async def _get(self, op: GetOp) -> Item | None:
        entry = await self._known(op.namespace, op.key)
        if entry is None:
            found = (await self._present(op.namespace, [op.key])).get(op.key)
            entry = found[0] if found else None
        if entry is None or not self._shown(entry, time.time()):
            return None
        self._ids[(op.namespace, op.key)] = entry.id
        if len(self._ids) > _MOST_IDS:
            self._ids.pop(next(iter(self._ids)), None)
        if op.refresh_ttl:
            await self._refresh([entry])
        return _item(entry)

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        if op.limit < 0 or op.offset < 0:
            raise ValueError(f"limit and offset are not negative, got {op.limit} and {op.offset}")
        wanted = op.offset + op.limit
        ranked = await self._ranked(op, wanted) if op.query and op.query.strip() and wanted else []
        found = ranked[op.offset : wanted]
        if len(ranked) < wanted:
            there = {entry.id for entry, _ in ranked}
            rest = [e async for e in self._entries(op.namespace_prefix, op.filter) if e.id not in there]
            rest.sort(key=lambda e: (e.updated_at, e.id), reverse=True)
            found = [*ranked, *((entry, None) for entry in rest)][op.offset : wanted]
        if op.refresh_ttl:
            await self._refresh([entry for entry, _ in found])
        return [_search_item(entry, score) for entry, score in found]

    async def _ranked(self, op: SearchOp, wanted: int) -> list[tuple[Entry, float | None]]:
        """What answers the query, best first: as many as are wanted, or all."""
        where = {"and": [*pushed_down(op.namespace_prefix, op.filter), {f"info.{NAME}.indexed": True}]}
        if self._unsettled:
            self._unsettled = False
            await self._door.embedded(_SETTLING)
        limit = wanted if not op.filter else wanted * 4
        while True:
            limit = min(limit, _MOST_HITS)
            answer = await self._door.ask(
                "search", op.query, filter=where, kinds=["trace"], limit=limit, collapse=False
            )
            if answer.status is SearchStatus.FAILED:
                raise Unavailable(f"the store could not be searched: {'; '.join(answer.reasons)}")
            out: dict[tuple[tuple[str, ...], str], tuple[Entry, float | None]] = {}
            now = time.time()
            for hit in answer.hits:
                entry = read(hit.memory)
                if entry is not None and self._shown(entry, now) and _chosen(entry, op):
                    out.setdefault((entry.namespace, entry.key), (entry, hit.score))
            if len(out) >= wanted or len(answer.hits) < limit or limit == _MOST_HITS:
                return list(out.values())
            limit *= 4

    async def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix = next((begins_with(c) for c in conditions if c.match_type == "prefix"), ())
        found = {e.namespace async for e in self._entries(prefix, None)}
        kept = {ns for ns in found if all(namespace_fits(c, ns) for c in conditions)}
        if op.max_depth is not None:
            kept = {ns[: op.max_depth] for ns in kept}
        return sorted(kept)[op.offset : op.offset + op.limit]

    async def _put(self, puts: Mapping[tuple[tuple[str, ...], str], PutOp]) -> None:
        """All puts of a batch. New items of a namespace are stored together, 500 in one change."""
        by_namespace: dict[tuple[str, ...], list[PutOp]] = {}
        for (namespace, _), op in puts.items():
            by_namespace.setdefault(namespace, []).append(op)
        gone: list[str] = []
        for namespace, ops in by_namespace.items():
            present = await self._present(namespace, [op.key for op in ops])
            new: list[dict[str, Any]] = []
            for op in ops:
                known = present.get(op.key, [])
                if op.value is None:
                    gone += [entry.id for entry in known]
                    continue
                text, info = self._record(op)
                self._unsettled = True
                if known:  # several only where two processes put a new key at the same time
                    gone += [entry.id for entry in known[1:]]
                    info[NAME]["created_at"] = known[0].created_at.timestamp()
                    await self._door.ask("update", known[0].id, text=text, info=info, cause="langgraph put")
                else:
                    message_id = f"{NAME}:{uuid4()}"  # no two puts are the same message, whatever they say
                    new.append({"role": "assistant", "content": text, "message_id": message_id, "info": info})
            for start in range(0, len(new), _AT_ONCE):
                part = new[start : start + _AT_ONCE]
                await self._door.ask(
                    "add", part, session=place(namespace), tags=[NAME], derive=self._derive, whole=True
                )
        await self._door.erase(gone, hard=self._hard)

    def _record(self, op: PutOp) -> tuple[str, dict[str, Any]]:
        """The text and the info of an item."""
        if op.ttl is not None and (isinstance(op.ttl, bool) or not op.ttl > 0):
            raise ValueError(f"ttl is a number of minutes above 0, got {op.ttl!r}")
        assert op.value is not None
        paths = self._fields if op.index is None else op.index
        text = searchable(op.value, None if paths is not False and paths and "$" in paths else paths)
        entry = {
            "namespace": list(op.namespace),
            "key": op.key,
            "value": dict(op.value),
            "indexed": text is not None,
            "created_at": (now := time.time()),
            "updated_at": now,
            "ttl": op.ttl,
            "expires": expiry(op.ttl),
        }
        return text or f"{'.'.join(op.namespace)} {op.key}", {NAME: entry}

    # --- what they stand on -------------------------------------------------------------------------------------------

    async def _known(self, namespace: tuple[str, ...], key: str) -> Entry | None:
        """An item that was got before, by its id."""
        id = self._ids.get((namespace, key))
        if id is None:
            return None
        try:
            memory = await self._door.ask("get", id)
        except NotFound:
            memory = None
        entry = read(memory) if memory is not None and memory.status is Status.ACTIVE else None
        if entry is None or (entry.namespace, entry.key) != (namespace, key):
            self._ids.pop((namespace, key), None)
            return None
        return entry

    async def _present(self, namespace: tuple[str, ...], keys: Sequence[str]) -> dict[str, list[Entry]]:
        """The items there are under some keys of a namespace; of several under one key, the latest first."""
        if not namespace:
            return {}
        where = {
            "and": [
                {"session": place(namespace)},
                {f"info.{NAME}.key": {"in": list(dict.fromkeys(keys))}},
            ]
        }
        out: dict[str, list[Entry]] = {}
        async for memory in self._door.listed(where):
            entry = read(memory)
            if entry is not None and entry.namespace == namespace:
                out.setdefault(entry.key, []).append(entry)
        for entries in out.values():
            entries.sort(key=lambda e: (e.updated_at, e.id), reverse=True)
        return out

    async def _entries(self, prefix: tuple[str, ...], filter: Mapping[str, Any] | None) -> AsyncIterator[Entry]:
        """The items under a prefix that pass a filter, the latest of each key."""
        found: dict[tuple[tuple[str, ...], str], Entry] = {}
        now = time.time()
        async for memory in self._door.listed({"and": pushed_down(prefix, filter)}):
            entry = read(memory)
            if entry is None or not self._shown(entry, now):
                continue
            known = found.get((entry.namespace, entry.key))
            if known is None or entry.updated_at > known.updated_at:
                found[(entry.namespace, entry.key)] = entry
        for entry in found.values():
            if entry.namespace[: len(prefix)] == prefix and fits(entry.value, filter):
                yield entry

    async def _refresh(self, entries: Sequence[Entry]) -> None:
        """Put off the end of what was read. An item lives for its ttl after a read, and up to a tenth longer: so that not each
        read is a new version of it.
        """
        now = time.time()
        for entry in entries:
            if entry.ttl is None or entry.expires is None or entry.expires >= now + entry.ttl * 60:
                continue
            info = {**entry.raw, "expires": expiry(entry.ttl * 1.1)}
            await self._door.ask("update", entry.id, info={NAME: info}, cause="langgraph read")

    async def _sweep(self) -> int:
        async with self._door.turn():
            due = {f"info.{NAME}.expires": {"lte": time.time()}}
            ids = [memory.id async for memory in self._door.listed(due)]
            await self._door.erase(ids, hard=self._hard)
            return len(ids)

    def _shown(self, entry: Entry, now: float) -> bool:
        return not self._omit or entry.expires is None or entry.expires > now


def _chosen(entry: Entry, op: SearchOp) -> bool:
    prefix = op.namespace_prefix
    return entry.namespace[: len(prefix)] == prefix and fits(entry.value, op.filter)


def _item(entry: Entry) -> Item:
    return Item(
        value=plain(entry.value),
        key=entry.key,
        namespace=entry.namespace,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )


def _search_item(entry: Entry, score: float | None) -> SearchItem:
    return SearchItem(
        namespace=entry.namespace,
        key=entry.key,
        value=plain(entry.value),
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        score=score,
    )
