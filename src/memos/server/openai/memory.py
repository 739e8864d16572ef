"""What is done with memory around one request: before it is passed on, its new messages are stored and memories recalled; when
the answer has ended, that is stored. Nothing that fails here fails the request: it goes on without, and the answer says so.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from memos.chat.prompt import without_context
from memos.errors import Conflict, MemosError
from memos.memory.acting import TurnEnded
from memos.memory.ids import unique_key
from memos.memory.message import Message
from memos.memory.time import utcnow
from memos.reading.parts import parse_content
from memos.server.openai.asked import Asked
from memos.server.openai.block import block_for
from memos.server.openai.said import NAME, Answer, Done, Fresh, Spoken, ToolCall
from memos.system import AsyncMemOS
from memos.system.passing import errand

log = structlog.get_logger(__name__)

PATIENCE = 2.0  # seconds that a request waits for its memories
AT_ONCE = 0.3  # and that what it says is stored before: a model may be asked what task it belongs to
KEPT = 200_000  # characters of an answer that are kept
_CALLS, _LONGEST_CALL = 2_000, 20_000  # kept, and characters of the input of one


@dataclass(slots=True)
class Known:
    """Calls that models asked for in this process, by user and id: the next request may only name them."""

    calls: OrderedDict[tuple[str, str], ToolCall] = field(default_factory=OrderedDict)

    def add(self, user: str, call: ToolCall) -> None:
        """Remember a call."""
        self.calls[user, call.id] = replace(call, input=call.input[:_LONGEST_CALL])
        while len(self.calls) > _CALLS:
            self.calls.popitem(last=False)

    def call(self, user: str, id: str) -> ToolCall | None:
        """The call of an id."""
        return self.calls.get((user, id))


class Around:
    """Memory around one request. `before`, then `after`, each once."""

    def __init__(
        self,
        memos: AsyncMemOS,
        asked: Asked,
        session: str,
        fresh: Fresh,
        *,
        acting: bool,
        longest: int,
        id: str,
    ) -> None:
        """`acting`: it is an agent's, with tools. `longest`: characters of a message that is stored. `id`: of the request, for
        the log.
        """
        self._memos, self._asked, self._fresh = memos, asked, fresh
        self._acting, self._longest, self._id = acting, longest, id
        self._where: dict[str, Any] = {"session": session, "user": asked.user, "cube": asked.cube}
        self._storing: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._told = self._unstored = False
        self.reason = ""

    @property
    def headers(self) -> dict[str, str]:
        """What the answer says of memory."""
        if self._asked.mode == "off":
            return {"X-Memory-Status": "off"}
        if self.reason:
            return {"X-Memory-Status": "degraded", "X-Memory-Reason": self.reason}
        return {"X-Memory-Status": "ok"}

    async def before(self) -> str:
        """Store what is new, and the block of memories to show (empty: none)."""
        if self._asked.writes:
            self._storing = errand(self._memos, self._begin())
        if not self._asked.reads or not self._fresh.query.strip():
            await self._stored()
            return ""
        try:
            async with asyncio.timeout(PATIENCE):
                shown = await block_for(
                    *(self._memos, self._fresh.query, self._asked.tokens, self._fresh.said, self._stored()),
                    acting=self._acting,
                    **self._where,
                )
        except TimeoutError:
            self._degraded("recall_slow")
            return ""
        except Exception as error:  # noqa: BLE001 - whatever it is, the request goes on without
            self._degraded("recall_failed", error)
            return ""
        if shown.partial:
            self._degraded("recall_partial")
        return shown.text

    def after(self, answer: Answer, why: str | None = None, response: str = "") -> asyncio.Task[None] | None:
        """Have the answer stored, whoever leaves. `why` it is not whole, if it is not. `response`: by which it is known that the
        answer to one made in the background is stored once, whichever request hears it.
        """
        if self._ending is None and self._asked.writes:
            self._ending = errand(self._memos, self._end(answer, why, response))
        return self._ending

    async def _stored(self) -> None:
        """Wait until what came in is stored, though not long."""
        if self._storing is not None:
            await asyncio.wait({self._storing}, timeout=AT_ONCE)

    async def _begin(self) -> None:
        """Store what came in."""
        events = self._fresh.events
        last = max((n for n, e in enumerate(events) if isinstance(e, Spoken)), default=-1)
        steps: list[Mapping[str, Any]] = []
        try:
            for event in events[: last + 1]:
                if isinstance(event, Done):
                    steps.append(event.step)
                    continue
                if steps:
                    await self._ended("", steps, unique_key(event.key, "steps").hex())
                    steps = []
                await self._said(event)
        except Exception as error:  # noqa: BLE001
            self._unstored = True
            self._degraded("not_stored", error)

    async def _said(self, said: Spoken) -> None:
        if len(said.text) > self._longest:
            self._degraded("message_too_long")
        else:
            words = _message(said) if said.images else said.text
            await self._memos.start_turn(words, key=said.key, recall=False, **self._where)

    async def _end(self, answer: Answer, why: str | None, response: str) -> None:
        """Store the answer, and the tools that were called for it."""
        if self._storing is not None:
            await asyncio.wait({self._storing})
            if self._unstored:
                return  # nor would this be
        events = self._fresh.events
        last = max((n for n, e in enumerate(events) if isinstance(e, Spoken)), default=-1)
        steps = [e.step for e in events[last + 1 :] if isinstance(e, Done)]
        text = without_context(answer.text).strip()
        why = why or ("length" if answer.finish == "length" or len(text) > KEPT else None)
        if not text and not steps:
            return
        key = unique_key(self._fresh.key, "end", text, *(str(s.get("call_id")) for s in steps)).hex()
        try:
            if response:
                if steps:
                    await self._ended("", steps, key)
                key, steps = unique_key(NAME, "response", response).hex(), []
            ended = await self._ended(text[:KEPT], steps, key)
            if why is not None and ended is not None and ended.message is not None and not ended.repeated:
                await self._memos.update(
                    ended.message, info={"incomplete": why}, user=self._asked.user, cube=ended.cube
                )
        except Exception as error:  # noqa: BLE001
            self._degraded("answer_not_stored", error)

    async def _ended(self, text: str, steps: Sequence[Mapping[str, Any]], key: str) -> TurnEnded | None:
        """Store steps and a reply. Of a call that the client tells in other words than it did before, the first ones stand."""
        try:
            return await self._memos.end_turn(text or None, steps=steps, key=key, **self._where)
        except Conflict:
            for number, step in enumerate(steps):
                with contextlib.suppress(Conflict):
                    await self._memos.end_turn(steps=[step], key=f"{key}-{number}", **self._where)
        return await self._memos.end_turn(text, key=key, **self._where) if text else None

    def _degraded(self, reason: str, error: Exception | None = None) -> None:
        """Say it in the answer, and once in the log: which part, and the code of the error, never a text."""
        code = error.code if isinstance(error, MemosError) else type(error).__name__ if error is not None else ""
        self.reason = self.reason or (f"{reason}: {code}" if code else reason)
        if not self._told:
            self._told = True
            log.warning("proxy_without_memory", reason=reason, code=code or None, request_id=self._id)


def _message(said: Spoken) -> Message:
    """A message with images, as `add` reads them: data go along, an address is only noted, and nobody goes there."""
    content = [{"type": "image_url", "image_url": {"url": url}} for url in said.images]
    parts = parse_content(content, "content", lambda notice: None, images=True)
    return Message("user", said.text, utcnow(), parts=parts)
