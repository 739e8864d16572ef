"""Commands that write memories or show single ones: add, get, list, update, delete, undo, history."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from memos.cli.options import AsOf, FilterText, KnownAt, MemoryId
from memos.cli.state import State, parse_filter_option, parse_pairs, print_all, state_of
from memos.errors import InvalidInput


def add(
    ctx: typer.Context,
    text: Annotated[str | None, typer.Argument(help="What to remember; `-` reads it from standard input.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-f", help="Chat messages: a JSON list (OpenAI style), or one JSON message per line (.jsonl)."
        ),
    ] = None,
    session: Annotated[str | None, typer.Option("--session", "-s", help="Conversation it belongs to.")] = None,
    role: Annotated[str, typer.Option(help="Who says it: user, assistant, system, tool.")] = "user",
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="Tag; may be repeated.")] = None,
    info: Annotated[list[str] | None, typer.Option("--info", help="Own metadata key=value; may be repeated.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return when facts and vectors are made too.")] = True,
) -> None:
    """Store a text or a conversation. It is on disk and can be found when this returns."""
    from memos.cli import render
    from memos.cli.work import finish

    state = state_of(ctx)
    messages = _read_input(text, file)
    with state.system() as system:
        added = system.add(
            messages, session=session, role=role, tags=tag or (), info=parse_pairs(info or []), **state.where
        )
        if wait:
            from dataclasses import replace

            finish(system, state, len(added))
            added = replace(added, pending=False)
    state.answer(added, lambda out: render.added(out, added))


def _read_input(text: str | None, file: Path | None) -> Any:
    if (text is None) == (file is None):
        raise InvalidInput(
            "give either a text (or `-` for standard input) or --file, " + ("not both" if text else "one of them")
        )
    if file is None:
        return sys.stdin.read() if text == "-" else text
    if not file.is_file():
        raise InvalidInput(f"{file} is not a file that can be read")
    try:
        content = file.read_text("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InvalidInput(f"{file} is not UTF-8 text ({e.reason} at byte {e.start})") from None
    return parse_chat(content, str(file))


def parse_chat(content: str, name: str) -> Any:
    """The messages of a chat file: a JSON list, an object with `messages`, one message, or a message per line."""
    try:
        value = json.loads(content)
    except ValueError as whole_error:
        lines = [(i, line) for i, line in enumerate(content.splitlines(), 1) if line.strip()]
        out = []
        for number, line in lines:
            try:
                out.append(json.loads(line))
            except ValueError as e:
                if len(out) == 0:
                    raise InvalidInput(f"{name} is not JSON ({whole_error})") from None
                raise InvalidInput(f"{name}, line {number} is not JSON ({e})") from None
        return out
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return value["messages"]
    return value


def get(
    ctx: typer.Context,
    id: MemoryId,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """Show one memory with everything known of it."""
    from memos.cli import render

    state = state_of(ctx)
    with state.system() as system:
        memory = system.get(id, as_of=as_of, known_at=known_at, **state.where)
    state.answer(memory, print_all(render.memory(memory)))


def list_memories(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Memories of one page.")] = 20,
    kind: Annotated[list[str] | None, typer.Option("--kind", "-k", help="Only this kind; may be repeated.")] = None,
    filter: FilterText = None,
    cursor: Annotated[str | None, typer.Option(help="Go on where the last page ended.")] = None,
    oldest_first: Annotated[bool, typer.Option("--oldest-first", help="In order of creation.")] = False,
    inactive: Annotated[bool, typer.Option("--inactive", help="Superseded and retracted ones too.")] = False,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> None:
    """List memories, newest first."""
    from memos.cli import render

    state = state_of(ctx)
    with state.system() as system:
        page = system.list(
            filter=parse_filter_option(filter),
            kinds=kind or None,
            limit=limit,
            cursor=cursor,
            newest_first=not oldest_first,
            as_of=as_of,
            known_at=known_at,
            include_inactive=inactive,
            **state.where,
        )
    state.answer(page, lambda out: render.page(out, page))


def update(
    ctx: typer.Context,
    id: MemoryId,
    text: Annotated[str | None, typer.Option(help="New text.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="New tags, in place of all others.")] = None,
    info: Annotated[list[str] | None, typer.Option("--info", help="key=value to set; key=null removes.")] = None,
    importance: Annotated[float | None, typer.Option(help="0 to 1.")] = None,
    valid_from: Annotated[str | None, typer.Option(help="Since when it is true.")] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it was true.")] = None,
    cause: Annotated[str | None, typer.Option(help="Why; kept in the history.")] = None,
) -> None:
    """Change a memory. What it was before stays in its history."""
    from memos.cli import render
    from memos.cli.work import finish

    state = state_of(ctx)
    with state.system() as system:
        memory = system.update(
            id,
            text=text,
            tags=tag or None,
            info=parse_pairs(info or []),
            importance=importance,
            valid_from=valid_from,
            valid_to=valid_to,
            cause=cause,
            **state.where,
        )
        finish(system, state, 1)
    state.answer(memory, print_all(render.memory(memory)))


def delete(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(help="Ids of memories.")] = None,
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
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete memories for good, with what is derived from nothing else. By ids, filter, session or everything."""
    from memos.cli import render

    state = state_of(ctx)
    wide = not ids and not soft and not dry_run
    chosen: dict[str, Any] = {
        "ids": ids or None,
        "filter": parse_filter_option(filter),
        "session": session,
        "everything": everything,
    }
    with state.system() as system:
        if wide and not yes:
            count = system.delete(**chosen, dry_run=True, **state.where).asked
            confirm(f"Delete {count} memories for good?", state)
        done = system.delete(**chosen, hard=not soft, dry_run=dry_run, vacuum=vacuum, **state.where)
    state.answer(done, lambda out: render.deleted(out, done))


def confirm(question: str, state: State) -> None:
    """Ask on a terminal; elsewhere `--yes` is needed."""
    if state.json or not sys.stdin.isatty():
        raise InvalidInput(f"{question.rstrip('?')}: this needs --yes where nobody can be asked")
    if not typer.confirm(question, err=True):
        raise typer.Exit(1)


def undo(ctx: typer.Context, id: MemoryId) -> None:
    """Revert the last change of a memory, and whatever else that change did."""
    from memos.cli import render

    state = state_of(ctx)
    with state.system() as system:
        now = system.undo(id, **state.where)
    state.answer(now, print_all(render.memories(now, "as they are now")))


def history(ctx: typer.Context, id: MemoryId) -> None:
    """Every version of a memory: who changed it, how, why and when."""
    from memos.cli import render

    state = state_of(ctx)
    with state.system() as system:
        versions = system.history(id, **state.where)
    state.answer(versions, print_all(render.history(versions)))
