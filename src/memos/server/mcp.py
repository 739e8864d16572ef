"""MCP over streamable HTTP, at `/mcp`: the tools' calls go through the routes of this very application, in this process, with the
caller that came in. So keys, scopes, limits and the audit are those of REST, and there is no second way to the data.

Every request stands alone (no sessions are kept), so that any process behind the port can answer it. The packages of the extra
`mcp` are loaded at the first request.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import httpx2
import structlog

from memos.client.client import AsyncClient
from memos.client.transport import Transport
from memos.errors import MemosError, Unavailable
from memos.models.resilience import RetryPolicy
from memos.server.caller import Caller
from memos.server.errors import Refused, refusal
from memos.server.logs import told
from memos.server.options import ServerOptions
from memos.server.wire import CALLER, REQUEST_ID, App, Message, Receive, Scope, Send, answer, header

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from memos.tools.door import Door

log = structlog.get_logger(__name__)

PATH = "/mcp"
_MISSING = "MCP needs the extra 'mcp' (pip install '.[mcp]' in a checkout of MemOS); {} is not installed"
_outer: ContextVar[Scope] = ContextVar("memos.mcp.request")  # the request that is being answered


class _Route:
    """What logs and metrics call it."""

    path = PATH


class Mounted:
    """ASGI middleware: answers `/mcp`, hands everything else on. `?mode=reference` and `?tools=memos-server` choose the tools."""

    def __init__(self, app: App, options: ServerOptions) -> None:
        self._app, self._options = app, options
        self._client: AsyncClient | None = None
        self._managers: dict[tuple[str, tuple[str, ...]], StreamableHTTPSessionManager] = {}
        self._running: list[asyncio.Task[None]] = []
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            return await self._lifespan(scope, receive, send)
        if scope["type"] != "http" or scope["path"].rstrip("/") != PATH:
            return await self._app(scope, receive, send)
        scope["route"] = _Route
        try:
            if not self._options.mcp:
                raise Unavailable("MCP is switched off on this server (MEMOS_SERVER_MCP)")
            if scope["method"] != "POST":  # there is no session to end, and nothing is told unasked
                raise Refused(405, "method_not_allowed", f"{PATH} takes POST; no sessions are kept", {"Allow": "POST"})
            manager = await self._manager(_chosen(scope))
        except (MemosError, Refused) as error:
            return await answer(scope, receive, send, refusal(error))
        return await manager.handle_request(scope, receive, send)

    async def _lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def heard() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self.stop()  # before the memory system is closed
            return message

        await self._app(scope, heard, send)

    async def stop(self) -> None:
        """End what runs for the protocol."""
        running, self._running = self._running, []
        self._managers.clear()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    async def _manager(self, key: tuple[str, tuple[str, ...]]) -> StreamableHTTPSessionManager:
        """The protocol's side for these tools, made at the first request. Raises Unavailable when a package is missing."""
        if (ready := self._managers.get(key)) is not None:
            return ready
        async with self._starting:
            if (ready := self._managers.get(key)) is not None:
                return ready
            try:
                await asyncio.to_thread(__import__, "memos.mcp.server")
                from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

                from memos.mcp.server import make_server, tools_of
            except ImportError as error:
                raise Unavailable(_MISSING.format(error.name)) from None
            server = make_server(self._door, tools_of(*key))
            manager = StreamableHTTPSessionManager(
                server, json_response=True, stateless=True, max_request_body_size=self._options.body_mb << 20
            )
            begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._running.append(asyncio.create_task(_held(manager, begun), name="mcp"))
            await begun
            self._managers[key] = manager
            return manager

    def _door(self, request: Any) -> Door:
        """Whose memories a request is about: the key says who, headers may name a user, a cube and a session."""
        from memos.tools.door import Door

        scope: Scope = request.scope
        caller = scope.get(CALLER)
        if not isinstance(caller, Caller):
            raise Unavailable("the request came without a caller")
        _outer.set(scope)
        if self._client is None:
            self._client = _Inside(self._inner)
        user = _named(scope, b"x-memory-user") or caller.user
        return Door.to(
            self._client,
            user=user,
            cube=_named(scope, b"x-memory-cube"),
            session=_named(scope, b"x-memory-session"),
            any_user=caller.any_user,
        )

    async def _inner(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application below, for the caller of the request that is being answered."""
        outer = _outer.get()
        scope.update({name: outer[name] for name in (CALLER, REQUEST_ID, "app", "state") if name in outer})
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            log.error("request_broke", request_id=outer.get(REQUEST_ID), inside=PATH, **told(error))
            raise


class _Inside(AsyncClient):
    """The client of the application in its own process: nothing leaves it."""

    def __init__(self, app: App) -> None:
        super().__init__("http://127.0.0.1", "", attempts=1)
        self._transport = _Loop(app)


class _Loop(Transport):
    """Requests that are answered by an application in this process."""

    def __init__(self, app: App) -> None:
        super().__init__("http://127.0.0.1", None, timeout=120.0, patience=600.0, policy=RetryPolicy(attempts=1))
        self._app = app

    def _client(self) -> httpx2.AsyncClient:
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            inner: Any = self._app
            client = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app=inner, raise_app_exceptions=False), timeout=None, trust_env=False
            )
            self._clients[loop] = client
        return client


async def _held(manager: StreamableHTTPSessionManager, begun: asyncio.Future[None]) -> None:
    """Keep a manager running until this task is cancelled."""
    try:
        async with manager.run():
            begun.set_result(None)
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
    finally:
        begun.cancel()  # who waits for it to begin must not wait for ever


def _named(scope: Scope, name: bytes) -> str | None:
    """A name in a header, None when there is none. Hosts send other letters than English ones as UTF-8."""
    value = (header(scope, name) or "").strip()
    with contextlib.suppress(UnicodeError):
        value = value.encode("latin-1").decode()
    return value or None


def _chosen(scope: Scope) -> tuple[str, tuple[str, ...]]:
    """The mode and the tools that the address names."""
    asked = parse_qs(scope["query_string"].decode("latin-1"))
    extra = tuple(name for given in asked.get("tools", ()) for name in given.split(",") if name)
    return asked.get("mode", ["memos"])[-1], tuple(sorted({*extra}))
