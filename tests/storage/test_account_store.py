"""Users, API keys, grants and the audit trail in the control file."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from structlog.testing import capture_logs

from memos.errors import InvalidInput, NotFound, Unauthorized
from memos.memory.time import utcnow
from memos.storage.accounts import ApiKey, Secret, checked_scopes
from memos.storage.sqlite import accounts as module
from memos.storage.sqlite import control
from memos.storage.sqlite.accounts import SqliteAccounts
from memos.storage.sqlite.registry import SqliteRegistry
from memos.storage.sqlite.schema import CONTROL_APPLICATION_ID, CONTROL_MIGRATIONS

RW = ("read", "write")
HOSTILE = ["../../x", "..\\x", "/abs", "a/b", ".", "..", "CON", "__proto__", "%2e%2e", "~", "$HOME", "**", "%", "' OR 1=1 --",
           "é", "e\u0301", "Ann", "ann", " ann", "ann ", "-x", "🇳🇴", "\u202eevil", "mk_12345678"]  # fmt: skip


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SqliteRegistry]:
    made = SqliteRegistry(tmp_path, durability="normal")
    yield made
    made.close()


@pytest.fixture
def accounts(registry: SqliteRegistry) -> SqliteAccounts:
    return registry.accounts


class Clock:
    """What time the accounts think it is."""

    def __init__(self) -> None:
        self.now = utcnow()

    def __call__(self) -> datetime:
        return self.now

    def later(self, **by: float) -> None:
        self.now += timedelta(**by)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(module, "utcnow", made)
    return made


def key_of(accounts: SqliteAccounts, user: str = "ann", **more: Any) -> tuple[ApiKey, Secret]:
    given: dict[str, Any] = {"scopes": RW, "description": "", "expires_at": None, "by": "root"} | more
    return accounts.create_key(user, **given)


def on_disk(folder: Path) -> bytes:
    return b"".join(f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file())


# -- keys --------------------------------------------------------------------------------------------------------


def test_a_key_is_256_random_bits_and_speaks_for_its_user(accounts: SqliteAccounts) -> None:
    key, secret = key_of(accounts, scopes=["read"], description="the laptop")
    assert re.fullmatch(r"mk_[A-Za-z0-9_-]{43}", secret)
    assert (key.user, key.scopes, key.description, key.created_by) == ("ann", {"read"}, "the laptop", "root")
    assert (key.prefix, key.expires_at, key.last_used_at, key.revoked_at) == (secret[:11], None, None, None)
    assert accounts.check_key(secret).id == key.id
    assert key_of(accounts)[1] != secret


def test_only_the_hash_of_a_secret_is_at_rest(tmp_path: Path, accounts: SqliteAccounts) -> None:
    _, secret = key_of(accounts)
    accounts.check_key(secret)
    stored = on_disk(tmp_path)
    assert (tmp_path / "control.db-wal").stat().st_size > 0
    assert secret.encode() not in stored and secret[3:].encode() not in stored and secret[11:].encode() not in stored
    assert hashlib.sha256(secret.encode()).digest() in stored
    assert secret[:11].encode() in stored


def test_a_secret_is_neither_logged_nor_shown_nor_repeated(accounts: SqliteAccounts) -> None:
    with capture_logs() as logs:
        made = key_of(accounts)
        secret = str(made[1])
        accounts.check_key(secret)
        with pytest.raises(NotFound) as no_key:
            accounts.revoke_key(secret[:-1] + "~", by="root")
        accounts.revoke_key(secret, by="root")
        with pytest.raises(Unauthorized) as refused:
            accounts.check_key(secret)
    told = repr((made, logs, no_key.value, refused.value, accounts.audit(), vars(accounts))) + str(no_key.value)
    assert secret[11:-1] not in told
    assert {entry["event"] for entry in logs} == {"account_changed", "key_refused"}
    assert f"{made[1]}" == secret and isinstance(made[1], str)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "mk_",
        "mk_short",
        "x" * 46,
        "mk_" + "A" * 43,
        "mk_" + "é" * 43,
        "\ud800",
        "mk_\x00",
        "x" * 100_000,
        None,
        5,
        b"mk_",
    ],
)
def test_what_is_no_key_is_refused_with_the_same_words(accounts: SqliteAccounts, wrong: object) -> None:
    key_of(accounts)
    with pytest.raises(Unauthorized) as error:
        accounts.check_key(wrong)
    assert str(error.value) == module.REFUSED


def test_all_unknown_secrets_cost_the_same_work(accounts: SqliteAccounts, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = key_of(accounts)
    work: list[str] = []
    compare, sha = hmac.compare_digest, hashlib.sha256
    monkeypatch.setattr(module.hmac, "compare_digest", lambda a, b: (work.append("compare"), compare(a, b))[1])
    monkeypatch.setattr(module.hashlib, "sha256", lambda b: (work.append("hash"), sha(b))[1])
    accounts.has_keys()
    db = accounts._control._db
    assert db is not None
    db.exec_trace = lambda _, sql, __: (work.append(sql), True)[1]
    costs = set()
    for wrong in ("", "no key", "mk_" + "A" * 43, secret[:-1] + "~", secret[:11], "x" * 46):
        for _ in range(2):  # the second time, too: unknown keys are not kept
            work.clear()
            with pytest.raises(Unauthorized):
                accounts.check_key(wrong)
            costs.add(tuple(work))
    assert len(costs) == 1
    (cost,) = costs
    assert cost[0] == "hash" and cost[-1] == "compare" and len(cost) == 4


def test_a_secret_that_differs_in_one_character_is_another(accounts: SqliteAccounts) -> None:
    _, secret = key_of(accounts)
    for i in range(len(secret)):
        with pytest.raises(Unauthorized):
            accounts.check_key(secret[:i] + ("A" if secret[i] != "A" else "B") + secret[i + 1 :])
    for other in (secret + " ", " " + secret, secret.upper(), secret + "\n"):
        with pytest.raises(Unauthorized):
            accounts.check_key(other)


def test_a_key_ends_with_its_time(accounts: SqliteAccounts, clock: Clock) -> None:
    key, secret = key_of(accounts, expires_at=clock.now + timedelta(days=1))
    clock.later(hours=23, minutes=59)
    assert accounts.check_key(secret).id == key.id
    clock.later(minutes=1)
    assert key.expires_at == clock.now
    with pytest.raises(Unauthorized) as error:  # it is kept in memory as a good one
        accounts.check_key(secret)
    assert str(error.value) == module.REFUSED
    assert not key.usable(clock.now)
    assert accounts.list_keys() == [accounts.get_key(key.id)]


@pytest.mark.parametrize("how", ["id", "prefix", "secret"])
def test_a_revoked_key_never_works_again(accounts: SqliteAccounts, how: str) -> None:
    key, secret = key_of(accounts)
    kept, other = key_of(accounts)
    accounts.check_key(secret)
    revoked = accounts.revoke_key({"id": key.id, "prefix": key.prefix, "secret": secret}[how], by="root")
    assert revoked.id == key.id and revoked.revoked_at is not None
    with pytest.raises(Unauthorized):
        accounts.check_key(secret)
    assert accounts.check_key(other).id == kept.id
    assert accounts.revoke_key(key.id, by="root") == accounts.get_key(key.id)
    assert [e.action for e in accounts.audit().items].count("key.revoke") == 1
    assert [k.id for k in accounts.list_keys()] == [kept.id]
    assert [k.id for k in accounts.list_keys("ann", include_revoked=True)] == [key.id, kept.id]
    assert accounts.list_keys("bob") == []


@pytest.mark.parametrize("name", ["", "mk_", "mk_12345678", "no", "\ud800", "%", None, 3])
def test_a_key_that_is_not_there_cannot_be_revoked(accounts: SqliteAccounts, name: Any) -> None:
    key_of(accounts)
    with pytest.raises(NotFound):
        accounts.revoke_key(name, by="root")


def test_whether_there_are_keys(accounts: SqliteAccounts, clock: Clock) -> None:
    assert accounts.has_keys() is False
    key, _ = key_of(accounts, expires_at=clock.now + timedelta(seconds=1))
    assert accounts.has_keys() is True
    clock.later(hours=1)
    assert accounts.has_keys() is True  # a key that ran out does not open the doors
    accounts.revoke_key(key.id, by="root")
    assert accounts.has_keys() is True  # nor does one that was taken back


@pytest.mark.parametrize("scopes", [(), "read", ("read", "root"), None, 5, (None,), ([],)])
def test_scopes_are_a_closed_set(accounts: SqliteAccounts, scopes: Any) -> None:
    with pytest.raises(InvalidInput, match="scope"):
        key_of(accounts, scopes=scopes)
    assert accounts.list_keys() == [] and accounts.list_users() == []


def test_a_scope_implies_what_it_needs(accounts: SqliteAccounts) -> None:
    may = {
        s: {t for t in ("read", "write", "act", "admin") if key_of(accounts, scopes=[s])[0].may(t)}
        for s in ("read", "write", "act", "admin")
    }
    assert may == {
        "read": {"read"},
        "write": {"write"},
        "act": {"read", "write", "act"},
        "admin": {"read", "write", "act", "admin"},
    }
    assert checked_scopes(["read", "read"]) == {"read"}


@pytest.mark.parametrize("wrong", [None, 5, " ", "a\nb", "x" * 257, "\ud800"])
def test_a_description_is_a_short_text(accounts: SqliteAccounts, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        key_of(accounts, description=wrong)
    assert accounts.has_keys() is False


# -- when a key was used -----------------------------------------------------------------------------------------


def test_the_last_use_is_noted_once_a_minute(
    accounts: SqliteAccounts, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[tuple[object, ...]] = []
    note = accounts._control.note
    monkeypatch.setattr(accounts._control, "note", lambda sql, values: (notes.append(values), note(sql, values))[1])
    key, secret = key_of(accounts)
    first = clock.now
    assert accounts.check_key(secret).last_used_at == first
    clock.later(seconds=59)
    assert accounts.check_key(secret).last_used_at == first
    assert len(notes) == 1
    assert accounts.get_key(key.id).last_used_at == first
    clock.later(seconds=2)
    assert accounts.check_key(secret).last_used_at == clock.now
    assert accounts.get_key(key.id).last_used_at == clock.now


def test_a_refused_key_was_not_used(accounts: SqliteAccounts) -> None:
    key, secret = key_of(accounts)
    accounts.set_active("ann", False, by="root")
    with pytest.raises(Unauthorized):
        accounts.check_key(secret)
    assert accounts.get_key(key.id).last_used_at is None


def test_noting_the_use_never_waits_for_another_writer(tmp_path: Path, accounts: SqliteAccounts) -> None:
    key, secret = key_of(accounts)
    other = apsw.Connection(str(tmp_path / "control.db"))
    other.execute("BEGIN IMMEDIATE")
    before = time.perf_counter()
    for _ in range(20):
        assert accounts.check_key(secret).last_used_at is None
    assert time.perf_counter() - before < 1
    other.execute("ROLLBACK")
    assert accounts.check_key(secret).last_used_at is not None
    assert accounts.get_key(key.id).last_used_at is not None
    other.close()


def test_using_a_key_makes_nobody_read_again(accounts: SqliteAccounts, clock: Clock) -> None:
    _, secret = key_of(accounts)
    with accounts._control.use() as db:
        before = accounts._control.version(db)
    for _ in range(3):
        accounts.check_key(secret)
        clock.later(minutes=2)
    with accounts._control.use() as db:
        assert accounts._control.version(db) == before


# -- users -------------------------------------------------------------------------------------------------------


def test_users_are_made_and_listed(accounts: SqliteAccounts) -> None:
    made = accounts.create_user("bob", {"team": "blue"}, by="root")
    assert (made.name, made.active, made.info) == ("bob", True, {"team": "blue"})
    accounts.create_user("ann", None, by="root")
    accounts.create_user("cleo", None, by="root")
    assert accounts.find_user("bob") == made
    assert accounts.find_user("dora") is None
    assert [u.name for u in accounts.list_users()] == ["ann", "bob", "cleo"]
    assert [u.name for u in accounts.list_users(limit=1, after="ann")] == ["bob"]
    with pytest.raises(InvalidInput, match="exists already"):
        accounts.create_user("bob", None, by="root")


def test_whoever_owns_a_cube_is_a_user_until_it_is_gone(registry: SqliteRegistry, accounts: SqliteAccounts) -> None:
    registry.create("ann", "ann")
    registry.create("bob", "bob")
    key_of(accounts, "bob")
    assert [u.name for u in accounts.list_users()] == ["ann", "bob"]
    registry.delete("ann")
    registry.delete("bob")
    assert [u.name for u in accounts.list_users()] == ["bob"]  # somebody gave him a key


def test_the_keys_of_an_inactive_user_do_not_work(accounts: SqliteAccounts) -> None:
    _, secret = key_of(accounts)
    _, other = key_of(accounts, "bob")
    accounts.check_key(secret)
    assert accounts.set_active("ann", False, by="root").active is False
    with pytest.raises(Unauthorized) as error:
        accounts.check_key(secret)
    assert str(error.value) == module.REFUSED
    accounts.check_key(other)
    accounts.set_active("ann", True, by="root")
    accounts.check_key(secret)
    with pytest.raises(NotFound):
        accounts.set_active("dora", False, by="root")


def test_a_user_goes_with_keys_and_rights_but_not_before_her_cubes(
    registry: SqliteRegistry, accounts: SqliteAccounts
) -> None:
    _, secret = key_of(accounts)
    registry.create("ann", "ann")
    registry.create("team", "bob")
    registry.grant("team", "ann", "write", "bob")
    with pytest.raises(InvalidInput, match="owns 1 cube"):
        accounts.delete_user("ann", by="root")
    accounts.check_key(secret)
    registry.delete("ann")
    accounts.delete_user("ann", by="root")
    assert accounts.find_user("ann") is None
    assert accounts.list_keys("ann", include_revoked=True) == []
    assert registry.grants() == [] and registry.find("team").grants == {}  # type: ignore[union-attr]
    with pytest.raises(Unauthorized):
        accounts.check_key(secret)
    with pytest.raises(NotFound):
        accounts.delete_user("ann", by="root")


def test_a_users_name_is_hers(registry: SqliteRegistry, accounts: SqliteAccounts) -> None:
    accounts.create_user("ann", None, by="root")
    with pytest.raises(InvalidInput, match="another user"):
        registry.create("ann", "bob")
    assert registry.list() == [] and accounts.find_user("bob") is None
    assert list((registry.folder / "cubes").glob("*")) == []
    assert registry.create("ann", "ann")[1]
    assert registry.create("ann", "bob") == (
        registry.find("ann"),
        False,
    )  # it is there: whether bob may is not asked here


def test_nobody_becomes_a_user_by_the_name_of_a_cube(registry: SqliteRegistry, accounts: SqliteAccounts) -> None:
    registry.create("team", "bob")
    with pytest.raises(InvalidInput, match="cube of another user"):
        accounts.create_user("team", None, by="root")
    with pytest.raises(InvalidInput, match="cube of another user"):
        key_of(accounts, "team")
    assert [u.name for u in accounts.list_users()] == ["bob"]


def test_r062_names_are_opaque(tmp_path: Path, registry: SqliteRegistry, accounts: SqliteAccounts) -> None:
    secrets = {}
    for name in HOSTILE:
        accounts.create_user(name, None, by=name)
        registry.create(name, name)
        secrets[name] = key_of(accounts, name, by=name)[1]
    assert {u.name for u in accounts.list_users()} == set(HOSTILE)
    for name in HOSTILE:
        assert accounts.check_key(secrets[name]).user == name
        assert [k.user for k in accounts.list_keys(name)] == [name]
    for name in HOSTILE[::2]:
        registry.delete(name)
        accounts.delete_user(name, by="root")
    assert {u.name for u in accounts.list_users()} == set(HOSTILE[1::2])
    for name in HOSTILE[1::2]:
        assert accounts.check_key(secrets[name]).user == name
    files = {str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*")}
    assert all(re.fullmatch(r"control\.db(-\w+)?|cubes|cubes/[0-9a-f]{32}\.cube", f) for f in files)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "\x00", "\ud800", "x" * 257, None, 5])
def test_names_that_cannot_be_used_are_refused(registry: SqliteRegistry, accounts: SqliteAccounts, name: Any) -> None:
    registry.create("team", "bob")
    for call in (
        lambda: accounts.create_user(name, None, by="root"),
        lambda: accounts.create_user("ann", None, by=name),
        lambda: accounts.find_user(name),
        lambda: accounts.set_active(name, True, by="root"),
        lambda: accounts.delete_user(name, by="root"),
        lambda: key_of(accounts, name),
        lambda: key_of(accounts, by=name),
        lambda: registry.grant("team", name, "read", "bob"),
        lambda: registry.grant("team", "ann", "read", name),
    ):
        with pytest.raises(InvalidInput):
            call()
    assert [u.name for u in accounts.list_users()] == ["bob"]


# -- grants and the audit trail ----------------------------------------------------------------------------------


def test_grants_are_listed_by_cube_and_by_user(registry: SqliteRegistry) -> None:
    for cube in ("team", "work"):
        registry.create(cube, "ann")
        registry.grant(cube, "bob", "read", "ann")
    registry.grant("team", "cleo", "admin", "bob")
    given = [(g.cube, g.user, g.level, g.granted_by) for g in registry.grants(cube="team")]
    assert given == [("team", "bob", "read", "ann"), ("team", "cleo", "admin", "bob")]
    assert [(g.cube, g.level) for g in registry.grants(user="bob")] == [("team", "read"), ("work", "read")]
    assert len(registry.grants()) == 3
    assert all(abs(utcnow() - g.granted_at) < timedelta(minutes=1) for g in registry.grants())


def test_the_trail_tells_who_did_what_newest_first(registry: SqliteRegistry, accounts: SqliteAccounts) -> None:
    with capture_logs() as logs:
        accounts.create_user("ann", None, by="root")
        registry.create("team", "ann")
        key, _ = key_of(accounts, scopes=("write", "read"))
        registry.grant("team", "bob", "write", "ann")
        accounts.set_active("ann", False, by="root")
        accounts.set_active("ann", False, by="root")  # changes nothing, and is not told
        accounts.revoke_key(key.prefix, by="ann")
    entries = [(e.actor, e.action, e.object, e.user, e.detail) for e in accounts.audit().items]
    assert entries == [
        ("ann", "key.revoke", key.prefix, "ann", ""),
        ("root", "user.deactivate", "ann", "ann", ""),
        ("ann", "grant.give", "team", "bob", "write"),
        ("root", "key.create", key.prefix, "ann", "read,write"),
        ("root", "user.create", "ann", "ann", ""),
    ]
    assert [e["action"] for e in logs] == [action for _, action, *_ in reversed(entries)]
    assert all(abs(utcnow() - e.at) < timedelta(minutes=1) and e.at.tzinfo is UTC for e in accounts.audit().items)


def test_the_trail_comes_in_pages(accounts: SqliteAccounts) -> None:
    for i in range(7):
        accounts.create_user(f"u{i}", None, by="root")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = accounts.audit(3, cursor)
        seen += [e.object for e in page.items]
        cursor = page.cursor
        if cursor is None:
            break
        accounts.create_user(f"later{len(seen)}", None, by="root")
    assert seen == [f"u{i}" for i in reversed(range(7))]
    for wrong in ("x", "", "-1", "9" * 30, "٣", 5):
        with pytest.raises(InvalidInput):
            accounts.audit(3, wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        accounts.audit(0)


def test_what_fails_leaves_no_trace_in_the_trail(registry: SqliteRegistry, accounts: SqliteAccounts) -> None:
    registry.create("team", "ann")
    with capture_logs() as logs:
        for call in (
            lambda: accounts.create_user("ann", None, by="root"),
            lambda: accounts.delete_user("ann", by="root"),
            lambda: registry.grant("nowhere", "bob", "read", "ann"),
            lambda: accounts.create_user("dora", {"no json": object()}, by="root"),
        ):
            with pytest.raises((InvalidInput, NotFound)):
                call()
    assert accounts.audit().items == () and logs == []


def test_no_name_stays_on_disk_when_a_user_is_deleted(
    tmp_path: Path, registry: SqliteRegistry, accounts: SqliteAccounts
) -> None:
    accounts.create_user("Zqxann", {"about": "Zqxinfo"}, by="Zqxann")
    registry.create("Zqxann", "Zqxann")
    key_of(accounts, "Zqxann", description="Zqxlaptop")
    key_of(accounts, "bob", by="Zqxann")
    registry.create("team", "bob")
    registry.create("Zqxteam", "bob")
    registry.grant("Zqxteam", "cleo", "read", "bob")
    registry.grant("team", "Zqxann", "admin", "bob")
    registry.grant("team", "cleo", "read", "Zqxann")
    registry.delete("Zqxann")
    registry.delete("Zqxteam")
    with capture_logs() as logs:
        accounts.delete_user("Zqxann", by="Zqxann")
    assert b"Zqx" not in on_disk(tmp_path)
    assert "Zqx" not in repr(logs)
    entries = [e for e in accounts.audit().items if e.action == "user.delete" or e.action == "user.create"]
    assert len({e.user for e in entries}) == 1  # one stand-in: what she did can still be told from what others did
    assert re.fullmatch(r"\(deleted [0-9a-f]{8}\)", entries[0].actor)
    (given,) = registry.grants(cube="team")
    assert given.user == "cleo" and given.granted_by == entries[0].actor


# -- other processes, older files --------------------------------------------------------------------------------

CHILD = """
import sys
from pathlib import Path
from memos.errors import Unauthorized
from memos.storage.sqlite.registry import SqliteRegistry
registry = SqliteRegistry(Path(sys.argv[1]))
for line in sys.stdin:
    try:
        print("=", registry.accounts.check_key(line.strip()).user, registry.accounts.has_keys(), flush=True)
    except Unauthorized:
        print("=", "refused", registry.accounts.has_keys(), flush=True)
