"""Commands that look after the installation: stats, flush, doctor, config, demo, version."""

from __future__ import annotations

from typing import Annotated

import typer

from memos.cli.state import print_all, quiet_logs, state_of


def stats(ctx: typer.Context) -> None:
    """Counts, sizes and waiting work of a cube."""
    from memos.cli import render_care

    state = state_of(ctx)
    with state.system() as system:
        found = system.stats(**state.where)
    state.answer(found, print_all(render_care.stats(found)))


def flush(ctx: typer.Context) -> None:
    """Finish waiting work of a cube: facts and vectors of what was added with --no-wait."""
    from memos.cli.work import finish

    state = state_of(ctx)
    with state.system() as system:
        waiting = dict(system.stats(**state.where).waiting)
        finish(system, state, max(waiting.values(), default=0))
    state.answer(
        {"done": waiting}, print_all("done: " + (", ".join(f"{n} {k}" for k, n in waiting.items()) or "nothing to do"))
    )


def doctor(
    ctx: typer.Context,
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="Rewrite every file, so that no page of it holds what was deleted.")
    ] = False,
    llm: Annotated[
        bool, typer.Option("--llm", help="Ask each language model one tiny question (which may cost a little).")
    ] = False,
) -> None:
    """Check all cubes of the data folder: damage, orphans, waiting work, disk, versions. Exit code 1 when there are
    problems.
    """
    from memos.cli import render_care
    from memos.cli.doctor import examine

    state = state_of(ctx)
    quiet_logs()
    found = examine(state.settings(), vacuum=vacuum, ask=llm)
    state.answer(found, lambda out: render_care.diagnosis(out, found))
    if not found.healthy:
        raise typer.Exit(1)


def config(ctx: typer.Context) -> None:
    """The settings in force, those of the server too, and the environment variable of each."""
    import os

    from memos.cli import render
    from memos.cli.variables import unknown_variables
    from memos.memory.url import without_password
    from memos.server.options import ServerOptions
    from memos.settings import Settings

    state = state_of(ctx)
    given = {name for name in ("home", "embedder") if getattr(state, name) is not None}
    others = {name: said.variable for name, said in Settings.of_others().items()}
    rows = []
    for name, value, ours in (*state.settings().rows(), *ServerOptions.load().rows()):
        variable = ours if ours in os.environ else others.get(name, ours)
        source = "option" if name in given else "environment" if variable in os.environ else "default"
        rows.append((name, without_password(value) if name == "queue" else value, variable, source))
    for warning in unknown_variables():
        state.tell(f"memos: warning: {warning}")
    names = ("name", "value", "variable", "source")
    state.answer([dict(zip(names, row, strict=True)) for row in rows], print_all(render.table(names, rows)))


def demo(ctx: typer.Context) -> None:
    """Add a conversation of some months, ask it questions, change and delete; nothing of it stays (unless --home is given)."""
    import io

    from rich.console import Console

    from memos.cli.state import console
    from memos.demo.run import run

    state = state_of(ctx)
    quiet_logs()
    report = run(Console(file=io.StringIO()) if state.json else console(), state.home, embedder=state.embedder)
    if state.json:
        state.answer(report, print_all())


def version(ctx: typer.Context) -> None:
    """The versions of MemOS and what it stands on."""
    from memos.cli.doctor import versions

    state = state_of(ctx)
    found = versions()
    state.answer(found, print_all(", ".join(f"{name} {number}" for name, number in found.items())))
