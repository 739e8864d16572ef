"""Commands about reading with a language model: read records anew, and say how a cube wants to be read."""

from __future__ import annotations

from typing import Annotated, Literal, cast, get_args

import typer

from memos.cli.state import print_all, state_of
from memos.errors import InvalidInput
from memos.memory.reading import Mode, ReadingMode

_READ = {"fine": "by the language model, after the rules", "fast": "by rules", "auto": "as the settings say"}


def reading_mode(given: str | None) -> ReadingMode | None:
    """The mode of an add. Raises InvalidInput."""
    if given is not None and given not in get_args(ReadingMode):
        raise InvalidInput(f"--reading is fast or fine, got {given!r}")
    return cast(ReadingMode | None, given)


def reread(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Ids of messages, or of what was derived from them.")
    ] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="All of this conversation.")] = None,
    everything: Annotated[bool, typer.Option("--all", "--everything", help="All of the cube.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return when it is done.")] = True,
) -> None:
    """Have the language model read messages anew, say after another model was configured. What the former reading derived, and
    the new one does not say again, is replaced.
    """
    from memos.cli.lookup import whole_id
    from memos.cli.render import many
    from memos.cli.wording import in_cli_words

    state = state_of(ctx)
    with state.system() as system:
        chosen = [whole_id(system, state, id) for id in ids] if ids else None
        done = system.reread(chosen, session=session, everything=everything, wait=wait, **state.where)
    said = f"{many(done.records, 'message')} {'to be read' if done.pending else 'read'} anew"
    task = f"  task: {done.task}" if done.task else ""
    notes = (f"  note: {in_cli_words(notice)}" for notice in done.notices)
    state.answer(done, print_all(*filter(None, (said, task, *notes))))


def configure(
    ctx: typer.Context,
    mode: Annotated[
        str | None, typer.Option(help="fine: the language model reads; fast: rules alone; auto: as the settings say.")
    ] = None,
    instructions: Annotated[
        str | None, typer.Option("--instructions", "-i", help="What to look for or leave out; '' takes them away.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", "-t", help="A tag of the vocabulary; may be repeated.")
    ] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Take the vocabulary away.")] = False,
) -> None:
    """Show how the cube (--cube) wants what is added to be read, or change it."""
    if mode is not None and mode not in get_args(Mode):
        raise InvalidInput(f"--mode is auto, fast or fine, got {mode!r}")
    if tag and no_tags:
        raise InvalidInput("give --tag or --no-tags, not both")
    tags = tag or ([] if no_tags else None)
    state = state_of(ctx)
    with state.system() as system:
        if mode is None and instructions is None and tags is None:
            config = system.reading(**state.where)
        else:
            config = system.configure_reading(
                mode=cast(Literal["auto", "fast", "fine"] | None, mode),
                instructions=instructions,
                tags=tags,
                **state.where,
            )
    state.answer(
        config,
        print_all(
            f"read: {_READ[config.mode]} ({config.mode})",
            f"instructions: {config.instructions or 'none'}",
            f"tags: {', '.join(config.tags) or 'none'}",
        ),
    )