"""


def test_two_processes_see_each_others_keys_and_revocations_at_once(tmp_path: Path, accounts: SqliteAccounts) -> None:
    src = str(Path(module.__file__).parents[3])
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": src},
    )  # fmt: skip
    assert child.stdin is not None and child.stdout is not None
    stdin, stdout = child.stdin, child.stdout

    def ask(secret: str) -> str:
        stdin.write(secret + "\n")
        stdin.flush()
        return next(line[2:].strip() for line in stdout if line.startswith("= "))  # the others are its log

    try:
        assert ask("mk_nothing") == "refused False"
        for _ in range(20):
            key, secret = key_of(accounts)
            assert ask(secret) == "ann True"
            assert ask(secret) == "ann True"
            accounts.revoke_key(key.id, by="root")
            assert ask(secret) == "refused True"
        _, secret = key_of(accounts)
        for _ in range(5):
            accounts.set_active("ann", False, by="root")
            assert ask(secret) == "refused True"
            accounts.set_active("ann", True, by="root")
            assert ask(secret) == "ann True"
    finally:
        child.stdin.close()
        assert child.wait(10) == 0
        child.stdout.close()


V1 = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID;
CREATE TABLE users(name TEXT PRIMARY KEY, created_at INTEGER NOT NULL, info TEXT) STRICT;
CREATE TABLE cubes(
  name TEXT PRIMARY KEY, file TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, created_at INTEGER NOT NULL,
  deleted_at INTEGER, info TEXT
) STRICT;
CREATE INDEX cubes_owner ON cubes(owner);
CREATE TABLE grants(
  cube TEXT NOT NULL, user TEXT NOT NULL, level TEXT NOT NULL, granted_at INTEGER NOT NULL, granted_by TEXT NOT NULL,
  PRIMARY KEY(cube, user)
) STRICT, WITHOUT ROWID;
CREATE INDEX grants_user ON grants(user);
PRAGMA user_version=1;
INSERT INTO users VALUES('ann', 1700000000000000, NULL), ('bob', 1700000000000001, NULL);
INSERT INTO cubes VALUES('ann', 'a.cube', 'ann', 1700000000000000, NULL, '{"k": 1}'),
  ('bob', 'b.cube', 'bob', 1700000000000001, NULL, NULL), ('team', 'c.cube', 'ann', 1700000000000002, NULL, NULL);
INSERT INTO grants VALUES('team', 'bob', 'write', 1700000000000003, 'ann');
"""


