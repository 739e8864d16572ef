"""Uvicorn's connection with limits it does not have: how long and how large the head of a request may be, and how many
connections there may be.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from memos.server.options import ServerOptions

MOST_HEAD = 65_536  # bytes
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

if TYPE_CHECKING:
    _Base = Any
else:
    _Base = object


class _Limited(_Base):  # type: ignore[misc]
    """Mixed into a protocol of uvicorn. A connection waits for a head from when it opens, and from the first byte after an
    answer.
    """

    options: ServerOptions

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._head_timer: asyncio.TimerHandle | None = None
        self._head_bytes = 0
        if len(self.connections) > self.options.connections:
            transport.write(_BUSY)
            transport.close()
        else:
            self._await_head()

    def data_received(self, data: bytes) -> None:
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle or (cycle is not None and not cycle.response_complete):
            self._stop_timer()  # the head is there; what follows is the body's
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > MOST_HEAD and not self.transport.is_closing():
            self.transport.write(_LARGE)
            self.transport.close()
        elif self._head_timer is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.options.read_seconds, self.transport.close)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def protocol(options: ServerOptions) -> type[asyncio.Protocol]:
    """The class of connections: on httptools when it is there, else on h11."""
    base: Any
    try:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as base
    except ImportError:
        from uvicorn.protocols.http.h11_impl import H11Protocol as base
    made: type[asyncio.Protocol] = type("Connection", (_Limited, base), {"options": options})
    return made
