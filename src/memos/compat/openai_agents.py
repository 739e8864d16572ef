"""The OpenAI Agents SDK's `Session` over a cube: a conversation is kept, found again, and read for facts like any other.

    session = MemosSession("trip-to-oslo", MemOS(), user="alice"); await Runner.run(agent, "Hi", session=session)

Each item is one raw record of the session of that name; the item itself is in `info["openai_agents"]`. Needs the extra
`memos[openai-agents]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from memos.door import Door, plain
from memos.storage.names import check_name

try:
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as e:
    raise ImportError(
        "memos.compat.openai_agents needs the OpenAI Agents SDK: pip install '.[openai-agents]' in a checkout of MemOS"
    ) from e

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

NAME = "openai_agents"
_SAID = ("user", "assistant", "system", "developer")


class MemosSession(SessionABC):
    """The history of one conversation. Works with every memory, synchronous or not.

    `session_id` is the session's name in the cube. `session_settings`: the SDK's, such as `{"limit": 50}`. `derive=False` keeps
    the items only and never reads them for facts. `hard=False`: what is popped or cleared is taken back and stays in the history
    of the cube; else it is erased, with what was derived from it.
    """

    def __init__(
        self,
        session_id: str,
        memos: object,
        *,
        user: str | None = None,
        cube: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        derive: bool = True,
        hard: bool = True,
    ) -> None:
        self.session_id = check_name(session_id, "session_id")
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._door = Door(memos, user, cube)
        self._derive, self._hard = derive, hard
        self._mine = {"and": [{"session": session_id}, {f"info.{NAME}.item": {"exists": True}}]}

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in order; with `limit` (else that of the settings) the latest so many. Below 0: all."""
        most = resolve_session_limit(limit, self.session_settings)
        if most == 0:
            return []

        async def work() -> list[TResponseInputItem]:
            out: list[TResponseInputItem] = []
            async for memory in self._door.listed(self._mine, most=most if most is not None and most > 0 else None):
                out.append(cast("TResponseInputItem", plain(memory.info[NAME]["item"])))
            return out[::-1]

        return await self._door.arun(work)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Keep items, after those that are there: all of them in one change."""
        messages = [_message(cast("Mapping[str, Any]", item)) for item in items]
        if not messages:
            return

        async def work() -> None:
            async with self._door.turn():
                await self._door.ask(
                    "add", messages, session=self.session_id, tags=["openai-agents"], derive=self._derive, whole=True
                )

        await self._door.arun(work)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item away, and return it; None when there is none."""

        async def work() -> TResponseInputItem | None:
            async with self._door.turn():
                async for memory in self._door.listed(self._mine, most=1):
                    await self._door.ask("delete", memory.id, hard=self._hard)
                    return cast("TResponseInputItem", plain(memory.info[NAME]["item"]))
                return None

        return await self._door.arun(work)

    async def clear_session(self) -> None:
        """Take all items of the session away; what else is in the session of the cube stays."""

        async def work() -> None:
            async with self._door.turn():
                await self._door.ask("delete", filter=self._mine, hard=self._hard)

        await self._door.arun(work)


def _message(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as a message. Its id makes it another message than the same words said before."""
    role = item.get("role")
    said = role in _SAID and item.get("type", "message") == "message"
    text = _text(item.get("content")) if said else _told(item)
    return {
        "role": role if said else "tool",
        "content": text if text.strip() else f"[{item.get('type') or role or 'item'}]",
        "message_id": f"{NAME}:{uuid4()}",
        "info": {NAME: {"item": plain(item)}},
    }


def _told(item: Mapping[str, Any]) -> str:
    """What an item that is no message says: a call as it would be written, the output of one, the summary of a thought."""
    if isinstance(item.get("name"), str) and "arguments" in item:
        return f"{item['name']}({item['arguments']})"
    return _text(item.get("output")) or _text(item.get("summary")) or _text(item.get("content"))


def _text(content: Any) -> str:
    """The texts in a content: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, (list, tuple)) else [content]
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str) and text)
