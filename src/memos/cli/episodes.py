"""`memos episodes`: the tasks that agents worked on, their steps, and how they went."""

from __future__ import annotations

from typing import Annotated

import typer

from memos.cli.state import print_all, state_of

app = typer.Typer(
    help="Episodes, the tasks that agents worked on: list and show them.", no_args_is_help=True, rich_markup_mode=None
)
EpisodeId = Annotated[
    str, typer.Argument(help="Id of an episode: whole, or 6 characters or more of its beginning or end.")
]


@app.command("list")
def list_episodes(
    ctx: typer.Context,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Only of this session.")] = None,
    agent: Annotated[str | None, typer.Option("--agent", help="Only of this agent.")] = None,
    is_open: Annotated[
        bool | None,
        typer.Option("--open/--closed", help="Only those going on, or only those over.", show_default=False),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Episodes at most.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on after the page before.", show_default=False)
    ] = None,
) -> None:
    """Episodes, newest first: what was asked, how many steps it took, and how it went."""
    from memos.cli import render_learning

    state = state_of(ctx)
    with state.system() as system:
        page = system.episodes(session=session, agent=agent, is_open=is_open, limit=limit, cursor=cursor, **state.where)
    more = [f"more: memos episodes list --cursor {page.cursor}"] if page.cursor else []
    state.answer(page, print_all(render_learning.episodes(page.items), *more))


@app.command("show")
def show(ctx: typer.Context, id: EpisodeId) -> None:
    """One episode with its steps, what was said of its outcome, and what was handed out in it."""
    from memos.cli import render_learning
    from memos.cli.lookup import whole_episode_id

    state = state_of(ctx)
    with state.system() as system:
        found = system.episode(whole_episode_id(system, state, id), **state.where)
    state.answer(found, print_all(*render_learning.episode(found)))
