"""The command `memos feedback`: say what is wrong, missing, right or to be forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from memos.cli.options import Wait
from memos.cli.state import state_of
from memos.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from memos.memory.feedback import FeedbackResult


def feedback(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help='"no, it\'s Bergen, not Oslo"; `-` reads it from standard input.'),
    ] = None,
    answered: Annotated[
        str | None, typer.Option("--answer", "-a", help="The answer that it is about, in its words.")
    ] = None,
    target: Annotated[
        list[str] | None, typer.Option("--target", help="Id of a memory that it is about; may be repeated.")
    ] = None,
    rating: Annotated[str | None, typer.Option(help="up, down, succeeded or failed: rate what --target names.")] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Conversation it belongs to.")] = None,
    hard: Annotated[bool, typer.Option("--hard", help="What is to be forgotten is gone for good.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --hard.")] = False,
    wait: Wait = True,
) -> None:
    """Correct, add, replace, forget, confirm, or say how to be answered, in plain words. `memos undo` takes it back."""
    from memos.cli.given import given
    from memos.cli.lookup import whole_id
    from memos.cli.memories import confirm
    from memos.cli.work import finish_and_tell

    state = state_of(ctx)
    text = _text(given(words, None).messages) if words else ""
    if not text and rating is None:
        raise InvalidInput('say what is right, wrong or missing: memos feedback "no, it\'s Bergen, not Oslo"')
    with state.system() as system:
        asked: dict[str, Any] = {
            "history": [{"role": "assistant", "content": answered}] if answered else None,
            "targets": [whole_id(system, state, id) for id in target] if target else None,
            "rating": rating,
            "session": session,
            **state.where,
        }
        if hard and not dry_run and not yes:
            planned = system.feedback(text, dry_run=True, hard=True, **asked)
            gone = [t.text for done in planned.operations for t in done.targets if done.operation == "forget"]
            if gone:
                confirm(f"Delete for good: {'; '.join(gone)[:400]}?", state)
        done = system.feedback(text, hard=hard, dry_run=dry_run, **asked)
        finish_and_tell(system, state, wait=wait and not dry_run)
    state.answer(done, lambda out: shown(out, done))
    if not done.understood:
        raise typer.Exit(1)


def _text(messages: object) -> str:
    if not isinstance(messages, str):
        raise InvalidInput("feedback is one text, not a list of messages")
    return messages


def shown(out: Console, done: FeedbackResult) -> None:
    """What was done, a line for each memory."""
    from memos.cli.render import safe

    would = "would have " if done.dry_run and done.understood else ""
    out.print(f"{would}{safe(done.message, 400)}")
    for one in done.operations:
        texts = {t.id: t.text for t in one.targets}
        for made in one.made:
            former = texts.pop(made.replaces or "", None)
            line = (
                f"{safe(former, 200)} -> {safe(made.text, 200)}" if former is not None else f"+ {safe(made.text, 200)}"
            )
            out.print(f"  {line}", soft_wrap=True)
        mark = "-" if one.operation == "forget" else "="
        for text in texts.values():
            out.print(f"  {mark} {safe(text, 200)}", soft_wrap=True)
    for candidate in done.candidates:
        out.print(f"  ? {candidate.id}  {safe(candidate.text, 160)}", soft_wrap=True)
    if done.operations and done.record is not None and not done.dry_run:
        out.print(f"take it back: memos undo {done.record}", soft_wrap=True)
