"""Cubes, archives, doctor and config."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_helpers import Answer, Memos


def test_cubes_are_made_listed_shared_and_deleted(memos: Memos, answer: Answer, home: Path) -> None:
    answer("cubes", "create", "team", "--info", "kind=work", "--user", "ana")
    memos("cubes", "create", "team", "--user", "ana", code=2)
    memos("add", "team secret", "--user", "bo", "--cube", "team", code=1)
    answer("cubes", "share", "team", "bo", "--level", "write", "--user", "ana")
    memos("add", "team secret", "--user", "bo", "--cube", "team")
    assert [(c["name"], c["grants"], c["info"]) for c in answer("cubes", "list", "--user", "bo")] == [
        ("team", {"bo": "write"}, {"kind": "work"})
    ]
    memos("cubes", "delete", "team", "-y", "--user", "bo", code=1)
    answer("cubes", "unshare", "team", "bo", "--user", "ana")
    assert "no cubes" in memos("cubes", "list", "--user", "bo").stdout
    assert "--yes" in memos("cubes", "delete", "team", "--user", "ana", code=2).stderr
    assert answer("cubes", "delete", "team", "--yes", "--user", "ana")["memories"] >= 1
    assert not list((home / "cubes").iterdir())


def test_a_cube_travels_through_a_file(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    memos("add", "the blue notebook")
    file = tmp_path / "out.zip"
    wrote = answer("export", str(file))
    assert wrote["bytes"] == file.stat().st_size
    assert "exists already" in memos("export", str(file), code=2).stderr
    memos("export", str(file), "--overwrite")
    assert answer("import", str(file), "copy")["memories"] == wrote["memories"]
    assert answer("search", "notebook", "--cube", "copy")["hits"][0]["cube"] == "copy"
    assert wrote["sha256"] in memos("export", str(tmp_path / "again.zip")).stdout


def test_a_damaged_archive_is_told_in_one_line_and_makes_no_cube(memos: Memos, answer: Answer, tmp_path: Path) -> None:
    file = tmp_path / "bad.zip"
    file.write_bytes(b"PK not really")
    error = memos("import", str(file), "copy", code=1).stderr
    assert "was not imported" in error
    assert error.count("\n") == 1
    assert answer("cubes", "list") == []


def test_doctor_finds_a_sound_home_healthy(memos: Memos, answer: Answer) -> None:
    memos("add", "hello world", "--no-wait")
    found = answer("doctor")
    assert (found["problems"], [c["name"] for c in found["cubes"]]) == ([], ["default"])
    assert found["cubes"][0]["waiting"] == {"digest": 1}
    assert found["cubes"][0]["memories"] == 1
    assert "no problems" in memos("doctor").stdout


def test_doctor_creates_nothing(memos: Memos, home: Path) -> None:
    assert "no data yet" in memos("doctor").stdout
    assert not home.exists()


def test_doctor_finds_damage(memos: Memos, answer: Answer, home: Path) -> None:
    memos("add", "hello world")
    (file,) = (home / "cubes").glob("*.cube")
    content = bytearray(file.read_bytes())
    content[4096:12288] = b"\xff" * 8192
    file.write_bytes(content)
    found = answer("doctor", code=1)
    assert found["cubes"][0]["problems"]
    assert "problem: cube default" in memos("doctor", code=1).stdout


def test_doctor_finds_what_belongs_to_nobody(memos: Memos, home: Path) -> None:
    memos("add", "hello world")
    (home / "cubes" / "stray.cube").write_bytes(b"x")
    assert "belongs to no cube" in memos("doctor", code=1).stdout


def test_doctor_mentions_backups_without_alarm(memos: Memos, home: Path) -> None:
    memos("add", "hello world")
    (home / "cubes" / "old.cube.v1.20250101000000.bak").write_bytes(b"x")
    assert "backup old.cube.v1" in memos("doctor").stdout


def test_doctor_names_an_embedder_that_does_not_exist(memos: Memos) -> None:
    assert "problem: embedder 'nonsense'" in memos("doctor", "--embedder", "nonsense", code=1).stdout


def test_vacuum_clears_what_a_delete_left_in_the_file(memos: Memos, answer: Answer, home: Path) -> None:
    id = answer("add", "secretissimo of the house")["records"][0]["id"]
    memos("delete", id, "--no-vacuum")
    assert answer("doctor", "--vacuum")["cubes"][0]["vacuumed"] is True
    assert not any(b"secretissimo" in f.read_bytes() for f in (home / "cubes").iterdir())


def test_config_names_value_variable_and_where_it_comes_from(
    answer: Answer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMOS_TIMEZONE", "Europe/Oslo")
    rows = {r["name"]: r for r in answer("config")}
    assert rows["home"] == {"name": "home", "value": str(home), "variable": "MEMOS_HOME", "source": "option"}
    assert (rows["timezone"]["value"], rows["timezone"]["source"]) == ("Europe/Oslo", "environment")
    assert rows["durability"]["source"] == "default"


def test_config_names_the_variable_of_another_installation_that_a_value_comes_from(
    answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOS_CHAT_MODEL", "gpt-x")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-shown")
    rows = {r["name"]: r for r in answer("config")}
    assert rows["llm"] == {
        "name": "llm", "value": "openai:gpt-x", "variable": "MOS_CHAT_MODEL", "source": "environment"
    }  # fmt: skip
    assert "sk-not-shown" not in str(rows)


def test_a_wrong_setting_is_an_input_error(memos: Memos, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMOS_OPEN_CUBES", "many")
    assert "MEMOS_OPEN_CUBES" in memos("config", code=2).stderr


def test_stats_count(memos: Memos, answer: Answer) -> None:
    memos("add", "one two three")
    assert answer("stats")["store"]["by_kind"]["trace"] == 1
    assert "per memory" in memos("stats").stdout


def test_the_demo_answers_its_questions(answer: Answer, memos: Memos) -> None:
    answers = answer("demo")["answers"]
    assert len(answers) > 3
    assert all(a["result"]["context"].startswith("<memos-context>") for a in answers if a["result"]["hits"])
