"""mem0's `Memory` and `AsyncMemory` in this process: the same calls and answers, with the data in a home of ours.

memory = Memory(); memory.add("I live in Bergen.", user_id="alice"); memory.search("where?", filters={"user_id": "alice"})
"""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn, Self

from memos.compat.mem0.awaiting import Work, awaited
from memos.compat.mem0.changing import UNCHANGED
from memos.compat.mem0.embedded import Embedded
from memos.errors import InvalidInput
from memos.sync import MemOS

_UNSET: Any = UNCHANGED


class _Verbs:
    """The calls of both classes, whose answers are awaited or not. `notices`: what of the configuration is different here."""

    def __init__(self, config: Any = None) -> None:
        self.config = config
        self._embedded = Embedded(config)
        self.notices = self._embedded.notices

    @classmethod
    def from_config(cls, config_dict: dict[str, Any]) -> Self:
        """A memory by a dictionary as mem0 takes it: `llm`, `embedder`, the `path` of `vector_store` and `history_db_path` are
        understood; for everything else there is a warning, and a sentence in `notices`.
        """
        return cls(config_dict)

    @property
    def memos(self) -> MemOS:
        """The memory underneath: what is kept here is in cubes of its user."""
        return self._embedded.memos

    def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any | None = None,
        expiration_date: Any | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
    ) -> Any:
        """Store messages, and what is read from them: `{"results": [{"id", "memory", "event"}]}`. `infer=False`: as they are.

        `timestamp`: when it was said. Raises ValidationError without any id.
        """
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        options = {"metadata": metadata, "timestamp": timestamp, "expiration_date": expiration_date}
        return self._done(lambda: self._embedded.add(messages, ids, memory_type, prompt=prompt, infer=infer, **options))

    def get(self, memory_id: str) -> Any:
        """A memory by id; None when there is none."""
        return self._done(lambda: self._embedded.get(memory_id))

    def get_all(
        self, *, filters: dict[str, Any] | None = None, top_k: int = 20, show_expired: bool = False, **kwargs: Any
    ) -> Any:
        """The memories that `filters` mean, the newest first; at least one id is among them. Raises ValueError."""
        return self._done(lambda: self._embedded.get_all(filters, top_k, show_expired, kwargs))

    def search(
        self,
        query: str,
        *,
        top_k: int = 20,
        filters: dict[str, Any] | None = None,
        threshold: float = 0.1,
        rerank: bool = False,
        explain: bool = False,
        reference_date: Any | None = None,
        show_expired: bool = False,
        **kwargs: Any,
    ) -> Any:
        """What answers a question, best first, each with a `score` from 0 to 1. Raises ValueError."""
        options = {"rerank": rerank, "breakdown": explain, "reference_date": reference_date}
        return self._done(
            lambda: self._embedded.search(query, filters, top_k, threshold, show_expired, kwargs, **options)
        )

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: dict[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> Any:
        """Change a memory; its former version is in its history. Raises ValueError for an unknown id."""
        options = {"metadata": metadata, "expiration_date": expiration_date}
        return self._done(lambda: self._embedded.update(memory_id, text, data, **options))

    def delete(self, memory_id: str) -> Any:
        """Delete a memory for good, with its history. Raises ValueError for an unknown id."""
        return self._done(lambda: self._embedded.delete(memory_id))

    def delete_all(self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Any:
        """Delete all memories of these. Raises ValueError without any id."""
        return self._done(lambda: self._embedded.delete_all(user_id=user_id, agent_id=agent_id, run_id=run_id))

    def history(self, memory_id: str) -> Any:
        """The changes of a memory, the oldest first; none for what is not there."""
        return self._done(lambda: self._embedded.history(memory_id))

    def reset(self) -> Any:
        """Delete the memories of everybody that were kept by these classes. What else is in the home stays."""
        return self._done(self._embedded.reset)

    def _done(self, work: Work) -> Any:
        raise NotImplementedError


class Memory(_Verbs):
    """mem0's `Memory`. Models and the folder of the data are those that are configured for us, unless `config` says otherwise."""

    def chat(self, query: str) -> NoReturn:
        """mem0 has none."""
        raise NotImplementedError("mem0 has no chat; MemOS().chat() has")

    @property
    def project(self) -> _Project:
        """mem0's platform has projects; here there is nothing to be set."""
        return _Project()

    def close(self) -> None:
        """Let go of the data. What was said a moment ago is on disk already."""
        self.memos.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()

    def _done(self, work: Work) -> Any:
        return self._embedded.core.door.run(work)


class AsyncMemory(_Verbs):
    """mem0's `AsyncMemory`: `Memory`, with answers to be awaited. No event loop stands still meanwhile."""

    get = awaited(_Verbs.get)
    get_all = awaited(_Verbs.get_all)
    search = awaited(_Verbs.search)
    update = awaited(_Verbs.update)
    delete = awaited(_Verbs.delete)
    delete_all = awaited(_Verbs.delete_all)
    history = awaited(_Verbs.history)
    reset = awaited(_Verbs.reset)

    async def add(
        self,
        messages: Any,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        timestamp: Any | None = None,
        expiration_date: Any | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        llm: Any = None,
    ) -> Any:
        """See `Memory.add`. `llm`: of mem0's procedural memories, of which there are none here."""
        ids = {"user_id": user_id, "agent_id": agent_id, "run_id": run_id}
        options = {"metadata": metadata, "timestamp": timestamp, "expiration_date": expiration_date}
        return await self._done(
            lambda: self._embedded.add(messages, ids, memory_type, prompt=prompt, infer=infer, **options)
        )

    async def chat(self, query: str) -> NoReturn:
        """mem0 has none."""
        raise NotImplementedError("mem0 has no chat; AsyncMemOS().chat() has")

    @property
    def project(self) -> _AsyncProject:
        """mem0's platform has projects; here there is nothing to be set."""
        return _AsyncProject()

    def close(self) -> None:
        """Let go of the data, and wait for it."""
        self.memos.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        await asyncio.to_thread(self.close)

    def _done(self, work: Work) -> Any:
        return self._embedded.core.door.arun(work)


class _Project:
    def update(
        self,
        custom_instructions: str | None = None,
        custom_categories: list[Any] | None = None,
        multilingual: bool | None = None,
        decay: bool | None = None,
    ) -> NoReturn:
        """Refused: this is of mem0's platform."""
        raise InvalidInput(
            "projects are of mem0's platform; configure_reading() and set_retention() of `memos` do this here"
        )


class _AsyncProject:
    update = awaited(_Project.update)
