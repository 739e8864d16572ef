"""Dumps of MemOS cubes, read."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from memos.errors import InvalidInput
from memos.moving.items import Bad, Item, Left, Said, Told
from memos.moving.memos_dump import SOURCE
from memos.moving.sources import detect


def node(id: str, memory: str, **metadata: Any) -> dict[str, Any]:
    about = {
        "memory_type": "LongTermMemory",
        "status": "activated",
        "embedding": [0.1, 0.2],
        "user_name": "cube-1",
        **metadata,
    }
    return {"id": id, "memory": memory, "metadata": about}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False, indent=4), encoding="utf-8")
    return path


def read(path: Path) -> list[Item]:
    return list(SOURCE.read(path))


def cube(folder: Path, value: Any) -> Path:
    """A folder as a cube is dumped."""
    write(folder / "textual_memory.json", value)
    write(folder / "config.json", {"user_id": "u", "cube_id": "cube-1", "text_mem": {"backend": "tree_text"}})
    return folder


def test_messages_behind_a_memory_are_taken_and_otherwise_its_own_text(tmp_path: Path) -> None:
    chat = {
        "type": "chat",
        "role": "user",
        "chat_time": "2025-06-26T15:00:00+08:00",
        "message_id": "m1",
        "content": "我喜欢草莓",
    }
    dumped = {
        "nodes": [
            node("a", "用户喜欢草莓", sources=[chat, json.dumps({**chat, "message_id": "m2", "role": "assistant", "content": "好吃"})],
                 session_id="s1"),
            node("b", "Likes tea", created_at="2025-06-01T00:00:00Z", tags=["drinks"], key="tea", sources=[{"type": "doc"}]),
            node("c", "Old", status="archived"),
            node("d", "Likes tea", memory_type="WorkingMemory"),
            {"id": "e", "memory": " ", "metadata": {}},
            17,
        ],
        "edges": [{"source": "a", "target": "b", "type": "PARENT"}],
        "total_nodes": 6,
    }  # fmt: skip
    path = cube(tmp_path / "dump", dumped)
    assert detect(path) is SOURCE
    items = read(path)
    said = [i for i in items if isinstance(i, Said)]
    assert [(s.session, s.id, s.role, s.text) for s in said] == [
        ("s1", "s1/m1", "user", "我喜欢草莓"), ("s1", "s1/m2", "assistant", "好吃"),
    ]  # fmt: skip
    assert said[0].at == "2025-06-26T15:00:00+08:00"
    told = [i for i in items if isinstance(i, Told)]
    assert told[0].tags == ("memos", "drinks")
    assert told[0].info["node"] == "b"
    assert told[0].user == "cube-1"
    assert told[0].id == told[1].id  # the copy in the working memory is the same memory
    assert {b.where for b in items if isinstance(b, Bad)} == {
        "textual_memory.json: nodes[4]",
        "textual_memory.json: nodes[5]",
    }
    left = {i.what: i.count for i in items if isinstance(i, Left)}
    assert left == {"ties between memories": 1, "archived memories": 1, "vectors": 3}


def test_general_memory_is_dumped_as_rows_of_a_vector_store(tmp_path: Path) -> None:
    item = {
        "id": "x",
        "vector": [0.5] * 8,
        "payload": {"id": "x", "memory": "住在上海", "metadata": {"tags": ["城市"]}},
        "score": None,
    }
    path = cube(tmp_path / "general", [item])
    assert detect(path) is SOURCE
    assert detect(path / "textual_memory.json") is SOURCE
    (told,) = [i for i in read(path) if isinstance(i, Told)]
    assert (told.text, told.tags) == ("住在上海", ("memos", "城市"))


def test_preferences_are_told_with_the_wish_before_its_context(tmp_path: Path) -> None:
    payload = {
        "dialog_str": "user: short answers please",
        "preference": "Wants short answers",
        "preference_type": "explicit_preference",
    }
    rows = {"explicit_preference": [{"id": "p", "vector": [1.0], "payload": payload}], "implicit_preference": []}
    folder = cube(tmp_path / "dump", {"nodes": [], "edges": []})
    write(folder / "preference_memory.json", rows)
    (told,) = [i for i in read(folder) if isinstance(i, Told)]
    assert told.text == "Wants short answers"
    assert "preference" in told.tags
    assert detect(folder / "preference_memory.json") is SOURCE


def test_nodes_that_neo4j_exports_are_read_line_by_line(tmp_path: Path) -> None:
    properties = {
        "id": "n1",
        "memory": "Has a cat",
        "memory_type": "UserMemory",
        "created_at": "2025-01-01T00:00:00Z",
        "user_name": "u",
    }
    rows = [
        {"type": "node", "id": "0", "labels": ["Memory"], "properties": properties},
        {"type": "relationship", "id": "1", "label": "RELATE", "start": {"id": "0"}, "end": {"id": "0"}},
    ]
    path = tmp_path / "export.json"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n{broken\n")
    assert detect(path) is SOURCE
    items = read(path)
    assert [i.text for i in items if isinstance(i, Told)] == ["Has a cat"]
    assert [i.where for i in items if isinstance(i, Bad)] == ["export.json, line 3"]


class _Opened:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path(_Opened.mark).touch, ())

    mark = ""


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    _Opened.mark = str(tmp_path / "ran")
    folder = cube(tmp_path / "dump", {"nodes": [node("a", "x")], "edges": []})
    (folder / "activation_memory.pickle").write_bytes(pickle.dumps(_Opened()))
    items = read(folder)
    assert not (tmp_path / "ran").exists()
    assert any(isinstance(i, Left) and i.count == 1 and "run code" in i.why for i in items)


def test_links_in_a_dump_are_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside.json", {"nodes": [node("a", "secret")], "edges": []})
    folder = tmp_path / "dump"
    folder.mkdir()
    (folder / "textual_memory.json").symlink_to(outside)
    assert not SOURCE.fits(folder)
    assert read(folder) == []


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = cube(tmp_path / "dump", {"nodes": [node("a", "x")], "edges": []}) / "textual_memory.json"
    path.write_text(path.read_text()[:-10])
    with pytest.raises(InvalidInput, match="cut off"):
        read(path)


def test_what_mem0_gives_out_is_not_taken_for_a_dump(tmp_path: Path) -> None:
    rows = {"results": [{"id": "1", "memory": "x", "hash": "h", "metadata": {"a": 1}, "user_id": "u"}]}
    assert not SOURCE.fits(write(tmp_path / "a.json", rows))
    assert not SOURCE.fits(write(tmp_path / "b.json", rows["results"]))
