"""Commands about background work: what waits, what failed and why, and trying it again."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memos.cli.state import State, print_all, state_of

if TYPE_CHECKING:
    from memos.storage.tasks import TaskState
    from memos.sync import MemOS

app = typer.Typer(
    help="Background tasks: list, inspect, retry and cancel them.", no_args_is_help=True, rich_markup_mode=None
)
_ID = "whole, or 6 characters or more of its beginning or end"
Ids = Annotated[list[str] | None, typer.Argument(help=f"Ids of tasks, each {_ID}.", metavar="[ID]...")]
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
    kind: Annotated[str | None, typer.Option(help="digest, embed, sweep, import …", show_default=False)] = None,
    limit: Annotated[int, typer.Option(help="At most so many.", min=1, max=1000)] = 50,
) -> None:
    """Tasks, newest first."""
    from memos.cli import render_tasks

    state = state_of(ctx)
    query = _query(of, status, kind)
    with _queue(state) as system:
        _check_kind(system, kind)
        page = system.tasks.find(query, limit=limit)
    state.answer(page.items, print_all(render_tasks.tasks(page.items)))
    if page.cursor is not None:
        state.tell(f"memos: only the newest {limit} are shown; --limit shows more")


@app.command("show")
def show(ctx: typer.Context, id: Annotated[str, typer.Argument(help=f"Id of the task: {_ID}.")]) -> None:
    """Everything about one task: attempts, the reason of a failure, its result."""
    from memos.cli import render_tasks
    from memos.cli.lookup import whole_task_id

    state = state_of(ctx)
    with _queue(state) as system:
        found = system.tasks.get(whole_task_id(system, id))
    state.answer(found, print_all(render_tasks.task(found)))


@app.command("stats")
def stats(ctx: typer.Context) -> None:
    """How each kind of work is doing: depth, age of the oldest, throughput, latency."""
    from memos.cli import render_tasks

    state = state_of(ctx)
    with _queue(state) as system:
        found = system.tasks.stats()
    state.answer(found, print_all(render_tasks.stats(found)))


@app.command("retry")
def retry(ctx: typer.Context, ids: Ids = None, everything: Everything = False, of: OfUser = None) -> None:
    """Have failed tasks tried again; a worker or server does it. `--all`: every failed one."""
    from memos.cli.render import many
    from memos.storage.tasks import TaskState

    state = state_of(ctx)
    _check_choice(ids, everything, of)
    with _queue(state) as system:
        chosen = _chosen(system, ids, {TaskState.FAILED}, "tried again")
        count = system.tasks.retry(_query(of), chosen)
    state.answer({"retried": count}, print_all(f"{many(count, 'failed task')} will be tried again"))


@app.command("cancel")
def cancel(ctx: typer.Context, ids: Ids = None, everything: Everything = False, of: OfUser = None) -> None:
    """Take tasks that wait or failed out of the queue. `--all`: every failed one. What was stored stays stored."""
    from memos.cli.render import many
    from memos.storage.tasks import TaskState

    state = state_of(ctx)
    _check_choice(ids, everything, of)
    with _queue(state) as system:
        chosen = _chosen(system, ids, {TaskState.WAITING, TaskState.FAILED}, "cancelled")
        count = system.tasks.cancel(_query(of, None if chosen else "failed"), chosen)
    what = "task" if chosen else "failed task"
    state.answer({"cancelled": count}, print_all(f"cancelled {many(count, what)}; what was stored stays stored"))


@contextlib.contextmanager
def _queue(state: State) -> Iterator[MemOS]:
    """The system whose queue is asked; with a warning when the server's is another, and in the end with its place, on stderr."""
    from memos.cli.place import differences, place_of

    settings = state.settings()
    for warning in differences(settings):
        state.tell(f"memos: warning: {warning}")
    with state.system() as system:
        yield system
    state.tell(f"memos: {place_of(settings)}")


def _query(user: str | None = None, status: str | None = None, kind: str | None = None) -> Any:
    from memos.arguments import member
    from memos.storage.tasks import TaskQuery, TaskState

    states = None if status is None else [member(TaskState, status, "state")]
    return TaskQuery(user=user, states=states, kinds=None if kind is None else [kind])


def _check_kind(system: MemOS, kind: str | None) -> None:
    """Raises InvalidInput for a kind that neither MemOS nor the queue knows."""
    from memos.errors import InvalidInput
    from memos.scheduler.kinds import PLANS

    if kind is not None and kind not in PLANS:
        known = sorted({*PLANS, *system.tasks.stats()})
        if kind not in known:
            raise InvalidInput(f"there is no kind {kind!r} of task; kinds are {', '.join(known)}")


def _check_choice(ids: list[str] | None, everything: bool, of: str | None) -> None:
    from memos.errors import InvalidInput

    if bool(ids) == everything:
        raise InvalidInput("name the tasks, or give --all for every failed one")
    if ids and of is not None:
        raise InvalidInput("--of goes with --all; the ids say already which tasks are meant")


def _chosen(system: MemOS, ids: list[str] | None, states: Collection[TaskState], what: str) -> list[str] | None:
    """The whole ids of the tasks that are named. Raises InvalidInput when one is not there or in no state for this."""
    from memos.cli.lookup import whole_task_id
    from memos.errors import InvalidInput, NotFound

    if not ids:
        return None
    fitting = " or ".join(sorted(state.value for state in states))
    chosen = []
    for text in ids:
        try:
            task = system.tasks.get(whole_task_id(system, text))
        except NotFound as e:
            raise InvalidInput(f"{e}; nothing was changed") from None
        if task.state not in states:
            raise InvalidInput(
                f"task {task.id} is {task.state.value}; only one that is {fitting} can be {what}; nothing was changed"
            )
        chosen.append(task.id)
    return chosen
