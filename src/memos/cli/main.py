"""The `memos` command: its global options, its commands, and how errors become one line and an exit code."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.models import TyperInfo

from memos import __version__
from memos.cli import (
    accounts,
    care,
    chat,
    cubes,
    entities,
    episodes,
    feedback,
    finding,
    hosts,
    learning,
    lineage,
    mcp,
    memories,
    moving,
    policies,
    profile,
    reading,
    serve,
    skills,
    tasks,
    turn,
    upkeep,
    usage,
    worker,
    world,
)
from memos.cli.state import State
from memos.cli.wording import in_cli_words
from memos.errors import InvalidInput, MemosError

_GLOBAL_VALUES = ("--home", "--user", "--cube", "--embedder")
_GLOBAL_FLAGS = ("--json", "--debug")
_SENTENCE = 400  # characters: no sentence of a help text is longer
# Everything but RuntimeError, which is how typer ends a command.
_BUGS = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError, NameError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip


class Whole(TyperGroup):
    """A group whose help shows the first sentence of each command to its end, over several lines where it takes them."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands in one column."""
        names = self.list_commands(ctx)
        _write_commands(formatter, "Commands", self, ctx, names, max((len(name) for name in names), default=0))


def _write_commands(formatter: Any, title: str, group: TyperGroup, ctx: Any, names: Iterable[str], width: int) -> None:
    found = [(name, command) for name in names if (command := group.get_command(ctx, name)) is not None]
    with formatter.section(title):
        formatter.write_dl([(name.ljust(width), command.get_short_help_str(_SENTENCE)) for name, command in found])


class Commands(TyperGroup):
    """The group of all commands. Global options may stand anywhere; known errors are one line on stderr.

    Exit codes: 2 what was asked cannot be done as asked, 1 anything else that went wrong.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with the global options moved to the front."""
        rest: list[str] = super().parse_args(ctx, global_options_first(args))
        return rest

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, built when it is asked for: building all takes longer than most commands do. For a name that is none, all
        are, so that what is like it can be suggested.
        """
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:
            self.commands[name] = _built(name)
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the groups. (typer puts single commands before nested ones.)"""
        return [name for commands in _GROUPS.values() for name in commands]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under the headings of their groups, in columns that line up."""
        width = max(len(name) for name in self.list_commands(ctx))
        for title, group in _GROUPS.items():
            _write_commands(formatter, title, self, ctx, group, width)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except MemosError as e:
            _fail(ctx, e, e.code, 2 if isinstance(e, InvalidInput) else 1)
        except OSError as e:
            if e.errno == errno.EPIPE:
                raise
            _fail(ctx, e, "system", 1)
        except _BUGS as e:
            _fail(ctx, e, "bug", 1)


def global_options_first(args: Sequence[str]) -> list[str]:
    """The arguments with global options, wherever they stand before a `--`, moved to the front."""
    first: list[str] = []
    rest: list[str] = []
    items = iter(args)
    for arg in items:
        name = arg.partition("=")[0]
        if arg == "--":
            rest += [arg, *items]
        elif arg in _GLOBAL_VALUES:
            first += [arg, *([value] if (value := next(items, None)) is not None else [])]
        elif arg in _GLOBAL_FLAGS or (name in _GLOBAL_VALUES and "=" in arg):
            first.append(arg)
        else:
            rest.append(arg)
    return first + rest


def _fail(ctx: Any, error: Exception, code: str, status: int) -> None:
    state = ctx.obj if isinstance(ctx.obj, State) else State()
    if state.debug:
        raise error
    message = in_cli_words(" ".join(str(error).split())) or type(error).__name__
    if code == "bug":
        message = f"unexpected {type(error).__name__}: {message} (--debug shows where)"
    if state.json:
        typer.echo(json.dumps({"error": {"code": code, "message": message}}, ensure_ascii=False), err=True)
    else:
        typer.echo(f"memos: {message}", err=True)
    raise typer.Exit(status)


app = typer.Typer(
    name="memos",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Global options may also follow the command: memos search 'where do I live?' --user alice --json",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"memos {__version__}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    home: Annotated[
        Path | None, typer.Option(help="Folder of all data (default: MEMOS_HOME, else ~/.memos).", show_default=False)
    ] = None,
    user: Annotated[str, typer.Option(envvar="MEMOS_USER", help="Whose memory it is.")] = "default",
    cube: Annotated[
        str | None,
        typer.Option(envvar="MEMOS_CUBE", help="Cube to work on (default: the user's own).", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON, errors too.")] = False,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="default, none, openai:MODEL, ollama:MODEL or st:MODEL (default: MEMOS_EMBEDDER).", show_default=False
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Memory for AI agents, in one file per cube, offline: add what happened, find the right part of it, correct it."""
    ctx.obj = State(home, user, cube, as_json, embedder, debug)


_GROUPS: Mapping[str, Mapping[str, Callable[..., Any] | typer.Typer]] = {
    "Memory": {
        "add": memories.add,
        "search": finding.search,
        "chat": chat.chat,
        "list": memories.list_memories,
        "get": memories.get,
        "update": memories.update,
        "delete": memories.delete,
        "feedback": feedback.feedback,
        "undo": memories.undo,
        "history": memories.history,
        "explain": finding.explain,
        "profile": profile.profile,
        "neighbors": finding.neighbors,
        "timeline": finding.timeline,
        "working": upkeep.working,
        "topics": upkeep.topics,
        "entities": entities.app,
        "reread": reading.reread,
    },
    "Agents": {
        "turn": turn.app,
        "episodes": episodes.app,
        "policies": policies.app,
        "world": world.app,
        "skills": skills.app,
        "lineage": lineage.lineage,
        "learning": learning.app,
    },
    "Cubes and accounts": {
        "cubes": cubes.app,
        "export": moving.export,
        "import": moving.bring_in,
        "users": accounts.users,
        "keys": accounts.keys,
        "grants": accounts.grants,
    },
    "Serve and look after": {
        "serve": serve.serve,
        "worker": worker.worker,
        "mcp": mcp.app,
        "hosts": hosts.app,
        "hook": hosts.hook,
        "tasks": tasks.app,
        "flush": care.flush,
        "reorganize": upkeep.reorganize,
        "retention": upkeep.retention,
        "stats": care.stats,
        "usage": usage.usage,
        "doctor": care.doctor,
        "config": care.config,
        "demo": care.demo,
        "version": care.version,
    },
}
_COMMANDS = {name: what for commands in _GROUPS.values() for name, what in commands.items()}


def _built(name: str) -> Any:
    what = _COMMANDS[name]
    if isinstance(what, typer.Typer):
        return typer.main.get_group_from_info(
            TyperInfo(what, name=name, cls=Whole),
            pretty_exceptions_short=what.pretty_exceptions_short,
            suggest_commands=what.suggest_commands,
            rich_markup_mode=what.rich_markup_mode,
        )
    alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    alone.command(name)(what)
    return typer.main.get_command(alone)


def run() -> None:
    """Entry point of the `memos` command."""
    app()
