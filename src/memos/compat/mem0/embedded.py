"""What mem0's `Memory` does in this process, as coroutines: its checks, its answers, and the memory of ours underneath."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Mapping
from typing import Any

from memos.compat.mem0.config import mapped
from memos.compat.mem0.core import Mem0
from memos.compat.mem0.exceptions import ValidationError
from memos.compat.mem0.finding import Wanted
from memos.errors import InvalidInput, NotFound
from memos.sync import MemOS

_IDS = ("user_id", "agent_id", "run_id")
_PROCEDURAL = "procedural_memory"
_FIRST = ("id", "memory", "hash", "metadata")
_TIMES = ("created_at", "updated_at")
_PROMOTED = ("user_id", "agent_id", "run_id", "actor_id", "role", "expiration_date")  # shown where they are known
_CHANGE = ("id", "memory_id", "old_memory", "new_memory", "event", *_TIMES, "is_deleted", "actor_id", "role")


class Embedded:
    """The verbs. `memos`: the memory underneath; `notices`: what of the configuration is different here."""

    def __init__(self, config: object = None) -> None:
        found = mapped(config)
        self.config, self.notices = config, tuple(found.notices)
        for notice in self.notices:
            _notice(notice)
        self.memos = MemOS(**found.settings)
        self.core = Mem0(self.memos)

    async def add(self, messages: object, ids: Mapping[str, Any], memory_type: str | None, **options: Any) -> Any:
        """Store messages, and what is read from them."""
        if not any(value is not None for value in ids.values()):
            raise ValidationError(
                "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.", "VALIDATION_001"
            )
        if memory_type is not None and memory_type != _PROCEDURAL:
            raise ValidationError(f"Invalid 'memory_type'. Please pass {_PROCEDURAL}, or none.", "VALIDATION_002")
        if not isinstance(messages, (str, dict, list)):
            raise ValidationError("messages must be str, dict, or list[dict]", "VALIDATION_003")
        if memory_type is not None:
            _notice("memory_type: what an agent did is learned from its episodes here; it is read like everything else")
        if options.pop("prompt") is not None:
            _notice("prompt is not taken over; say what is to be read with configure_reading()")
        return {"results": await self.core.add(messages, **ids, **options)}

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """A memory, or None."""
        try:
            return _item(await self.core.get(memory_id))
        except NotFound:
            return None

    async def get_all(self, filters: Any, top_k: int, show_expired: bool, more: Mapping[str, Any]) -> dict[str, Any]:
        """The memories that the filters mean."""
        _check_ids(filters, more, "get_all")
        _check_count(top_k)
        found = await self.core.get_all(filters, Wanted(show_expired=show_expired), most=top_k, bare_metadata=True)
        return {"results": [_item(each, scored=False) for each in found.results]}

    async def search(
        self,
        query: str,
        filters: Any,
        top_k: int,
        threshold: float | None,
        show_expired: bool,
        more: Mapping[str, Any],
        **options: Any,
    ) -> dict[str, Any]:
        """What answers a question."""
        _check_ids(filters, more, "search")
        _check_count(top_k)
        found = await self.core.search(
            query,
            filters,
            Wanted(show_expired=show_expired),
            limit=top_k,
            threshold=0.1 if threshold is None else threshold,
            bare_metadata=True,
            **options,
        )
        for reason in found.reasons:
            _notice(reason)
        return {"results": [_item(each) for each in found.results]}

    async def update(self, memory_id: str, text: str | None, data: str | None, **options: Any) -> dict[str, str]:
        """Change a memory."""
        if data is not None:
            _notice("update(data=…) is called update(text=…)")
        await self._known(memory_id, self.core.update(memory_id, text=data if text is None else text, **options))
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory."""
        await self._known(memory_id, self.core.delete(memory_id))
        return {"message": "Memory deleted successfully!"}

    async def delete_all(self, **ids: Any) -> dict[str, str]:
        """Delete the memories of some ids."""
        if not any(value is not None for value in ids.values()):
            raise InvalidInput(
                "At least one filter is required to delete all memories; `reset()` deletes those of everybody."
            )
        await self.core.delete_all(**ids)
        return {"message": "Memories deleted successfully!"}

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The changes of a memory."""
        try:
            changes = await self.core.history(memory_id)
        except NotFound:
            return []
        return [{name: change[name] for name in _CHANGE} for change in changes]

    async def reset(self) -> None:
        """Delete the memories of everybody."""
        await self.core.reset()

    async def _known(self, memory_id: str, work: Awaitable[Any]) -> Any:
        try:
            return await work
        except NotFound:
            raise InvalidInput(f"Memory with id {memory_id} not found. Please provide a valid 'memory_id'") from None


def _item(shown: Mapping[str, Any], *, scored: bool = True) -> dict[str, Any]:
    """A memory as the open-source mem0 shows it: the ids where there are some."""
    item = {name: shown[name] for name in _FIRST}
    if scored:
        item["score"] = shown.get("score")
    item |= {name: shown[name] for name in _TIMES}
    item |= {name: shown[name] for name in _PROMOTED if shown.get(name) is not None}
    return item | ({"score_details": shown["score_breakdown"]} if "score_breakdown" in shown else {})


def _check_ids(filters: object, more: Mapping[str, Any], verb: str) -> None:
    beside = sorted(set(_IDS) & set(more))
    if beside:
        raise InvalidInput(
            f"since mem0 2, {', '.join(beside)} goes into filters: {verb}(filters={{{beside[0]!r}: '...'}})"
        )
    for name in more:
        instead = " (since mem0 2 it is top_k)" if name == "limit" else ""
        _notice(f"{verb}() knows no {name!r}{instead}; nothing was done about it")
    if not isinstance(filters, Mapping) or not any(name in filters for name in _IDS):
        raise InvalidInput(
            "filters must contain at least one of: user_id, agent_id, run_id. Example: {'user_id': 'u1'}"
        )


def _check_count(top_k: object) -> None:
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 0:
        raise InvalidInput(f"top_k must be a whole number from 0 on, got {top_k!r:.40}")


def _notice(sentence: str) -> None:
    """Say what is not as it is in mem0, where the caller's own warnings go."""
    warnings.warn(f"mem0: {sentence}", UserWarning, stacklevel=2)
