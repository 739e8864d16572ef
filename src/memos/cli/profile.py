"""The command that says what is known of somebody."""

from __future__ import annotations

from typing import Annotated

import typer

from memos.cli.state import state_of


def profile(
    ctx: typer.Context,
    about: Annotated[
        str | None, typer.Argument(help="A name, or a relative (brother); by default, the user.", show_default=False)
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, max=100_000, help="Budget of the text (a token: 4 characters).")
    ] = 400,
    reference_time: Annotated[
        str | None, typer.Option("--reference-time", help="What is now (default: now).", show_default=False)
    ] = None,
) -> None:
    """Say what is known of the user, or of somebody else: wishes, facts, preferences, plans, the last events."""
    from memos.cli import render

    state = state_of(ctx)
    with state.system() as system:
        found = system.profile(about=about, max_tokens=max_tokens, reference_time=reference_time, **state.where)
    state.answer(found, lambda out: render.profile(out, found))
    if found.left_out:
        state.tell(f"memos: {found.left_out} more did not fit; --max-tokens shows more")
