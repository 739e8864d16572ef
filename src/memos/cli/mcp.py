"""`memos mcp`: memory for any host that speaks MCP, over stdin and stdout; and the graph file of the reference server."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memos.cli.state import named_user, quiet_logs, state_of
from memos.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from memos.cli.state import State
    from memos.tools.door import Door

app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Url = Annotated[
    str | None,
    typer.Option(
        envvar="MEMOS_URL",
        help="Work on a MemOS server (key: MEMOS_API_KEY) instead of the data folder.",
        show_default=False,
    ),
]


@app.callback()
def mcp(
    ctx: typer.Context,
    url: Url = None,
    mode: Annotated[
        str, typer.Option(help="memos, or reference: the nine graph tools of the MCP reference memory server.")
    ] = "memos",
    tools: Annotated[
        list[str] | None,
        typer.Option(
            help="Tools to switch on beside those: memos-server (the names of the MCP server of MemOS), reference, memos.",
            show_default=False,
        ),
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="The conversation that calls belong to which name none.", show_default=False)
    ] = None,
    agent: Annotated[str, typer.Option(help="The agent that reports.")] = "agent",
    max_chars: Annotated[int, typer.Option("--max-chars", help="Most characters of a result.")] = 20_000,
    read_only: Annotated[bool, typer.Option("--read-only", help="Only tools that change nothing.")] = False,
    any_user: Annotated[bool, typer.Option("--any-user", help="Let tools with a user_id name other users.")] = False,
) -> None:
    """Serve memory to a host that speaks MCP (Claude, Cursor, VS Code ...), on stdin and stdout, until stdin ends."""
    if ctx.invoked_subcommand is not None:
        return
    import asyncio

    _need_package()
    from memos.mcp.server import tools_of
    from memos.mcp.stdio import serve_stdio
    from memos.tools.door import LEAST_BUDGET, MOST_BUDGET

    quiet_logs()
    chosen = tools_of(mode, tools or ())
    if read_only:
        chosen = tuple(tool for tool in chosen if tool.reads)
    if not LEAST_BUDGET <= max_chars <= MOST_BUDGET:
        raise InvalidInput(f"--max-chars is from {LEAST_BUDGET:,} to {MOST_BUDGET:,}, got {max_chars}")
    how: dict[str, Any] = {"session": session, "agent": agent, "budget": max_chars, "any_user": any_user}

    async def run() -> None:
        async with _door(ctx, url, **how) as door:
            _end_on_signals(door)
            await serve_stdio(door, chosen)

    asyncio.run(run())


def _end_on_signals(door: Door) -> None:
    """Have SIGTERM and SIGINT close the memory and end the process at once: a thread waits in a read of stdin, which nothing can
    interrupt, so there is no other way out.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    ending: list[asyncio.Task[None]] = []

    async def end() -> None:
        try:
            await door.system.close()
        finally:
            os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, lambda: ending.append(loop.create_task(end())))


@app.command("import")
def import_graph(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The JSONL file of the reference server (its MEMORY_FILE_PATH).")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what is in it, and store nothing.")] = False,
    url: Url = None,
) -> None:
    """Take in the graph of the MCP reference memory server. Taken in again, nothing is stored twice."""
    import asyncio

    _need_package()
    from memos.mcp.jsonl import Imported, load

    quiet_logs()

    async def run() -> Imported:
        async with _door(ctx, url) as door:
            return await load(door, file, dry_run=dry_run)

    state, done = state_of(ctx), asyncio.run(run())
    for line in done.skipped:
        state.tell(f"memos: skipped {line}")
    told = f"{done.entities} entities, {done.observations} observations and {done.relations} relations in {done.lines} lines"
    rest = "nothing was stored" if dry_run else f"{done.new} records are new"
    state.answer(done, lambda out: out.print(f"{told}; {rest}, {done.bad} skipped"))


@app.command("export")
def export_graph(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The JSONL file to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    url: Url = None,
) -> None:
    """Write the graph as the file of the MCP reference memory server."""
    import asyncio

    _need_package()
    from memos.mcp.graph import Held
    from memos.mcp.jsonl import save

    quiet_logs()

    async def run() -> Held:
        async with _door(ctx, url) as door:
            return await save(door, file, overwrite=overwrite)

    graph = asyncio.run(run())
    counts = {"entities": len(graph.nodes), "relations": len(graph.ties), "file": str(file)}
    state_of(ctx).answer(
        counts,
        lambda out: out.print(f"{counts['entities']} entities and {counts['relations']} relations are in {file}"),
    )


@contextlib.asynccontextmanager
async def _door(ctx: typer.Context, url: str | None, **how: Any) -> AsyncIterator[Door]:
    """The memory that is served: the data folder's, or a server's."""
    from memos.tools.door import Door

    state = state_of(ctx)
    if url is not None:
        from memos.client.client import AsyncClient

        user = named_user(ctx)
        async with AsyncClient(url, user=user) as client:
            yield Door.to(client, user=user, cube=state.cube, dumps=_dumps(state), **how)
        return
    from memos.storage.files import allow_many_files
    from memos.system import AsyncMemOS

    allow_many_files()
    settings = state.settings()
    async with AsyncMemOS(settings=settings) as system:
        await system.start()
        yield Door.to(system, user=state.user, cube=state.cube, local=True, dumps=_dumps(state), **how)


def _dumps(state: State) -> Path:
    return state.settings().home / "dumps"


def _need_package() -> None:
    try:
        import mcp.server  # noqa: F401
    except ImportError as error:
        raise Unavailable(
            f"MCP needs a package that is not installed ({error.name}); "
            "install the extra 'mcp': pip install '.[mcp]' in a checkout of MemOS"
        ) from None
