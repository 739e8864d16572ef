"""The command that tells what language models used and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from memos.cli.state import print_all, state_of
from memos.errors import InvalidInput

if TYPE_CHECKING:
    from memos.memory.spending import By

_SHOWN = 200


def usage(
    ctx: typer.Context,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="DAY", help="From this day of UTC (2026-11-01).", show_default=False),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DAY", help="To this day, included.", show_default=False)
    ] = None,
    by: Annotated[
        str, typer.Option("--by", help="What is told apart, with commas: day, user, purpose, model.")
    ] = "user,purpose,model",
    purpose: Annotated[
        str | None, typer.Option("--purpose", help="reading, feedback, chat, evolution or vision.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="Rows at most.")] = _SHOWN,
) -> None:
    """Calls, tokens and cost of language models: everybody's, or those of --user."""
    from memos.cli import render_usage
    from memos.memory.spending import BY

    state = state_of(ctx)
    names = [name.strip() for name in by.split(",") if name.strip()]
    if not names or any(name not in BY for name in names):
        raise InvalidInput(f"--by names {', '.join(BY)}, with commas between, got {by!r:.60}")
    chosen = cast("list[By]", names)
    named = ctx.find_root().get_parameter_source("user")
    user = state.user if named is not None and named.name == "COMMANDLINE" else None
    with state.system() as system:
        found = system.llm_usage(user=user, purpose=purpose, since=since, until=until, by=chosen, limit=limit)
        sums = system.llm_usage(user=user, purpose=purpose, since=since, until=until, by=())
    state.answer(
        {"items": found, "total": sums[0] if sums else None}, print_all(*render_usage.usage(found, sums, chosen))
    )
    if len(found) == limit:
        state.tell(f"memos: at most {limit} rows are shown (the total is of all); --limit shows more")
