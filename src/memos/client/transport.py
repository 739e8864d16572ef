"""Sends calls to one server: tries again where that is safe, within the time a call may take, and raises typed errors.

The key goes into a header and nowhere else: not into messages, logs or a `repr`. Redirects are not followed. httpx is loaded at
the first call.
"""

from __future__ import annotations

import asyncio
import random
import time
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from memos import __version__
from memos.client.decoding import decode
from memos.client.encoding import json_bytes, query
from memos.client.failures import Failure, refused
from memos.errors import InvalidInput, MemosError, TimedOut, Unavailable
from memos.memory.model import EMPTY
from memos.models.resilience import RetryPolicy

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
_CHUNK = 1 << 20
_LONGEST_ERROR = 1 << 20
_KEEP_ALIVE = 4.0  # seconds; servers close idle connections after five
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_UNCLEAR = "; it is not known whether it was done"


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `repeatable`: doing it twice is as doing it once. `patient`: it is answered when work is done, which may take
    long.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    upload: Path | None = None
    content: bytes | None = None
    repeatable: bool = True
    patient: bool = False


class Transport:
    """A server, how to reach it, and how long to try. One connection pool for each event loop."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        timeout: float,
        patience: float,
        policy: RetryPolicy,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.base_url = _checked(base_url)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout, self._patience, self._policy = timeout, patience, policy
        self._sleep, self._clock = sleep, clock
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx2.AsyncClient] = (
            weakref.WeakKeyDictionary()
        )

    async def ask(self, call: Call, kind: type[T]) -> T:
        """The answer to a call, as a value."""
        return decode(kind, await self.run(call, content_of))

    async def tell(self, call: Call) -> None:
        """Make a call whose answer says nothing."""
        await self.run(call, content_of)

    async def run(self, call: Call, receive: Callable[[httpx2.Response], Awaitable[T]]) -> T:
        """What `receive` makes of the response to a call. Raises the server's error, Unavailable or TimedOut."""
        limit = self._patience if call.patient else self._timeout
        deadline = self._clock() + limit
        attempt = 1
        while True:
            left = max(0.0, deadline - self._clock())
            outcome = await self._attempt(call, receive, min(left, limit / 2) if call.repeatable else left)
            if not isinstance(outcome, Failure):
                return outcome
            again = outcome.harmless or (outcome.passing and call.repeatable)
            pause = self._policy.wait(attempt, outcome.wait)
            if outcome.wait is not None:
                pause += random.random() * self._policy.base  # those who were told the same time do not come together
            if not again or attempt >= self._policy.attempts or self._clock() + pause >= deadline:
                raise outcome.error from outcome.error.__cause__
            await self._sleep(pause)
            attempt += 1

    async def events(self, call: Call) -> AsyncGenerator[bytes, None]:
        """The data of the server-sent events that answer a call, as they come. Raises as `run`; a break is Unavailable."""
        import httpx2

        response = await self.run(call, _itself)
        try:
            async for data in _sse(response.aiter_lines(), self._patience):
                yield data
        except httpx2.TransportError as e:
            raise Unavailable(f"the stream of {self._where(call)} broke: {e or type(e).__name__}") from e
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _attempt(
        self, call: Call, receive: Callable[[httpx2.Response], Awaitable[T]], seconds: float
    ) -> T | Failure:
        import httpx2

        where, unclear = self._where(call), "" if call.repeatable else _UNCLEAR
        try:
            async with asyncio.timeout(seconds):
                return await self._send(call, receive)
        except TimeoutError:
            return Failure(TimedOut(f"{where} was not answered within {seconds:.1f} s{unclear}"), passing=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as e:
            return Failure(
                _caused(Unavailable(f"cannot reach {self.base_url}: {e}; is `memos serve` running there?"), e),
                harmless=True,
            )
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError) as e:
            return Failure(_caused(InvalidInput(f"{where} cannot be sent: {e}"), e))
        except httpx2.RequestError as e:
            told = f"the connection broke before {where} was answered: {e or type(e).__name__}{unclear}"
            return Failure(_caused(Unavailable(told), e), passing=True)

    async def _send(self, call: Call, receive: Callable[[httpx2.Response], Awaitable[T]]) -> T | Failure:
        client = self._client()
        headers = {**self._headers, **call.headers}
        content: bytes | AsyncIterator[bytes] | None = None
        if call.body is not None:
            content, headers["Content-Type"] = json_bytes(call.body), "application/json"
        elif call.content is not None:
            content, headers["Content-Type"] = call.content, "application/octet-stream"
        elif call.upload is not None:
            content, headers["Content-Type"] = _pieces(call.upload), "application/octet-stream"
            headers["Content-Length"] = str(call.upload.stat().st_size)
        request = client.build_request(
            call.method, self.base_url + call.path, params=query(call.params) or None, content=content, headers=headers
        )
        response = await client.send(request, stream=True)
        keep = False
        try:
            if not response.is_success:
                content = await _short(response)
                return refused(response.status_code, response.headers, content, self._where(call), self.base_url)
            received = await receive(response)
            keep = received is response
            return received
        finally:
            if not keep:
                await response.aclose()

    def _client(self) -> httpx2.AsyncClient:
        import httpx2

        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            client = httpx2.AsyncClient(
                timeout=None,  # a whole attempt has one
                limits=httpx2.Limits(max_connections=100, keepalive_expiry=_KEEP_ALIVE),
                headers={"Accept": "application/json", "User-Agent": f"memos-python/{__version__}"},
                trust_env=urlsplit(self.base_url).hostname not in _LOOPBACK,  # a proxy is not asked for this machine
            )
            self._clients[loop] = client
        return client

    def _where(self, call: Call) -> str:
        return f"{call.method} {self.base_url}{call.path}"


async def content_of(response: httpx2.Response) -> bytes:
    """The whole body of a response, to be given to `run`."""
    return await response.aread()


async def _itself(response: httpx2.Response) -> httpx2.Response:
    return response


async def _short(response: httpx2.Response) -> bytes:
    """The body of an error, as far as anybody reads it."""
    out = b""
    async for chunk in response.aiter_bytes():
        out += chunk
        if len(out) > _LONGEST_ERROR:
            break
    return out


async def _sse(lines: AsyncIterator[str], silence: float) -> AsyncGenerator[bytes, None]:
    """The data of each event. Comments keep the connection alive; `silence`: seconds without a line that mean it is dead."""
    data: list[str] = []
    while True:
        try:
            async with asyncio.timeout(silence):
                line = await anext(lines, None)
        except TimeoutError:
            raise TimedOut(f"the stream of events said nothing for {silence:.0f} s") from None
        if line is None:
            return
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            yield "\n".join(data).encode()
            data = []


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    with await asyncio.to_thread(path.open, "rb") as file:
        while piece := await asyncio.to_thread(file.read, _CHUNK):
            yield piece


def _caused(error: MemosError, cause: BaseException) -> MemosError:
    error.__cause__ = cause
    return error


def _checked(base_url: str) -> str:
    """The address that paths are appended to. Raises InvalidInput for what is none, or holds a password."""
    parts = urlsplit(base_url.strip()) if isinstance(base_url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput("base_url is an address such as http://127.0.0.1:8000; it begins with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise InvalidInput("base_url holds a user or password; give the key as api_key, or as MEMOS_API_KEY")
    if parts.query or parts.fragment:
        raise InvalidInput(f"base_url has more than a path: {base_url!r:.100}")
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}"
