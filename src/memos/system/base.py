"""What every verb stands on: the settings, the parts that are started at the first call, and the open cube of a call."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from memos.cubes.access import resolve
from memos.cubes.accounts import Accounts
from memos.cubes.last_use import Role, note_use
from memos.errors import InvalidInput
from memos.health import Health, Usage, examine, usage
from memos.memory.model import Status
from memos.memory.time import parse_time
from memos.models.embed import Embedder
from memos.models.given import GivenEmbedder, GivenReranker, given_chat_model
from memos.models.llm.port import ChatModel
from memos.models.rerank import Reranker
from memos.scheduler.tasks import Tasks
from memos.settings import Settings
from memos.storage.names import check_user
from memos.storage.ports import CubeInfo, View
from memos.storage.sqlite.control import moment
from memos.storage.sqlite.cube import SqliteCube
from memos.storage.sqlite.registry import check_name
from memos.system.parts import Parts

DEFAULT_USER = "default"
DEFAULT_SESSION = "default"
FORKED = "this MemOS was made before fork; make a new MemOS in this process"
When = datetime | str | float | None


class Base:
    """A system that opens nothing before the first call. See `AsyncMemOS`."""

    def __init__(
        self,
        home: str | Path | None = None,
        *,
        settings: Settings | None = None,
        embedder: str | Embedder | None = None,
        reranker: str | Reranker | None = None,
        llm: str | ChatModel | None = None,
        **options: Any,
    ) -> None:
        base = settings or Settings.load(
            home=Path(home) if home is not None else None,
            embedder=embedder if isinstance(embedder, str) else None,
            reranker=reranker if isinstance(reranker, str) else None,
            llm=llm if llm is None or isinstance(llm, str) else "none",  # an object stands above what variables name
            **options,
        )
        if settings is not None and (
            home is not None or options or any(isinstance(spec, str) for spec in (embedder, reranker, llm))
        ):
            raise InvalidInput("give either settings or single options, not both")
        self.settings = base
        self._given_embedder = None if embedder is None or isinstance(embedder, str) else GivenEmbedder(embedder)
        self._given_reranker = None if reranker is None or isinstance(reranker, str) else GivenReranker(reranker)
        self._given_llm = None if llm is None or isinstance(llm, str) else given_chat_model(llm, base.llm_timeout)
        self._started: Parts | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def tasks(self) -> Tasks:
        """The background work: look up, wait for, retry, cancel."""
        return Tasks(lambda: self._parts().queue)

    @property
    def accounts(self) -> Accounts:
        """Users, API keys and grants."""
        return Accounts(lambda: self._parts().registry, self._remove)

    async def start(self, role: Role | None = None) -> None:
        """Open the data folder and start background work now, instead of at the first call. `role`: as what the process runs,
        which is remembered with its queue and embedder, so that others can say when theirs differ.
        """
        parts = self._parts()
        if role is not None:
            await asyncio.to_thread(note_use, parts.registry, role, self.settings)
        await parts.background.begun()

    @property
    def working_on(self) -> frozenset[str]:
        """The kinds of background tasks that this process does; what needs a model it does not have, it leaves to others."""
        return self._parts().background.kinds

    async def flush(self, *, user: str = DEFAULT_USER, cube: str | None = None) -> None:
        """Return when everything added to a cube so far is digested, read by the model where one is to read it, and embedded.
        Raises ModelError when a model fails; what is left is tried again in the background.
        """
        async with self._cube(user, cube, "read") as (info, store):
            await self._parts().finish(info, store)

    async def health(self) -> Health:
        """Whether every part of the system answers, and how much waits; no model is called."""
        parts = self._parts()
        return await examine(parts.registry, parts.queue, parts.embedder, parts.llms, self.settings.home)

    async def usage(self) -> Usage:
        """What this process holds and has done, for metrics."""
        parts = self._parts()
        return await usage(parts.cubes, parts.queue, parts.background.metrics, parts.counts, parts.ledger.totals)

    async def close(self) -> None:
        """Stop background work (what is left is taken up at the next start) and close every file."""
        mine = self._started is not None and self._started.pid == os.getpid()  # what is the parent's, the parent closes
        if mine and self._started is not None:
            self._started.check_loop(ended=True)
            if not self._closed and not self._started.loop.is_closed():
                await self._started.errands.finished()
        self._closed = True
        if mine and self._started is not None:
            parts, self._started = self._started, None
            if not parts.loop.is_closed():
                await parts.background.stop()
                await parts.upkeep.stop()
            await parts.queue.close()
            await parts.cubes.close()
            await parts.llms.aclose()
            await parts.ledger.close()
            parts.registry.close()

    def _parts(self) -> Parts:
        if self._closed:
            raise InvalidInput("this MemOS is closed; make a new one")
        if self._started is None:
            self._started = Parts(self.settings, self._given_embedder, self._given_reranker, self._given_llm)
        elif self._started.pid != os.getpid():
            raise InvalidInput(FORKED)
        self._started.check_loop()
        return self._started

    @contextlib.asynccontextmanager
    async def _cube(self, user: str, cube: str | None, need: str) -> AsyncIterator[tuple[CubeInfo, SqliteCube]]:
        parts = self._parts()
        if need == "read" and parts.registry.find(check_name(cube or user, "cube")) is None and cube in (None, user):
            check_user(user)
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
        with moment():
            if registry.find(check_name(user if cube is None else cube, "cube")) is not None:
                return resolve(registry, user, cube, need)
        return await asyncio.to_thread(resolve, registry, user, cube, need)

    async def _remove(self, cube: CubeInfo) -> int:
        parts = self._parts()
        parts.upkeep.uses.forget(cube)
        await parts.background.leave(cube)
        freed = await parts.cubes.remove(cube)
        await parts.background.leave(cube)
        return freed

    def _time(self, value: When) -> datetime | None:
        return None if value is None else parse_time(value, default_zone=self.settings.timezone).instant

    def _view(self, as_of: When, known_at: When, include_superseded: bool) -> View:
        statuses = frozenset({Status.ACTIVE, Status.SUPERSEDED}) if include_superseded else None
        return View(as_of=self._time(as_of), known_at=self._time(known_at), statuses=statuses)
