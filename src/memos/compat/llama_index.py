"""LlamaIndex's memory over a cube: the chat history is kept there, and what is known already comes as a memory block.

    memory = memos_memory(MemOS(), "trip-to-oslo", user="alice"); await agent.run("Hi", memory=memory)

Each message is one raw record of the session of that name; the message itself is in `info["llama_index"]`. Needs the extra
`memos[llamaindex]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from memos.door import Door, plain
from memos.errors import Unavailable
from memos.memory.hit import SearchStatus
from memos.memory.model import Memory as Record
from memos.storage.names import check_name

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock, Memory
    from llama_index.core.storage.chat_store.base_db import AsyncDBChatStore, MessageStatus
except ImportError as e:
    raise ImportError(
        "memos.compat.llama_index needs LlamaIndex: pip install '.[llamaindex]' in a checkout of MemOS"
    ) from e

NAME = "llama_index"
_ROLES = {"chatbot": "assistant", "model": "assistant", "function": "tool"}


def memos_memory(
    memos: object,
    session_id: str,
    *,
    user: str | None = None,
    cube: str | None = None,
    max_tokens: int = 1_500,
    derive: bool = True,
    hard: bool = True,
    **options: Any,
) -> Memory:
    """LlamaIndex's `Memory` with its history in the session of that name, and a block of what the cube knows that fits the last
    question, of `max_tokens` tokens at most (4 characters each; 0: no block). `options` are those of `Memory.from_defaults`.
    """
    store = MemosChatStore(memos, user=user, cube=cube, derive=derive, hard=hard)
    blocks = list(options.pop("memory_blocks", None) or ())
    if max_tokens:  # what leaves the window is in the cube already
        own = MemosMemoryBlock(memos, user=user, cube=cube, max_tokens=max_tokens, accept_short_term_memory=False)
        blocks.append(own)
    return Memory.from_defaults(
        session_id=check_name(session_id, "session_id"), chat_store=store, memory_blocks=blocks, **options
    )


class MemosChatStore(AsyncDBChatStore):
    """Chat histories in a cube: each key is a session. Works with every memory, synchronous or not.

    `derive=False` keeps the messages only and never reads them for facts. `hard=False`: what is deleted is taken back and stays
    in the history of the cube; else it is erased, with what was derived from it.
    """

    _door: Door = PrivateAttr()
    _derive: bool = PrivateAttr()
    _hard: bool = PrivateAttr()

    def __init__(
        self, memos: object, *, user: str | None = None, cube: str | None = None, derive: bool = True, hard: bool = True
    ) -> None:
        super().__init__()
        self._door = Door(memos, user, cube)
        self._derive, self._hard = derive, hard

    @classmethod
    def class_name(cls) -> str:
        """The name of the class, for LlamaIndex."""
        return "MemosChatStore"

    async def get_messages(
        self,
        key: str,
        status: MessageStatus | None = MessageStatus.ACTIVE,
        limit: int | None = None,
        offset: int | None = None,
    ) -> list[ChatMessage]:
        """The messages of a session in order, `limit` of them after the first `offset`; None as `status`: also archived ones."""
        found = await self._door.arun(lambda: self._records(key, status))
        start = offset or 0
        return [_message(record) for record in found[start : None if limit is None else start + limit]]

    async def count_messages(self, key: str, status: MessageStatus | None = MessageStatus.ACTIVE) -> int:
        """How many messages a session has."""
        return int(await self._door.arun(lambda: self._door.ask("count", filter=_where(key, status), kinds=["trace"])))

    async def add_message(self, key: str, message: ChatMessage, status: MessageStatus = MessageStatus.ACTIVE) -> None:
        """Keep a message, after those that are there."""
        await self.add_messages(key, [message], status)

    async def add_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Keep messages, after those that are there: all of them in one change."""
        kept = [_kept(message, status.value) for message in messages]

        async def work() -> None:
            async with self._door.turn():
                await _add(self._door, key, kept, derive=self._derive)

        await self._door.arun(work)

    async def set_messages(
        self, key: str, messages: list[ChatMessage], status: MessageStatus = MessageStatus.ACTIVE
    ) -> None:
        """Make these the messages of a session. Those that it begins with already stay as they are, and are not read again."""
        kept = [_kept(message, status.value) for message in messages]

        async def work() -> None:
            async with self._door.turn():
                there = await self._records(key, None)
                same = 0
                while same < min(len(there), len(kept)) and _said(there[same]) == kept[same]["info"][NAME]:
                    same += 1
                await _add(
                    self._door, key, kept[same:], derive=self._derive
                )  # first: what fails now has taken nothing away
                await self._door.erase([record.id for record in there[same:]], hard=self._hard)

        await self._door.arun(work)

    async def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Delete the message at a place (0 is the first), and return it; None when there is none."""

        async def work() -> ChatMessage | None:
            async with self._door.turn():
                there = await self._records(key, None)
                if not 0 <= idx < len(there):
                    return None
                await self._door.erase([there[idx].id], hard=self._hard)
                return _message(there[idx])

        return await self._door.arun(work)

    async def delete_messages(self, key: str, status: MessageStatus | None = None) -> None:
        """Delete the messages of a session; what else is in the session of the cube stays."""

        async def work() -> None:
            async with self._door.turn():
                await self._door.ask("delete", filter=_where(key, status), hard=self._hard)

        await self._door.arun(work)

    async def delete_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Delete the first `n` messages that are not archived, and return them."""

        async def work() -> list[ChatMessage]:
            async with self._door.turn():
                oldest = (await self._records(key, MessageStatus.ACTIVE))[: max(n, 0)]
                await self._door.erase([record.id for record in oldest], hard=self._hard)
                return [_message(record) for record in oldest]

        return await self._door.arun(work)

    async def archive_oldest_messages(self, key: str, n: int) -> list[ChatMessage]:
        """Take the first `n` messages out of the window of the conversation, and return them. They stay in the cube."""

        async def work() -> list[ChatMessage]:
            async with self._door.turn():
                oldest = (await self._records(key, MessageStatus.ACTIVE))[: max(n, 0)]
                for record in oldest:
                    archived = {**_said(record), "status": MessageStatus.ARCHIVED.value}
                    await self._door.ask("update", record.id, info={NAME: archived}, cause="llama_index archive")
                return [_message(record) for record in oldest]

        return await self._door.arun(work)

    async def get_keys(self) -> list[str]:
        """The sessions that have messages."""

        async def work() -> list[str]:
            every = self._door.listed({f"info.{NAME}.message": {"exists": True}})
            return sorted({record.session async for record in every if record.session is not None})

        return await self._door.arun(work)

    async def _records(self, key: str, status: MessageStatus | None) -> list[Record]:
        return [record async for record in self._door.listed(_where(key, status))][::-1]


