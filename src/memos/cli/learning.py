"""`memos learning`: what changed, what happened event by event, and learning now."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from memos.cli.state import console, print_all, state_of

if TYPE_CHECKING:
    from memos.cli.state import State
    from memos.sync import MemOS

app = typer.Typer(
    help="Learning from episodes: report, events (also as they happen), and run it now.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("report")
def report(
    ctx: typer.Context,
    days: Annotated[float, typer.Option("--days", min=0.01, max=36_500, help="The last so many days.")] = 7,
    since: Annotated[
        str | None, typer.Option("--since", help="From when, instead of --days.", show_default=False)
    ] = None,
    until: Annotated[str | None, typer.Option("--until", help="To when (default: now).", show_default=False)] = None,
) -> None:
    """What changed: episodes and how they went, what was learned, promoted and retired."""
    from datetime import timedelta

    from memos.cli import render_learning
    from memos.memory.time import parse_time, utcnow

    state = state_of(ctx)
    zone = state.settings().timezone
    end = parse_time(until, default_zone=zone).instant if until is not None else utcnow()
    with state.system() as system:
        found = system.learning_report(since=since or end - timedelta(days=days), until=end, **state.where)
    state.answer(found, print_all(*render_learning.report(found)))


@app.command("events")
def events(
    ctx: typer.Context,
    after: Annotated[int, typer.Option("--after", min=0, help="Only events after this number.")] = 0,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="Events at most.")] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on as they happen, until Ctrl+C. With --json: one a line.")
    ] = False,
) -> None:
    """Everything learned, changed or tried, in order."""
    from memos.cli import render_learning

    state = state_of(ctx)
    if follow:
        return _follow(state, after)
    with state.system() as system:
        found = system.learning_events(after=after, limit=limit, **state.where)
    more = [f"more: memos learning events --after {found.last}"] if len(found.items) == limit else []
    return state.answer(found, print_all(render_learning.events(found.items), *more))


@app.command("run")
def run(
    ctx: typer.Context,
    now: Annotated[bool, typer.Option("--now", help="Also from episodes that still wait for feedback.")] = False,
) -> None:
    """Learn from every episode that is over, instead of waiting for a server or worker to do it."""
    from memos.cli import render_learning

    state = state_of(ctx)
    with state.system() as system:
        done = system.evolve(now=now, **state.where)
    state.answer(done, print_all(*render_learning.evolved(done)))


def _title(system: MemOS, state: State, id: str) -> str:
    """What a memory says, in a few words; nothing when it is gone."""
    from memos.cli.render_learned import summary
    from memos.errors import NotFound

    try:
        return summary(system.get(id, **state.where), 60)
    except NotFound:
        return ""


def _follow(state: State, after: int) -> None:
    from memos.cli.jsonable import jsonable
    from memos.cli.render_learning import event_line

    out = console()
    titles: dict[str | None, str] = {None: ""}
    try:
        with state.system() as system:
            for event in system.follow_learning(after=after, **state.where):
                if state.json:
                    print(json.dumps(jsonable(event), ensure_ascii=False), flush=True)
                else:
                    if event.memory not in titles:
                        titles[event.memory] = _title(system, state, event.memory or "")
                    out.print(event_line(event, titles[event.memory]), soft_wrap=True)
    except KeyboardInterrupt:
        return
