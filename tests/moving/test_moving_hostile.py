"""Files made to do harm: refused with an error that says why, and nothing of them is stored."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from exports import chats, written, zipped

from memos import MemOS
from memos.errors import InvalidInput
from memos.moving import files, json_stream, sources
from memos.moving.bring import bring_now


def refused(memos: MemOS, path: Path, why: str, kind: str | None = None) -> None:
    with pytest.raises(InvalidInput, match=why):
        bring_now(memos, path, source=kind)
    assert memos.count(include_inactive=True) == 0


def test_a_zip_bomb(memos: MemOS, tmp_path: Path) -> None:
    path = zipped(tmp_path / "bomb.zip", {"conversations.json": b"[" + b" " * (60 << 20) + b"]"})
    assert path.stat().st_size < 1 << 20
    refused(memos, path, "a zip bomb", "chatgpt")


def test_a_zip_that_claims_to_be_small_and_is_not(memos: MemOS, tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(chats(50)))
    data = bytearray(made.getvalue())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24 : place + 28] = (100).to_bytes(4, "little")  # what it says it unpacks to
    path = tmp_path / "lie.zip"
    path.write_bytes(data)
    refused(memos, path, "not taken in|cut off", "chatgpt")


@pytest.mark.parametrize(
    "name", ["../conversations.json", "/etc/conversations.json", "a/../../conversations.json", "C:/conversations.json"]
)
def test_a_name_that_leads_out_of_a_zip(memos: MemOS, tmp_path: Path, name: str) -> None:
    refused(memos, zipped(tmp_path / "x.zip", {"conversations.json": chats(1), name: "x"}), "leads out", "chatgpt")


def test_a_link_in_a_zip(memos: MemOS, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("conversations.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    refused(memos, path, "a link", "chatgpt")


def test_a_zip_in_a_zip_is_not_opened(memos: MemOS, tmp_path: Path) -> None:
    inner = zipped(tmp_path / "conversations.json", {"conversations.json": chats(1)}).read_bytes()
    refused(memos, zipped(tmp_path / "x.zip", {"conversations.json": inner}), "not UTF-8|no JSON", "chatgpt")


def test_a_zip_that_is_encrypted_or_broken(memos: MemOS, tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"conversations.json": chats(3)})
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    refused(memos, path, "not taken in", "chatgpt")


def test_links_out_of_a_folder_are_not_followed(memos: MemOS, tmp_path: Path) -> None:
    outside = written(tmp_path / "outside" / "secret.md", "a secret of somebody else")
    vault = tmp_path / "vault"
    written(vault / "note.md", "my own note")
    (vault / "link.md").symlink_to(outside)
    (vault / "folder").symlink_to(outside.parent, target_is_directory=True)
    (vault / "circle").symlink_to(vault, target_is_directory=True)
    os.mkfifo(vault / "pipe.md")
    assert bring_now(memos, vault).notes == 1
    assert "secret" not in str([memory.text for memory in memos.list().items])


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "mem0", "chat"])
def test_deep_json(memos: MemOS, tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "conversations.json", "[" + "[" * 200_000 + "]" * 200_000 + "]")
    refused(memos, path, "nested too deeply|not JSON", kind)


def test_deep_json_in_a_line_is_a_bad_row(memos: MemOS, tmp_path: Path) -> None:
    lines = '{"role": "user", "content": "hello there"}\n{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n"
    report = bring_now(memos, written(tmp_path / "chat.jsonl", lines), source="chat")
    assert (report.new, report.bad) == (1, 1)


@pytest.mark.parametrize("kind", ["chatgpt", "claude", "mem0"])
@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"[{\"mapping\": \"\xff\xfe\"}]", "not UTF-8"),
        (b"[{\"mapping\": {}}, ", "cut off"),
        (b"[{\"mapping\": {}} {}]", "not JSON"),
        (b"[] []", "behind its end"),
        (b"", "no JSON"),
        (b"\0\0\0\0", "no JSON"),
        (b"<html>", "no JSON"),
        (b"[" + b"1" * 6_000 + b"]", "not JSON"),
    ],
)  # fmt: skip
def test_what_is_not_json(memos: MemOS, tmp_path: Path, kind: str, data: bytes, why: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(data)
    refused(memos, path, why, kind)


def test_lines_and_elements_without_end(memos: MemOS, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 20)
    monkeypatch.setattr(json_stream, "LONGEST_LINE", 1 << 20)
    refused(
        memos, written(tmp_path / "a.jsonl", '{"text": "' + "x" * (2 << 20)), "line 1 has more than 1 MB", "mcp-memory"
    )
    refused(memos, written(tmp_path / "b.json", '[{"text": "' + "x" * (5 << 20)), "more than|cut off", "mem0")
    refused(memos, written(tmp_path / "c.csv", "text,date\n" + "x" * (9 << 20)), "more than 8 MB", "table")


def test_notes_that_are_no_text(memos: MemOS, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    written(vault / "fine.md", "a fine note")
    (vault / "nul.md").write_bytes(b"a\0b")
    (vault / "latin.md").write_bytes("Müller".encode("latin-1"))
    (vault / "large.md").write_bytes(b"x" * (9 << 20))
    report = bring_now(memos, vault)
    assert (report.new, report.bad) == (1, 3)
    assert [row.where for row in report.bad_rows] == ["large.md", "latin.md", "nul.md"]


def test_folders_without_end(memos: MemOS, tmp_path: Path) -> None:
    written(tmp_path / "deep" / "/".join("d" for _ in range(60)) / "note.md", "x")
    refused(memos, tmp_path / "deep", "more than 40 deep", "markdown")


def test_a_table_that_is_not_utf8(memos: MemOS, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("text,date\nMüller,2025\n".encode("utf-16"))
    refused(memos, path, "not UTF-8", "table")


def test_devices_and_things_that_are_gone(memos: MemOS, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    refused(memos, tmp_path / "pipe.json", "no plain file|of no kind")
    refused(memos, tmp_path / "pipe.json", "no plain file", "mcp-memory")
    refused(memos, tmp_path / "gone.json", "does not exist")


@pytest.mark.parametrize("source", sources.SOURCES, ids=lambda source: source.name)
def test_no_kind_is_startled_by_what_it_does_not_know(tmp_path: Path, source: sources.Source) -> None:
    for n, data in enumerate(
        (b"", b"\0" * 100, b"PK\x03\x04 no zip", b"SQLite format 3\0", b"[" * 5_000, b'{"a":', b"---\n", b"\xff\xfe")
    ):
        path = tmp_path / f"odd-{n}"
        path.write_bytes(data)
        source.fits(path)
    (tmp_path / "empty").mkdir()
    assert not source.fits(tmp_path / "empty")
    assert not source.fits(tmp_path / "gone")
