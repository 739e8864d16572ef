"""Writing out: JSON lines that come back, and Markdown to be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports import chats, written

from memos import AsyncMemOS, MemOS
from memos.errors import InvalidInput
from memos.moving.bring import bring_now
from memos.moving.jsonl_out import write_jsonl, write_jsonl_now
from memos.moving.markdown_out import safe, write_markdown_now
from memos.moving.sources import detect

SKILL = "---\nname: brew-tea\ndescription: Brews tea.\n---\n# brew-tea\n\nBoil water."


def filled(memos: MemOS) -> None:
    memos.add(
        [
            {
                "role": "user",
                "content": "I live in Oslo and work at Nordlys Labs.",
                "chat_time": "2025-06-26T23:30:00+02:00",
            },
            {
                "role": "assistant",
                "name": "Robo",
                "content": "How nice! " * 300,
                "chat_time": "2025-06-27T00:30:00+02:00",
            },
            {
                "role": "user",
                "content": "# 我喜欢喝乌龙茶\n---\n---",
                "message_id": "m3",
                "info": {"k": [1, {"ü": None}]},
            },
        ],
        session="Fjord / 2025",
        tags=["home"],
    )
    memos.add("A note that is not read", derive=False, session="notes")
    memos.import_skills(SKILL)
    memos.flush()


def said(memos: MemOS) -> list[Any]:
    """What was said, as far as an export keeps it."""
    return [
        (
            m.text,
            m.role,
            m.speaker,
            m.session,
            m.tags,
            dict(m.info),
            m.body.get("time_given"),
            m.body.get("zone"),
            m.is_read,
        )
        + ((m.valid_from,) if m.body.get("time_given", True) else ())
        for m in memos.list(kinds=["trace"], newest_first=False).items
    ]


def derived(memos: MemOS) -> list[tuple[str, str]]:
    return sorted((m.kind.value, m.text) for m in memos.list(kinds=["fact", "profile", "preference", "event"]).items)


def test_json_lines_come_back_as_they_were(memos: MemOS, tmp_path: Path) -> None:
    filled(memos)
    path = tmp_path / "out.jsonl"
    done = write_jsonl_now(memos, path)
    assert done.memories == memos.count()
    assert done.edges > 0
    assert detect(path).name == "memos-jsonl"
    report = bring_now(memos, path, user="copy")
    assert (report.messages, report.notes, report.skills, report.bad) == (3, 1, 1, 0)
    memos.flush(user="copy")
    copy = memos.list(kinds=["trace"], newest_first=False, user="copy").items
    assert sorted(m.text for m in copy) == sorted(m.text for m in memos.list(kinds=["trace"]).items)
    with MemOS(tmp_path / "other", embedder="none", background=False) as other:
        bring_now(other, path)
        other.flush()
        assert sorted(map(str, said(other))) == sorted(map(str, said(memos)))
        assert derived(other) == derived(memos)
        assert [skill.name for skill in other.skills()] == ["brew-tea"]


def test_taken_back_into_its_own_cube_nothing_is_new(memos: MemOS, tmp_path: Path) -> None:
    filled(memos)
    path = tmp_path / "out.jsonl"
    write_jsonl_now(memos, path)
    assert bring_now(memos, path).new == 0


def test_each_line_says_when_it_held_and_where_it_comes_from(memos: MemOS, tmp_path: Path) -> None:
    filled(memos)
    write_jsonl_now(memos, tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert (lines[0]["format"], lines[0]["version"]) == ("memos-jsonl", 1)
    memories = {line["id"]: line for line in lines if line.get("type") == "memory"}
    fact = next(m for m in memories.values() if "Oslo" in m["text"] and m["kind"] != "trace" and "sources" in m)
    assert memories[fact["sources"][0]["memory_id"]]["kind"] == "trace"
    assert {"valid_from", "recorded_at", "confidence", "status"} <= set(fact)
    ties = [line for line in lines if line.get("type") == "edge"]
    assert any(tie["src"] == fact["id"] and tie["edge"] == "DERIVED_FROM" for tie in ties)


def test_a_version_that_is_not_known_is_refused(memos: MemOS, tmp_path: Path) -> None:
    path = written(tmp_path / "new.jsonl", '{"format": "memos-jsonl", "version": 9}\n')
    with pytest.raises(InvalidInput, match=r"version 9.*upgrade"):
        bring_now(memos, path)


async def test_files_are_not_replaced_unless_told(tmp_path: Path) -> None:
    path = written(tmp_path / "out.jsonl", "mine")
    async with AsyncMemOS(tmp_path / "home", embedder="none", background=False) as memos:
        await memos.add("I live in Oslo")
        with pytest.raises(InvalidInput, match="exists"):
            await write_jsonl(memos, path)
        assert path.read_text() == "mine"
        await write_jsonl(memos, path, overwrite=True)
    assert "Oslo" in path.read_text()
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".part")] == []


def test_markdown_has_a_file_for_each_day_and_each_fact(memos: MemOS, tmp_path: Path) -> None:
    filled(memos)
    done = write_markdown_now(memos, tmp_path / "out")
    files = {str(path.relative_to(tmp_path / "out")): path.read_text() for path in (tmp_path / "out").rglob("*.md")}
    assert done.files == len(files)
    session = safe("Fjord / 2025")
    day = files[f"conversations/{session}/2025-06-26.md"]
    assert day.startswith('---\nsession: Fjord / 2025\ndate: "2025-06-26"\n---\n')
    assert "**user** 23:30 ^" in day
    assert "> I live in Oslo and work at Nordlys Labs." in day
    assert f"conversations/{session}/2025-06-27.md" in files
    assert "brew-tea" in files["skills/brew-tea/SKILL.md"]
    fact = next(text for name, text in files.items() if name.startswith(("profile/", "fact/")) and "Oslo" in text)
    assert f"From [[conversations/{session}/2025-06-2" in fact
    assert "valid-from:" in fact
    assert "sources:" in fact


def test_the_same_cube_gives_the_same_folder(memos: MemOS, tmp_path: Path) -> None:
    filled(memos)
    write_markdown_now(memos, tmp_path / "a")
    write_markdown_now(memos, tmp_path / "b")

    def of(path: Path) -> dict[str, bytes]:
        return {str(one.relative_to(path)): one.read_bytes() for one in path.rglob("*") if one.is_file()}

    assert of(tmp_path / "a") == of(tmp_path / "b")


def test_only_a_folder_of_an_export_is_replaced(memos: MemOS, tmp_path: Path) -> None:
    filled(memos)
    mine = written(tmp_path / "mine" / "note.md", "mine").parent
    with pytest.raises(InvalidInput, match="exists already"):
        write_markdown_now(memos, mine)
    with pytest.raises(InvalidInput, match="was not made by an export"):
        write_markdown_now(memos, mine, overwrite=True)
    assert (mine / "note.md").read_text() == "mine"
    write_markdown_now(memos, tmp_path / "out")
    (tmp_path / "out" / "old.md").write_text("of a former export")
    write_markdown_now(memos, tmp_path / "out", overwrite=True)
    assert not (tmp_path / "out" / "old.md").exists()
    assert sorted(one.name for one in tmp_path.iterdir() if one.name.startswith(".")) == []


def test_names_of_files_are_safe_and_apart() -> None:
    names = [
        "a",
        "A",
        "../../etc/passwd",
        "con",
        "x" * 300,
        "a/b",
        "a\\b",
        "会话 一",
        ".",
        "..",
        "",
        "a\0b",
        "tab\t",
        "Ünïcode.",
    ]
    made = [safe(name) for name in names]
    assert len({name.lower() for name in made}) == len(names)
    assert all(0 < len(name) <= 80 and not set(name) & set('/\\:*?"<>|.\0\t') for name in made)


def test_a_markdown_export_can_be_read_as_notes(memos: MemOS, tmp_path: Path) -> None:
    bring_now(memos, written(tmp_path / "c.json", chats(2)))
    write_markdown_now(memos, tmp_path / "out")
    assert bring_now(memos, tmp_path / "out", user="reader", dry_run=True).notes > 0


def test_nothing_is_fetched_when_an_exported_note_is_shown(memos: MemOS, tmp_path: Path) -> None:
    hostile = (
        'Look ![here](https://evil.example/?q=1) and <IMG src="//evil.example/x"> and [a link](https://ok.example) a<b'
    )
    memos.add(hostile, session="page")
    write_markdown_now(memos, tmp_path / "vault")
    (day,) = (tmp_path / "vault" / "conversations" / "page").iterdir()
    text = day.read_text("utf-8")
    assert r"Look !\[here](https://evil.example/?q=1) and \<IMG src" in text
    assert "[a link](https://ok.example) a<b" in text
