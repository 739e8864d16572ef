"""Runs the application with uvicorn: a socket of our own, time limits for slow heads, a graceful end, one line when ready."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import mmap
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
from memos.server.processes import Place, Supervisor, check_processes, listeners
from memos.server.protocol import protocol
from memos.system import AsyncMemOS

log = structlog.get_logger(__name__)
Ready = Callable[[str, bool], None]

SWITCH_SECONDS = 0.001  # how long a thread that digests keeps the interpreter from one that answers requests

GARBAGE = (
    20_000,
    20,
    50,
)  # objects between collections: at the usual 700, looking for cycles costs a tenth of the time


def serve(memos: Callable[[], AsyncMemOS], options: ServerOptions, ready: Ready) -> None:
    """Serve until SIGTERM or SIGINT. `ready` is told the URL, and whether keys are needed, when requests are answered.

    Raises InvalidInput for an address that may not be served like this, Unavailable for a port that is taken.
    """
    check_access(options)
    if options.processes > 1:
        check_processes()
    listener = bind(options)
    if options.processes > 1:
        _serve_many(memos, options, listener, ready)
    else:
        _serve_alone(memos, options, listener, ready)


def _serve_alone(
    memos: Callable[[], AsyncMemOS],
    options: ServerOptions,
    listener: socket.socket,
    ready: Ready,
    parent: int | None = None,
) -> None:
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.set_threshold(*GARBAGE)
    try:
        configure(options.log_level)
        tracing.start()
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(memos, options, listener, ready, parent))
    finally:
        listener.close()
        tracing.stop()


def _serve_many(memos: Callable[[], AsyncMemOS], options: ServerOptions, listener: socket.socket, ready: Ready) -> None:
    """The same in several processes. What `ready` is told, the first child finds out."""
    configure(options.log_level)
    host, port = listener.getsockname()[:2]
    sockets = listeners(listener, options.processes)
    keys = mmap.mmap(-1, 1)  # shared with the children

    def work(place: Place) -> None:
        def answering(url: str, needed: bool) -> None:
            keys[0] = needed
            place.tell()

        _serve_alone(memos, options, place.listener, answering, place.parent)

    try:
        Supervisor(sockets, work, lambda: ready(_url(host, port), bool(keys[0]))).run()
    finally:
        for taken in sockets:
            taken.close()


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


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def _serve(
    memos: Callable[[], AsyncMemOS], options: ServerOptions, listener: socket.socket, ready: Ready, parent: int | None
) -> None:
    """`parent`: a descriptor that is at its end when the parent is gone, and this process has to go too."""
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
    url = _url(*listener.getsockname()[:2])

    async def tell() -> None:
        keys, settings = await needs_keys(system, options), system.settings
        queue = without_password(settings.queue)
        log.info(
            "serving", url=url, home=str(settings.home), queue=queue, auth=options.auth, keys_needed=keys,
            workers=settings.workers, embedder=settings.embedder,
        )  # fmt: skip
        gc.freeze()  # what is loaded by now stays
        ready(url, keys)

    def stopping() -> None:
        log.info("stopping", url=url)
        frame.streams.stop()

    server = Server(config, stopping, tell)
    if parent is not None:
        loop = asyncio.get_running_loop()

        def orphaned() -> None:
            loop.remove_reader(parent)
            log.warning("parent_gone", url=url)
            server.handle_exit(signal.SIGTERM, None)

        loop.add_reader(parent, orphaned)
    await server.serve(sockets=[listener])
    log.info("stopped", url=url)
