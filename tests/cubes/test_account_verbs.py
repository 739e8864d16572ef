"""The verbs about users, keys and grants, on a real data folder."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from memos import AsyncMemOS, MemOS
from memos.cubes.accounts import Accounts
from memos.errors import AccessDenied, InvalidInput, NotFound, Unauthorized
from memos.memory.time import utcnow
from memos.storage.accounts import Secret


@pytest.fixture
async def system(tmp_path: Path) -> AsyncIterator[AsyncMemOS]:
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False, durability="normal") as made:
        yield made


@pytest.fixture
def accounts(system: AsyncMemOS) -> Accounts:
    return system.accounts


@pytest.fixture
def memos(tmp_path: Path) -> Iterator[MemOS]:
    with MemOS(tmp_path / "home", embedder="none", background=False, durability="normal") as made:
        yield made


async def test_a_user_who_is_made_has_a_cube_at_once(system: AsyncMemOS, accounts: Accounts) -> None:
    user = await accounts.create_user("ann", info={"team": "blue"}, by="root")
    assert (user.name, user.active, dict(user.info)) == ("ann", True, {"team": "blue"})
    assert [(c.name, c.owner) for c in await system.list_cubes(user="ann")] == [("ann", "ann")]
    with pytest.raises(InvalidInput, match="exists already"):
        await accounts.create_user("ann")
    for other in ("ann", "bob"):
        with pytest.raises(InvalidInput, match="exists already"):
            await system.create_cube("ann", user=other)


async def test_a_user_is_made_by_using_it(system: AsyncMemOS, accounts: Accounts) -> None:
    with pytest.raises(NotFound):
        await accounts.get_user("ann")
    await system.add("I live in Oslo", user="ann")
    assert (await accounts.get_user("ann")).active
    assert [u.name for u in await accounts.list_users()] == ["ann"]
    assert await accounts.list_users(limit=5, after="ann") == []


async def test_a_cube_is_not_imported_under_the_name_of_another_user(
    system: AsyncMemOS, accounts: Accounts, tmp_path: Path
) -> None:
    await system.add("I live in Oslo", user="ann")
    await system.export_cube(tmp_path / "a.memos", user="ann")
    _, secret = await accounts.create_key("bob")  # he has no cube yet
    with pytest.raises(InvalidInput, match="another user"):
        await system.import_cube(tmp_path / "a.memos", "bob", user="ann")
    assert [c.name for c in await system.list_cubes(user="ann")] == ["ann"]
    await system.add("I live in Rome", user="bob")
    assert (await accounts.check_key(secret)).user == "bob"


async def test_a_user_with_cubes_is_deleted_only_with_everything(system: AsyncMemOS, accounts: Accounts) -> None:
    await system.add("I live in Oslo", user="ann")
    await system.create_cube("team", user="ann")
    await system.share("team", "bob", "write", user="ann")
    await system.create_cube("other", user="bob")
    await system.share("other", "ann", "admin", user="bob")
    key, secret = await accounts.create_key("ann")
    with pytest.raises(InvalidInput, match="owns 2 cubes"):
        await accounts.delete_user("ann", by="root")
    assert (await accounts.check_key(secret)).id == key.id
    assert await accounts.delete_user("ann", everything=True, by="root") == 2
    with pytest.raises(Unauthorized):
        await accounts.check_key(secret)
    with pytest.raises(NotFound):
        await accounts.get_user("ann")
    assert [c.name for c in await system.list_cubes(user="bob")] == ["other"]
    assert await accounts.grants() == []
    assert len(list((system.settings.home / "cubes").glob("*.cube"))) == 1
    with pytest.raises(NotFound):
        await accounts.delete_user("ann", everything=True)


async def test_keys_from_making_to_revoking(accounts: Accounts) -> None:
    assert await accounts.has_keys() is False
    key, secret = await accounts.create_key("ann", description="laptop", expires_in_days=90, by="root")
    assert isinstance(secret, Secret) and secret.startswith(key.prefix)
    assert key.scopes == {"read", "write"} and key.created_by == "root"
    assert key.expires_at is not None and abs(key.expires_at - utcnow() - timedelta(days=90)) < timedelta(minutes=1)
    assert await accounts.has_keys() is True
    assert (await accounts.check_key(secret)).id == key.id == (await accounts.get_key(key.prefix)).id
    await accounts.set_active("ann", False)
    with pytest.raises(Unauthorized):
        await accounts.check_key(secret)
    await accounts.set_active("ann", True)
    assert (await accounts.revoke_key(key.prefix, by="ann")).revoked_at is not None
    with pytest.raises(Unauthorized):
        await accounts.check_key(secret)
    assert await accounts.list_keys() == []
    assert [k.id for k in await accounts.list_keys(include_revoked=True)] == [key.id]
    assert [e.action for e in (await accounts.audit()).items] == [
        "key.revoke", "user.activate", "user.deactivate", "key.create",
    ]  # fmt: skip


@pytest.mark.parametrize("days", [0, -1, math.nan, math.inf, 36_501, True, "90", 10**400])
async def test_a_keys_time_is_a_sensible_number_of_days(accounts: Accounts, days: Any) -> None:
    with pytest.raises(InvalidInput, match="expires_in_days"):
        await accounts.create_key("ann", expires_in_days=days)
    assert await accounts.has_keys() is False


async def test_a_key_that_ran_out_is_refused_and_still_listed(accounts: Accounts) -> None:
    key, secret = await accounts.create_key("ann", expires_in_days=1e-9)
    with pytest.raises(Unauthorized):
        await accounts.check_key(secret)
    assert [k.id for k in await accounts.list_keys("ann")] == [key.id]


async def test_grants_are_given_taken_and_listed(system: AsyncMemOS, accounts: Accounts) -> None:
    await system.create_cube("team", user="ann")
    (given,) = await accounts.grant("team", "bob", "write", by="root")
    assert (given.cube, given.user, given.level, given.granted_by) == ("team", "bob", "write", "root")
    assert await accounts.grants("team") == await accounts.grants_of("bob") == await accounts.grants() == [given]
    await system.add("Standup is at nine", user="bob", cube="team")
    assert await accounts.grant("team", "bob", None, by="root") == []
    with pytest.raises(NotFound):
        await system.add("Standup is at ten", user="bob", cube="team")
    for call in (lambda: accounts.grant("nowhere", "bob", "read"), lambda: accounts.grants("nowhere")):
        with pytest.raises(NotFound):
            await call()
    for call in (lambda: accounts.grant("team", "ann", "read"), lambda: accounts.grant("team", "bob", "owner")):
        with pytest.raises(InvalidInput):
            await call()


async def test_sharing_is_in_the_trail(system: AsyncMemOS, accounts: Accounts) -> None:
    await system.create_cube("team", user="ann")
    await system.share("team", "bob", "read", user="ann")
    await system.share("team", "cleo", "read", user="ann")
    await system.share("team", "cleo", None, user="ann")
    page = await accounts.audit(limit=1)
    assert page.cursor is not None
    rest = await accounts.audit(cursor=page.cursor)
    told = [(e.actor, e.action, e.object, e.detail) for e in (*page.items, *rest.items)]
    assert told == [
        ("ann", "grant.take", "team", ""), ("ann", "grant.give", "team", "read"), ("ann", "grant.give", "team", "read"),
    ]  # fmt: skip
    assert rest.items[-1].user == "bob" and rest.cursor is None


def test_the_synchronous_face_has_every_verb(memos: MemOS) -> None:
    user = memos.accounts.create_user("ann")
    assert memos.accounts.get_user("ann") == user
    key, secret = memos.accounts.create_key("ann", scopes=["admin"])
    assert memos.accounts.check_key(secret).id == key.id
    assert memos.accounts.has_keys()
    public = {n for n in dir(Accounts) if not n.startswith("_")}
    assert public <= set(dir(memos.accounts))
    with pytest.raises(TypeError, match=r"LocalAccounts.create_key"):
        memos.accounts.create_key("ann", scope=["admin"])  # type: ignore[call-arg]


def test_a_closed_system_has_no_accounts(tmp_path: Path) -> None:
    memos = MemOS(tmp_path / "home", embedder="none", background=False)
    accounts = memos.accounts
    accounts.create_user("ann")
    memos.close()
    with pytest.raises(InvalidInput, match="closed"):
        accounts.list_users()


async def test_nobody_acts_for_a_user_who_was_deactivated(system: AsyncMemOS) -> None:
    memos = system
    await memos.add("I live in Oslo.", user="ann")
    await memos.accounts.set_active("ann", False)
    for call in (memos.search("where?", user="ann"), memos.add("more", user="ann"), memos.list(user="ann")):
        with pytest.raises(AccessDenied, match="deactivated"):
            await call
    await memos.accounts.set_active("ann", True)
    assert await memos.search("where do I live?", user="ann")
