"""`memos policies`: how errors are resolved and tasks are done, what never works, and what somebody wants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memos.cli.options import MemoryId
from memos.cli.state import print_all, state_of
from memos.errors import InvalidInput

if TYPE_CHECKING:
    from memos.memory.learned import State

app = typer.Typer(
    help="Policies, what was learned from episodes: list, show, retire, restore and publish them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Reason = Annotated[str, typer.Option("--reason", "-r", help="Why, in a few words.", show_default=False)]
States = Annotated[
    list[str] | None, typer.Option("--state", help="candidate, probation, active or retired; may be repeated.")
]
Everything = Annotated[bool, typer.Option("--all", help="Retired ones, too.")]
Cube = Annotated[str, typer.Argument(metavar="CUBE", help="A cube that you may write to.")]
TakeBack = Annotated[bool, typer.Option("--take-back", help="Take the copy there back.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")]

IN_USE = ("candidate", "probation", "active")


@app.command("list")
def list_policies(
    ctx: typer.Context,
    query: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUERY]...", help="What they should answer (without: all).", show_default=False),
    ] = None,
    states: States = None,
    form: Annotated[
        list[str] | None, typer.Option("--form", help="fix, path, avoid or directive; may be repeated.")
    ] = None,
    everything: Everything = False,
    limit: Limit = 100,
) -> None:
    """Policies in use: those that answer a question, best first, or all, newest first."""
    from memos.cli import render_learned

    state = state_of(ctx)
    question, chosen = " ".join(query) if query else None, states_of(states, everything)
    with state.system() as system:
        found = system.policies(question, states=chosen or IN_USE, forms=form or None, limit=limit, **state.where)
        hidden = 0
        if chosen is None and question is None and not state.json:
            hidden = len(system.policies(states=["retired"], forms=form or None, limit=1_000, **state.where))
    state.answer(found, print_all(render_learned.policies(found), *render_learned.left_out(hidden)))


@app.command("show")
def show(ctx: typer.Context, id: MemoryId) -> None:
    """One policy: when it applies, what to do, and what is counted of it."""
    from memos.cli import render_learned
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    with state.system() as system:
        found = system.policy(whole_id(system, state, id), **state.where)
    state.answer(found, print_all(render_learned.policy(found)))


@app.command("retire")
def retire(ctx: typer.Context, id: MemoryId, reason: Reason = "") -> None:
    """Have a policy not used any more. Learning does not bring it back."""
    from memos.memory.learned import State

    set_state(ctx, id, State.RETIRED, reason)


@app.command("restore")
def restore(ctx: typer.Context, id: MemoryId, reason: Reason = "") -> None:
    """Bring a policy back as active. Learning does not retire it again."""
    from memos.memory.learned import State

    set_state(ctx, id, State.ACTIVE, reason)


@app.command("publish")
def publish(ctx: typer.Context, id: MemoryId, to: Cube, take_back: TakeBack = False) -> None:
    """Share a policy with another cube: a copy there, whose trials count here."""
    from memos.cli.lookup import short_id, whole_id
    from memos.cli.render_learned import published, taken_back

    state = state_of(ctx)
    with state.system() as system:
        found = system.policy(whole_id(system, state, id), **state.where)
        if take_back:
            count = system.unpublish(found.id, to, **state.where)
            return state.answer({"count": count}, print_all(taken_back(count, to)))
        done = system.publish(found.id, to, **state.where)
    return state.answer(done, print_all(published(f"policy {short_id(found.id)}", done)))


def states_of(given: list[str] | None, everything: bool) -> list[str] | None:
    """The states that --state and --all ask for; None where neither does. Raises InvalidInput where both do."""
    if given and everything:
        raise InvalidInput("give --state or --all, not both")
    return ["candidate", "probation", "active", "retired"] if everything else given or None


def set_state(ctx: typer.Context, id: str, to: State, reason: str) -> None:
    """Put something learned into a state by hand, and say so."""
    from memos.cli import render_learned
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    with state.system() as system:
        done = system.set_state(whole_id(system, state, id), to, reason=reason, **state.where)
    state.answer(done, print_all(render_learned.now(done, to)))
