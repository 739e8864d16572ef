"""One request and its answer: which API it came by, what the memory around it is told, whose the thing is that the server keeps
of it, and what it cost.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import structlog
from starlette.requests import Request

from memos.models.llm.passage import Passage
from memos.models.llm.port import TokenUsage
from memos.server.openai.kept_responses import Kept
from memos.server.openai.memory import Around
from memos.server.openai.proxy import Proxy
from memos.server.openai.said import Answer, Entry

log = structlog.get_logger(__name__)

LEFT = 499  # the status where the client is gone; nobody reads it
STORED = 2.0  # seconds that the end of an answer waits for its being stored


class Hearing(Protocol):
    """What puts an answer together from the events of its stream."""

    def take(self, event: Any) -> None:
        """One event, or a whole answer."""

    @property
    def id(self) -> str:
        """The id of the answer, as soon as it is known."""

    @property
    def over(self) -> bool:
        """Whether the end was heard, whatever it was."""

    @property
    def answer(self) -> Answer:
        """What was said so far."""


class Api(Protocol):
    """One of the two APIs: the module `completions` or `responses`. `NAMED`: whether the events of its streams have names."""

    PATH: str
    NAMED: bool

    def entries(self, body: Mapping[str, Any]) -> list[Entry]:
        """The conversation of a request."""

    def with_block(self, body: Mapping[str, Any], block: str) -> dict[str, Any]:
        """The request with a block of memories behind its system prompt."""

    def Heard(self) -> Hearing:
        """What hears an answer."""


@dataclass(slots=True)
class Exchange:
    """Listens to an answer (see `upstream.Listener`). `kept`: what is to be known of what the server keeps of it, which it does
    if `keeps`; `conversation`: the one there that it is said in, if it is known whose that is.

    A response made in the background may end when nobody listens: `kept.told` is a number then. Its answer is stored when it is
    heard to the end, now or when it is `fetched`.
    """

    api: Api
    around: Around
    proxy: Proxy
    user: str
    kept: Kept
    body: dict[str, Any]
    keeps: bool = False
    conversation: tuple[str, Kept] | None = None
    passage: Passage | None = None
    fetched: bool = False
    heard: Hearing = field(init=False)
    begun: float = field(default_factory=time.monotonic)
    _known: bool = False
    _done: bool = False

    def __post_init__(self) -> None:
        self.heard = self.api.Heard()

    @property
    def named(self) -> bool:
        """Whether the events of a stream have names."""
        return self.api.NAMED

    @property
    def headers(self) -> Mapping[str, str]:
        """What the answer says of memory."""
        return self.around.headers

    @property
    def streams(self) -> bool:
        """Whether the answer is to come as events."""
        return self.body.get("stream") is True

    def take(self, event: Any) -> None:
        """One event of a stream."""
        self.heard.take(event)

    async def passing(self) -> None:
        """What was taken is about to be passed on: its user may go on with it from then on."""
        if self.keeps and not self._known and self.heard.id:
            self._known = True
            await self._keep(self.heard.id, self.kept)
            if self.conversation is not None:
                id, kept = self.conversation
                await self._keep(id, replace(kept, last=self.heard.id))
        if self.kept.told is not None and self.heard.over and not self._done:
            await self._over()

    async def answered(self, body: Any) -> None:
        """The whole answer of a request that is no stream."""
        self.heard.take(body)
        await self.passing()
        if self._done:
            return
        waits = self.kept.told is not None
        said = Answer() if waits else self.heard.answer
        self._tell(self.usage(said, left=waits), True)
        await self.stored(said)

    def ended(self, why: str | None) -> asyncio.Task[None] | None:
        """A stream is over; `why` it broke off, if it did."""
        if self._done:
            return None
        said = self.heard.answer
        waits, whole = self.kept.told is not None, said.finish is not None
        self._tell(self.usage(said, left=waits or why == "left"), whole)
        return self._after(Answer() if waits else said, None if whole or waits else why or "failed")

    def unanswered(self, *, left: bool = False) -> None:
        """There is no answer, or an error instead; `left`: because the client is gone."""
        self._tell(self.usage(Answer(), left=left), False)
        if left:
            self.around.after(Answer())

    async def stored(self, answer: Answer, why: str | None = None) -> None:
        """Have the answer stored, and wait until it is: what is asked next must find it."""
        ending = self._after(answer, why)
        if ending is not None:
            await asyncio.wait({ending}, timeout=STORED)

    def usage(self, answer: Answer, *, left: bool = False) -> TokenUsage:
        """What it used, as the server counted it, or guessed; nothing, where nothing was answered, unless it was asked and the
        client has `left`: what was put in is paid all the same.
        """
        if answer.counted:
            return TokenUsage(answer.input_tokens, answer.output_tokens)
        if not answer.text and not answer.calls and not left:
            return TokenUsage()
        put_in = sum(len(one.text) for one in self.api.entries(self.body))
        came_out = len(answer.text) + sum(len(call.input) for call in answer.calls)
        return TokenUsage(-(-put_in // 4), -(-came_out // 4), estimated=True)

    async def _over(self) -> None:
        """The end of a response that was made in the background: told and stored once, whoever fetches it again."""
        self._done = True
        said = self.heard.answer
        used, told = self.usage(said), (self.kept.told or 0) if self.fetched else 0
        self._tell(replace(used, input_tokens=max(0, used.input_tokens - told)), said.finish is not None)
        await self.stored(said, None if said.finish is not None else "failed")
        await self._keep(self.heard.id, replace(self.kept, told=None))

    def _after(self, answer: Answer, why: str | None) -> asyncio.Task[None] | None:
        if self.api.NAMED:
            for call in answer.calls:
                self.proxy.known.add(self.user, call)
        return self.around.after(answer, why, self.heard.id if self._done else "")

    async def _keep(self, id: str, kept: Kept) -> None:
        """Remember whose a thing is, before its user can go on with it."""
        try:
            await asyncio.to_thread(self.proxy.kept.keep, id, self.user, kept)
        except OSError as error:
            log.warning("response_not_kept", error=type(error).__name__)

    def _tell(self, usage: TokenUsage, answered: bool) -> None:
        if self.passage is not None and (self._done or not self.fetched):
            self.passage.tell(usage, answered, time.monotonic() - self.begun)


def read(body: bytes | str) -> Any:
    """JSON, or None where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


async def unless_left(request: Request, work: Any) -> Any:
    """What some work comes to, or None when the client leaves before; the work is ended then."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, leaving):
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
