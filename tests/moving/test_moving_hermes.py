"""What Hermes Agent kept, read."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime
from pathlib import Path

import pytest
from hermes_files import BEGAN, Hermes, say, session, wanted

from memos.moving.hermes import SOURCE
from memos.moving.items import Bad, Item, Left, Told, Worked
from memos.moving.sources import detect


def read(path: Path) -> list[Item]:
    return list(SOURCE.read(path))


def turns(items: list[Item]) -> list[Worked]:
    return [item for item in items if isinstance(item, Worked)]


def test_entries_of_the_memory_files_are_notes_that_keep_their_ids(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path / "h")
    hermes.note("MEMORY.md", "The repo uses § as a mark", "服务器在上海\n第二行", "", "  ")
    hermes.note("USER.md", "用户喜欢简短的回答")
    assert detect(hermes.home) is SOURCE
    notes = [i for i in read(hermes.home) if isinstance(i, Told)]
    assert [(n.text, n.tags) for n in notes] == [
        ("The repo uses § as a mark", ("hermes", "memory")),
        ("服务器在上海\n第二行", ("hermes", "memory")),
        ("用户喜欢简短的回答", ("hermes", "user")),
    ]
    assert [n.id for n in notes] == [n.id for n in read(hermes.home / "memories") if isinstance(n, Told)]
    hermes.note("MEMORY.md", "New first", "服务器在上海\n第二行")
    assert notes[1].id in {n.id for n in read(hermes.home) if isinstance(n, Told)}


def test_sessions_are_turns_with_calls_and_what_came_of_them(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path / "h")
    db = hermes.store()
    session(db, "s1")
    say(db, "s1", "user", "<memory-context>\nlikes tea\n</memory-context>\n\n装一下 numpy", BEGAN)
    say(db, "s1", "assistant", "", tool_calls=[wanted("c1", "terminal", command="pip install numpy")], reasoning="try")
    say(
        db, "s1", "tool", '{"output": "no gcc", "exit_code": 1, "error": null}', tool_call_id="c1", tool_name="terminal"
    )
    say(
        db,
        "s1",
        "assistant",
        "",
        tool_calls=[wanted("c2", "memory", action="add"), wanted("c3", "terminal", command="ls")],
    )
    say(db, "s1", "tool", '{"success": true}', tool_call_id="c2", tool_name="memory")
    say(db, "s1", "tool", '{"output": "x", "exit_code": 0}', tool_call_id="c3", tool_name="terminal")
    say(db, "s1", "assistant", "装好了。")
    say(
        db,
        "s1",
        "user",
        [{"type": "text", "text": "谢谢"}, {"type": "image_url", "image_url": {"url": "data:"}}],
        BEGAN + 60,
    )
    say(db, "s1", "assistant", "不客气")
    db.close()
    first, second = turns(read(hermes.home))
    assert (first.text, first.reply, first.at) == ("装一下 numpy", "装好了。", "2026-01-01T00:00:00+00:00")
    assert [(c.tool, c.input, c.ok) for c in first.calls] == [
        ("terminal", "pip install numpy", False), ("memory", {"action": "add"}, True), ("terminal", "ls", True),
    ]  # fmt: skip
    assert first.info["thinking"] == "try"
    assert (second.text, second.over, first.over) == ("谢谢", True, False)


def test_what_a_compaction_wrote_again_is_read_once(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path / "h")
    db = hermes.store()
    session(db, "s1")
    for number in range(3):
        say(db, "s1", "user", f"question {number}", BEGAN + number, active=0, compacted=1)
        say(db, "s1", "assistant", f"answer {number}", BEGAN + number, active=0, compacted=1)
    say(db, "s1", "user", "taken back", active=0)
    say(db, "s1", "user", "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted")
    say(db, "s1", "user", "question 2", BEGAN + 2)
    say(db, "s1", "assistant", "answer 2", BEGAN + 2)
    say(db, "s1", "user", "question 3", BEGAN + 3)
    db.close()
    assert [t.text for t in turns(read(hermes.home))] == [f"question {n}" for n in range(4)]


def test_a_session_that_goes_on_after_a_compaction_does_not_repeat_the_one_before(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path / "h")
    db = hermes.store()
    session(db, "s1", end_reason="compression")
    session(db, "s2", at=BEGAN + 9, parent_session_id="s1")
    say(db, "s1", "user", "first")
    say(db, "s1", "assistant", "one")
    say(db, "s2", "user", "first")
    say(db, "s2", "assistant", "one")
    say(db, "s2", "user", "second")
    db.close()
    assert [(t.session, t.text) for t in turns(read(hermes.home))] == [("s1", "first"), ("s2", "second")]


def test_schedules_and_sub_agents_are_left_out_with_their_numbers(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path / "h")
    db = hermes.store()
    session(db, "s1")
    session(db, "s2", source="cron")
    session(db, "s3", model_config='{"_delegate_from": "s1"}', parent_session_id="s1")
    for id in ("s1", "s2", "s3"):
        say(db, id, "user", f"in {id}")
    db.execute("UPDATE messages SET content = cast(x'ff' as text) WHERE session_id = 's1'")
    say(db, "s1", "user", "fine")
    db.close()
    items = read(hermes.home)
    assert [t.text for t in turns(items)] == ["fine"]
    assert {i.what: i.count for i in items if isinstance(i, Left)} == {
        "sessions of schedules": 1,
        "sessions of sub-agents": 1,
    }
    assert [i.why for i in items if isinstance(i, Bad)] == ["its content is not UTF-8 text"]


def test_snapshots_are_read_where_the_store_has_not_the_session(tmp_path: Path) -> None:
    hermes = Hermes(tmp_path / "h")
    db = hermes.store()
    session(db, "a")
    say(db, "a", "user", "from the store")
    db.close()
    hermes.snapshot("a", [{"role": "user", "content": "from the snapshot"}])
    path = hermes.snapshot("b", [{"role": "user", "content": "hi"}, "?", {"role": "assistant", "content": "hello"}])
    (hermes.home / "sessions" / "session_c.json").write_text("{")
    items = read(hermes.home)
    assert [(t.session, t.text, t.reply) for t in turns(items)] == [("a", "from the store", ""), ("b", "hi", "hello")]
    assert datetime.fromisoformat(str(turns(items)[1].at)).tzinfo is not None
    assert {i.where for i in items if isinstance(i, Bad)} == {"session_b.json, message 1", "session_c.json"}
    assert detect(path) is SOURCE


def test_links_out_of_the_home_are_not_followed(tmp_path: Path) -> None:
    outside = Hermes(tmp_path / "outside")
    outside.note("MEMORY.md", "secret", "more")
    db = outside.store()
    session(db, "s")
    say(db, "s", "user", "secret")
    db.close()
    home = tmp_path / "home"
    (home / "memories").mkdir(parents=True)
    (home / "memories" / "USER.md").write_text("own")
    (home / "memories" / "MEMORY.md").symlink_to(outside.home / "memories" / "MEMORY.md")
    (home / "state.db").symlink_to(outside.home / "state.db")
    (home / "sessions").symlink_to(outside.home)
    assert [i.text for i in read(home) if isinstance(i, (Told, Worked))] == ["own"]


PYTHON = os.environ.get("MEMOS_TEST_HERMES", "")
STORE = """
import sys
from pathlib import Path
from hermes_state import SessionDB
db = SessionDB(Path(sys.argv[1]))
call = {"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": '{"command": "pip install numpy"}'}}
db.create_session("s1", "cli")
db.append_message("s1", "user", "装一下 numpy")
db.append_message("s1", "assistant", "", tool_calls=[call])
db.append_message("s1", "tool", '{"output": "no gcc", "exit_code": 1}', tool_call_id="c1", tool_name="terminal")
db.append_message("s1", "assistant", "没有装上")
db.append_message("s1", "user", [{"type": "text", "text": "再试一次"}])
kept = db.get_messages("s1")[-1]
summary = "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted"
db.archive_and_compact("s1", [{"role": "user", "content": summary}, {"role": "user", "content": kept["content"]}])
db.append_message("s1", "assistant", "装好了")
"""


@pytest.mark.skipif(
    not PYTHON, reason="NOT TESTED: the real store needs MEMOS_TEST_HERMES=<python of a venv with hermes-agent>"
)
def test_what_the_real_hermes_stored_is_read(tmp_path: Path) -> None:
    env = {**os.environ, "HERMES_HOME": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": ""}
    subprocess.run(
        [PYTHON, "-c", STORE, str(tmp_path / "state.db")], env=env, check=True, capture_output=True, timeout=60
    )
    assert detect(tmp_path) is SOURCE
    first, second = turns(read(tmp_path))
    assert (first.text, first.reply) == ("装一下 numpy", "没有装上")
    assert [(c.tool, c.input, c.ok) for c in first.calls] == [("terminal", "pip install numpy", False)]
    assert (second.text, second.reply, second.over) == ("再试一次", "装好了", True)