class MemosMemoryBlock(BaseMemoryBlock[str]):
    """A block for LlamaIndex's `Memory`: what the cube knows that fits the last thing the user said, in `max_tokens` tokens at
    most (4 characters each). What is in the window of the conversation anyway is not told again.

    Messages that leave the window are kept in the cube and read for facts. With the history in a `MemosChatStore` of the same
    cube they are there already: give `accept_short_term_memory=False`, or use `memos_memory`.
    """

    name: str = "memos"
    max_tokens: int = 1_500
    _door: Door = PrivateAttr()
    _derive: bool = PrivateAttr()

    def __init__(
        self, memos: object, *, user: str | None = None, cube: str | None = None, derive: bool = True, **fields: Any
    ) -> None:
        super().__init__(**fields)
        self._door = Door(memos, user, cube)
        self._derive = derive

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        query = next((text for m in reversed(messages or []) if m.role == MessageRole.USER and (text := _text(m))), "")
        if not query.strip():
            return ""
        where = None
        if session_id is not None:
            archived = {f"info.{NAME}.status": MessageStatus.ARCHIVED.value}
            where = {"or": [{"not": {"session": session_id}}, archived]}
        found = await self._door.arun(
            lambda: self._door.ask("search", query, filter=where, max_tokens=self.max_tokens, limit=20)
        )
        if found.status is SearchStatus.FAILED:
            raise Unavailable(f"the memory could not be searched: {'; '.join(found.reasons)}")
        return str(found.context) if found.hits else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        by_session: dict[str | None, list[dict[str, Any]]] = {}
        for message in messages:
            session = message.additional_kwargs.get("session_id")  # `aput` puts it there
            extra = {key: value for key, value in message.additional_kwargs.items() if key != "session_id"}
            told = message.model_copy(update={"additional_kwargs": extra})
            by_session.setdefault(session, []).append(_kept(told, MessageStatus.ARCHIVED.value))

        async def work() -> None:
            for session, kept in by_session.items():
                await _add(self._door, session, kept, derive=self._derive)

        await self._door.arun(work)


async def _add(door: Door, session: str | None, kept: Sequence[Mapping[str, Any]], *, derive: bool) -> None:
    if kept:
        await door.ask("add", list(kept), session=session, tags=["llama-index"], derive=derive, whole=True)


def _where(key: str, status: MessageStatus | None) -> dict[str, Any]:
    """The records that are messages of a session."""
    mine = [{"session": key}, {f"info.{NAME}.message": {"exists": True}}]
    return {"and": mine if status is None else [*mine, {f"info.{NAME}.status": status.value}]}


def _kept(message: ChatMessage, status: str) -> dict[str, Any]:
    """A message as it is added. Its id makes it another message than the same words said before."""
    role = _ROLES.get(message.role.value, message.role.value)
    text = _text(message) or _told(message)
    return {
        "role": role,
        "content": text if text.strip() else f"[{message.role.value} message]",
        "message_id": f"{NAME}:{uuid4()}",
        "info": {NAME: {"message": message.model_dump(mode="json"), "status": status}},
    }


def _said(record: Record) -> dict[str, Any]:
    """What is kept of a message beside its text."""
    return dict(plain(record.info[NAME]))


def _message(record: Record) -> ChatMessage:
    return ChatMessage.model_validate(_said(record)["message"])


def _text(message: ChatMessage) -> str:
    return message.content or ""


def _told(message: ChatMessage) -> str:
    """What a message without a text says: its calls as they would be written."""
    blocks = [block for block in message.blocks if getattr(block, "block_type", "") == "tool_call"]
    return "\n".join(f"{block.tool_name}({block.tool_kwargs})" for block in blocks)
