"""Transcripts of Claude Code and Codex, read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memos.moving.items import Bad, Item, Left, Worked
from memos.moving.sources import detect
from memos.moving.transcripts import SOURCE, host_of


def read(path: Path) -> list[Item]:
    return list(SOURCE.read(path))


def turns(items: list[Item]) -> list[Worked]:
    return [item for item in items if isinstance(item, Worked)]


def write(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return path


def claude(number: int, type: str, content: Any, **more: Any) -> dict[str, Any]:
    role = {"role": type, "content": content}
    at = f"2026-01-01T08:00:{number:02}.000+08:00"
    return {
        "type": type,
        "uuid": f"u{number}",
        "sessionId": "S",
        "timestamp": at,
        "cwd": "/work",
        "message": role,
        **more,
    }


def worked() -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make", "description": "build"}}
    return [
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        claude(1, "user", "<memos-context>\nold\n</memos-context>\n构建一下"),
        claude(2, "assistant", [{"type": "text", "text": "我试试"}, use]),
        claude(3, "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "no rule", "is_error": True}]),
        claude(
            4,
            "assistant",
            [{"type": "tool_use", "id": "t2", "name": "mcp__memos__memos_search", "input": {"query": "x"}}],
        ),
        claude(5, "user", [{"type": "tool_result", "tool_use_id": "t2", "content": "what was known"}]),
        claude(6, "assistant", [{"type": "text", "text": "没有 Makefile。"}]),
        claude(7, "user", "谢谢", promptId="p2"),
        claude(8, "assistant", [{"type": "text", "text": "不客气"}]),
    ]


def test_a_transcript_of_claude_code_is_turns_with_calls(tmp_path: Path) -> None:
    path = write(tmp_path / "p" / "S.jsonl", *worked())
    assert detect(path) is SOURCE
    first, second = turns(read(path))
    assert (first.session, first.id, first.text) == ("S", "u1", "构建一下")
    assert first.reply == "我试试\n\n没有 Makefile。"
    assert [(c.tool, c.input, c.ok, c.error) for c in first.calls] == [("Bash", "make", False, "no rule")]
    assert first.at == "2026-01-01T08:00:01.000+08:00"
    assert first.info == {"source": "claude-code", "folder": "/work"}
    assert (second.text, second.id, first.over, second.over) == ("谢谢", "u7", False, True)


def codex(kind: str, /, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def test_a_transcript_of_codex_is_turns_with_calls(tmp_path: Path) -> None:
    said = {"type": "UserMessage", "content": [{"type": "text", "text": "列出文件"}]}
    ended = {"type": "CommandExecution", "id": "c1", "exit_code": 2, "aggregated_output": "no such folder"}
    path = write(
        tmp_path / "2026" / "01" / "01" / "rollout-x.jsonl",
        codex("session_meta", id="cs", cwd="/work", instructions="x" * 200_000),
        codex("event_msg", type="item_completed", turn_id="t1", item=said),
        codex(
            "response_item",
            type="function_call",
            call_id="c1",
            name="shell",
            arguments='{"command": ["bash", "-lc", "ls /x"]}',
        ),
        codex("event_msg", type="item_completed", turn_id="t1", item=ended),
        codex("response_item", type="function_call_output", call_id="c1", output="no such folder"),
        codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "没有。"}]),
    )
    assert host_of(path) == "codex"
    assert detect(tmp_path) is SOURCE
    (turn,) = turns(read(tmp_path))
    assert (turn.session, turn.text, turn.reply, turn.over) == ("cs", "列出文件", "没有。", True)
    assert [(c.tool, c.input, c.ok) for c in turn.calls] == [("Bash", "ls /x", False)]


def test_a_folder_of_projects_is_read_and_helpers_and_strangers_are_counted(tmp_path: Path) -> None:
    write(tmp_path / "-work" / "S.jsonl", *worked())
    write(tmp_path / "-work" / "S" / "subagents" / "agent-1.jsonl", *(dict(r, isSidechain=True) for r in worked()))
    write(tmp_path / "-work" / "other.jsonl", {"some": "thing"})
    (tmp_path / "-work" / "link.jsonl").symlink_to(tmp_path / "-work" / "S.jsonl")
    (tmp_path / "-work" / "S.jsonl").open("a").write('{"cut off\n')
    assert detect(tmp_path) is SOURCE
    items = read(tmp_path)
    assert len(turns(items)) == 2
    assert {i.what: i.count for i in items if isinstance(i, Left)} == {
        "transcripts of sub-agents": 1,
        "other files of lines": 1,
    }
    assert [i.where for i in items if isinstance(i, Bad)] == ["-work/S.jsonl, line 10"]


def test_turns_are_given_away_while_the_file_is_read(tmp_path: Path) -> None:
    lines = [claude(n % 60, "user" if n % 2 == 0 else "assistant", f"words {n}", uuid=f"u{n}") for n in range(2_000)]
    path = write(tmp_path / "S.jsonl", *lines)
    found = SOURCE.read(path)
    first = next(found)
    assert isinstance(first, Worked)
    assert first.text == "words 0"
    assert len({t.id for t in turns(list(found))} | {first.id}) == 1_000
