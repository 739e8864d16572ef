"""`memos lineage`: where something learned comes from, and what came of it."""

from __future__ import annotations

import typer

from memos.cli.options import MemoryId
from memos.cli.state import print_all, state_of


def lineage(ctx: typer.Context, id: MemoryId) -> None:
    """Where a skill, a policy or a statement comes from, down to steps, and what came of it, up to skills; as trees."""
    from memos.cli import render_lineage
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    with state.system() as system:
        found = system.lineage(whole_id(system, state, id), **state.where)
    state.answer(found, print_all(*render_lineage.lineage(found)))
