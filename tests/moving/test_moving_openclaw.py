"""What OpenClaw kept, read."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from openclaw_files import Session, called, database, piece

from memos.moving.items import Bad, Item, Left, Told, Worked
from memos.moving.openclaw import SOURCE
from memos.moving.sources import detect


def read(path: Path) -> list[Item]:
    return list(SOURCE.read(path))


def turns(items: list[Item]) -> list[Worked]:
    return [item for item in items if isinstance(item, Worked)]


def left(items: list[Item]) -> dict[str, int]:
    return {item.what: item.count for item in items if isinstance(item, Left)}


def worked(id: str = "s1") -> Session:
    session = Session(id)
    session.add("model_change", provider="x", modelId="y")
    session.user("<relevant-memories>\nold\n</relevant-memories>\n\n[Thu 2026-01-01 08:00 GMT+8] 装一下 numpy")
    session.assistant({"type": "thinking", "thinking": "try pip"}, called("c1", "exec", command="pip install numpy"))
    session.result("c1", "no gcc", failed=True)
    session.assistant(
        "Trying again.", called("c2", "exec", command="apt install gcc"), called("c3", "memos_search", query="x")
    )
    session.result("c2", "ok")
    session.result("c3", "what was known", tool="memos_search")
    session.assistant("装好了。")
    session.user("谢谢")
    session.assistant("不客气")
    return session


def test_a_session_is_turns_with_calls_and_without_what_was_put_before_the_words(tmp_path: Path) -> None:
    path = worked().write(tmp_path)
    assert detect(path) is SOURCE
    first, second = turns(read(path))
    assert (first.text, first.reply, first.session) == ("装一下 numpy", "Trying again.\n\n装好了。", "s1")
    assert [(c.tool, c.input, c.ok, c.output or c.error) for c in first.calls] == [
        ("exec", "pip install numpy", False, "no gcc"), ("exec", "apt install gcc", True, "ok"),
    ]  # fmt: skip
    assert first.info["thinking"] == "try pip"
    assert str(first.at).startswith("2026-01-01T00:00:02")
    assert (second.text, second.over, first.over) == ("谢谢", True, False)


def test_facts_about_the_sender_are_not_what_was_said(tmp_path: Path) -> None:
    session = Session("s")
    session.user(
        'Conversation info (untrusted metadata):\n```json\n{"id": 1}\n```\n\nSender (untrusted metadata):\n```json\n{}\n```\n\nhi'
    )
    session.user("<memories>never closed")
    assert [t.text for t in turns(read(session.write(tmp_path)))] == ["hi", "<memories>never closed"]


def test_only_the_branch_that_was_gone_on_with_is_taken(tmp_path: Path) -> None:
    session = Session("s")
    root = session.user("one")
    session.assistant("first answer")
    session.user("a mistake")
    session.last = root
    session.assistant("second answer")
    session.user("two")
    items = read(session.write(tmp_path))
    assert [(t.text, t.reply) for t in turns(items)] == [("one", "second answer"), ("two", "")]
    assert left(items) == {"messages of other branches": 2}


def test_the_state_folder_gives_the_sessions_of_all_agents_and_the_notes_of_their_workspaces(tmp_path: Path) -> None:
    root = tmp_path / "openclaw"
    sessions = root / "agents" / "main" / "sessions"
    worked("a").write(sessions)
    worked("b").write(sessions, "b.jsonl.reset.2026-01-01")
    cron = Session("c")
    cron.user("[cron:1] wake up")
    cron.user("report")
    cron.write(sessions)
    index = {"agent:main:main": {"sessionId": "a"}, "cron:job": {"sessionId": "c"}}
    (sessions / "sessions.json").write_text(json.dumps(index))
    notes = root / "workspace"
    (notes / "memory").mkdir(parents=True)
    (notes / "MEMORY.md").write_text("# 关于项目\n\n- 用 uv\n- 部署在上海\n\n## Later\n\nTwo\nlines\n")
    (notes / "memory" / "2026-02-03-trip.md").write_text("Booked the train.\n")
    assert detect(root) is SOURCE
    items = read(root)
    assert {t.session for t in turns(items)} == {"a"}
    assert turns(items)[0].info["session_key"] == "agent:main:main"
    told = {t.text: t for t in items if isinstance(t, Told)}
    assert list(told) == [
        "关于项目: 用 uv",
        "关于项目: 部署在上海",
        "关于项目 › Later: Two\nlines",
        "Booked the train.",
    ]
    assert str(told["Booked the train."].at).startswith("2026-02-03T12:00:00")
    assert left(items) == {"copies of sessions": 1, "messages of schedules and sub-agents": 2}
    assert detect(notes) is SOURCE


def test_an_agents_database_has_its_sessions_and_pieces_of_lost_files(tmp_path: Path) -> None:
    agent = tmp_path / "root" / "agents" / "main"
    db = database(agent)
    worked("a").store(db, "agent:main:main")
    worked("a").write(agent / "sessions")
    piece(db, "memory/2026-01-05.md", "a lost note")
    piece(db, "MEMORY.md", "kept")
    piece(db, "sessions/a.jsonl", "said", "sessions")
    db.execute("INSERT INTO transcript_events (session_id, seq, event_json, created_at) VALUES ('a', 100, '[1', 1)")
    (tmp_path / "root" / "workspace").mkdir()
    (tmp_path / "root" / "workspace" / "MEMORY.md").write_text("kept")
    items = read(tmp_path / "root")
    assert [t.text for t in turns(items)] == ["装一下 numpy", "谢谢"]
    assert [t.text for t in items if isinstance(t, Told)] == ["kept", "a lost note"]
    assert left(items) == {
        "files of sessions": 1,
        "pieces of memory files": 1,
        "pieces of sessions": 1,
    }
    assert [b.where for b in items if isinstance(b, Bad)] == ["session 'a', event 100"]
    db.close()
    assert detect(agent / "agent" / "openclaw-agent.sqlite") is SOURCE


def test_one_agent_or_the_folder_of_its_sessions_will_do(tmp_path: Path) -> None:
    agent = tmp_path / "agents" / "main"
    worked("a").write(agent / "sessions")
    for path in (tmp_path, agent, agent / "sessions"):
        assert detect(path) is SOURCE
        assert [t.session for t in turns(read(path))] == ["a", "a"]


def test_odd_lines_are_bad_and_the_others_are_read(tmp_path: Path) -> None:
    session = worked()
    path = session.write(tmp_path)
    with path.open("ab") as file:
        file.write(
            b"{broken\n\xff\xfe\n[1]\n" + json.dumps({"type": "message", "message": {"content": 5}}).encode() + b"\n"
        )
    items = read(path)
    assert len(turns(items)) == 2
    bad = [b for b in items if isinstance(b, Bad)]
    number = len(session.entries)
    assert [b.where for b in bad] == [f"s1.jsonl, line {number + n}" for n in (1, 2, 3, 4)]
    assert "broken" not in "".join(b.why for b in bad)


def test_links_out_of_the_state_folder_are_not_followed(tmp_path: Path) -> None:
    outside = worked("secret").write(tmp_path / "outside")
    sessions = tmp_path / "root" / "agents" / "main" / "sessions"
    worked("own").write(sessions)
    (sessions / "link.jsonl").symlink_to(outside)
    (tmp_path / "root" / "agents" / "other").symlink_to(tmp_path / "root" / "agents" / "main")
    (tmp_path / "root" / "workspace").symlink_to(tmp_path / "outside")
    assert {t.session for t in turns(read(tmp_path / "root"))} == {"own"}


def test_a_command_that_failed_is_told_by_its_exit_code_and_a_wrapped_tool_by_its_own_name(tmp_path: Path) -> None:
    session = Session("s")
    session.user("go")
    session.assistant(
        called("c1", "exec", command="false"),
        {**called("c2", "tool_call"), "arguments": {"id": "memos_search", "args": {"query": "x"}}},
    )
    details = {"exitCode": 1, "durationMs": 662}
    session.add(
        message={"role": "toolResult", "toolCallId": "c1", "content": "no", "details": details, "isError": False}
    )
    session.result("c2", "what was known")
    (turn,) = turns(read(session.write(tmp_path)))
    assert [(c.tool, c.ok, c.duration) for c in turn.calls] == [("exec", False, 0.662)]


def test_compressed_events_are_read_and_counted_where_they_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = database(tmp_path / "agents" / "main")
    session = worked("a")
    session.store(db, "agent:main:main")
    pack(db, session, lambda data: zstandard.ZstdCompressor().compress(data))
    assert [t.text for t in turns(read(tmp_path))] == ["装一下 numpy", "谢谢"]
    monkeypatch.setitem(sys.modules, "zstandard", None)
    items = read(tmp_path)
    assert not turns(items)
    assert left(items) == {"compressed messages": 9}
    monkeypatch.undo()
    bomb = zstandard.ZstdCompressor().compress(b"0" * (8 << 20))
    pack(db, session, lambda _: bomb)
    assert {b.why for b in read(tmp_path) if isinstance(b, Bad)} == {"it is no JSON object on one line"}
    db.close()


def pack(db: sqlite3.Connection, session: Session, how: Callable[[bytes], bytes]) -> None:
    """Compress the events of a session."""
    for seq, entry in enumerate(session.entries):
        data = json.dumps(entry).encode()
        told = json.dumps({"version": 1, "navigation": {k: entry.get(k) for k in ("type", "id", "parentId")}})
        sql = "UPDATE transcript_events SET event_json = NULL, event_zstd = ?, event_utf8_bytes = ?, navigation_json = ? WHERE seq = ?"
        db.execute(sql, (how(data), len(data), told, seq))
