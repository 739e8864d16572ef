"""Commands that write memories or show single ones: add, get, list, update, delete, undo, history."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memos.cli.options import AsOf, FilterText, KnownAt, MemoryId, Wait
from memos.cli.reading import reading_mode
from memos.cli.state import State, parse_filter_option, parse_pairs, print_all, state_of
from memos.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from memos.memory.model import Memory
    from memos.sync import MemOS

_COUNTED = 1_000  # of what a listing leaves out; beyond it, "or more"


def add(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="What to remember; `-` reads it from standard input."),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            "-f",
            help="A text, or chat messages: a JSON list (OpenAI style), or one JSON message per line. `-`: standard input.",
        ),
    ] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Conversation it belongs to.")] = None,
    role: Annotated[str, typer.Option(help="Who says it: user, assistant, system, developer, tool.")] = "user",
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="Tag; may be repeated.")] = None,
    info: Annotated[list[str] | None, typer.Option("--info", help="Own metadata key=value; may be repeated.")] = None,
    reading: Annotated[
        str | None,
        typer.Option(help="fine: the language model reads it too; fast: rules alone (default: as the cube says)."),
    ] = None,
    wait: Wait = True,
) -> None:
    """Store a text or a conversation. It is on disk and can be found when this returns."""
    from memos.cli import render
    from memos.cli.given import given
    from memos.cli.work import finish_or_say

    state = state_of(ctx)
    input = given(words, file)
    with state.system() as system:
        added = system.add(
            input.messages,
            session=session,
            role=role,
            tags=tag or (),
            info=parse_pairs(info or []),
            reading=reading_mode(reading),
            **state.where,
        )
        problem = finish_or_say(system, state, len(added)) if wait else None
    split = f", in {len(added)} parts" if input.notice and len(added) > 1 else ""
    notices = (input.notice and input.notice + split, *added.notices, problem)
    added = replace(added, notices=tuple(n for n in notices if n), pending=not wait or problem is not None)
    state.answer(added, lambda out: render.added(out, added, later=not wait))


def get(
    ctx: typer.Context,
    id: MemoryId,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """Show one memory with everything known of it."""
    from memos.cli import render
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    with state.system() as system:
        memory = system.get(whole_id(system, state, id), as_of=as_of, known_at=known_at, **state.where)
    state.answer(memory, print_all(render.memory(memory)))


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of memories. `left_out`: how many entities the filter lets through that are not shown, at most 1,000."""

    items: tuple[Memory, ...]
    cursor: str | None
    left_out: int = 0


