"""`memos world`: what is known of an environment, and how things in it are connected."""

from __future__ import annotations

from typing import Annotated

import typer

from memos.cli.options import MemoryId
from memos.cli.policies import Limit, Reason, set_state
from memos.cli.state import print_all, state_of

app = typer.Typer(
    help="The world model: list, ask, show, retire and restore what is known of environments.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Environment = Annotated[
    str | None, typer.Option("--environment", "-e", help="Only of this environment.", show_default=False)
]


@app.command("list")
def list_statements(ctx: typer.Context, environment: Environment = None, limit: Limit = 100) -> None:
    """What is known of an environment, or of all."""
    from memos.cli import render_learned

    state = state_of(ctx)
    with state.system() as system:
        found = system.world(environment=environment, limit=limit, **state.where)
    state.answer(found, print_all(*render_learned.world(found)))


@app.command("ask")
def ask(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="A question; quotes are not needed.")],
    environment: Environment = None,
    hops: Annotated[int, typer.Option("--hops", min=1, max=8, help="Longest path in the graph.")] = 3,
    limit: Limit = 20,
    paths: Annotated[int, typer.Option("--paths", min=0, max=1000, help="Paths to show at most.")] = 3,
) -> None:
    """Ask the world model: what holds, and how the things that the question names are connected."""
    from memos.cli import render_learned

    state = state_of(ctx)
    with state.system() as system:
        found = system.world(" ".join(query), environment=environment, hops=hops, limit=limit, **state.where)
    state.answer(found, print_all(*render_learned.world(found, most_paths=paths)))


@app.command("show")
def show(ctx: typer.Context, id: MemoryId) -> None:
    """One statement, with how many episodes speak for and against it."""
    from memos.cli import render_learned
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    with state.system() as system:
        found = system.world_statement(whole_id(system, state, id), **state.where)
    state.answer(found, print_all(render_learned.statement(found)))


@app.command("retire")
def retire(ctx: typer.Context, id: MemoryId, reason: Reason = "") -> None:
    """Have a statement not used any more. Learning does not bring it back."""
    from memos.memory.learned import State

    set_state(ctx, id, State.RETIRED, reason)


@app.command("restore")
def restore(ctx: typer.Context, id: MemoryId, reason: Reason = "") -> None:
    """Bring a statement back as active."""
    from memos.memory.learned import State

    set_state(ctx, id, State.ACTIVE, reason)
