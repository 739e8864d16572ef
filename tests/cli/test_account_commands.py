"""`memos users`, `memos keys` and `memos grants`."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos import MemOS
from memos.errors import Unauthorized


def test_users_are_created_listed_stopped_and_deleted(memos: Memos, answer: Answer) -> None:
    assert "no users yet" in memos("users", "list").stdout
    made = answer("users", "create", "bob", "--info", "team=blue")
    assert (made["name"], made["active"], made["info"]) == ("bob", True, {"team": "blue"})
    assert [c["name"] for c in answer("cubes", "list", "--user", "bob")] == ["bob"]
    memos("add", "I live in Oslo", "--user", "ann", "--no-wait")
    assert [u["name"] for u in answer("users", "list")] == ["ann", "bob"]
    assert answer("users", "deactivate", "bob")["active"] is False
    assert "no" in memos("users", "list").stdout.splitlines()[2]
    assert answer("users", "activate", "bob")["active"] is True
    assert answer("users", "delete", "bob", "--everything", "--yes") == {"user": "bob", "cubes": 1}
    assert [u["name"] for u in answer("users", "list")] == ["ann"]


def test_a_key_works_until_it_is_revoked(memos: Memos, answer: Answer, home: Path) -> None:
    assert "no keys" in memos("keys", "list").stdout
    made = answer("keys", "create", "bob", "--scopes", "read, act", "--expires-in-days", "1.5", "--description", "shop")
    key, secret = made["key"], made["secret"]
    assert (key["user"], key["scopes"], key["description"], key["created_by"]) == (
        "bob",
        ["act", "read"],
        "shop",
        "default",
    )
    with MemOS(home, embedder="none", background=False) as m:
        assert m.accounts.check_key(secret).id == key["id"]
    listed = answer("keys", "list", "bob")
    assert [k["id"] for k in listed] == [key["id"]] and listed[0]["last_used_at"] is not None
    assert answer("keys", "list", "ann") == []
    assert answer("keys", "revoke", key["prefix"], "--user", "root")["revoked_at"] is not None
    with MemOS(home, embedder="none", background=False) as m, pytest.raises(Unauthorized):
        m.accounts.check_key(secret)
    assert answer("keys", "list") == []
    assert [k["id"] for k in answer("keys", "list", "--all")] == [key["id"]]
    assert "revoked" in memos("keys", "list", "--all").stdout


def test_a_secret_is_printed_once_and_said_so(memos: Memos) -> None:
    out = memos("keys", "create", "bob").stdout.splitlines()
    assert out[0].endswith("of 'bob': read, write")
    secret = out[1]
    assert len(secret) == 46 and secret[:11] in out[0]
    assert "not be shown again" in out[2]
    for args in (
        ("keys", "list"),
        ("keys", "list", "--all", "--json"),
        ("keys", "revoke", secret),
        ("keys", "revoke", secret[:-1]),
    ):
        result = memos(*args, code=1 if args[-1] == secret[:-1] else 0)
        assert secret[11:-1] not in result.stdout + result.stderr
        assert secret[:11] in result.stdout + result.stderr


def test_rights_are_given_taken_and_listed(memos: Memos, answer: Answer) -> None:
    memos("cubes", "create", "team", "--user", "ann")
    memos("cubes", "create", "work", "--user", "ann")
    assert "no grants" in memos("grants", "list").stdout
    given = answer("grants", "give", "team", "bob", "--level", "write", "--user", "root")
    assert (given["cube"], given["user"], given["level"], given["granted_by"]) == ("team", "bob", "write", "root")
    memos("grants", "give", "work", "bob")
    memos("grants", "give", "work", "cleo")
    shown = {
        (): {"team/bob/write", "work/bob/read", "work/cleo/read"},
        ("work",): {"work/bob/read", "work/cleo/read"},
        ("--to", "bob"): {"team/bob/write", "work/bob/read"},
        ("work", "--to", "bob"): {"work/bob/read"},
    }
    for args, wanted in shown.items():
        assert {f"{g['cube']}/{g['user']}/{g['level']}" for g in answer("grants", "list", *args)} == wanted
    memos("add", "Standup is at nine", "--cube", "team", "--user", "bob", "--no-wait")
    assert answer("grants", "take", "team", "bob") == []
    memos("add", "Standup is at ten", "--cube", "team", "--user", "bob", "--no-wait", code=1)


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (("keys", "create", "ann", "--scopes", "read,root"), 2, "unknown scope 'root'"),
        (("keys", "create", "ann", "--scopes", ","), 2, "at least one scope"),
        (("keys", "create", "ann", "--expires-in-days", "0"), 2, "--expires-in-days is more than 0"),
        (("keys", "create", "team"), 2, "name of a cube of another user"),
        (("keys", "create", "x\ny"), 2, "control characters"),
        (("keys", "revoke", "mk_12345678"), 1, "no API key"),
        (("users", "create", "ann"), 2, "exists already"),
        (("users", "create", "team"), 2, "name of a cube of another user"),
        (("users", "deactivate", "nobody"), 1, "does not exist"),
        (("users", "delete", "nobody", "--yes"), 1, "does not exist"),
        (("users", "delete", "ann", "--yes"), 2, "owns 2 cubes; `memos cubes delete` each, or use --everything"),
        (("users", "delete", "ann", "--everything"), 2, "--yes"),
        (("grants", "give", "nowhere", "bob"), 1, "does not exist"),
        (("grants", "give", "team", "ann"), 2, "has every right already"),
        (("grants", "give", "team", "bob", "--level", "owner"), 2, "a grant is one of"),
        (("grants", "list", "nowhere"), 1, "does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(memos: Memos, args: tuple[str, ...], code: int, says: str) -> None:
    memos("cubes", "create", "team", "--user", "ann")
    memos("cubes", "create", "ann", "--user", "ann")
    result = memos(*args, code=code)
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1 and result.stdout == ""


@pytest.mark.parametrize("name", ["../../x", "/abs", "..", "CON", "%2e%2e", "é", "🇳🇴"])
def test_r062_names_are_opaque(answer: Answer, home: Path, name: str) -> None:
    answer("users", "create", name)
    key = answer("keys", "create", name)["key"]
    assert key["user"] == name
    assert [k["id"] for k in answer("keys", "list", name)] == [key["id"]]
    answer("users", "delete", name, "--everything", "--yes")
    assert {f.name for f in home.iterdir()} <= {"control.db", "control.db-wal", "control.db-shm", "cubes", "empty.cube"}
    assert list((home / "cubes").iterdir()) == []
    assert [f.name for f in home.parent.iterdir()] == ["home"]


def test_the_first_key_ever_is_told_to_close_the_servers(memos: Memos, home: Path) -> None:
    closing = f"From now on servers on {home} need a key (auth auto)."
    assert closing in memos("keys", "create", "ann").stdout
    again = memos("keys", "create", "ann").stdout
    assert closing not in again and f"It is for servers on {home}." in again


def test_the_list_says_how_many_revoked_keys_it_hides(memos: Memos, answer: Answer) -> None:
    made = [answer("keys", "create", "ann")["key"]["id"] for _ in range(3)]
    assert "not shown" not in memos("keys", "list").stdout
    answer("keys", "revoke", made[0])
    assert "1 revoked key is not shown; --all shows every one" in memos("keys", "list").stdout
    answer("keys", "revoke", made[1])
    assert "2 revoked keys are not shown" in memos("keys", "list").stdout
    assert [len(answer("keys", "list", *more)) for more in ((), ("--all",))] == [1, 3]
    assert "not shown" not in memos("keys", "list", "--all").stdout
