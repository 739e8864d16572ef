"""`memos import` and `memos export`: what other systems kept, taken in; and what is here, written out. An archive is a
whole cube.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memos.cli.options import Wait
from memos.cli.state import State, named_user, print_all, quiet_logs, state_of
from memos.errors import InvalidInput

if TYPE_CHECKING:
    from memos.client.sync import Client
    from memos.moving.items import Source
    from memos.moving.report import Progress
    from memos.sync import MemOS

_FORMATS = ("archive", "jsonl", "markdown", "skills")
Url = Annotated[
    str | None, typer.Option("--url", help="Work on a MemOS server instead of the data folder.", show_default=False)
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", help="File with the server's key (else MEMOS_API_KEY).", show_default=False),
]


def export(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="File to write; for markdown and skills, the folder.")],
    format: Annotated[
        str,
        typer.Option(
            help="archive: all of the cube, to be imported as a new one. jsonl: what holds now, a line each. markdown: a "
            "folder to read. skills: folders with SKILL.md.",
        ),
    ] = "archive",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    url: Url = None,
    key_file: KeyFile = None,
) -> None:
    """Write a cube out: as an archive with all history and vectors, or in a form that others read."""
    from memos.cli import render_care, render_moving

    state = state_of(ctx)
    if format not in _FORMATS:
        raise InvalidInput(f"--format is one of {', '.join(_FORMATS)}, got {format!r:.40}")
    with _memory(ctx, url, key_file) as memory:
        where = _where(ctx, state, url)
        if format == "archive":
            report = memory.export_cube(path, overwrite=overwrite, **where)
            return state.answer(report, print_all(render_care.archived("wrote", report, path)))
        _outside(state, url, path)
        if format == "skills":
            written = memory.export_skills(path, overwrite=overwrite, **where)
            told = {"path": str(path), "format": format, "files": len(written)}
            return state.answer(
                told, print_all(*(f"wrote {one}" for one in written) if written else ("no skills to write",))
            )
        done = _writer(format)(memory, path, overwrite=overwrite, **where)
    return state.answer(done, print_all(render_moving.written(done)))


def bring_in(
    ctx: typer.Context,
    path: Annotated[Path | None, typer.Argument(help="File or folder to take in.", show_default=False)] = None,
    name: Annotated[
        str | None, typer.Argument(help="For an archive: name of the new cube.", show_default=False)
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--from", help="What it is (default: found out; --list shows them).", show_default=False),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what there is; store nothing.")] = False,
    session: Annotated[
        str | None, typer.Option("--session", "-s", help="Put all into this conversation.", show_default=False)
    ] = None,
    facts: Annotated[bool, typer.Option("--facts/--no-facts", help="Read facts from what was said.")] = True,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", help="Of a table: text=NAME, at=NAME, ...; may be repeated.", show_default=False),
    ] = None,
    of: Annotated[
        str | None,
        typer.Option("--of", help="Of a file with memories of several users: only this one's.", show_default=False),
    ] = None,
    bad: Annotated[
        Path | None, typer.Option("--bad", help="New file for all rows that cannot be taken.", show_default=False)
    ] = None,
    kinds: Annotated[bool, typer.Option("--list", help="Show the kinds of files that are known.")] = False,
    url: Url = None,
    key_file: KeyFile = None,
    wait: Wait = True,
) -> None:
    """Take in what another system kept (ChatGPT, Claude, mem0, notes, chats ...), or make a new cube of an archive. Run
    again, nothing is stored twice.
    """
    from memos.cli import render_care, render_moving

    state = state_of(ctx)
    if kinds:
        from memos.moving.sources import SOURCES

        known = [{"name": source.name, "title": source.title} for source in SOURCES]
        state.answer(known, print_all(render_moving.kinds(known)))
        return
    if path is None:
        raise InvalidInput("name a file or folder to take in; --list shows what kinds are known")
    if name is not None:
        with _memory(ctx, url, key_file) as memory:
            made = memory.import_cube(path, name, **({} if url else {"user": state.user}))
        state.answer(made, print_all(render_care.archived("imported", made, path)))
        return
    source = _source(path, kind, column or [], of)
    with _memory(ctx, url, key_file) as memory, _progress(state) as watch:
        from memos.moving.bring import bring_now

        done = bring_now(
            memory, path, source=source, session=session, dry_run=dry_run, facts=facts, bad=bad, progress=watch,
            **_where(ctx, state, url),
        )  # fmt: skip
    problem = _finished(state, done.new) if wait and done.new and not dry_run and url is None else None
    into = _whom(_where(ctx, state, url))
    state.answer(done, print_all(*render_moving.report(done, into), *([problem] if problem else [])))
    if done.bad and not done.items:
        raise typer.Exit(1)  # nothing of it could be taken


def _whom(where: dict[str, Any]) -> str:
    user = f"user {where['user']}" if where["user"] else "the user of the key"
    return f"{user}, cube {where['cube']}" if where["cube"] else user


def _source(path: Path, kind: str | None, columns: list[str], of: str | None) -> Source | str | None:
    from memos.moving.looks import names

    if kind is None and path.is_file() and "manifest.json" in names(path):
        raise InvalidInput(
            f"{path} is an archive, of which a new cube is made; name the cube: memos import {path} NAME"
        )
    if of is not None and not columns:
        from memos.moving.sources import detect, named, only

        return only(detect(path) if kind is None else named(kind), of)
    if not columns:
        return kind
    from memos.moving import table

    pairs = [pair.partition("=") for pair in columns]
    if wrong := next((what for what, sign, title in pairs if not sign or not title.strip()), None):
        raise InvalidInput(f"--column takes WHAT=NAME, as text=body, got {wrong!r:.60}")
    if kind not in (None, table.SOURCE.name):
        raise InvalidInput(f"--column is for a table, not for --from {kind}")
    return table.reading({what.strip(): title for what, _, title in pairs})


def _writer(format: str) -> Callable[..., Any]:
    if format == "jsonl":
        from memos.moving.jsonl_out import write_jsonl_now

        return write_jsonl_now
    from memos.moving.markdown_out import write_markdown_now

    return write_markdown_now


def _outside(state: State, url: str | None, path: Path) -> None:
    """Nobody but the system writes to the data folder."""
    if url is None:
        from memos.cubes.archive import check_outside

        check_outside(state.settings().home, path)


@contextlib.contextmanager
def _memory(ctx: typer.Context, url: str | None, key_file: Path | None) -> Iterator[MemOS | Client]:
    """The memory of the data folder, or a server's."""
    state = state_of(ctx)
    if url is None:
        if key_file is not None:
            raise InvalidInput("--key-file goes with --url")
        with state.system() as system:
            yield system
        return
    from memos.client.sync import Client

    quiet_logs()
    with Client(url, _key(key_file)) as client:
        yield client


def _key(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidInput(f"the key file {file} cannot be read: {e}") from None


def _where(ctx: typer.Context, state: State, url: str | None) -> dict[str, Any]:
    """The user and the cube; of a server, the user of its key, unless one is named."""
    return {"user": state.user if url is None else named_user(ctx), "cube": state.cube}


def _finished(state: State, new: int) -> str | None:
    from memos.cli.work import finish_or_say

    with state.system() as system:
        return finish_or_say(system, state, new)


@contextlib.contextmanager
def _progress(state: State) -> Iterator[Callable[[Progress], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    from memos.cli.state import console

    out = console(error=True)
    if state.json or not out.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=out, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda at: bar.update(task, description=at.phase, completed=at.done, total=at.total)