def write_v1(folder: Path) -> apsw.Connection:
    db = apsw.Connection(str(folder / "control.db"))
    db.execute(f"PRAGMA journal_mode=WAL; {V1} PRAGMA application_id={CONTROL_APPLICATION_ID}").fetchall()
    return db


def test_a_control_file_of_the_first_schema_is_brought_up_to_date(tmp_path: Path) -> None:
    write_v1(tmp_path).close()
    registry = SqliteRegistry(tmp_path)
    accounts = registry.accounts
    assert [(u.name, u.active) for u in accounts.list_users()] == [("ann", True), ("bob", True)]
    team = registry.find("team")
    assert team is not None and (team.owner, dict(team.grants)) == ("ann", {"bob": "write"})
    assert registry.find("ann").info == {"k": 1}  # type: ignore[union-attr]
    assert [(g.user, g.granted_by, g.granted_at.year) for g in registry.grants(cube="team")] == [("bob", "ann", 2023)]
    assert (accounts.has_keys(), accounts.list_keys(), accounts.audit().items) == (False, [], ())
    _, secret = key_of(accounts, "ann")
    assert accounts.check_key(secret).user == "ann"
    registry.delete("bob")
    assert [u.name for u in accounts.list_users()] == ["ann"]  # bob had been made by using it
    registry.close()
    assert len(list(tmp_path.glob("control.db.v1.*.bak"))) == 1
    again = SqliteRegistry(tmp_path)
    assert again.accounts.check_key(secret).user == "ann"
    again.close()
    db = apsw.Connection(str(tmp_path / "control.db"))
    assert db.execute("PRAGMA user_version").get == len(CONTROL_MIGRATIONS)
    db.close()


