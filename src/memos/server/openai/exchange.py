"""One request and its answer: which API it came by, what the memory around it is told, and what it cost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import structlog
from starlette.requests import Request

from memos.models.llm.port import TokenUsage
from memos.server.openai.kept_responses import KeptResponses
from memos.server.openai.memory import Around
from memos.server.openai.said import Answer, Entry

log = structlog.get_logger(__name__)

LEFT = 499  # the status where the client is gone; nobody reads it
STORED = 2.0  # seconds that the end of an answer waits for its being stored


class Hearing(Protocol):
    """What puts an answer together from the events of its stream."""

    def take(self, event: Any) -> None:
        """One event, or a whole answer."""

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

    def answer(self, body: Any) -> Answer:
        """What a whole answer says."""

    def Heard(self) -> Hearing:
        """What hears a stream."""


@dataclass(slots=True)
class Exchange:
    """`session` is the one that a response which the server keeps is said in."""

    api: Api
    around: Around
    kept: KeptResponses
    user: str
    session: str
    body: dict[str, Any]
    begun: float = 0.0

    def __post_init__(self) -> None:
        self.begun = time.monotonic()

    @property
    def streams(self) -> bool:
        """Whether the answer is to come as events."""
        return self.body.get("stream") is True

    async def keep_id(self, response: str) -> None:
        """Remember whose a response is, before its user can go on with it."""
        try:
            await asyncio.to_thread(self.kept.keep, response, self.user, self.session)
        except OSError as error:
            log.warning("response_not_kept", error=type(error).__name__)

    async def stored(self, answer: Answer, why: str | None = None) -> None:
        """Have the answer stored, and wait until it is: what is asked next must find it."""
        ending = self.around.after(answer, why)
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
