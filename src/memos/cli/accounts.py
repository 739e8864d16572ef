"""Commands about who there is and who may do what: users, API keys and grants. Whoever can read the data folder may."""

from __future__ import annotations

from typing import Annotated

import typer

from memos.cli.state import parse_pairs, print_all, state_of

users = typer.Typer(help="Users: list, create, stop and delete them.", no_args_is_help=True, rich_markup_mode=None)
keys = typer.Typer(help="API keys: list, create and revoke them.", no_args_is_help=True, rich_markup_mode=None)
grants = typer.Typer(help="Rights on cubes: list, give and take them.", no_args_is_help=True, rich_markup_mode=None)

UserName = Annotated[str, typer.Argument(help="Name of the user.", metavar="USER")]
CubeName = Annotated[str, typer.Argument(help="Name of the cube.", metavar="CUBE")]


@users.command("list")
def list_users(ctx: typer.Context) -> None:
    """Everybody who has memories or was created."""
    from memos.cli import render_accounts

    state = state_of(ctx)
    with state.system() as system:
        found = system.accounts.list_users()
    state.answer(found, print_all(render_accounts.users(found)))


@users.command("create")
def create_user(
    ctx: typer.Context,
    name: UserName,
    info: Annotated[list[str] | None, typer.Option("--info", help="Own metadata key=value; may be repeated.")] = None,
) -> None:
    """A new user, with a cube of the same name. (Without this, a user is made by using it.)"""
    state = state_of(ctx)
    with state.system() as system:
        made = system.accounts.create_user(name, info=parse_pairs(info or []), by=state.user)
    state.answer(made, print_all(f"created user {made.name!r} and a cube of the same name"))


@users.command("deactivate")
def deactivate(ctx: typer.Context, name: UserName) -> None:
    """Stop all keys of a user, at once and in every process."""
    _set_active(ctx, name, False)


@users.command("activate")
def activate(ctx: typer.Context, name: UserName) -> None:
    """Let the keys of a user work again."""
    _set_active(ctx, name, True)


def _set_active(ctx: typer.Context, name: str, active: bool) -> None:
    state = state_of(ctx)
    with state.system() as system:
        user = system.accounts.set_active(name, active, by=state.user)
    state.answer(user, print_all(f"user {name!r} is {'active' if active else 'not active: no key of this user works'}"))


@users.command("delete")
def delete_user(
    ctx: typer.Context,
    name: UserName,
    everything: Annotated[bool, typer.Option("--everything", help="Delete the cubes the user owns, too.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a user, with all keys and rights."""
    from memos.cli.memories import confirm
    from memos.cli.render import many

    state = state_of(ctx)
    with state.system() as system:
        system.accounts.get_user(name)
        if not yes:
            what = " with every cube and memory" if everything else ""
            confirm(f"Delete user {name!r}{what} for good?", state)
        cubes = system.accounts.delete_user(name, everything=everything, by=state.user)
    told = f", and {many(cubes, 'cube')}" if cubes else ""
    state.answer({"user": name, "cubes": cubes}, print_all(f"deleted user {name!r}{told}"))


@keys.command("list")
def list_keys(
    ctx: typer.Context,
    user: Annotated[str | None, typer.Argument(help="Only this user's.", metavar="[USER]", show_default=False)] = None,
    revoked: Annotated[bool, typer.Option("--all", help="Also those that were revoked.")] = False,
) -> None:
    """The keys there are. Secrets are stored nowhere, so none can be shown."""
    from memos.cli import render_accounts

    state = state_of(ctx)
    with state.system() as system:
        every = system.accounts.list_keys(user, include_revoked=True)
    found = every if revoked else [key for key in every if key.revoked_at is None]
    shown = [render_accounts.keys(found)]
    if hidden := len(every) - len(found):
        shown.append(f"{hidden} revoked {'key is' if hidden == 1 else 'keys are'} not shown; --all shows every one")
    state.answer(found, print_all(*shown))


@keys.command("create")
def create_key(
    ctx: typer.Context,
    user: UserName,
    scopes: Annotated[
        str, typer.Option(help="What it may, with commas: read, write (as its user), act (as any user), admin.")
    ] = "read,write",
    description: Annotated[str, typer.Option(help="What the key is for.", show_default=False)] = "",
    days: Annotated[float | None, typer.Option("--expires-in-days", help="Default: never.", show_default=False)] = None,
) -> None:
    """A new key of a user. Its secret is printed this once."""
    from memos.cli import render_accounts

    state = state_of(ctx)
    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    home = state.settings().home
    with state.system() as system:
        first = not system.accounts.has_keys()
        key, secret = system.accounts.create_key(
            user, scopes=wanted, description=description, expires_in_days=days, by=state.user
        )
    state.answer(
        {"key": key, "secret": secret}, lambda out: render_accounts.new_key(out, key, secret, home, first=first)
    )


@keys.command("revoke")
def revoke_key(
    ctx: typer.Context,
    key: Annotated[str, typer.Argument(help="Id of the key, or its prefix as `keys list` shows it.")],
) -> None:
    """Have a key never work again, at once and in every process."""
    state = state_of(ctx)
    with state.system() as system:
        found = system.accounts.revoke_key(key, by=state.user)
    state.answer(found, print_all(f"revoked key {found.prefix} of {found.user!r}"))


@grants.command("list")
def list_grants(
    ctx: typer.Context,
    cube: Annotated[
        str | None, typer.Argument(help="Only those on this cube.", metavar="[CUBE]", show_default=False)
    ] = None,
    user: Annotated[
        str | None, typer.Option("--to", help="Only those given to this user.", metavar="USER", show_default=False)
    ] = None,
) -> None:
    """Who was given which rights on which cubes. Owners have every right without."""
    from memos.cli import render_accounts

    state = state_of(ctx)
    with state.system() as system:
        found = system.accounts.grants(cube) if cube is not None or user is None else system.accounts.grants_of(user)
    found = [g for g in found if user is None or g.user == user]
    state.answer(found, print_all(render_accounts.grants(found)))


@grants.command("give")
def give(
    ctx: typer.Context,
    cube: CubeName,
    user: UserName,
    level: Annotated[str, typer.Option(help="read, write or admin.")] = "read",
) -> None:
    """Give a user rights on any cube, whoever owns it. (`cubes share` does it as the owner.)"""
    state = state_of(ctx)
    with state.system() as system:
        found = system.accounts.grant(cube, user, level, by=state.user)
    given = next(g for g in found if g.user == user)
    state.answer(given, print_all(f"{user!r} may {level} cube {cube!r}"))


@grants.command("take")
def take(ctx: typer.Context, cube: CubeName, user: UserName) -> None:
    """Take every right on a cube away from a user."""
    state = state_of(ctx)
    with state.system() as system:
        left = system.accounts.grant(cube, user, None, by=state.user)
    state.answer(left, print_all(f"{user!r} has no rights on cube {cube!r} any more"))