def test_a_writer_that_knows_nothing_of_the_counter_is_noticed(tmp_path: Path, registry: SqliteRegistry) -> None:
    """An older MemOS that still has the file open, or a hand with sqlite3."""
    registry.create("team", "ann")
    _, secret = key_of(registry.accounts)
    assert registry.find("team").grants == {}  # type: ignore[union-attr]
    registry.accounts.check_key(secret)
    other = apsw.Connection(str(tmp_path / "control.db"))
    other.execute("INSERT INTO grants VALUES('team', 'bob', 'read', 1, 'ann')")
    assert registry.find("team").grants == {"bob": "read"}  # type: ignore[union-attr]
    other.execute("UPDATE api_keys SET revoked_at=1")
    with pytest.raises(Unauthorized):
        registry.accounts.check_key(secret)
    other.close()


def test_work_of_others_in_the_file_makes_nobody_read_again(tmp_path: Path, registry: SqliteRegistry) -> None:
    registry.create("team", "ann")
    found = registry.find("team")
    other = apsw.Connection(str(tmp_path / "control.db"))
    for i in range(5):
        other.execute("INSERT INTO meta(key) VALUES(?)", (f"tasks:{i}",))
        assert registry.find("team") is found
    other.close()


def test_keys_survive_a_fork(accounts: SqliteAccounts, clock: Clock) -> None:
    key, secret = key_of(accounts)
    accounts.check_key(secret)
    clock.later(minutes=2)
    pid = os.fork()
    if not pid:
        try:
            os._exit(0 if accounts.check_key(secret).last_used_at == clock.now else 3)
        except BaseException:
            os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert accounts.get_key(key.id).last_used_at == clock.now
    clock.later(minutes=2)
    assert accounts.check_key(secret).last_used_at == clock.now


