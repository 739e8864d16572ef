"""Commands about whole cubes: list, create, delete and share."""

from __future__ import annotations

from typing import Annotated

import typer

from memos.cli import reading
from memos.cli.state import parse_pairs, print_all, state_of

app = typer.Typer(help="Cubes: list, create, delete and share them.", no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(help="Name of the cube.")]


@app.command("list")
def list_cubes(ctx: typer.Context) -> None:
    """The cubes you own or were granted."""
    from memos.cli import render_care

    state = state_of(ctx)
    with state.system() as system:
        found = system.list_cubes(user=state.user)
    state.answer(found, print_all(render_care.cubes(found)))


@app.command("create")
def create(
    ctx: typer.Context,
    name: Name,
    info: Annotated[list[str] | None, typer.Option("--info", help="Own metadata key=value; may be repeated.")] = None,
) -> None:
    """A new, empty cube of yours."""
    state = state_of(ctx)
    with state.system() as system:
        made = system.create_cube(name, user=state.user, info=parse_pairs(info or []))
    state.answer(made, print_all(f"created cube {made.name!r} of {made.owner!r}"))


@app.command("delete")
def delete(
    ctx: typer.Context, name: Name, yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False
) -> None:
    """Delete a cube with everything in it."""
    from memos.cli.memories import confirm
    from memos.cli.render import many

    state = state_of(ctx)
    with state.system() as system:
        count = system.stats(user=state.user, cube=name).store.memories
        if not yes:
            confirm(f"Delete cube {name!r} with its {many(count, 'memory')} for good?", state)
        freed = system.delete_cube(name, user=state.user)
    state.answer(
        {"cube": name, "memories": count, "bytes_freed": freed},
        print_all(f"deleted cube {name!r}: {many(count, 'memory')}, {freed} bytes freed"),
    )


app.command("configure")(reading.configure)


@app.command("share")
def share(
    ctx: typer.Context,
    name: Name,
    with_user: Annotated[str, typer.Argument(help="The other user.", metavar="USER")],
    level: Annotated[str, typer.Option(help="read, write or admin.")] = "read",
) -> None:
    """Give another user rights on a cube."""
    state = state_of(ctx)
    with state.system() as system:
        found = system.share(name, with_user, level, user=state.user)
    state.answer(found, print_all(f"{with_user!r} may {level} cube {name!r}"))


@app.command("unshare")
def unshare(
    ctx: typer.Context, name: Name, with_user: Annotated[str, typer.Argument(help="The other user.", metavar="USER")]
) -> None:
    """Take every right on a cube away from another user."""
    state = state_of(ctx)
    with state.system() as system:
        found = system.share(name, with_user, None, user=state.user)
    state.answer(found, print_all(f"{with_user!r} has no rights on cube {name!r} any more"))
