"""Commands about background work: what waits, what failed and why, and trying it again."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from memos.cli.state import print_all, state_of

app = typer.Typer(
    help="Background tasks: list, inspect, retry and cancel them.", no_args_is_help=True, rich_markup_mode=None
)
Ids = Annotated[list[str] | None, typer.Argument(help="Ids of tasks.", metavar="[ID]...")]
Everything = Annotated[bool, typer.Option("--all", help="Every failed task, not only those named.")]
OfUser = Annotated[
    str | None, typer.Option("--of", help="Only tasks of this user.", metavar="USER", show_default=False)
]


@app.command("list")
def list_tasks(
    ctx: typer.Context,
    of: OfUser = None,
    status: Annotated[
        str | None,
        typer.Option("--state", help="waiting, in_progress, completed, failed or cancelled.", show_default=False),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="digest, embed, import …", show_default=False)] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=1000)] = 50,
) -> None:
    """Tasks, newest first."""
    from memos.cli import render_tasks

    state = state_of(ctx)
    with state.system() as system:
        page = system.tasks.find(_query(of, status, kind), limit=limit)
    state.answer(page.items, print_all(render_tasks.tasks(page.items)))


@app.command("show")
def show(ctx: typer.Context, id: Annotated[str, typer.Argument(help="Id of the task.")]) -> None:
    """Everything about one task: attempts, the reason of a failure, its result."""
    from memos.cli import render_tasks

    state = state_of(ctx)
    with state.system() as system:
        found = system.tasks.get(id)
    state.answer(found, print_all(render_tasks.task(found)))


@app.command("stats")
def stats(ctx: typer.Context) -> None:
    """How each kind of work is doing: depth, age of the oldest, throughput, latency."""
    from memos.cli import render_tasks

    state = state_of(ctx)
    with state.system() as system:
        found = system.tasks.stats()
    state.answer(found, print_all(render_tasks.stats(found)))


@app.command("retry")
def retry(ctx: typer.Context, ids: Ids = None, everything: Everything = False, of: OfUser = None) -> None:
    """Have failed tasks tried again; a worker or server does it."""
    state, chosen = state_of(ctx), _chosen(ids, everything)
    with state.system() as system:
        count = system.tasks.retry(_query(of), chosen)
    state.answer({"retried": count}, print_all(f"{count} failed tasks wait again"))


@app.command("cancel")
def cancel(ctx: typer.Context, ids: Ids = None, everything: Everything = False, of: OfUser = None) -> None:
    """Take failed or waiting tasks out of the queue. What was stored stays stored. `--all` takes out the failed ones."""
    state, chosen = state_of(ctx), _chosen(ids, everything)
    with state.system() as system:
        count = system.tasks.cancel(_query(of, None if chosen else "failed"), chosen)
    state.answer({"cancelled": count}, print_all(f"{count} tasks cancelled"))


def _query(user: str | None = None, status: str | None = None, kind: str | None = None) -> Any:
    from memos.arguments import member
    from memos.storage.tasks import TaskQuery, TaskState

    states = None if status is None else [member(TaskState, status, "state")]
    return TaskQuery(user=user, states=states, kinds=None if kind is None else [kind])


def _chosen(ids: list[str] | None, everything: bool) -> list[str] | None:
    from memos.errors import InvalidInput

    if bool(ids) == everything:
        raise InvalidInput("name the tasks, or give --all for every failed one")
    return ids or None
