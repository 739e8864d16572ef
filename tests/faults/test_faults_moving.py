"""What people met when they moved memories: rows lost behind ids that another file had, too; one odd row that costs the rest;
exports that write over one another.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memos import MemOS
from memos.errors import InvalidInput
from memos.moving import markdown_out
from memos.moving.bring import bring_now
from memos.moving.items import Source, Told
from memos.moving.jsonl_out import Written
from memos.moving.markdown_out import write_markdown_now
from memos.moving.ours import SOURCE

HEADER: dict[str, Any] = {"format": "memos-jsonl", "version": 1}


def texts(memos: MemOS) -> list[str]:
    return sorted(memory.text for memory in memos.list(kinds=["trace"], limit=1_000).items)


def own(path: Path, *values: Any) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in (HEADER, *values)))
    return path


def said(id: str, text: str = "My boat is Wren.", **more: Any) -> dict[str, Any]:
    return {"type": "memory", "kind": "trace", "id": id, "text": text, **more}


def test_two_tables_whose_rows_are_numbered_alike_are_both_stored(memos: MemOS, tmp_path: Path) -> None:
    for name, one, two in (("a.csv", "I like tea.", "I like rum."), ("b.csv", "My cat is Tom.", "My dog is Rex.")):
        table = tmp_path / name
        table.write_text(f"id,text,date\n1,{one},2024-01-01\n2,{two},2024-01-02\n")
        report = bring_now(memos, table)
        assert (report.known, report.new) == (0, 2)
        again = bring_now(memos, table.rename(tmp_path / f"again-{name}"))
        assert (again.known, again.new) == (2, 0), "the same rows of a file of another name"
    assert texts(memos) == ["I like rum.", "I like tea.", "My cat is Tom.", "My dog is Rex."]


def test_conversations_whose_messages_are_numbered_alike_are_all_stored(memos: MemOS, tmp_path: Path) -> None:
    chats = [
        {"id": f"c{n}", "messages": [{"id": 1, "role": "user", "content": said}, {"id": 2, "role": "ai", "content": "Ok."}]}
        for n, said in enumerate(("Hi.", "Hi.", "I live in Rome."))
    ]  # fmt: skip
    (tmp_path / "chats.json").write_text(json.dumps(chats))
    report = bring_now(memos, tmp_path / "chats.json")
    assert (report.messages, report.repeated, report.new) == (6, 0, 6)
    assert texts(memos) == ["Hi.", "Hi.", "I live in Rome.", "Ok.", "Ok.", "Ok."]
    again = bring_now(memos, tmp_path / "chats.json", session="all of them")
    assert (again.known, again.new) == (6, 0)


def test_a_note_that_was_changed_under_its_id_is_stored_beside_its_former_text(memos: MemOS, tmp_path: Path) -> None:
    diary = Source("diary", "A diary", lambda _: True, lambda path: iter([Told(path.read_text(), None, "1")]))
    for text in ("I learn Norwegian.", "I speak Norwegian."):
        (tmp_path / "diary").write_text(text)
        assert [bring_now(memos, tmp_path / "diary", source=diary).new for _ in range(2)] == [1, 0]
    assert texts(memos) == ["I learn Norwegian.", "I speak Norwegian."]


def test_chats_in_a_folder_are_read_by_what_each_is(memos: MemOS, tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"role": "user", "content": "I like tea."}\n{"role": "user", "content": "Hi."}\n')
    (folder / "b.json").write_text('[{"role": "user", "content": "I like rum."}]')
    assert bring_now(memos, folder, source="chat").new == 3


def test_what_is_too_much_at_once_for_a_server_goes_in_fewer(memos: MemOS, tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("id,text\n" + "".join(f"{n},{'too long' if n == 77 else f'Note {n}.'}\n" for n in range(200)))
    calls: list[int] = []
    add = memos.add

    def narrow(messages: Any, **how: Any) -> Any:
        calls.append(len(messages))
        if len(messages) > 50 or any(one["content"] == "too long" for one in messages):
            raise InvalidInput("too much")
        return add(messages, **how)

    memos.add = narrow  # type: ignore[method-assign]
    report = bring_now(memos, table)
    assert (report.new, report.bad) == (199, 1) and len(calls) < 30


def test_a_memory_that_mem0_has_changed_is_stored_beside_its_former_text(memos: MemOS, tmp_path: Path) -> None:
    for text in ("Likes tea", "Likes coffee"):
        export = {"results": [{"id": "u1", "memory": text, "hash": "x", "created_at": "2024-01-01T00:00:00Z"}]}
        (tmp_path / "mem0.json").write_text(json.dumps(export))
        assert bring_now(memos, tmp_path / "mem0.json").new == 1
    assert bring_now(memos, tmp_path / "mem0.json").new == 0
    assert texts(memos) == ["Likes coffee", "Likes tea"]


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "1e400", "-1"])
def test_a_time_that_nobody_can_tell_costs_no_import(memos: MemOS, tmp_path: Path, at: str) -> None:
    path = own(tmp_path / "a.jsonl", said("1", valid_from=at), said("2", "I live in Rome."))
    report = bring_now(memos, path)
    assert (report.new, report.bad, report.first) == (2, 0, None)
    assert texts(memos) == ["I live in Rome.", "My boat is Wren."]


@pytest.mark.parametrize(
    "more", [{"tags": 5}, {"tags": {"a": 1}}, {"body": {"part": 0, "parts": True}}, {"info": []}, {"speaker": {}}]
)
def test_a_field_of_another_kind_costs_nothing_but_itself(memos: MemOS, tmp_path: Path, more: Any) -> None:
    path = own(tmp_path / "a.jsonl", said("1", **more), said("2", "I live in Rome."))
    assert bring_now(memos, path).new == 2


def test_a_first_row_that_is_no_row_is_told(memos: MemOS, tmp_path: Path) -> None:
    for text in ("a," * 200_000, "x" * 200_000):
        (tmp_path / "a.csv").write_text(f"text,{text}\n{text}\n")
        for how in ({}, {"source": "table"}):
            with contextlib.suppress(InvalidInput):
                bring_now(memos, tmp_path / "a.csv", **how)


def test_a_message_of_endless_parts_is_not_gathered_for_ever(tmp_path: Path) -> None:
    def bad(parts: int, text: str) -> int:
        lines = [said("1", text, body={"part": n, "parts": 10**9}) for n in range(parts)]
        return sum(type(item).__name__ == "Bad" for item in SOURCE.read(own(tmp_path / "a.jsonl", *lines)))

    assert bad(3, "x" * 1_000_000) == 1, "not whole"
    assert bad(8, "x" * 1_000_000) == 3, "given up after the sixth, and what comes behind it belongs to nothing"
    assert bad(10_003, "") == 3


def test_exports_at_once_to_one_folder_are_each_whole(memos: MemOS, tmp_path: Path) -> None:
    for n in range(10):
        messages = [{"role": "user", "content": f"Message {n}-{m} about boats."} for m in range(100)]
        memos.add(messages, session=f"s{n}", derive=False)
    done: list[Written | Exception] = []
    begin = threading.Barrier(4)

    def export() -> None:
        begin.wait()
        try:
            done.append(write_markdown_now(memos, tmp_path / "out", overwrite=True))
        except Exception as error:
            done.append(error)

    for _ in range(2):  # into nothing, then in place of what is there
        threads = [threading.Thread(target=export) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert any(isinstance(one, Written) for one in done), done
        told = "".join(file.read_text() for file in (tmp_path / "out").rglob("*.md"))
        assert told.count("\n> Message ") == 1_000
        assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "out"]


def test_an_export_that_was_killed_leaves_nothing_for_the_next(memos: MemOS, tmp_path: Path) -> None:
    memos.add("My boat is Wren.")
    (tmp_path / ".out.0123456789ab.lock").touch()
    (tmp_path / ".out.0123456789ab.part").mkdir()
    (tmp_path / ".out.0123456789ab.part" / "secret.md").write_text("My boat is Wren.")
    write_markdown_now(memos, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "out"]


def test_names_are_short_enough_for_a_file_whatever_their_letters(
    memos: MemOS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = ("\N{GRINNING FACE}", "名", "İ", "é")
    for letter in letters:
        memos.add("I like tea.", session=letter * 100)
    (fact,) = memos.list(kinds=["preference"]).items

    async def pages(door: Any) -> AsyncIterator[Any]:
        yield memos.list(kinds=["trace"]).items
        yield [replace(fact, text=letter * 100) for letter in letters]

    monkeypatch.setattr(markdown_out, "pages", pages)
    written = write_markdown_now(memos, tmp_path / "out")
    assert written.files == 8
    monkeypatch.chdir(tmp_path / "out")
    assert write_markdown_now(memos, Path(), overwrite=True).files == 8, "where one stands"
    assert (tmp_path / "out" / "conversations").is_dir()
