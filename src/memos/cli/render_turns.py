"""How what an agent reports looks in a terminal: the block alone on stdout, where things stand beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memos.cli.lookup import short_id
from memos.cli.render import many, safe, when
from memos.cli.wording import in_cli_words

if TYPE_CHECKING:
    from rich.console import Console

    from memos.memory.acting import OutcomeReported, StepReported, TurnEnded, TurnStarted


def block(out: Console, context: str) -> None:
    """A context block, as it goes into a prompt; nothing where it is empty."""
    if context:
        out.print(safe(context), soft_wrap=True)


def started(done: TurnStarted) -> str:
    """Where a turn stands."""
    closed = f", which ended episode {short_id(done.closed)}" if done.closed else ""
    again = " (reported before)" if done.repeated else ""
    said = f"turn {done.turn} of episode {short_id(done.episode)}: {done.relation.kind.value.replace('_', ' ')}{closed}"
    return "\n".join((said + again, *_notes((*done.notices, *done.recalled.reasons))))


def stepped(done: StepReported) -> str:
    """Where a step stands."""
    again = " (reported before)" if done.repeated else ""
    said = f"step {short_id(done.step)} in turn {done.turn} of episode {short_id(done.episode)}{again}"
    return "\n".join((said, *_notes(done.notices)))


def ended(done: TurnEnded) -> str:
    """What the end of a turn stored."""
    again = " (reported before)" if done.repeated else ""
    reply = "the reply" if done.message else "no reply"
    said = (
        f"turn {done.turn} of episode {short_id(done.episode)} ended with {reply} and {many(len(done.steps), 'step')}"
    )
    return "\n".join((said + again, *_notes(done.notices)))


def judged(done: OutcomeReported) -> str:
    """What was understood of an outcome."""
    due = f"; learned from at {when(done.due_at)}" if done.due_at else "; learned from when it is over"
    wishes = f"; {many(len(done.directives), 'directive')} from now on" if done.directives else ""
    return f"episode {short_id(done.episode)}: {done.score:+.2f}{due}{wishes}"


def _notes(notices: tuple[str, ...]) -> list[str]:
    return [f"note: {safe(in_cli_words(notice))}" for notice in notices]
