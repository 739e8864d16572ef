"""`memos serve`: the HTTP server over the data folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from typing import Annotated, Any

import typer

from memos.cli.state import state_of
from memos.cli.variables import unknown_variables
from memos.errors import Unavailable


def serve(
    ctx: typer.Context,
    host: Annotated[
        str | None, typer.Option(help="Address to listen at (default: 127.0.0.1).", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes a free one (default: 8000).", show_default=False)
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Task workers in this process; 0 for none (`memos worker` runs them elsewhere).", show_default=False
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(help="Processes that answer requests behind the one port (default: 1).", show_default=False),
    ] = None,
    auth: Annotated[
        str | None,
        typer.Option(
            help="auto: keys are needed once one was ever made, and off loopback; on; off (loopback only).",
            show_default=False,
        ),
    ] = None,
    log_level: Annotated[
        str | None,
        typer.Option("--log-level", help="debug, info, warning or error (default: info).", show_default=False),
    ] = None,
    until_eof: Annotated[
        bool,
        typer.Option("--until-eof", help="End when standard input does: for a program that starts its own server."),
    ] = False,
) -> None:
    """Serve the memories over HTTP until told to end. Whatever MEMOS_SERVER_… can set is shown by `memos config`."""
    try:
        from memos.server.options import ServerOptions
        from memos.server.run import serve as run
    except ImportError as error:
        raise Unavailable(
            f"the server needs a package that is not installed ({error.name}); "
            "install the extra 'server': pip install '.[server]' in a checkout of MemOS"
        ) from None
    import structlog

    from memos.hosts import reach
    from memos.storage.files import allow_many_files
    from memos.system import AsyncMemOS

    allow_many_files()
    state = state_of(ctx)
    options = ServerOptions.load(host=host, port=port, processes=processes, auth=auth, log_level=log_level)
    given: dict[str, Any] = {} if workers is None else {"workers": workers}
    settings = state.settings(**given)
    unknown = unknown_variables()

    def ready(url: str, keys: bool) -> None:
        for sentence in unknown:  # now that the log is set up
            structlog.get_logger(__name__).warning("unknown_variable", message=sentence)
        if state.json:
            line = json.dumps({"url": url, "home": str(settings.home), "keys": keys}, ensure_ascii=False)
        else:
            line = f"memos: serving {settings.home} at {url} ({'API keys are needed' if keys else 'no keys needed'})"
        try:
            reach.announce(str(settings.home), url)
        except OSError as error:
            structlog.get_logger(__name__).warning(
                "not_announced", error=str(error), why="hooks of hosts will not find it"
            )
        print(line, flush=True)

    if until_eof:
        threading.Thread(target=_until_eof, daemon=True, name="until-eof").start()
    try:
        run(lambda: AsyncMemOS(settings=settings), options, ready)
    finally:
        reach.withdraw(str(settings.home))


def _until_eof() -> None:
    """End this process, well, when nobody is left at the other end of standard input."""
    with contextlib.suppress(OSError, ValueError):
        while os.read(0, 1 << 16):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
