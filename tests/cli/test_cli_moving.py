"""`memos import` and `memos export` beyond archives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_helpers import Answer, Memos

CHAT = '{"role": "user", "content": "I live in Oslo.", "date": "2025-06-26T15:00:00Z"}\n{"role": "user"}\n'


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_text(CHAT)
    return path


def test_a_chat_is_taken_in_and_read(memos: Memos, answer: Answer, chat: Path) -> None:
    dry = memos("import", str(chat), "--dry-run").stdout
    assert "1 message " in dry
    assert "nothing was stored" in dry and "stored in about 1 s; to read them" in dry
    assert "chat.jsonl, line 2: it has no text" in dry
    assert answer("import", str(chat))["new"] == 1
    assert answer("import", str(chat))["new"] == 0
    assert "Oslo" in memos("list", "--kind", "profile", "--kind", "fact").stdout


def test_options_are_passed_on(memos: Memos, answer: Answer, chat: Path, tmp_path: Path) -> None:
    done = answer(
        "import",
        str(chat),
        "--from",
        "chat",
        "--session",
        "old",
        "--no-facts",
        "--bad",
        str(tmp_path / "bad"),
        "--user",
        "ada",
    )
    assert (done["source"], done["bad"]) == ("chat", 1)
    assert json.loads((tmp_path / "bad").read_text())["where"] == "chat.jsonl, line 2"
    (memory,) = answer("list", "--user", "ada", "--all")["items"]
    assert memory["session"] == "old"


def test_columns_of_a_table_can_be_named(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("What;When\nMoved to Oslo;2025-06-26\n")
    assert "name it (--column text=NAME)" in memos("import", str(path), "--from", "table", code=2).stderr
    assert answer("import", str(path), "--column", "text=What", "--column", "at=When")["notes"] == 1
    assert "WHAT=NAME" in memos("import", str(path), "--column", "text", code=2).stderr


def test_the_kinds_are_listed(memos: Memos, answer: Answer) -> None:
    assert "chatgpt" in memos("import", "--list").stdout
    assert "mem0" in {one["name"] for one in answer("import", "--list")}
    assert "--list shows" in memos("import", code=2).stderr


def test_an_archive_still_makes_a_new_cube(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    memos("add", "I live in Oslo")
    archive = str(tmp_path / "a.memos")
    memos("export", archive)
    assert "name the cube" in memos("import", archive, code=2).stderr
    assert answer("import", archive, "copy")["cube"] == "copy"


def test_every_form_is_written(memos: Memos, answer: Answer, tmp_path: Path, home: Path) -> None:
    memos("add", "I live in Oslo")
    assert answer("export", str(tmp_path / "o.jsonl"), "--format", "jsonl")["format"] == "jsonl"
    assert answer("export", str(tmp_path / "md"), "--format", "markdown")["files"] >= 1
    assert "no skills" in memos("export", str(tmp_path / "s"), "--format", "skills").stdout
    assert "one of archive" in memos("export", str(tmp_path / "x"), "--format", "pdf", code=2).stderr
    assert "exists" in memos("export", str(tmp_path / "md"), "--format", "markdown", code=2).stderr
    assert "data folder" in memos("export", str(home / "x.jsonl"), "--format", "jsonl", code=2).stderr
    assert answer("import", str(tmp_path / "o.jsonl"), "--user", "bob")["messages"] == 1


def test_a_key_file_needs_a_server(memos: Memos, chat: Path) -> None:
    assert "--url" in memos("import", str(chat), "--key-file", str(chat), code=2).stderr


MEM0 = [
    {"id": str(n), "memory": text, "user_id": user}
    for n, (text, user) in enumerate((("Loves jazz", "ada"), ("Hates jazz", "bob")))
]


def test_of_the_memories_of_several_users_one_can_be_taken(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps({"results": MEM0}))
    dry = memos("import", str(path), "--dry-run").stdout
    assert "ada, bob" in dry and "--of USER" in dry and "user default" in dry
    assert "no date" in dry and "2, which get the time of the import" in dry
    done = answer("import", str(path), "--of", "bob")
    assert (done["new"], done["users"], done["left"][0]["count"]) == (1, ["bob"], 1)
    assert "Hates jazz" in memos("list").stdout and "Loves jazz" not in memos("list").stdout


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("cut.json", b'{"a": ', "cut off or not JSON"),
        ("empty.json", b"", "it is empty"),
        ("cut.zip", b"PK\x03\x04 and no more", "it is no zip"),
        ("a.txt", b"plain words", "memos add --file"),
    ],
)
def test_a_file_of_no_kind_is_told_what_is_wrong_with_it(
    memos: Memos, tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    refused = memos("import", str(tmp_path / name), code=2)
    assert why in refused.stderr


def test_the_place_of_what_is_bad_can_be_read(memos: Memos, tmp_path: Path) -> None:
    (tmp_path / "what.json").write_text('{"a": 1}')
    assert (
        "what.json: a: it is no conversation"
        in memos("import", str(tmp_path / "what.json"), "--from", "chatgpt", code=1).stdout
    )
