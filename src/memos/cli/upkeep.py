"""Commands of upkeep: the working set of a session, topics, and what a cube keeps for how long."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from memos.cli.state import print_all, state_of
from memos.errors import InvalidInput

retention = typer.Typer(
    help="What a cube keeps for how long: show, set, preview, apply and look back.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="At most so many.")]
Kinds = Annotated[
    list[str] | None, typer.Option("--kind", "-k", help="Of these kinds (without: all derived ones); may be repeated.")
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="With any of these tags; may be repeated.")]
Age = Annotated[
    float | None, typer.Option("--max-age-days", help="What was not changed for so many days.", show_default=False)
]
Newest = Annotated[
    int | None, typer.Option("--keep-newest", help="What is not among the newest so many.", show_default=False)
]
Bytes = Annotated[
    int | None, typer.Option("--keep-bytes", help="What is beyond so many bytes of text.", show_default=False)
]
Hard = Annotated[bool, typer.Option("--hard", help="Delete for good; without it, `memos undo` brings it back.")]
Rules = Annotated[
    str | None,
    typer.Option("--rules", help='Several rules as JSON: \'[{"kinds": ["trace"], "max_age_days": 365}]\'.'),
]


def working(
    ctx: typer.Context,
    session: Annotated[
        str | None, typer.Argument(help="The session (without: the one spoken in last).", show_default=False)
    ] = None,
) -> None:
    """The memories most relevant to a session: facts that hold, then what was said."""
    from memos.cli import render_upkeep

    state = state_of(ctx)
    with state.system() as system:
        found = system.working(session, **state.where)
    state.answer(found, print_all(*render_upkeep.working(found)))


def reorganize(ctx: typer.Context) -> None:
    """Find the topics of a cube, or bring them up to date, each with a summary and its evidence."""
    from memos.cli import render_upkeep

    state = state_of(ctx)
    with state.system() as system:
        done = system.reorganize(**state.where)
    state.answer(done, print_all(render_upkeep.reorganized(done)))


def topics(
    ctx: typer.Context,
    query: Annotated[
        str | None, typer.Argument(help="What they should be about (without: the largest).", show_default=False)
    ] = None,
    limit: Limit = 20,
) -> None:
    """The topics that `reorganize` found, with their summaries."""
    from memos.cli import render_upkeep

    state = state_of(ctx)
    with state.system() as system:
        found = system.topics(query, limit=limit, **state.where)
    state.answer(found, print_all(*render_upkeep.topics(found)))


@retention.command("show")
def show(ctx: typer.Context) -> None:
    """The rules of a cube."""
    from memos.cli import render_upkeep

    state = state_of(ctx)
    with state.system() as system:
        found = system.retention(**state.where)
    state.answer(found, print_all(render_upkeep.rules(found)))


@retention.command("set")
def set_rules(
    ctx: typer.Context,
    kind: Kinds = None,
    tag: Tags = None,
    max_age_days: Age = None,
    keep_newest: Newest = None,
    keep_bytes: Bytes = None,
    hard: Hard = False,
    rules: Rules = None,
) -> None:
    """Set the one rule that the options say, or several by --rules. It takes the place of those before."""
    from memos.cli import render_upkeep

    state = state_of(ctx)
    given = _given(kind, tag, max_age_days, keep_newest, keep_bytes, hard, rules)
    if given is None:
        raise InvalidInput("say what goes: --max-age-days, --keep-newest, --keep-bytes or --rules; `clear` sets none")
    with state.system() as system:
        found = system.set_retention(given, **state.where)
    state.answer(found, print_all(render_upkeep.rules(found)))


@retention.command("clear")
def clear(ctx: typer.Context) -> None:
    """Take all rules away: nothing goes by itself any more."""
    state = state_of(ctx)
    with state.system() as system:
        found = system.set_retention([], **state.where)
    state.answer(found, print_all("no rules: nothing goes by itself"))


@retention.command("preview")
def preview(
    ctx: typer.Context,
    kind: Kinds = None,
    tag: Tags = None,
    max_age_days: Age = None,
    keep_newest: Newest = None,
    keep_bytes: Bytes = None,
    hard: Hard = False,
    rules: Rules = None,
    limit: Limit = 100,
) -> None:
    """What would go now, and why: by the cube's rules, or by those that the options say. Nothing is changed."""
    from memos.cli import render_upkeep

    state = state_of(ctx)
    given = _given(kind, tag, max_age_days, keep_newest, keep_bytes, hard, rules)
    with state.system() as system:
        plan = system.preview_retention(given, limit=limit, **state.where)
    state.answer(plan, print_all(*render_upkeep.plan(plan)))


@retention.command("apply")
def apply(
    ctx: typer.Context,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    despite_clock: Annotated[
        bool, typer.Option("--despite-clock", help="The clock is right, though it seems wrong.")
    ] = False,
) -> None:
    """Apply the cube's rules now, instead of within the hour."""
    from memos.cli import render_upkeep
    from memos.cli.memories import confirm
    from memos.cli.render import many

    state = state_of(ctx)
    with state.system() as system:
        if not yes:
            plan = system.preview_retention(limit=1, **state.where)
            if plan.total or despite_clock:  # where nothing would go, nobody needs to be asked
                confirm(f"Take {many(plan.total, 'memory')} away by {many(len(plan.rules), 'rule')}?", state)
        run = system.apply_retention(despite_clock=despite_clock, **state.where)
    state.answer(run, print_all(render_upkeep.run(run)))
    if run.refused is not None:
        raise typer.Exit(1)


@retention.command("log")
def log(ctx: typer.Context, limit: Limit = 20) -> None:
    """What the rules took, newest first, and what was refused."""
    from memos.cli import render_upkeep

    state = state_of(ctx)
    with state.system() as system:
        found = system.retention_log(limit=limit, **state.where)
    state.answer(found, print_all(render_upkeep.runs(found)))


def _given(
    kind: list[str] | None,
    tag: list[str] | None,
    age: float | None,
    newest: int | None,
    size: int | None,
    hard: bool,
    rules: str | None,
) -> list[dict[str, Any]] | None:
    """The rules that options say; None where they say none."""
    limits = {"max_age_days": age, "keep_newest": newest, "keep_bytes": size}
    one = {name: value for name, value in limits.items() if value is not None}
    if rules is not None:
        if one or kind or tag or hard:
            raise InvalidInput("give --rules alone, or the options of one rule")
        return _parsed(rules)
    if not one:
        if kind or tag or hard:
            raise InvalidInput(
                "--kind, --tag and --hard belong to a rule: add --max-age-days, --keep-newest or --keep-bytes"
            )
        return None
    return [{"kinds": kind or [], "tags": tag or [], "hard": hard, **one}]


def _parsed(text: str) -> list[dict[str, Any]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InvalidInput(f"--rules is not JSON ({e})") from None
    if not isinstance(value, list):
        raise InvalidInput(f"--rules is a JSON list of rules, got {text[:60]!r}")
    return value
