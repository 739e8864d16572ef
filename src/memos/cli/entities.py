"""`memos entities`: who and what is named, other names, and making two one (which can be taken back)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from memos.cli.state import print_all, state_of

if TYPE_CHECKING:
    from rich.table import Table

    from memos.memory.entity import Entity

app = typer.Typer(
    help="Who and what is named: list, find by a name, alias, merge and unmerge.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Which = Annotated[str, typer.Argument(metavar="ENTITY", help="An id, or a name that is one entity's alone.")]
Name = Annotated[str, typer.Argument(help="The other name.")]


@app.command("list")
def list_entities(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Option("--name", help="A part of a name or alias.", show_default=False)] = None,
    type: Annotated[
        str | None, typer.Option("--type", help="person, place, organisation, product, ...", show_default=False)
    ] = None,
    merged: Annotated[bool, typer.Option("--merged", help="Also those that were merged into others.")] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Entities at most.")] = 100,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on after the page before.", show_default=False)
    ] = None,
) -> None:
    """List the entities of a cube, newest first."""
    state = state_of(ctx)
    with state.system() as system:
        page = system.entities(name=name, type=type, merged=merged, limit=limit, cursor=cursor, **state.where)
    more = [f"more: memos entities list --cursor {page.cursor}"] if page.cursor else []
    state.answer(page, print_all(_table(page.items) if page.items else "no entities", *more))


@app.command("resolve")
def resolve(ctx: typer.Context, name: Annotated[str, typer.Argument(help="A name or alias.")]) -> None:
    """Show whom or what a name means."""
    state = state_of(ctx)
    with state.system() as system:
        found = system.resolve_entity(name, **state.where)
    state.answer(found, print_all(_table(found) if found else f"nobody and nothing is called {name!r} here"))


@app.command("alias")
def alias(
    ctx: typer.Context,
    entity: Which,
    name: Name,
    remove: Annotated[bool, typer.Option("--remove", help="Take the alias away.")] = False,
) -> None:
    """Give an entity one more name, or take one away."""
    state = state_of(ctx)
    with state.system() as system:
        change = system.remove_alias if remove else system.add_alias
        done = change(entity, name, **state.where)
    state.answer(done, print_all(_table([done])))


@app.command("merge")
def merge(
    ctx: typer.Context,
    keep: Annotated[str, typer.Argument(help="The one that stays: an id or a name.")],
    other: Annotated[str, typer.Argument(help="The one that becomes a part of it.")],
) -> None:
    """Make two entities one; `memos entities unmerge` takes it back."""
    from memos.cli.render import many, safe

    state = state_of(ctx)
    with state.system() as system:
        done = system.merge_entities(keep, other, **state.where)
    text = f"{safe(done.other.name)} is {safe(done.kept.name)} now ({many(done.edges, 'link')} moved); its id: {done.other.id}"
    state.answer(done, print_all(text))


@app.command("unmerge")
def unmerge(ctx: typer.Context, entity: Which) -> None:
    """Take a merge back: the entity has again what it had, and what was said since by its own name."""
    from memos.cli.render import many, safe

    state = state_of(ctx)
    with state.system() as system:
        done = system.unmerge(entity, **state.where)
    text = (
        f"{safe(done.entity.name)} stands alone again, with {many(done.edges, 'link')} it had and "
        f"{many(done.followed, 'mention')} since; {many(done.stayed, 'mention')} since stayed"
    )
    state.answer(done, print_all(text))


def _table(entities: list[Entity] | tuple[Entity, ...]) -> Table:
    from memos.cli.render import safe, table

    rows = [(e.id, safe(e.name), e.type, safe(", ".join(e.aliases)), e.merged_into or "") for e in entities]
    return table(("id", "name", "type", "also called", "merged into"), rows)
