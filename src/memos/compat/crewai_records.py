"""The storage behind CrewAI's memory: a record is a memory of a cube, and what only CrewAI knows of it is in `info["crewai"]`.

The id of a record is that of the memory, so that it is found in the cube, and everything in the cube by CrewAI.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from crewai.memory.types import MemoryRecord, ScopeInfo
from crewai.memory.utils import normalize_scope_path

from memos.door import Door, plain
from memos.errors import InvalidInput, NotFound, Unavailable
from memos.memory.hit import SearchStatus
from memos.memory.model import Memory, Status

NAME = "crewai"
_LONGEST = 1_000  # hits of one search
_MINE: dict[str, Any] = {f"info.{NAME}.scope": {"exists": True}}


class MemosStorage:
    """CrewAI's `StorageBackend` over a cube. It is searched by what is asked (`find`), not by a vector of CrewAI's."""

    def __init__(self, door: Door, *, derive: bool = True, hard: bool = True) -> None:
        self._door = door
        self._derive, self._hard = derive, hard

    def __deepcopy__(self, memo: object) -> MemosStorage:
        """A copied crew keeps its memory."""
        return self

    # --- finding ------------------------------------------------------------------------------------------------------

    def find(
        self,
        query: str,
        scope: str | None,
        categories: Sequence[str] | None,
        limit: int,
        sources: Sequence[str | None] | None,
    ) -> list[tuple[MemoryRecord, float]]:
        """The records that fit, and how well (0 to 1). Outside all scopes: whatever the cube knows. Private records of others
        than `sources` are left out (None: nobody's are).
        """
        where: list[dict[str, Any]] = []
        if _inside(scope) or categories:
            where = _filters(scope, categories)
        if sources is not None:
            own = [s for s in sources if s is not None]
            private: dict[str, Any] = {f"info.{NAME}.private": True}
            hidden = {"and": [private, {"not": {f"info.{NAME}.source": {"in": own}}}]} if own else private
            where.append({"not": hidden})
        most = max(0, min(limit, _LONGEST))
        if not query.strip() or not most:
            return []
        asked = {"filter": {"and": where}} if where else {}
        answer = self._door.run(lambda: self._door.ask("search", query, limit=most, **asked))
        if answer.status is SearchStatus.FAILED:
            raise Unavailable(f"the memory could not be searched: {'; '.join(answer.reasons)}")
        return [(_record(hit.memory), hit.score) for hit in answer.hits]

    def search(self, query_embedding: list[float], **_: Any) -> list[tuple[MemoryRecord, float]]:
        """Refused: the cube searches by words and meaning, with vectors of its own."""
        raise InvalidInput(
            "this storage is not searched by a vector; use memos.compat.crewai.MemosMemory, and its recall"
        )

    async def asearch(self, query_embedding: list[float], **_: Any) -> list[tuple[MemoryRecord, float]]:
        """See `search`."""
        return self.search(query_embedding)

    def get_record(self, record_id: str) -> MemoryRecord | None:
        """What the cube has under an id; None when it has nothing, or it was taken back."""
        try:
            memory = self._door.run(lambda: self._door.ask("get", record_id))
        except (NotFound, InvalidInput):
            return None
        return _record(memory) if memory.status is Status.ACTIVE else None

    def list_records(self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0) -> list[MemoryRecord]:
        """The records in a scope, the newest first."""
        most = max(0, offset) + max(0, limit)
        return [_record(memory) for memory in self._listed(scope_prefix, most=most)][max(0, offset) :]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """How many records a scope has, of which categories and times, and the scopes in it."""
        path = normalize_scope_path(scope)
        records = [_record(memory) for memory in self._listed(path)]
        times = [record.created_at for record in records]
        return ScopeInfo(
            path=path,
            record_count=len(records),
            categories=sorted({c for record in records for c in record.categories}),
            oldest_record=min(times, default=None),
            newest_record=max(times, default=None),
            child_scopes=_children(path, records),
        )

    def list_scopes(self, parent: str = "/") -> list[str]:
        """The scopes right under one."""
        return _children(normalize_scope_path(parent), [_record(memory) for memory in self._listed(parent)])

    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """The categories in a scope, and how many records each has."""
        return dict(Counter(c for memory in self._listed(scope_prefix) for c in _record(memory).categories))

    def count(self, scope_prefix: str | None = None) -> int:
        """How many records a scope has."""
        where = {"and": _filters(scope_prefix)}
        return int(self._door.run(lambda: self._door.ask("count", filter=where, kinds=["trace"])))

    # --- changing -----------------------------------------------------------------------------------------------------

    def save(self, records: list[MemoryRecord]) -> None:
        """Keep records, and give each the id of its memory. What is private is kept as it is, and not read for facts, which
        would be told to everybody.
        """
        for secret in (False, True):
            some = [record for record in records if record.private is secret]
            if not some:
                continue
            messages = [_message(record) for record in some]
            derive = self._derive and not secret
            added = self._door.run(
                lambda messages=messages, derive=derive: self._door.ask(  # type: ignore[misc]
                    "add", messages, session=NAME, tags=[NAME], derive=derive, whole=True
                )
            )
            for record, id in zip(some, added.ids, strict=True):
                record.id = id

    async def asave(self, records: list[MemoryRecord]) -> None:
        """See `save`."""
        self.save(records)

    def update(self, record: MemoryRecord) -> None:
        """Make a memory what its record says: a new version of it. Raises NotFound."""
        changes: dict[str, Any] = {"info": {NAME: _own(record)}, "importance": record.importance, "cause": NAME}
        self._door.run(lambda: self._door.ask("update", record.id, text=record.content, **changes))

    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Delete the records that are all of this; returns how many."""

        async def work() -> int:
            where = {"and": _filters(scope_prefix, categories)}
            found = [m async for m in self._door.listed(where)]
            if record_ids is not None:
                wanted = set(record_ids)
                found = [m for m in found if m.id in wanted]
            records = [_record(m) for m in found]
            ids = [r.id for r in records if _is_older(r, older_than) and _has(r, metadata_filter)]
            await self._door.erase(ids, hard=self._hard)
            return len(ids)

        return self._door.run(work)

    async def adelete(self, **chosen: Any) -> int:
        """See `delete`."""
        return self.delete(**chosen)

    def reset(self, scope_prefix: str | None = None) -> None:
        """Delete the records of a scope. What else is in the cube stays."""
        self.delete(scope_prefix)

    def _listed(self, scope: str | None, *, most: int | None = None) -> list[Memory]:
        async def work() -> list[Memory]:
            listing: AsyncIterator[Memory] = self._door.listed({"and": _filters(scope)}, most=most)
            return [memory async for memory in listing]

        return self._door.run(work)


def _inside(scope: str | None) -> str:
    """The path of a scope; empty for all."""
    path = normalize_scope_path(scope or "/")
    return "" if path == "/" else path


def _filters(scope: str | None, categories: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """The records in a scope that have one of the categories."""
    field, path = f"info.{NAME}.scope", _inside(scope)
    out = [_MINE]
    if path:  # "0" comes right after "/"
        out.append({"or": [{field: path}, {field: {"gte": f"{path}/", "lt": f"{path}0"}}]})
    if categories:
        out.append({f"info.{NAME}.categories": {"in": list(categories)}})
    return out


def _children(path: str, records: Sequence[MemoryRecord]) -> list[str]:
    start = "/" if path == "/" else f"{path}/"
    names = {r.scope[len(start) :].split("/")[0] for r in records if r.scope.startswith(start)}
    return sorted(start + name for name in names if name)


def _is_older(record: MemoryRecord, than: datetime | None) -> bool:
    if than is None:
        return True
    created: datetime = record.created_at
    return created < (than.astimezone(UTC).replace(tzinfo=None) if than.tzinfo else than)


def _has(record: MemoryRecord, metadata: Mapping[str, Any] | None) -> bool:
    return all(record.metadata.get(key) == value for key, value in (metadata or {}).items())


def _own(record: MemoryRecord) -> dict[str, Any]:
    """What is kept of a record in `info`."""
    kept: dict[str, Any] = record.model_dump(
        mode="json", include={"scope", "categories", "metadata", "importance", "source", "private"}
    )
    return kept


def _message(record: MemoryRecord) -> dict[str, Any]:
    """A record as it is added. Its id makes it another message than the same words remembered before."""
    return {
        "role": "assistant",
        "content": record.content,
        "message_id": f"{NAME}:{uuid4()}",
        "info": {NAME: _own(record)},
    }


def _record(memory: Memory) -> MemoryRecord:
    """A memory as CrewAI's record; its times are UTC without a zone, as CrewAI writes them."""
    own = plain(memory.info.get(NAME))
    kept = own if isinstance(own, dict) else {"importance": memory.importance, "categories": list(memory.tags)}
    created = (memory.recorded_at or datetime.now(UTC)).astimezone(UTC).replace(tzinfo=None)
    return MemoryRecord(id=memory.id, content=memory.text, created_at=created, last_accessed=created, **kept)
