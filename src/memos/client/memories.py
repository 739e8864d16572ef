"""The verbs about memories, with the parameters of `AsyncMemOS`."""

from __future__ import annotations

import builtins
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from memos.client.connected import Connected
from memos.client.encoding import body, messages_of, segment
from memos.client.transport import Call
from memos.errors import InvalidInput
from memos.frames import Count, Got, Links, Memories, Versions
from memos.memory.filter import Filter
from memos.memory.hit import Explanation, SearchResult
from memos.memory.model import EdgeType, Kind, Memory, Version
from memos.memory.number import MOST_AT_ONCE
from memos.memory.reading import ReadingMode
from memos.results import AddResult, DeleteResult
from memos.storage.ports import Direction, Link, Page

When = datetime | str | float | None
Where = Filter | Mapping[str, Any] | None
_PAGE = 100


class MemoryVerbs(Connected):
    """Add, find, look at, change and delete memories. `user` None: the client's user, else the key's."""

    async def add(
        self,
        messages: object,
        *,
        user: str | None = None,
        cube: str | None = None,
        session: str | None = None,
        role: str = "user",
        tags: Sequence[str] = (),
        info: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
        derive: bool = True,
        wait: bool = False,
        task_id: str | None = None,
        context: object = None,
        corrects: Sequence[str] | None = None,
        reading: ReadingMode | None = None,
        whole: bool = False,
    ) -> AddResult:
        """Store what happened: a text, a chat message, or a list of them. It is on the server's disk when this returns.

        Sent again after a lost answer, with a key made here unless one is given, it is stored once. `wait=True` returns
        when facts and vectors are made too; see `AsyncMemOS.add`. Raises InvalidInput when nothing can be stored, Busy when
        too much waits.
        """
        fields = body(
            messages=messages_of(messages),
            user=self._as(user),
            cube=cube,
            session=session,
            role=role,
            tags=tags,
            info=info,
            idempotency_key=idempotency_key,
            derive=derive,
            wait=wait,
            task_id=task_id,
            context=messages_of(context),
            corrects=_names(corrects, "corrects"),
            reading=reading,
            whole=whole or None,
        )
        headers = {"Retry-Key": uuid4().hex}
        return await self._transport.ask(
            Call("POST", "/v1/memories", body=fields, headers=headers, patient=wait), AddResult
        )

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
        user: str | None = None,
        cube: str | None = None,
        cause: str | None = None,
        if_version: int | None = None,
    ) -> Memory:
        """Change a memory; the former version stays in its history. `info` is merged, None values remove keys.

        With `if_version`, only while the memory has that version (else Conflict). Raises NotFound, and InvalidInput for a
        blank text or when nothing is to be changed.
        """
        fields = body(
            text=text, title=title, tags=tags, info=info, importance=importance, valid_from=valid_from, valid_to=valid_to,
            user=self._as(user), cube=cube, cause=cause,
        )  # fmt: skip
        headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
        call = Call("PATCH", f"/v1/memories/{segment(id, 'id')}", body=fields, headers=headers, repeatable=False)
        return await self._transport.ask(call, Memory)

    async def delete(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        filter: Where = None,
        session: str | None = None,
        everything: bool = False,
        hard: bool = True,
        dry_run: bool = False,
        vacuum: bool | None = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> DeleteResult:
        """Delete by exactly one of `ids`, `filter`, `session` or `everything=True`; see `AsyncMemOS.delete`.

        Raises NotFound when an id does not exist, and InvalidInput for no or several selectors.
        """
        fields = body(
            ids=[ids] if isinstance(ids, str) else ids, filter=filter, session=session, everything=everything or None,
            hard=hard, dry_run=dry_run, vacuum=vacuum, user=self._as(user), cube=cube,
        )  # fmt: skip
        return await self._post("/v1/memories/delete", DeleteResult, fields, repeatable=dry_run)

    async def undo(self, id: str, *, user: str | None = None, cube: str | None = None) -> builtins.list[Memory]:
        """Revert the last change of a memory, and whatever else that change did. Returns the memories as they are now."""
        path = f"/v1/memories/{segment(id, 'id')}/undo"
        return list((await self._post(path, Memories, body(user=self._as(user), cube=cube), repeatable=False)).items)

    async def search(
        self,
        query: str,
        *,
        user: str | None = None,
        cube: str | None = None,
        cubes: Sequence[str] | None = None,
        limit: int | None = None,
        max_tokens: int | None = None,
        filter: Where = None,
        kinds: Collection[Kind | str] | None = None,
        as_of: When = None,
        known_at: When = None,
        reference_time: When = None,
        threshold: float = 0.0,
        include_superseded: bool = False,
        collapse: bool = True,
        rerank: bool = True,
    ) -> SearchResult:
        """Find what answers `query`, in one cube or several, ranked together; see `AsyncMemOS.search`."""
        fields = body(
            query=query, user=self._as(user), cube=cube, cubes=_names(cubes, "cubes"), limit=limit, max_tokens=max_tokens,
            filter=filter, kinds=_several(kinds), as_of=as_of, known_at=known_at, reference_time=reference_time,
            threshold=threshold, include_superseded=include_superseded,
            collapse=None if collapse else False, rerank=None if rerank else False,
        )  # fmt: skip
        return await self._post("/v1/memories/search", SearchResult, fields)

    async def explain(
        self,
        query: str,
        memory_id: str,
        *,
        limit: int | None = None,
        max_tokens: int | None = None,
        filter: Where = None,
        as_of: When = None,
        known_at: When = None,
        reference_time: When = None,
        threshold: float = 0.0,
        user: str | None = None,
        cube: str | None = None,
    ) -> Explanation:
        """Why a memory is, or is not, among the hits of a search with these options: ranks and values per stage."""
        fields = body(
            query=query, memory_id=memory_id, limit=limit, max_tokens=max_tokens, filter=filter, as_of=as_of,
            known_at=known_at, reference_time=reference_time, threshold=threshold, user=self._as(user), cube=cube,
        )  # fmt: skip
        return await self._post("/v1/memories/explain", Explanation, fields)

    async def get(
        self, id: str, *, user: str | None = None, cube: str | None = None, as_of: When = None, known_at: When = None
    ) -> Memory:
        """A memory by id, whatever its status. Raises NotFound when there is none (or was none yet, under a clock)."""
        params = body(user=self._as(user), cube=cube, as_of=as_of, known_at=known_at)
        return await self._get(f"/v1/memories/{segment(id, 'id')}", Memory, params)

    async def get_many(self, ids: Sequence[str], *, user: str | None = None, cube: str | None = None) -> Got:
        """Memories by id, in the order asked, and the ids of which there is none."""
        fields = body(ids=_names(ids, "ids"), user=self._as(user), cube=cube)
        return await self._post("/v1/memories/get", Got, fields)

    async def list(
        self,
        *,
        filter: Where = None,
        kinds: Collection[Kind | str] | None = None,
        limit: int = _PAGE,
        cursor: str | None = None,
        newest_first: bool = True,
        as_of: When = None,
        known_at: When = None,
        include_inactive: bool = False,
        user: str | None = None,
        cube: str | None = None,
    ) -> Page:
        """Memories in order of creation, a page at a time; go on with `cursor=page.cursor`, or use `iterate`."""
        fields = body(
            filter=filter, kinds=_several(kinds), limit=limit, cursor=cursor, as_of=as_of, known_at=known_at,
            order="newest" if newest_first else "oldest", include_inactive=include_inactive, user=self._as(user), cube=cube,
        )  # fmt: skip
        return await self._post("/v1/memories/list", Page, fields)

    async def iterate(
        self,
        *,
        filter: Where = None,
        kinds: Collection[Kind | str] | None = None,
        limit: int = _PAGE,
        newest_first: bool = True,
        as_of: When = None,
        known_at: When = None,
        include_inactive: bool = False,
        user: str | None = None,
        cube: str | None = None,
    ) -> AsyncGenerator[Memory, None]:
        """Every memory of `list`, page after page. `limit`: of one page."""
        cursor = None
        while True:
            page = await self.list(
                filter=filter, kinds=kinds, limit=limit, cursor=cursor, newest_first=newest_first, as_of=as_of,
                known_at=known_at, include_inactive=include_inactive, user=user, cube=cube,
            )  # fmt: skip
            for memory in page.items:
                yield memory
            cursor = page.cursor
            if cursor is None:
                return

    async def count(
        self,
        *,
        filter: Where = None,
        kinds: Collection[Kind | str] | None = None,
        include_inactive: bool = False,
        user: str | None = None,
        cube: str | None = None,
    ) -> int:
        """How many memories of a cube match."""
        fields = body(
            filter=filter, kinds=_several(kinds), include_inactive=include_inactive, user=self._as(user), cube=cube
        )
        return (await self._post("/v1/memories/count", Count, fields)).count

    async def history(self, id: str, *, user: str | None = None, cube: str | None = None) -> builtins.list[Version]:
        """Every version of a memory, oldest first, with who changed it, how, why and when."""
        path = f"/v1/memories/{segment(id, 'id')}/history"
        return [*(await self._get(path, Versions, body(user=self._as(user), cube=cube))).items]

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
        user: str | None = None,
        cube: str | None = None,
    ) -> builtins.list[Link]:
        """Edges within `depth` hops of a memory, nearest first: 10,000 at most."""
        params = body(
            depth=depth, types=_several(types), direction=direction, limit=limit or MOST_AT_ONCE, as_of=as_of, known_at=known_at,
            user=self._as(user), cube=cube,
        )  # fmt: skip
        return [*(await self._get(f"/v1/memories/{segment(id, 'id')}/neighbors", Links, params)).items]


def _several(names: Collection[Any] | None) -> builtins.list[Any] | None:
    """One name or several as a list."""
    if names is None or isinstance(names, str):
        return names if names is None else [names]
    return [*names]


def _names(names: Sequence[str] | None, what: str) -> builtins.list[str] | None:
    if isinstance(names, str):
        raise InvalidInput(f"{what} is a list, got the text {names!r:.60}; write [{names!r:.60}]")
    return None if names is None else [*names]
