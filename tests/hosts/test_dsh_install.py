"""MemOS is put into the patch file of DeepSeek Harness, and taken out as if it had never been there."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memos.cli.main import app
from memos.errors import Conflict, InvalidInput
from memos.hosts.dsh.examining import examine
from memos.hosts.dsh.installing import install, patch_file, plugin_file, plugin_text, standing, uninstall
from memos.hosts.dsh.rows import command_in, with_rows, without_rows
from memos.hosts.places import Reach

MINE = "# mine\n- id: session-title-llm\n  disabled: true # quiet\n"
EMPTY = "# a patch of this user\n[]\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DSH_HOME", str(tmp_path / "dsh"))
    return tmp_path / "memos"


def written(text: str) -> Path:
    patch_file().parent.mkdir(parents=True, exist_ok=True)
    patch_file().write_text(text)
    return patch_file()


@pytest.mark.parametrize("before", [None, "", MINE, MINE.rstrip("\n"), EMPTY, "[]", "---\n# nothing\n"])
def test_it_goes_in_beside_what_is_there_and_out_to_the_byte(home: Path, before: str | None) -> None:
    if before is not None:
        written(before)
    assert set(install(Reach(), home).files) == {patch_file(), plugin_file()}
    assert plugin_file().read_bytes() == plugin_text()
    text = patch_file().read_text()
    assert text.count("- insert:") == 1 and "[]" not in [line.strip() for line in text.splitlines()]
    assert (before or "").replace("[]", "").strip() in text
    assert install(Reach(), home).files == ()
    now = standing()
    assert now.events == ("rows", "plugin") and now.mcp and now.problem is None
    assert "memos.hosts.hook dsh" in (now.command or "")
    uninstall(home)
    assert (patch_file().read_text() if patch_file().exists() else None) == before
    assert not plugin_file().parent.exists() and not standing().events
    assert not list((home / "hosts").glob("dsh-*")) and uninstall(home).files == ()


def test_of_a_file_that_changed_since_only_our_rows_are_taken(home: Path) -> None:
    written(EMPTY)
    install(Reach(), home)
    patch_file().write_text(patch_file().read_text() + MINE)
    uninstall(home)
    assert patch_file().read_text() == "# a patch of this user\n" + MINE
    written(EMPTY)
    install(Reach(), home)
    patch_file().write_text("# changed\n" + patch_file().read_text())
    uninstall(home)
    assert (
        patch_file().read_text() == "# changed\n# a patch of this user\n[]\n"
    )  # the harness refuses a file without a list


def test_what_is_asked_otherwise_is_written_in_place(home: Path) -> None:
    written(MINE)
    install(Reach(), home)
    install(Reach(url="http://memory:7777", user="zoë", tools=False), home)
    text = patch_file().read_text()
    words = command_in(text) or []
    assert text.count("- insert:") == 1 and "dsh-mcp-client" not in text
    assert words[words.index("--user") + 1] == "zoë"
    assert not standing().mcp and shlex.split(standing().command or "") == words
    uninstall(home)
    assert patch_file().read_text() == MINE


@pytest.mark.parametrize("text", ["[{id: a, disabled: true}]\n", "rows: 1\n", "  - id: a\n"])
def test_a_file_that_cannot_be_told_apart_is_refused_and_left_alone(home: Path, text: str) -> None:
    written(text)
    with pytest.raises(InvalidInput, match=str(patch_file())):
        install(Reach(), home)
    assert patch_file().read_text() == text and not plugin_file().exists()


@pytest.mark.parametrize(
    "row", ["- insert:\n    - id: memos\n      name: other\n", "- id: x\n  config:\n    serverName: 'memos'\n"]
)
def test_rows_of_our_names_that_are_not_ours_are_not_replaced(home: Path, row: str) -> None:
    written(row)
    with pytest.raises(Conflict):
        install(Reach(), home)
    assert patch_file().read_text() == row


def test_half_a_block_is_told_and_not_guessed(home: Path) -> None:
    install(Reach(), home)
    written(patch_file().read_text().replace("# <<< memos\n", ""))
    assert "marks" in str(standing().problem) or "mark" in str(standing().problem)
    with pytest.raises(InvalidInput):
        uninstall(home)


def test_a_dry_run_writes_nothing(home: Path) -> None:
    assert len(install(Reach(), home, dry_run=True).files) == 2
    assert not patch_file().exists() and not home.exists()


def test_doctor_runs_the_hook_and_says_what_is_missing(home: Path) -> None:
    assert "memos hosts install dsh" in examine(home).problems[0]
    install(Reach(url="http://127.0.0.1:9", home=home), home)
    found = examine(home)
    assert found.seconds is not None and "cannot be reached" in found.problems[0]
    plugin_file().write_text("export const name = 'old'\n")
    assert any("another version" in problem for problem in examine(home).problems)
    plugin_file().unlink()
    assert any("plugin" in problem for problem in examine(home).problems)


def test_the_command_line_installs_lists_and_refuses_a_project(home: Path, tmp_path: Path) -> None:
    run = CliRunner()
    done = run.invoke(
        app, ["--home", str(home), "--json", "hosts", "install", "dsh", "--no-mcp", "--max-tokens", "700"]
    )
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)["files"]) == {str(patch_file()), str(plugin_file())}
    words = command_in(patch_file().read_text()) or []
    assert words[-2:] == ["--max-tokens", "700"] and not standing().mcp
    assert "dsh          installed" in run.invoke(app, ["--home", str(home), "hosts", "list"]).output
    assert "dsh (user): plugin, no MCP server" in run.invoke(app, ["--home", str(home), "hosts", "status"]).output
    refused = run.invoke(app, ["--home", str(home), "hosts", "install", "dsh", "--project", str(tmp_path)])
    assert refused.exit_code != 0
    assert run.invoke(app, ["--home", str(home), "hosts", "uninstall", "dsh"]).exit_code == 0
    assert not patch_file().exists()


def test_rows_survive_odd_paths() -> None:
    path = Path("cordis.patch.yml")
    block = 'x: "C:\\\\a b\\\\ü"'
    assert without_rows(path, with_rows(path, MINE, block)) == MINE
