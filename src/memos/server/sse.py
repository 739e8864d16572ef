"""Server-sent events: one way to stream them, which keeps quiet connections open, counts the streams, and ends each when its
client leaves or the server stops.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from prometheus_client import Gauge
from starlette.responses import StreamingResponse

from memos.errors import Busy
from memos.server.replies import to_json

T = TypeVar("T")
HEARTBEAT_SECONDS = 15.0
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
_HEARTBEAT = b": still here\n\n"
CUT_OFF = "the server is stopping, and the answer is not at its end; ask again when it is back"


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with a number, by which a client that comes back says what it has (`Last-Event-ID`). `data` goes out as it is."""

    number: int
    data: str


class Streams:
    """The event streams of one application. Used within one event loop."""

    def __init__(self, most: int, gauge: Gauge) -> None:
        self._most, self._gauge, self._open = most, gauge, 0
        self._stopping = asyncio.Event()

    def reply(
        self,
        events: AsyncIterator[Any],
        *,
        heartbeat: float | None = HEARTBEAT_SECONDS,
        stopped: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> StreamingResponse:
        """Answer with events: each is a text that goes out as it is, or a value that goes out as JSON; bytes are no event, but go
        out untouched.

        A heartbeat comment goes out when there was nothing to say for so many seconds. `stopped`: the last event of a stream that
        the end of the server cuts off, where half of it could be taken for the whole. `headers`: further ones. Raises Busy when
        too many streams are open; `events` is then not begun.
        """
        self.check_room()
        self._open += 1  # from here on: a stream that was promised and one that runs both count
        self._gauge.set(self._open)
        return _Reply(self, events, self.frames(events, heartbeat, stopped), headers or {})

    def check_room(self) -> None:
        """Raise Busy when no further stream can be opened now."""
        if self._stopping.is_set():
            raise Busy("the server is stopping; try again when it is back", 5.0)
        if self._open >= self._most:
            raise Busy(f"{self._open} streams are open, as many as are allowed; close one, or try again later", 5.0)

    @contextlib.contextmanager
    def promised(self, wanted: bool = True) -> Iterator[None]:
        """Count a stream (if one is `wanted`) while its first event is waited for, so that no more are begun than may be open;
        then `reply`, at once. Raises Busy.
        """
        if not wanted:
            yield
            return
        self.check_room()
        self._open += 1
        self._gauge.set(self._open)
        try:
            yield
        finally:
            self.closed()

    def stop(self) -> None:
        """End every stream; no new one begins."""
        self._stopping.set()

    def closed(self) -> None:
        """A stream ended."""
        self._open -= 1
        self._gauge.set(self._open)

    async def frames(self, events: AsyncIterator[Any], heartbeat: float | None, stopped: Any) -> AsyncIterator[bytes]:
        """The bytes of a stream."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        following: asyncio.Future[Any] | None = None
        try:
            while True:
                following = following or asyncio.ensure_future(anext(events, _END))
                await asyncio.wait({following, stopping}, timeout=heartbeat, return_when=asyncio.FIRST_COMPLETED)
                if following.done():
                    event, following = following.result(), None
                    if event is _END:
                        return
                    yield frame(event)
                elif stopping.done():
                    if stopped is not None:
                        yield frame(stopped)
                    return
                else:
                    yield _HEARTBEAT
        finally:
            stopping.cancel()
            if following is not None:
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await following


_END = object()


def frame(event: Any) -> bytes:
    """One event as bytes."""
    if isinstance(event, bytes):
        return event
    if isinstance(event, Numbered):
        return b"id: %d\n" % event.number + frame(event.data)
    data = event.encode() if isinstance(event, str) else to_json(event)
    lines = b"".join(b"data: " + line + b"\n" for line in data.splitlines() or [b""])
    return lines + b"\n"


class _Reply(StreamingResponse):
    """A stream that is counted until it ends, however it does."""

    def __init__(
        self, streams: Streams, events: AsyncIterator[Any], frames: AsyncIterator[bytes], headers: Mapping[str, str]
    ) -> None:
        super().__init__(frames, media_type="text/event-stream", headers={**_HEADERS, **headers})
        self._streams, self._events = streams, events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.closed()
            close = getattr(self._events, "aclose", None)
            if close is not None:
                await close()


class Begun(Generic[T]):
    """A stream whose first event is there already: what is wrong with the request was raised while a status could tell it.

    Made by `begun`. An event None says nothing, and is left out.
    """

    def __init__(self, first: T | None, rest: AsyncGenerator[T | None, None]) -> None:
        self._first, self._rest = first, rest

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        event, self._first = self._first, None
        while event is None:
            event = await anext(self._rest)
        return event

    async def aclose(self) -> None:
        """Let go of what makes the events."""
        await self._rest.aclose()


async def begun(events: AsyncGenerator[T | None, None]) -> Begun[T]:
    """The events, begun. Raises what is raised before the first one."""
    return Begun(await anext(events, None), events)
