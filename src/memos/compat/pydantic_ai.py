"""A Pydantic AI toolset over a cube: an agent searches, adds, changes and deletes memories by itself.

    agent = Agent("openai:gpt-5", toolsets=[MemosToolset(MemOS(), user="alice")])

Needs the extra `memos[pydantic-ai]`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from memos.door import Door
from memos.errors import Conflict, InvalidInput, NotFound

try:
    from pydantic_ai import FunctionToolset, ModelRetry
except ImportError as e:
    raise ImportError(
        "memos.compat.pydantic_ai needs Pydantic AI: pip install '.[pydantic-ai]' in a checkout of MemOS"
    ) from e

R = TypeVar("R")
_MOST = 20  # memories of one search


class MemosToolset(FunctionToolset[Any]):
    """The tools `memory_search`, `memory_add`, `memory_update` and `memory_delete`. Works with every memory, synchronous or not.

    `session`: the conversation that is added to. `read_only=True`: only `memory_search`. What a tool refuses, the model is told,
    and may try again; what the memory cannot do (it is away, its disk is full) is raised.
    """

    def __init__(
        self,
        memos: object,
        *,
        user: str | None = None,
        cube: str | None = None,
        session: str | None = None,
        read_only: bool = False,
        id: str | None = None,
    ) -> None:
        door = Door(memos, user, cube)

        async def memory_search(query: str, limit: int = 5) -> dict[str, Any]:
            """Find what is known about something: facts, preferences, what was said and done before.

            Args:
                query: What to look for, as a question or in words.
                limit: Memories at most, 1 to 20.
            """
            answer = await _done(door, lambda: door.ask("search", query, limit=max(1, min(limit, _MOST))))
            found = [{"id": hit.id, "text": hit.text, "score": round(hit.score, 3)} for hit in answer.hits]
            return {"status": answer.status.value, "memories": found, "notes": list(answer.reasons)}

        async def memory_add(text: str) -> dict[str, Any]:
            """Remember something for later conversations.

            Args:
                text: What to remember, as a sentence that can be understood by itself.
            """
            added = await _done(door, lambda: door.ask("add", text, session=session, role="assistant", whole=True))
            return {"ids": list(added.ids), "notes": list(added.notices)}

        async def memory_update(id: str, text: str) -> dict[str, Any]:
            """Replace the text of a memory that is not right any more. The former text stays in its history.

            Args:
                id: The id of the memory, as a search told it.
                text: What it is to say.
            """
            memory = await _done(door, lambda: door.ask("update", id, text=text, cause="pydantic-ai"))
            return {"id": memory.id, "version": memory.version}

        async def memory_delete(id: str) -> dict[str, Any]:
            """Delete a memory for good.

            Args:
                id: The id of the memory, as a search told it.
            """
            done = await _done(door, lambda: door.ask("delete", id))
            return {"deleted": done.memories + done.cascaded}

        tools: list[Callable[..., Awaitable[dict[str, Any]]]] = [memory_search]
        super().__init__(tools if read_only else [*tools, memory_add, memory_update, memory_delete], id=id)


async def _done(door: Door, work: Callable[[], Any]) -> Any:
    try:
        return await door.arun(work)
    except (InvalidInput, NotFound, Conflict) as e:
        raise ModelRetry(str(e)) from e
