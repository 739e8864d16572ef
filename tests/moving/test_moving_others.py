"""Claude, mem0, the MCP reference memory, chats, tables and notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exports import claude_conversation, claude_message, written, zipped

from memos.errors import InvalidInput
from memos.moving import table
from memos.moving.items import Bad, Item, Left, Said, Skill, Told
from memos.moving.sources import SOURCES, detect, named

AT = "2025-06-26T15:00:00Z"


def read(path: Path, kind: str) -> list[Item]:
    found = detect(path)
    assert found.name == kind
    return list(found.read(path))


# -- Claude ------------------------------------------------------------------------------------------------------------


def test_a_claude_conversation_is_read_with_what_was_attached(tmp_path: Path) -> None:
    attached = [{"file_name": "a.txt", "extracted_content": "The text of the file"}, {"file_name": "b.png"}]
    hers = claude_message("m1", "human", "Read this", AT, attachments=attached, files=[{"file_name": "c.pdf"}])
    its = claude_message("m2", "assistant", "Done", AT)
    its["content"] = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Done"}]
    items = read(written(tmp_path / "conversations.json", [claude_conversation("t1", hers, its)]), "claude")
    assert items[:2] == [
        Said("t1", "user", "Read this\n\na.txt:\nThe text of the file", AT, "m1", info={"title": "A talk"}),
        Said("t1", "assistant", "Done", AT, "m2", info={"title": "A talk"}),
    ]
    assert {item.what: item.count for item in items if isinstance(item, Left)} == {
        "files without their text": 2,
        "calls and answers of tools, and thoughts of the model": 1,
    }


def test_of_claude_branches_the_last_one_is_taken(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    messages = (
        claude_message("m1", "human", "Hello", "2025-06-26T15:00:00Z", root),
        claude_message("m2", "assistant", "First try", "2025-06-26T15:01:00Z", "m1"),
        claude_message("m3", "assistant", "Second try", "2025-06-26T15:02:00Z", "m1"),
    )
    items = read(written(tmp_path / "conversations.json", [claude_conversation("t1", *messages)]), "claude")
    assert [item.text for item in items if isinstance(item, Said)] == ["Hello", "Second try"]


def test_memories_and_projects_of_claude_are_told(tmp_path: Path) -> None:
    files = {
        "conversations.json": [claude_conversation("t1", claude_message("m1", "human", "Hi", AT))],
        "memories.json": [{"conversations_memory": "**Work**\nShe is a nurse.\n\nShe has a dog.", "account_uuid": "a"}],
        "projects.json": [
            {
                "uuid": "p",
                "name": "Garden",
                "description": "Plans for the garden",
                "prompt_template": "",
                "created_at": AT,
                "docs": [
                    {"uuid": "d", "filename": "beds.md", "content": "Roses in June", "created_at": AT},
                    {"uuid": "e"},
                ],
            }
        ],
        "users.json": [{"uuid": "a", "full_name": "Ada"}],
    }
    items = read(zipped(tmp_path / "data.zip", files), "claude")
    assert [item.text for item in items if isinstance(item, Told)] == [
        "**Work**\nShe is a nurse.",
        "She has a dog.",
        "Plans for the garden",
        "Roses in June",
    ]
    assert [item.where for item in items if isinstance(item, Bad)] == ["projects.json[0].docs[1]"]


# -- mem0 --------------------------------------------------------------------------------------------------------------

MEMORY = {
    "id": "1",
    "memory": "Allergic to walnuts",
    "hash": "x",
    "metadata": {"topic": "food"},
    "created_at": "2025-06-26T08:00:00-07:00",
    "updated_at": None,
    "user_id": "ada",
    "categories": ["health"],
}


@pytest.mark.parametrize(
    "shape", [[MEMORY], {"results": [MEMORY]}, {"memories": [MEMORY]}, {"results": [MEMORY], "relations": []}]
)
def test_every_form_of_mem0s_answer_is_read(tmp_path: Path, shape: Any) -> None:
    items = read(written(tmp_path / "mem0.json", shape), "mem0")
    assert items == [
        Told("Allergic to walnuts", "2025-06-26T08:00:00-07:00", "1", "", {"topic": "food"}, ("health",), "ada")
    ]


def test_relations_of_mem0_are_counted_and_bad_rows_named(tmp_path: Path) -> None:
    shape = {"results": [MEMORY, {"id": "2", "memory": " "}, "x"], "relations": [{"source": "a", "target": "b"}]}
    items = read(written(tmp_path / "mem0.json", shape), "mem0")
    assert [item.where for item in items if isinstance(item, Bad)] == ["mem0.json: results[1]", "mem0.json: results[2]"]
    assert [item.count for item in items if isinstance(item, Left)] == [1]


# -- the MCP reference memory ------------------------------------------------------------------------------------------


def test_the_graph_file_is_read_line_by_line(tmp_path: Path) -> None:
    lines = [
        '{"type":"entity","name":"Ada","entityType":"person","observations":["lives in Oslo", ""]}',
        "not json",
        '{"type":"relation","from":"Ada","to":"Nordlys","relationType":"works_at"}',
    ]
    items = read(written(tmp_path / "memory.jsonl", "\n".join(lines)), "mcp-memory")
    assert [item.text for item in items if isinstance(item, Said)] == [
        "Ada (person)",
        "Ada: lives in Oslo",
        "Ada works at Nordlys",
    ]
    assert [item.where for item in items if isinstance(item, Bad)] == ["memory.jsonl, line 1", "memory.jsonl, line 2"]


# -- chats -------------------------------------------------------------------------------------------------------------


def test_zeps_messages_are_a_chat(tmp_path: Path) -> None:
    message = {"uuid": "a1", "role": "user", "name": "Dora", "content": "I live in Lyon.", "created_at": AT}
    items = read(written(tmp_path / "zep.json", {"messages": [message], "total_count": 1}), "chat")
    assert items[0] == Said("zep", "user", "I live in Lyon.", AT, "a1", "Dora")


def test_lettas_passages_are_notes(tmp_path: Path) -> None:
    passage = {
        "id": "passage-1",
        "text": "Emil prefers trains.",
        "created_at": AT,
        "tags": ["travel"],
        "metadata": {"a": 1},
    }
    items = read(written(tmp_path / "letta.json", [passage]), "chat")
    assert items == [Told("Emil prefers trains.", AT, "passage-1", "letta", {"a": 1}, ("travel",))]


def test_conversations_in_a_list_have_sessions_of_their_own(tmp_path: Path) -> None:
    talks = [
        {"id": "t1", "messages": [{"role": "human", "text": "one", "timestamp": 1_750_950_000}]},
        {"title": "Two", "messages": [{"from": "gpt", "value": "two"}]},
        [{"role": "user", "content": [{"type": "text", "text": "three"}]}],
    ]
    items = [item for item in read(written(tmp_path / "talks.json", talks), "chat") if isinstance(item, Said)]
    assert [(item.session, item.role, item.text, item.at) for item in items] == [
        ("t1", "user", "one", "2025-06-26T15:00:00+00:00"),
        ("Two", "assistant", "two", None),
        ("talks-2", "user", "three", None),
    ]


def test_a_name_in_place_of_a_role_speaks(tmp_path: Path) -> None:
    lines = '{"sender": "Ana", "text": "早上好，我住在上海", "date": "2025-06-26 08:00"}\n{broken\n\n"text"\n{"role": "user"}\n'
    items = read(written(tmp_path / "chat.jsonl", lines), "chat")
    assert items[0] == Said("chat", "user", "早上好，我住在上海", "2025-06-26 08:00", None, "Ana")
    assert [item.where for item in items if isinstance(item, Bad)] == [
        "chat.jsonl, line 2",
        "chat.jsonl, line 4",
        "chat.jsonl, line 5",
    ]


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_a_table_is_read_whatever_stands_between_its_cells(tmp_path: Path, mark: str) -> None:
    text = (
        mark.join(("id", "text", "date", "mood"))
        + "\n"
        + mark.join(("7", "I live in Oslo", "2025-06-26", "good"))
        + "\n"
    )
    (item,) = read(written(tmp_path / "notes.csv", text), "table")
    assert item == Told("I live in Oslo", "2025-06-26", "7", "notes", {"mood": "good"}, (), role="user")


def test_a_table_with_roles_is_a_conversation(tmp_path: Path) -> None:
    text = '\ufeff角色,内容,时间\nuser,"他说：""好的"",\n我住在北京",1750950000\nbot,好,\n'
    items = read(written(tmp_path / "chat.csv", text), "table")
    assert items == [
        Said("chat", "user", '他说："好的",\n我住在北京', "2025-06-26T15:00:00+00:00"),
        Said("chat", "assistant", "好", None),
    ]


def test_columns_are_what_the_caller_says(tmp_path: Path) -> None:
    path = written(tmp_path / "odd.csv", "What,When,Where\nMoved,2025-06-26,Oslo\n")
    (item,) = table.reading({"text": "what", "at": "When"}).read(path)
    assert item == Told("Moved", "2025-06-26", None, "odd", {"Where": "Oslo"}, (), role="user")
    with pytest.raises(InvalidInput, match=r"no column that is known to hold the text.*What, When, Where"):
        list(table.SOURCE.read(path))
    with pytest.raises(InvalidInput, match="no column 'body'"):
        list(table.reading({"text": "body"}).read(path))
    with pytest.raises(InvalidInput, match="'colour' is nothing that a column can be"):
        table.reading({"colour": "x"})


def test_rows_that_do_not_fit_are_bad(tmp_path: Path) -> None:
    path = written(tmp_path / "bad.csv", "text,date\na,2025-06-26,extra\n,2025-06-26\nfine,\n")
    items = read(path, "table")
    assert [item.where for item in items if isinstance(item, Bad)] == ["bad.csv, line 2", "bad.csv, line 3"]
    assert [item.text for item in items if isinstance(item, Told)] == ["fine"]


# -- notes -------------------------------------------------------------------------------------------------------------


def test_a_vault_is_read_by_its_sections(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    note = (
        "---\ntags: [home, '#plans']\ndate: 2025-06-26\n---\nIntro with [[Oslo|the city]] and ![[map.png]].\n\n"
        "# Garden\n\nRoses, see [[Beds]].\n\n```sh\n# no heading\n```\n\n## Trees #\n\nAn oak.\n\n# Empty\n"
    )
    written(vault / "Home.md", note)
    written(vault / "daily" / "2025-07-01.md", "今天搬到了上海。")
    written(vault / ".obsidian" / "app.md", "settings")
    items = read(vault, "markdown")
    assert [(item.text, item.at, item.session, item.tags) for item in items if isinstance(item, Told)] == [
        ("Home\n\nIntro with the city and .", "2025-06-26", "Home", ("home", "plans")),
        ("Home > Garden\n\nRoses, see Beds.\n\n```sh\n# no heading\n```", "2025-06-26", "Home", ("home", "plans")),
        ("Home > Garden > Trees\n\nAn oak.", "2025-06-26", "Home", ("home", "plans")),
        ("2025-07-01\n\n今天搬到了上海。", "2025-07-01", "daily/2025-07-01", ()),
    ]


def test_front_matter_that_is_not_understood_does_not_cost_the_note(tmp_path: Path) -> None:
    bomb = "---\na: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n---\nThe note itself."
    items = read(written(tmp_path / "note.md", bomb), "markdown")
    assert [item.text for item in items if isinstance(item, Told)] == ["note\n\nThe note itself."]
    assert [item.count for item in items if isinstance(item, Left)] == [1]


def test_a_skill_among_notes_is_a_skill(tmp_path: Path) -> None:
    text = "---\nname: brew\ndescription: Brews tea.\n---\nBoil water."
    written(tmp_path / "v" / "brew" / "SKILL.md", text)
    assert read(tmp_path / "v", "markdown") == [Skill("brew", text)]


# -- which is which ----------------------------------------------------------------------------------------------------


def test_a_path_of_no_kind_is_refused_with_the_kinds_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"of no kind that is known here; known are .*chatgpt.*--from KIND"):
        detect(written(tmp_path / "x.bin", "\0\1\2"))
    with pytest.raises(InvalidInput, match="does not exist"):
        detect(tmp_path / "none")
    with pytest.raises(InvalidInput, match=r"'tarot' is no kind.*known are"):
        named("tarot")


def test_names_of_kinds_are_unique_and_plain() -> None:
    names = [source.name for source in SOURCES]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() and name == name.lower() for name in names)
    assert json.dumps([source.title for source in SOURCES])
