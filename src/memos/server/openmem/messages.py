"""get/message: the newest messages of a user, whole and in the order they were said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from memos.memory.model import Kind, Memory
from memos.server.caller import Caller
from memos.server.openmem.bodies import GetMessagesBody
from memos.server.openmem.details import MessageDetail, message_detail
from memos.server.openmem.subjects import subject
from memos.system import AsyncMemOS

_PAGE = 200


@dataclass(slots=True)
class _Newest:
    """The newest messages of the newest conversations; long messages are kept in parts, which are put together again."""

    messages: int
    conversations: int
    parts: dict[str, list[Memory]] = field(default_factory=dict)
    sessions: set[str | None] = field(default_factory=set)

    def take(self, record: Memory) -> bool:
        """Take a record, newest first; False when all there is place for is there, with all its parts."""
        whole = str(record.body.get("whole") or record.id)
        if whole not in self.parts:
            if len(self.parts) == self.messages:
                return False
            if record.session not in self.sessions and len(self.sessions) == self.conversations:
                return True  # an older conversation: those that are taken may go back further
            self.sessions.add(record.session)
            self.parts[whole] = []
        self.parts[whole].append(record)
        return True


async def newest_messages(memos: AsyncMemOS, caller: Caller, body: GetMessagesBody) -> Sequence[MessageDetail]:
    """Up to `message_limit_number` messages in all, of one conversation or of the `conversation_limit_number` newest ones."""
    user = subject(caller, body.user_id, None)
    where: dict[str, Any] | None = {"session": body.conversation_id} if body.conversation_id is not None else None
    newest = _Newest(body.message_limit_number, 1 if where else body.conversation_limit_number)
    cursor: str | None = None
    while True:
        page = await memos.list(user=user, filter=where, kinds=(Kind.TRACE,), limit=_PAGE, cursor=cursor)
        if not all(newest.take(record) for record in page.items) or page.cursor is None:
            break
        cursor = page.cursor
    found = [_whole(parts) for parts in newest.parts.values()]
    return sorted(found, key=lambda message: (message.create_time or 0, message.id))


def _whole(parts: Sequence[Memory]) -> MessageDetail:
    """A message from its parts, each of which says where it stood in the whole."""
    ordered = sorted(parts, key=lambda part: int(part.body.get("part", 0)))
    text = ""
    for part in ordered:
        start = int(part.body.get("start", len(text)))
        text = text[:start] + part.text
    return message_detail(ordered[0], text)
