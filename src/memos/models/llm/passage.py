"""The way to a server that speaks OpenAI's protocol, for requests that are passed on as they are: its circuit, its key and
its time limit are those of every other call, and the call is told to the ledger. It takes no slot: those bound what we ask of
a server by ourselves, and how much an application asks is between it and the server. Nothing is tried again here: whoever
asks sees what the server answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from memos.errors import InvalidInput, ModelTimeout
from memos.models.llm.port import TokenUsage
from memos.models.resilience import Failure, RetryPolicy

if TYPE_CHECKING:
    from memos.models.llm.remote import RemoteChatModel

CHAT_PATH = "/chat/completions"
_ONCE = RetryPolicy(attempts=1, timeout=math.inf, budget=math.inf)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Head:
    """How an answer begins: its status, and its headers with names in lower case."""

    status: int
    headers: Mapping[str, str]


class Passage:
    """See the module. `model`: what the server calls the model; `model_id`: what we do. `tell` counts a call: what it used,
    whether it was answered, and its seconds.
    """

    def __init__(
        self,
        remote: RemoteChatModel,
        model: str,
        model_id: str,
        chat_path: str,
        tell: Callable[[TokenUsage, bool, float], None],
    ) -> None:
        self.model, self.model_id, self.tell = model, model_id, tell
        self._remote, self._chat_path = remote, chat_path

    async def ask(
        self, path: str, body: bytes | None, headers: Mapping[str, str], method: str = "POST"
    ) -> AsyncGenerator[Head | bytes, None]:
        """The head of the answer, then its bytes as they come. `path` is behind the base URL: `/chat/completions`, `/responses`.

        Raises ModelUnavailable and ModelTimeout, also in the middle; InvalidInput for a path that this server has not.
        """
        remote, asked = self._remote, self._path(path)
        try:
            async with contextlib.AsyncExitStack() as stack:
                response = await remote.server.guard.run(
                    lambda: self._begun(stack.enter_async_context(remote.http.passed(asked, body, headers, method))),
                    _ONCE,
                )
                yield Head(response.status_code, dict(response.headers))
                chunks = response.aiter_bytes()
                while (chunk := await self._next(chunks)) is not None:
                    yield chunk
        except Failure as failure:
            if failure.dead:
                remote.server.guard.breaker.failed(str(failure.error))
            raise failure.error from failure.__cause__

    def without_secrets(self, text: str) -> str:
        """What the server said, without the keys that it repeats."""
        return self._remote.http.without_secrets(text)

    def _path(self, path: str) -> str:
        if path == CHAT_PATH:
            return self._chat_path
        if self._chat_path != CHAT_PATH:
            raise InvalidInput(f"{self.model_id} answers /v1/chat/completions only, not /v1{path}")
        return path

    async def _begun(self, response: Awaitable[R]) -> R:
        """The answer. Raises ModelTimeout, which does not count against the server: how long it thinks, whoever asks decides, and
        must not shut it for all others.
        """
        seconds = self._remote.policy.timeout
        try:
            async with asyncio.timeout(seconds):
                return await response
        except TimeoutError:
            raise ModelTimeout(f"{self._remote.server.guard.name} did not answer within {seconds:g} s") from None

    async def _next(self, chunks: AsyncIterator[bytes]) -> bytes | None:
        """The next chunk, None at the end. Raises ModelTimeout when there is none within the time limit."""
        seconds = self._remote.policy.timeout
        try:
            async with asyncio.timeout(seconds) as limit:
                return await anext(chunks, None)
        except TimeoutError:
            if not limit.expired():
                raise
            self._remote.server.guard.breaker.failed("it stopped in the middle of an answer")
            raise ModelTimeout(f"{self.model_id} stopped in the middle of an answer for {seconds:g} s") from None
