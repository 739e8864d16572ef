"""`memos hosts`: put MemOS into Claude Code, Codex and others, take it out, see whether it works. `memos hook`: what they run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memos.cli.state import print_all, state_of

if TYPE_CHECKING:
    from memos.hosts.install import Installed
    from memos.hosts.places import Place

app = typer.Typer(
    help="Plug MemOS into Claude Code, Codex, Hermes ...: list, install, uninstall, status, doctor.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Host = Annotated[str, typer.Argument(help="claude-code, codex, hermes, dsh or openclaw.")]
Project = Annotated[
    Path | None,
    typer.Option(
        "--project", help="Only for this project folder (default: for the user, --user-level).", file_okay=False
    ),
]
UserLevel = Annotated[bool, typer.Option("--user-level", help="For everything the user does; the default.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")]


@app.command("install")
def install(
    ctx: typer.Context,
    host: Host,
    project: Project = None,
    user_level: UserLevel = False,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="A MemOS server (default: the one that runs on the data folder, else none).",
            show_default=False,
        ),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="File with the server's API key.", show_default=False)
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", min=1, help="Budget of what is put before a prompt.")
    ] = 1_500,
    mcp: Annotated[bool, typer.Option("--mcp/--no-mcp", help="Also give the agent the tools of `memos mcp`.")] = True,
    dry_run: DryRun = False,
) -> None:
    """Write hooks and the MCP server into a host's settings, beside what is there. Again: nothing more."""
    from memos.errors import InvalidInput
    from memos.hosts.install import install as install_
    from memos.hosts.places import Reach
    from memos.hosts.plugged import installing

    state, plugin = state_of(ctx), installing(host)
    place = _place(host, project, user_level) if plugin is None else None
    if project is not None and plugin is None and not project.expanduser().is_dir():
        raise InvalidInput(f"there is no folder {project}")
    home = state.settings().home.absolute()
    reach = Reach(
        home=home if home != Path.home() / ".memos" else None,
        url=url,
        key_file=key_file.expanduser().absolute() if key_file is not None else None,
        user=None if state.user == "default" else state.user,
        cube=state.cube,
        max_tokens=max_tokens,
        tools=mcp,
    )
    if plugin is not None:
        _no_project(host, project)
        done = plugin.install(reach, home, dry_run=dry_run)
    else:
        assert place is not None
        done = install_(place, reach, home, mcp=mcp, dry_run=dry_run)
    state.answer(done, print_all(_told(done, "put into", "is already in")))
    for note in (*done.notes, *_wanting(host, mcp)) if done.files else ():
        state.tell(f"memos: note: {note}")
    if mcp and plugin is None and key_file is not None:
        state.tell("memos: note: the MCP server reads the key from MEMOS_API_KEY; set it where the host is started")


@app.command("uninstall")
def uninstall(
    ctx: typer.Context, host: Host, project: Project = None, user_level: UserLevel = False, dry_run: DryRun = False
) -> None:
    """Take MemOS out of a host's settings, as if it had never been there. What it remembers stays."""
    from memos.hosts.install import uninstall as uninstall_
    from memos.hosts.plugged import installing

    state, plugin = state_of(ctx), installing(host)
    home = state.settings().home.absolute()
    if plugin is not None:
        _no_project(host, project)
        done = plugin.uninstall(home, dry_run=dry_run)
    else:
        done = uninstall_(_place(host, project, user_level), home, dry_run=dry_run)
    state.answer(done, print_all(_told(done, "taken out of", "is not in")))


@app.command("list")
def list_hosts(ctx: typer.Context) -> None:
    """The hosts that are known, and whether MemOS is in them, for the user."""
    from memos.hosts.hook import HOSTS
    from memos.hosts.install import standing
    from memos.hosts.places import place_of
    from memos.hosts.plugged import standings

    found = [standing(place_of(host)) for host in HOSTS] + standings()
    lines = [f"{one.host:12} {'installed' if one.events else 'not installed':14} {one.hooks_file}" for one in found]
    state_of(ctx).answer(found, print_all(*lines))


@app.command("status")
def status(ctx: typer.Context, project: Project = None) -> None:
    """What is installed where, for the user and in a project (default: this folder), and which server the hooks will find."""
    from memos.hosts.doctor import overview

    state = state_of(ctx)
    found = overview(state.settings().home, (project or Path.cwd()).absolute())
    state.answer(found, print_all(*found.lines()))


@app.command("doctor")
def doctor(ctx: typer.Context, host: Host, project: Project = None, user_level: UserLevel = False) -> None:
    """Run an installed hook as the host would, and say what is wrong. Exit code 1 when something is."""
    from memos.hosts.doctor import examine
    from memos.hosts.plugged import examining

    state, plugin = state_of(ctx), examining(host)
    home = state.settings().home
    if plugin is not None:
        _no_project(host, project)
        found = plugin.examine(home)
    else:
        found = examine(_place(host, project, user_level), home)
    state.answer(found, print_all(*found.lines()))
    if not found.well:
        raise typer.Exit(1)


def hook(
    ctx: typer.Context,
    host: Annotated[str, typer.Argument(help="claude-code, codex or dsh.")],
    event: Annotated[str | None, typer.Argument(help="The event, where its JSON does not say.")] = None,
    url: Annotated[str | None, typer.Option("--url", help="A MemOS server.", show_default=False)] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="File with its API key.", show_default=False)
    ] = None,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, help="Budget of the block.")] = 1_500,
) -> None:
    """Answer one event of a host: its JSON on stdin, what the host takes on stdout. (`memos hosts install` writes the quicker
    `python -P -m memos.hosts.hook`.)
    """
    from memos.hosts.hook import main

    state = state_of(ctx)
    words = [host, "--max-tokens", str(max_tokens)]
    more = {"--event": event, "--home": state.home, "--url": url, "--key-file": key_file, "--cube": state.cube}
    more["--user"] = None if state.user == "default" else state.user
    sys.exit(main(words + [str(w) for name, value in more.items() if value is not None for w in (name, value)]))


def _place(host: str, project: Path | None, user_level: bool) -> Place:
    from memos.errors import InvalidInput
    from memos.hosts.hook import HOSTS
    from memos.hosts.places import place_of
    from memos.hosts.plugged import PLUGINS

    if project is not None and user_level:
        raise InvalidInput("--project and --user-level exclude each other")
    if host not in HOSTS:
        known = ", ".join((*HOSTS, *PLUGINS))
        raise InvalidInput(f"unknown host {host!r}; known are {known}. A host that speaks MCP runs `memos mcp`")
    return place_of(host, project.expanduser().absolute() if project is not None else None)


def _no_project(host: str, project: Path | None) -> None:
    from memos.errors import InvalidInput

    if project is not None:
        raise InvalidInput(f"{host} has one place for its settings; leave out --project")


def _wanting(host: str, mcp: bool) -> list[str]:
    """What the tools of the agent need and is not installed; what the other hosts need, they say themselves."""
    from importlib.util import find_spec

    if not mcp or host in ("hermes", "openclaw") or find_spec("mcp") is not None:
        return []
    return [
        "the tools of `memos mcp` will not start: they need the extra 'mcp': pip install '.[mcp]' in a checkout of MemOS "
        "(--no-mcp leaves them out)"
    ]


def _told(done: Installed, did: str, nothing: str) -> str:
    where = f"{done.host} ({done.scope})"
    if not done.files:
        return f"MemOS {nothing} {where}; nothing to change"
    would = "would be " if done.dry_run else ""
    return "\n".join((f"MemOS {would}{did} {where}:", *(f"  {path}" for path in done.files)))
