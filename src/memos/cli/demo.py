"""The demo command: `memos.demo` with the global options."""

from __future__ import annotations

import typer

from memos.cli.state import console, quiet_logs, state_of


def demo(ctx: typer.Context) -> None:
    """Add a conversation of nine months, ask it questions, explain, change and delete. It runs in a temporary folder,
    or in that of --home, where its cube `memos-demo` stays.
    """
    from memos.demo.run import run

    state = state_of(ctx)
    quiet_logs()
    out = console()
    out.quiet = state.json
    report = run(out, state.home, embedder=state.embedder)
    if state.json:
        state.answer(report, lambda _: None)
