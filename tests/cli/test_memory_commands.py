"""Commands that write and show memories."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

from memos.cli import memories
from memos.cli.given import parse_chat
from memos.seeing import NotSeen
from memos.sync import MemOS

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
        ("{nonsense", "line 1, column 2 is not JSON"),
        ('{"role": "user"}\n{oops\n', "line 2, column 2 is not JSON"),
        ('[\n {"role": "user",\n  "content": oops}\n]', "line 3, column 14 is not JSON"),
        ("[" * 100_000, "nested too deeply"),
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


@pytest.mark.parametrize(
    "content", ["Dear diary,\nthe lake froze.\n", "[2024-01-01] the lake froze", "{sic} the lake froze"]
)
def test_a_text_file_is_stored_as_one_text_and_that_is_said(answer: Answer, tmp_path: Path, content: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(content)
    added = answer("add", "--file", str(file))
    assert [r["text"] for r in added["records"]] == [content]
    assert added["notices"] == [f"{file} is not JSON: stored as one text"]


def test_a_long_text_file_is_split_and_that_is_said(answer: Answer, tmp_path: Path) -> None:
    file = tmp_path / "book.md"
    file.write_text("The lake froze in the night. " * 200)
    added = answer("add", "--file", str(file))
    assert "".join(r["text"] for r in added["records"]) == file.read_text()
    assert added["notices"] == [f"{file} is not JSON: stored as one text, in {len(added['records'])} parts"]


def test_a_file_of_json_is_known_by_what_it_holds(answer: Answer, tmp_path: Path) -> None:
    file = tmp_path / "export.txt"
    file.write_text(json.dumps(CHAT))
    for added in (answer("add", "-f", str(file)), answer("add", "-f", "-", input=json.dumps(CHAT))):
        assert [r["text"] for r in added["records"]] == ["My cat Rex loves tuna", "Noted!"]
        assert added["notices"] == []
    assert answer("add", "-f", "-", input="just words")["records"][0]["text"] == "just words"


def test_the_name_of_a_file_as_text_is_stored_with_a_hint(answer: Answer, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT))
    added = answer("add", str(file))
    assert added["records"][0]["text"] == str(file)
    assert f"memos add --file {file}" in added["notices"][0]


def test_quotes_are_not_needed(answer: Answer, memos: Memos) -> None:
    added = answer("add", "I", "moved", "to", "Oslo", "--tag", "home")
    assert added["records"][0]["text"] == "I moved to Oslo"
    assert answer("search", "where", "do", "i", "live", "--limit", "1")["query"] == "where do i live"
    found = answer("explain", "where", "do", "i", "live", added["records"][0]["id"][-8:])
    assert (found["query"], found["memory_id"]) == ("where do i live", added["records"][0]["id"])
    assert "last, the id" in memos("explain", "Oslo", code=2).stderr


def test_a_role_that_does_not_exist_is_told_with_those_that_do(memos: Memos) -> None:
    assert "roles are assistant, developer, system, tool, user" in memos("add", "hi", "--role", "bot", code=2).stderr


def test_what_a_model_that_sees_leaves_undone_is_not_told_as_a_vector_that_is_missing(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flush(*_: object, **__: object) -> None:
        raise NotSeen("images are not described by the model yet: it is away")

    monkeypatch.setattr(MemOS, "flush", flush)
    (notice,) = answer("add", "The lake froze")["notices"]
    assert notice.startswith("stored; images are not described by the model yet: it is away (")


def test_a_message_is_stored_when_its_embedder_cannot_be_reached(
    answer: Answer, memos: Memos, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memos.models import ollama

    monkeypatch.setattr(ollama, "BASE_URL", "http://127.0.0.1:9")  # nobody listens there
    away = ("--embedder", "ollama:away")
    added = answer("add", "The lake froze", *away)
    assert added["pending"] is True
    assert "stored; not embedded yet: cannot reach http://127.0.0.1:9" in added["notices"][0]
    assert "not embedded yet" in memos("update", added["records"][0]["id"], "--text", "The lake thawed", *away).stderr
    assert "cannot reach" in memos("flush", *away, code=1).stderr
    assert answer("get", added["records"][0]["id"])["text"] == "The lake thawed"


# -- ids -------------------------------------------------------------------------------------------------------


def test_tables_show_the_random_end_of_ids_and_every_command_takes_it(answer: Answer, memos: Memos) -> None:
    id = _add(answer, "The door code is 4711", "--session", "house")
    short = id[-8:]
    for args in (("list",), ("search", "door"), ("timeline",), ("neighbors", short)):
        assert short in memos(*args).stdout, args
        assert id not in memos(*args).stdout, args
    assert answer("get", short)["id"] == id
    assert answer("get", id[:23])["id"] == id
    assert answer("get", id[:-2])["id"] == id
    assert answer("get", id[-8:].upper())["id"] == id
    assert answer("update", short, "--importance", "0.9")["id"] == id
    assert len(answer("history", short)) == 2
    assert answer("undo", short)[0]["id"] == id
    assert answer("explain", "door", short)["memory_id"] == id
    assert answer("neighbors", short)[0]["edge"]["dst"] == id
    assert answer("delete", short)["memories"] == 1


def test_a_part_of_an_id_that_fits_several_names_them(answer: Answer, memos: Memos) -> None:
    ids = [_add(answer, text) for text in ("first thing", "second thing")]
    error = memos("get", ids[0][:6], code=2).stderr
    assert all(id in error for id in ids)
    assert "give more" in error


@pytest.mark.parametrize(("part", "code"), [("4711", 2), ("nonsense", 2), ("a-b-c-", 2), ("fedcba98", 1)])
def test_a_part_of_no_id_is_told(answer: Answer, memos: Memos, part: str, code: int) -> None:
    _add(answer, "something")
    assert "`memos list`" in memos("get", part, code=code).stderr


def test_parts_of_ids_stay_inside_the_cube(answer: Answer, memos: Memos) -> None:
    id = _add(answer, "ana only", "--user", "ana")
    memos("get", id[-8:], "--user", "bo", code=1)
    assert "ana only" in memos("get", id[-8:], "--user", "ana").stdout


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


def test_a_second_undo_brings_the_change_back_and_both_say_so(answer: Answer, memos: Memos) -> None:
    id = _add(answer, "The door code is 4711")
    memos("update", id, "--text", "The door code is 4712", "--cause", "typo")
    shown = memos("undo", id).stdout
    assert "undid: update" in shown and "(typo)" in shown
    assert "as in version 1" in shown and "4711" in shown
    assert f"`memos undo {id[-8:]}` again" in shown
    shown = memos("undo", id).stdout
    assert "undid: undo" in shown and "as in version 2" in shown and "4712" in shown


def test_writing_commands_leave_no_work_unless_told_to(answer: Answer) -> None:
    id = _add(answer, "I live in Oslo")

    def waiting() -> int:
        return sum(answer("stats")["waiting"].values())

    answer("update", id, "--text", "I live in Bergen", "--no-wait")
    assert waiting() == 1
    answer("update", id, "--text", "I live in Rome")
    assert waiting() == 0
    answer("undo", id)
    assert waiting() == 0
    _add(answer, "I live in Malmö", "--no-wait")
    answer("delete", id)
    assert waiting() == 0


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


def test_list_leaves_entities_out_and_says_how_many(answer: Answer, memos: Memos) -> None:
    id = _add(answer, "I moved from Oslo to Bergen")
    kinds = {m["kind"] for m in answer("list")["items"]}
    assert "trace" in kinds and "profile" in kinds and "entity" not in kinds
    assert answer("list")["left_out"] == 2
    assert "2 entities left out: --kind entity shows them" in memos("list").stdout
    assert {m["text"] for m in answer("list", "--kind", "entity")["items"]} == {"Oslo", "Bergen"}
    assert {m["kind"] for m in answer("list", "--all")["items"]} == kinds | {"entity"}
    named = answer("list", "--filter", '{"and": [{"kind": "entity"}]}')
    assert (len(named["items"]), named["left_out"]) == (2, 0)
    assert answer("list", "--filter", '{"role": "user"}')["left_out"] == 0
    assert answer("list", "--filter", '{"role": "user"}')["items"][0]["id"] == id


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


@pytest.mark.parametrize("what", [("--session", "defualt"), ("--filter", '{"role": "tool"}')])
@pytest.mark.parametrize("how", ["--yes", "--dry-run", "--soft"])
def test_a_delete_that_matches_nothing_says_so(answer: Answer, memos: Memos, what: tuple[str, str], how: str) -> None:
    _add(answer, "keep me")
    error = memos("delete", *what, how, code=1).stderr
    assert "nothing matches" in error
    assert ("did you mean 'default'?" in error) == (what[0] == "--session")


def test_emptying_an_empty_cube_is_no_error(memos: Memos) -> None:
    assert "deleted 0 memories" in memos("delete", "--everything", "--yes").stdout


def test_a_hard_delete_asks_on_a_terminal(answer: Answer, memos: Memos, monkeypatch: pytest.MonkeyPatch) -> None:
    id = _add(answer, "The lake froze")
    monkeypatch.setattr(memories, "can_ask", lambda state: not state.json)
    refused = memos("delete", id[-8:], input="n\n", code=1)
    assert "Delete for good: 'The lake froze'?" in refused.stderr
    assert answer("get", id)["status"] == "active"
    for harmless in ("--dry-run", "--soft"):
        assert "for good?" not in memos("delete", id, harmless).stderr
    assert "for good?" not in memos("delete", id, "--yes").stderr
    other = _add(answer, "The lake thawed")
    assert "deleted 1 memory" in memos("delete", other, input="y\n").stdout


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_real_terminal_is_asked(answer: Answer, home: Path) -> None:
    import pty

    id = _add(answer, "The lake froze")
    ours, theirs = pty.openpty()
    os.write(ours, b"n\n")
    done = subprocess.run(
        [sys.executable, "-m", "memos.cli", "--home", str(home), "--embedder", "none", "delete", id],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    os.close(ours)
    os.close(theirs)
    assert (done.returncode, done.stdout.strip()) == (1, "")
    assert "Delete for good" in done.stderr
    assert answer("get", id)["status"] == "active"


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