def list_memories(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Memories of one page.")] = 20,
    kind: Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only this kind; may be repeated.")] = None,
    all_kinds: Annotated[bool, typer.Option("--all", "-a", help="Entities too, not only messages and facts.")] = False,
    filter: FilterText = None,
    cursor: Annotated[str | None, typer.Option(help="Go on where the last page ended.")] = None,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="In order of creation.")] = False,
    inactive: Annotated[bool, typer.Option("--inactive", help="Superseded and retracted ones too.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """List messages and facts, newest first."""
    from memos.cli import render
    from memos.memory.model import Kind

    state = state_of(ctx)
    where = parse_filter_option(filter)
    view: dict[str, Any] = {"filter": where, "as_of": as_of, "known_at": known_at, "include_inactive": inactive}
    everything = all_kinds or bool(kind) or _names(where, ("kind", "layer"))
    kinds = kind or (None if everything else [k for k in Kind if k is not Kind.ENTITY])
    with state.system() as system:
        page = system.list(
            kinds=kinds, limit=limit, cursor=cursor, newest_first=not oldest_first, **view, **state.where
        )
        entities = () if everything else system.list(kinds=["entity"], limit=_COUNTED, **view, **state.where).items
    listing = Listing(page.items, page.cursor, len(entities))
    state.answer(listing, lambda out: render.page(out, listing, most=_COUNTED))


def _names(where: Any, fields: tuple[str, ...]) -> bool:
    """Whether a filter, as it was written, speaks of one of these fields."""
    if isinstance(where, dict):
        return any(key in fields or _names(value, fields) for key, value in where.items())
    return isinstance(where, list) and any(_names(value, fields) for value in where)


def update(
    ctx: typer.Context,
    id: MemoryId,
    text: Annotated[str | None, typer.Option(help="New text.")] = None,
    title: Annotated[str | None, typer.Option(help="New title.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="New tags, in place of all others.")] = None,
    info: Annotated[list[str] | None, typer.Option("--info", help="key=value to set; key=null removes.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    valid_from: Annotated[str | None, typer.Option(help="Since when it is true.")] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it was true.")] = None,
    cause: Annotated[str | None, typer.Option(help="Why; kept in the history.")] = None,
    wait: Wait = True,
) -> None:
    """Change a memory. What it was before stays in its history."""
    from memos.cli import render
    from memos.cli.lookup import whole_id
    from memos.cli.work import finish_and_tell

    state = state_of(ctx)
    with state.system() as system:
        memory = system.update(
            whole_id(system, state, id),
            text=text,
            title=title,
            tags=tag or None,
            info=parse_pairs(info or []),
            importance=importance,
            valid_from=valid_from,
            valid_to=valid_to,
            cause=cause,
            **state.where,
        )
        finish_and_tell(system, state, wait=wait)
    state.answer(memory, print_all(render.memory(memory)))


def delete(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None,
        typer.Argument(help="Ids of memories: whole, or 6 characters or more of their beginning or end."),
    ] = None,
    filter: FilterText = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Everything of a conversation.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="Everything in the cube.")] = False,
    soft: Annotated[
        bool, typer.Option("--soft", help="Only hide it: kept in history, `memos undo` brings it back.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
    vacuum: Annotated[
        bool | None,
        typer.Option(
            "--vacuum/--no-vacuum", help="Rewrite the file, so that no page of it holds the text.", show_default=False
        ),
    ] = None,
    wait: Wait = True,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete memories for good, with what is derived from nothing else. By ids, filter, session or everything."""
    from memos.cli import render
    from memos.cli.lookup import no_session, whole_id
    from memos.cli.work import finish_and_tell

    state = state_of(ctx)
    with state.system() as system:
        chosen: dict[str, Any] = {
            "ids": [whole_id(system, state, id) for id in ids] if ids else None,
            "filter": parse_filter_option(filter),
            "session": session,
            "everything": everything,
        }
        count = system.delete(**chosen, hard=False, dry_run=True, **state.where).asked
        if not count and session is not None:
            raise no_session(system, state, session)
        if not count and filter is not None:
            raise NotFound("nothing matches: the filter lets no memory of this cube through")
        if not (soft or dry_run or yes) and (can_ask(state) or not ids):
            confirm(_question(system, state, chosen["ids"], count), state)
        done = system.delete(**chosen, hard=not soft, dry_run=dry_run, vacuum=vacuum, **state.where)
        finish_and_tell(system, state, wait=wait and not dry_run)
    state.answer(done, lambda out: render.deleted(out, done))


def _question(system: MemOS, state: State, ids: list[str] | None, count: int) -> str:
    from memos.cli.render import many, safe

    if ids is not None and count == 1:
        return f"Delete for good: {safe(system.get(ids[0], **state.where).text, 80)!r}?"
    return f"Delete {many(count, 'memory')} for good, with what is derived from nothing else?"


def can_ask(state: State) -> bool:
    """Whether somebody is there to answer a question."""
    return not state.json and sys.stdin.isatty()


def confirm(question: str, state: State) -> None:
    """Ask on a terminal; elsewhere `--yes` is needed."""
    if not can_ask(state):
        raise InvalidInput(f"{question.rstrip('?')}: this needs --yes where nobody can be asked")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


def undo(ctx: typer.Context, id: MemoryId, wait: Wait = True) -> None:
    """Revert the last change of a memory, and whatever else that change did. A second undo brings the change back."""
    from memos.cli import render
    from memos.cli.lookup import whole_id
    from memos.cli.work import finish_and_tell

    state = state_of(ctx)
    with state.system() as system:
        whole = whole_id(system, state, id)
        now = system.undo(whole, **state.where)
        versions = system.history(whole, **state.where)
        finish_and_tell(system, state, wait=wait)
    state.answer(now, lambda out: render.undone(out, now, versions))


def history(ctx: typer.Context, id: MemoryId) -> None:
    """Every version of a memory: who changed it, how, why and when."""
    from memos.cli import render
    from memos.cli.lookup import whole_id

    state = state_of(ctx)
    with state.system() as system:
        versions = system.history(whole_id(system, state, id), **state.where)
    state.answer(versions, print_all(render.history(versions)))
