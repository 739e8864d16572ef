"""Runs the application with uvicorn: a socket of our own, time limits for slow heads, a graceful end, one line when ready."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from types import FrameType
from typing import Any

import structlog
import uvicorn

from memos import tracing
from memos.errors import InvalidInput, Unavailable
from memos.memory.url import without_password
from memos.server.app import create_app
from memos.server.auth import needs_keys
from memos.server.frame import Frame
from memos.server.logs import configure
from memos.server.options import ServerOptions
from memos.server.protocol import protocol
from memos.system import AsyncMemOS

log = structlog.get_logger(__name__)
Ready = Callable[[str, bool], None]

SWITCH_SECONDS = 0.001  # how long a thread that digests keeps the interpreter from one that answers requests


def serve(memos: Callable[[], AsyncMemOS], options: ServerOptions, ready: Ready) -> None:
    """Serve until SIGTERM or SIGINT. `ready` is told the URL, and whether keys are needed, when requests are answered.

    Raises InvalidInput for an address that may not be served like this, Unavailable for a port that is taken.
    """
    check_access(options)
    listener = bind(options)
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        configure(options.log_level)
        tracing.start()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(memos, options, listener, ready))
    finally:
        listener.close()
        tracing.stop()


def check_access(options: ServerOptions) -> None:
    """Raise InvalidInput when others than programs of this machine could come in without a key."""
    if not options.loopback and options.auth == "off":
        raise InvalidInput(
            f"auth off is refused at {options.host!r}: everybody who reaches the address could read and change every "
            "memory. Leave auth at auto and make a key (memos keys create USER), or bind to 127.0.0.1"
        )


def bind(options: ServerOptions) -> socket.socket:
    """The listening socket. Raises Unavailable when the address cannot be had."""
    host = options.host or "0.0.0.0"  # noqa: S104 - asked for, and only with keys
    try:
        family = socket.getaddrinfo(host, options.port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, options.port), family=family, backlog=2048)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = "the port is taken: another server runs there, or choose another with --port"
        elif error.errno in (errno.EACCES, errno.EPERM):
            why = "this user may not listen there; take a port above 1023"
        else:
            why = f"{error.strerror or error}"
        raise Unavailable(f"cannot listen at {host}:{options.port}: {why}") from None


class Server(uvicorn.Server):
    """Uvicorn's server that says when it is ready and ends with exit code 0 when it is told to end."""

    def __init__(
        self, config: uvicorn.Config, stopping: Callable[[], None], ready: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(config)
        self._stopping, self._ready = stopping, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self.started:
            await self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, end the streams, let requests finish."""
        self._stopping()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on a signal, and do not raise it again: an end that was asked for is no failure."""
        before = {number: signal.signal(number, self.handle_exit) for number in _signals()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End; at the second interrupt at once."""
        if self.should_exit and sig == signal.SIGINT:
            self.force_exit = True
        self.should_exit = True


def _signals() -> tuple[signal.Signals, ...]:
    more = (signal.Signals["SIGBREAK"],) if sys.platform == "win32" else ()
    return (signal.SIGINT, signal.SIGTERM, *more)


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(
    memos: Callable[[], AsyncMemOS], options: ServerOptions, listener: socket.socket, ready: Ready
) -> None:
    system = memos()
    await system.start()  # what is wrong with the data folder is told before anything listens to requests
    if not options.loopback and not await system.accounts.has_keys():
        await system.close()
        raise InvalidInput(
            f"no API key exists, so nobody could use a server at {options.host!r}; make one first: memos keys create USER"
            " (with --scopes act it speaks for every user), or bind to 127.0.0.1, where none is needed"
        )
    app = create_app(system, options)
    frame: Frame = app.state.frame
    config = uvicorn.Config(
        app,
        http=protocol(options),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # X-Forwarded-For is what a client says
        server_header=False,
        timeout_keep_alive=round(options.idle_seconds),
        timeout_graceful_shutdown=round(options.shutdown_seconds),
    )
    host, port = listener.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"

    async def tell() -> None:
        keys, settings = await needs_keys(system, options), system.settings
        queue = without_password(settings.queue)
        log.info(
            "serving", url=url, home=str(settings.home), queue=queue, auth=options.auth, keys_needed=keys,
            workers=settings.workers, embedder=settings.embedder,
        )  # fmt: skip
        ready(url, keys)

    def stopping() -> None:
        log.info("stopping", url=url)
        frame.streams.stop()

    await Server(config, stopping, tell).serve(sockets=[listener])
    log.info("stopped", url=url)
