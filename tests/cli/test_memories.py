"""Commands that write and show memories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos.cli.given import parse_chat

CHAT = [
    {"role": "user", "content": "My cat Rex loves tuna", "chat_time": "2025-03-01 10:00", "message_id": "m1"},
    {"role": "assistant", "content": "Noted!"},
]


def test_what_was_added_is_found_in_the_next_run(memos: Memos) -> None:
    assert "stored 1" in memos("add", "I moved to Oslo last week").stdout
    found = memos("search", "oslo").stdout
    assert "I moved to Oslo last week" in found
    assert "score" in found


def test_text_comes_from_standard_input(answer: Answer) -> None:
    added = answer("add", "-", input="Notes from a pipe\nwith two lines\n")
    assert added["records"][0]["text"].startswith("Notes from a pipe\nwith two lines")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", json.dumps(CHAT)),
        ("object.json", json.dumps({"messages": CHAT})),
        ("lines.jsonl", "\n".join(map(json.dumps, CHAT)) + "\n\n"),
        ("bom.json", "\ufeff" + json.dumps(CHAT)),
    ],
)
def test_a_chat_file_is_read_in_every_usual_form(answer: Answer, tmp_path: Path, name: str, content: str) -> None:
    file = tmp_path / name
    file.write_text(content, "utf-8")
    added = answer("add", "--file", str(file), "--session", "s1", "--tag", "pets", "--info", "n=3", "--info", "who=Ana")
    assert [r["text"] for r in added["records"]] == ["My cat Rex loves tuna", "Noted!"]
    memory = answer("get", added["records"][0]["id"])
    assert (memory["session"], memory["tags"], memory["message_id"]) == ("s1", ["pets"], "m1")
    assert memory["info"] == {"n": 3, "who": "Ana"}
    assert memory["valid_from"] == "2025-03-01T10:00:00Z"


def test_the_same_file_twice_is_stored_once(answer: Answer, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT[:1]))
    first, second = (answer("add", "-f", str(file)) for _ in range(2))
    assert second["records"][0] == {**first["records"][0], "new": False, "seen": 2}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("{nonsense", "is not JSON"),
        ('{"role": "user"}\n{oops\n', "line 2"),
        ("[]", "nothing to store"),
        ('[{"role": "king", "content": "x"}]', "king"),
    ],
)
def test_a_chat_file_that_cannot_be_read_is_an_input_error(
    memos: Memos, tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "chat.json"
    file.write_text(content)
    assert says in memos("add", "-f", str(file), code=2).stderr


def test_a_file_that_is_not_text_is_an_input_error(memos: Memos, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in memos("add", "-f", str(file), code=2).stderr
    assert "not a file" in memos("add", "-f", str(tmp_path / "none"), code=2).stderr


@pytest.mark.parametrize("args", [(), ("text", "--file", "x.json")])
def test_add_takes_exactly_one_input(memos: Memos, args: tuple[str, ...]) -> None:
    assert "--file" in memos("add", *args, code=2).stderr


def test_parse_chat_keeps_one_message_whole() -> None:
    assert parse_chat('{"role": "user", "content": "x"}', "f") == {"role": "user", "content": "x"}


def _add(answer: Answer, text: str, *options: str) -> str:
    made: str = answer("add", text, *options)["records"][0]["id"]
    return made


def test_add_waits_until_everything_is_digested_unless_told_not_to(answer: Answer) -> None:
    _add(answer, "I work at Nordlys", "--no-wait")
    assert answer("stats")["waiting"] == {"digest": 1}
    answer("flush")
    assert answer("stats")["waiting"].get("digest", 0) == 0
    _add(answer, "My name is Ana")
    assert answer("stats")["waiting"].get("digest", 0) == 0


def test_update_history_undo(answer: Answer, memos: Memos) -> None:
    id = _add(answer, "The door code is 4711", "--info", "a=1", "--info", "b=2")
    changed = answer(
        "update", id, "--text", "The door code is 4712", "--info", "a=null", "--tag", "home", "--cause", "typo"
    )
    assert (changed["text"], changed["info"], changed["tags"]) == ("The door code is 4712", {"b": 2}, ["home"])
    versions = answer("history", id)
    assert [(v["op"], v["cause"]) for v in versions] == [("add", "add"), ("update", "typo")]
    assert "typo" in memos("history", id).stdout
    assert {m["id"]: m["text"] for m in answer("undo", id)}[id] == "The door code is 4711"


def test_update_with_nothing_to_change_is_an_input_error(answer: Answer, memos: Memos) -> None:
    assert "nothing to change" in memos("update", _add(answer, "x"), code=2).stderr


def test_list_goes_through_pages(answer: Answer, memos: Memos) -> None:
    ids = [_add(answer, f"note number {i}") for i in range(3)]
    only = ("list", "--kind", "trace", "-n", "2")
    page = answer(*only)
    assert [m["id"] for m in page["items"]] == ids[:0:-1]
    rest = answer(*only, "--cursor", page["cursor"])
    assert ([m["id"] for m in rest["items"]], rest["cursor"]) == (ids[:1], None)
    assert [m["id"] for m in answer(*only, "--oldest-first")["items"]] == ids[:2]
    assert "--cursor" in memos(*only).stdout


def test_list_takes_filters(answer: Answer) -> None:
    _add(answer, "tea", "--tag", "drink")
    _add(answer, "bread", "--tag", "food")
    found = answer("list", "--filter", '{"tags": {"contains": "food"}}')
    assert [m["text"] for m in found["items"]] == ["bread"]


def test_delete_is_for_good_and_soft_delete_is_not(answer: Answer, memos: Memos, home: Path) -> None:
    hidden, gone = _add(answer, "soft secret"), _add(answer, "hard secretissimo")
    assert answer("delete", hidden, "--soft")["retracted"] == 1
    assert [m["text"] for m in answer("list", "--kind", "trace")["items"]] == ["hard secretissimo"]
    assert "soft secret" in str(answer("list", "--inactive"))
    answer("undo", hidden)
    assert answer("delete", gone, "--dry-run")["asked"] == 1
    assert answer("get", gone)["id"] == gone
    assert answer("delete", gone)["erased_from_disk"] is True
    assert "does not exist" in memos("get", gone, code=1).stderr
    assert not any(b"secretissimo" in f.read_bytes() for f in (home / "cubes").iterdir())


@pytest.mark.parametrize("what", [("--everything",), ("--session", "default"), ("--filter", '{"role": "user"}')])
def test_deleting_much_needs_yes_where_nobody_can_be_asked(answer: Answer, memos: Memos, what: tuple[str, ...]) -> None:
    _add(answer, "keep me")
    assert "--yes" in memos("delete", *what, code=2).stderr
    assert answer("list", "--kind", "trace")["items"]
    assert answer("delete", *what, "--yes")["memories"] >= 1
    assert not answer("list", "--kind", "trace")["items"]


@pytest.mark.parametrize("args", [(), ("--session", "s", "--everything")])
def test_delete_needs_exactly_one_selector(memos: Memos, args: tuple[str, ...]) -> None:
    assert "exactly one" in memos("delete", "-y", *args, code=2).stderr


def test_control_characters_of_a_memory_do_not_reach_the_terminal(answer: Answer, memos: Memos) -> None:
    text = "evil \x1b[2J\x1b]0;owned\x07 \u202e[bold red]x[/]"
    id = _add(answer, text)
    for args in (
        ("get", id),
        ("list",),
        ("search", "evil"),
        ("search", "evil", "--context"),
        ("timeline",),
        ("neighbors", id),
    ):
        shown = memos(*args).stdout
        assert "evil" in shown
        assert not set("\x1b\x07\u202e") & set(shown), args
    assert answer("get", id)["text"] == text
    assert "[bold red]x[/]" in memos("get", id).stdout


def test_users_and_cubes_are_apart(answer: Answer, memos: Memos) -> None:
    id = _add(answer, "ana only", "--user", "ana")
    assert answer("get", id, "--user", "ana")["owner"] == "ana"
    memos("get", id, "--user", "bo", code=1)
    memos("get", id, "--user", "bo", "--cube", "ana", code=1)


def test_environment_names_user_and_cube(answer: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOS_USER", "ana")
    assert answer("add", "hello there")["cube"] == "ana"