def test_many_threads_check_while_keys_come_and_go(accounts: SqliteAccounts) -> None:
    kept, good = key_of(accounts)
    revoked: list[str] = []
    wrong: list[str] = []
    ended = threading.Event()

    def check() -> None:
        while not ended.is_set():
            gone = revoked[-1] if revoked else None
            if accounts.check_key(good).id != kept.id:
                wrong.append("another key")
            if gone is not None:
                try:
                    accounts.check_key(gone)
                except Unauthorized:
                    continue
                wrong.append("a revoked key")

    threads = [threading.Thread(target=check) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        key, secret = key_of(accounts, "bob")
        accounts.check_key(secret)
        accounts.revoke_key(key.id, by="root")
        revoked.append(secret)
    ended.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_use_that_cannot_be_noted_harms_nobody(tmp_path: Path, accounts: SqliteAccounts) -> None:
    key, secret = key_of(accounts)
    (tmp_path / "control.db").rename(tmp_path / "elsewhere.db")
    assert accounts.check_key(secret).last_used_at is None
    (tmp_path / "elsewhere.db").rename(tmp_path / "control.db")
    assert accounts.check_key(secret).last_used_at is not None
    assert accounts.get_key(key.id).last_used_at is not None


def test_a_change_waits_for_its_turn_in_short_steps(
    tmp_path: Path, accounts: SqliteAccounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that commits all the time, such as the task queue, leaves only short gaps: SQLite's own waiting misses them."""
    other = apsw.Connection(str(tmp_path / "control.db"))
    other.execute("BEGIN IMMEDIATE")
    steps: list[float] = []

    def sleep(seconds: float) -> None:
        steps.append(seconds)
        if len(steps) == 100:
            other.execute("ROLLBACK")

    monkeypatch.setattr(control.time, "sleep", sleep)
    key_of(accounts)
    assert len(steps) == 100 and max(steps) <= 0.001
    other.close()
