"""`memos worker`: a process that does background work for every other process on the same data folder or Redis queue."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from memos.cli.place import differences, place_of
from memos.cli.state import quiet_logs, state_of
from memos.cli.variables import unknown_variables

if TYPE_CHECKING:
    from memos.cli.state import State
    from memos.settings import Settings


def worker(
    ctx: typer.Context,
    slots: Annotated[int, typer.Option(help="Jobs at a time in this process.", min=1, max=64)] = 2,
    drain: Annotated[bool, typer.Option("--drain", help="Leave when nothing is left to do.")] = False,
) -> None:
    """Do background work (facts, vectors) until stopped. Any number of workers may run; SIGTERM ends one gracefully."""
    import asyncio

    from memos import tracing
    from memos.cli.render import many
    from memos.storage.files import allow_many_files

    allow_many_files()
    quiet_logs(quiet=False)
    state = state_of(ctx)
    settings = replace(state.settings(), workers=slots, background=True)
    for warning in (*unknown_variables(), *differences(settings, embedder=True)):
        state.tell(f"memos: warning: {warning}")
    tracing.start("memos-worker")
    try:
        failed, waiting = asyncio.run(_work(state, settings, drain))
    finally:
        tracing.stop()
    if drain:
        parts = [f"{many(failed, 'task')} failed (`memos tasks list --state failed`)"] if failed else []
        parts += [f"{many(waiting, 'task')} still to do"] if waiting else []
        left = ", ".join(parts)
        state.answer({"failed": failed, "waiting": waiting}, lambda out: out.print(left or "nothing left to do"))
        raise typer.Exit(1 if left else 0)


async def _work(state: State, settings: Settings, drain: bool) -> tuple[int, int]:
    """Work until a signal comes, or (`drain`) until nothing is live. Returns how many tasks have failed for good, and how many
    are live.
    """
    import asyncio

    from memos.storage.tasks import LIVE, TaskState
    from memos.system import AsyncMemOS

    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, stop.set)
        except NotImplementedError:  # Windows: Ctrl+C raises KeyboardInterrupt
            break
    async with AsyncMemOS(settings=settings) as memos:
        await memos.start("worker")
        state.tell(f"memos worker: {settings.workers} slots, {place_of(settings)}")
        if not drain:
            await stop.wait()
            return 0, 0
        while not stop.is_set() and await memos.tasks.busy(memos.working_on):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.1):
                    await stop.wait()
        counts = await memos.tasks.counts()
        live = sum(counts[state] for state in LIVE) if await memos.tasks.busy() else 0
        return counts[TaskState.FAILED], live
