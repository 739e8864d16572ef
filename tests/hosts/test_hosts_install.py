"""MemOS is put into the settings people have, and taken out as if it had never been there."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from memos.cli.main import app
from memos.errors import Conflict, InvalidInput
from memos.hosts.install import install, standing, uninstall
from memos.hosts.jsonc import Document
from memos.hosts.places import Place, Reach, place_of

SETTINGS = """{
  // what I like
  "model": "opus",
  "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
  "env": {"ANTHROPIC_API_KEY": "sk-ant-not-for-anybody"},
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "say done"}]} // loud
    ]
  }
}
"""
STATE = '{"numStartups": 17, "mcpServers": {"github": {"type": "stdio", "command": "gh-mcp", "args": []}}, "projects": {"/w": {"history": []}}}'
CONFIG = """# mine
model = "gpt-5"

[mcp_servers.docs]
command = "docs-mcp"
args = ["--all"]

[projects."/w"]
trust_level = "trusted"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memos"


@pytest.fixture
def claude(tmp_path: Path) -> Place:
    return place_of("claude-code", env={"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})


@pytest.fixture
def codex(tmp_path: Path) -> Place:
    return place_of("codex", env={"CODEX_HOME": str(tmp_path / "codex")})


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def with_settings(place: Place, hooks: str | None, mcp: str | None) -> Place:
    for path, text in ((place.hooks, hooks), (place.mcp, mcp)):
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return place


def test_claude_code_gets_its_hooks_and_server_beside_what_is_there(claude: Place, home: Path) -> None:
    with_settings(claude, SETTINGS, STATE)
    done = install(claude, Reach(), home)
    assert set(done.files) == {claude.hooks, claude.mcp}
    text = claude.hooks.read_text()
    assert text.startswith(SETTINGS[: SETTINGS.index(" // loud")] + ", // loud\n")
    settings, before = Document(text).value, Document(SETTINGS).value
    assert settings["hooks"]["Stop"][0] == before["hooks"]["Stop"][0]
    assert {k: v for k, v in settings.items() if k != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}
    assert set(settings["hooks"]) == {
        *("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"),
        *("Stop", "SubagentStop", "PreCompact", "SessionEnd"),
    }
    assert settings["hooks"]["PostToolUse"][0]["matcher"] == "*"
    state = json.loads(claude.mcp.read_text())
    assert state["mcpServers"]["github"] == json.loads(STATE)["mcpServers"]["github"]
    assert state["mcpServers"]["memos"]["args"][-3:] == ["mcp", "--agent", "claude-code"]
    assert standing(claude).missing == () and standing(claude).mcp


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_settings_that_the_host_itself_cannot_read_are_told(
    host: str, home: Path, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(host)
    with_settings(place, SETTINGS, None)  # with comments: Claude Code and Codex leave out such a file as a whole
    assert standing(place).problem is None  # not ours to judge while nothing of ours is in it
    told = install(place, Reach(), home).notes[-1]
    assert "comments" in told and str(place.hooks) in told
    assert standing(place).problem == told
    place.hooks.write_text(json.dumps(Document(place.hooks.read_text()).value))
    assert standing(place).problem is None
    assert not any("comments" in note for note in install(place, Reach(), home).notes)


def test_codex_gets_a_hooks_file_and_a_table_at_the_end(codex: Place, home: Path) -> None:
    with_settings(codex, None, CONFIG)
    install(codex, Reach(url="http://127.0.0.1:8000"), home)
    text = codex.mcp.read_text()
    assert text.startswith(CONFIG)
    parsed = tomllib.loads(text)
    assert "MEMOS_API_KEY" in parsed["mcp_servers"]["memos"]["env_vars"]  # Codex hands on what is named, and no more
    assert parsed["mcp_servers"]["memos"]["args"][-2:] == ["--url", "http://127.0.0.1:8000"]
    assert parsed["mcp_servers"]["docs"] == tomllib.loads(CONFIG)["mcp_servers"]["docs"]
    assert "PostToolUseFailure" not in json.loads(codex.hooks.read_text())["hooks"]
    assert standing(codex).missing == () and standing(codex).mcp


@pytest.mark.parametrize("host", ["claude", "codex"])
@pytest.mark.parametrize("there", [True, False])
def test_what_is_taken_out_was_never_there(
    host: str, there: bool, home: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place: Place = request.getfixturevalue(host)
    if there:
        with_settings(place, SETTINGS, STATE if host == "claude" else CONFIG)
    before = tree(tmp_path)
    install(place, Reach(), home)
    install(place, Reach(user="alice"), home)  # another way, over the first
    assert json.dumps("alice")[1:-1] in place.hooks.read_text()
    once = tree(tmp_path)
    assert install(place, Reach(user="alice"), home).files == () and tree(tmp_path) == once
    uninstall(place, home)
    assert tree(tmp_path) == before
    assert there or not place.hooks.parent.exists()
    assert uninstall(place, home).files == ()


@pytest.mark.parametrize("host", ["claude", "codex"])
@pytest.mark.parametrize("receipt", [True, False])
def test_what_was_changed_since_stays(host: str, receipt: bool, home: Path, request: pytest.FixtureRequest) -> None:
    place: Place = request.getfixturevalue(host)
    with_settings(place, SETTINGS, STATE if host == "claude" else CONFIG)
    install(place, Reach(), home)
    settings = place.hooks.read_text().replace('"opus"', '"sonnet"')
    place.hooks.write_text(settings)
    mcp = place.mcp.read_text()
    place.mcp.write_text(
        mcp.replace("17", "18") if host == "claude" else mcp + '\n[projects."/new"]\ntrust_level = "trusted"\n'
    )
    uninstall(place, home if receipt else home / "elsewhere")
    assert Document(place.hooks.read_text()).value == Document(SETTINGS.replace('"opus"', '"sonnet"')).value
    assert "// loud" in place.hooks.read_text() and "// what I like" in place.hooks.read_text()
    if host == "claude":
        assert json.loads(place.mcp.read_text()) == json.loads(STATE.replace("17", "18"))
    else:
        assert (
            place.mcp.read_text().startswith(CONFIG)
            and "memos" not in place.mcp.read_text()
            and "/new" in place.mcp.read_text()
        )


def test_a_hook_of_somebody_else_in_our_group_stays(claude: Place, home: Path) -> None:
    install(claude, Reach(), home)
    settings = json.loads(claude.hooks.read_text())
    settings["hooks"]["Stop"][0]["hooks"].insert(0, {"type": "command", "command": "say done"})
    claude.hooks.write_text(json.dumps(settings))
    uninstall(claude, home)
    assert json.loads(claude.hooks.read_text()) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
    }


def test_a_server_of_that_name_is_not_touched(claude: Place, codex: Place, home: Path) -> None:
    with_settings(claude, None, '{"mcpServers": {"memos": {"command": "other"}}}')
    with_settings(codex, None, '[mcp_servers.memos]\ncommand = "other"\n')
    for place in (claude, codex):
        before = place.mcp.read_bytes()
        with pytest.raises(Conflict, match="--no-mcp"):
            install(place, Reach(), home)
        assert place.mcp.read_bytes() == before and not place.hooks.exists()  # nothing is half done
        install(place, Reach(), home, mcp=False)
        uninstall(place, home)
        assert place.mcp.read_bytes() == before


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "\xff"])
def test_settings_that_cannot_be_read_are_left_alone(claude: Place, home: Path, text: str) -> None:
    claude.hooks.parent.mkdir(parents=True)
    claude.hooks.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"settings\.json"):
        install(claude, Reach(), home)
    assert claude.hooks.read_bytes() == text.encode("latin-1") and not claude.mcp.exists()


def test_a_project_has_its_own_settings_that_are_not_committed(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "work"
    place = place_of("claude-code", project, {"CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})
    with_settings(place, None, json.dumps({"projects": {str(project): {"history": [1]}}}))
    before = place.mcp.read_bytes()
    install(place, Reach(), home)
    assert place.hooks == project / ".claude" / "settings.local.json"
    assert json.loads(place.mcp.read_text())["projects"][str(project)]["mcpServers"]["memos"]
    uninstall(place, home)
    assert place.mcp.read_bytes() == before and not place.hooks.exists()


def test_files_keep_their_permissions_and_links(claude: Place, home: Path, tmp_path: Path) -> None:
    with_settings(claude, None, STATE)
    real = tmp_path / "dotfiles.json"
    real.write_text(SETTINGS)
    real.chmod(0o640)
    claude.hooks.symlink_to(real)
    install(claude, Reach(), home)
    assert (
        claude.hooks.is_symlink()
        and stat.S_IMODE(real.stat().st_mode) == 0o640
        and "memos.hosts.hook" in real.read_text()
    )
    for copy in (home / "hosts").rglob("*"):
        assert copy.is_dir() or stat.S_IMODE(copy.stat().st_mode) == 0o600


def test_a_command_survives_paths_with_blanks_and_quotes(claude: Place, tmp_path: Path) -> None:
    import shlex

    from memos.hosts.places import group

    command = group(claude, "Stop", Reach(home=tmp_path / "my 'own' memory"))["hooks"][0]["command"]
    assert shlex.split(command)[-1] == str(tmp_path / "my 'own' memory")


NAMES = st.sampled_from(["hooks", "env", "model", "permissions", "mcpServers", "Stop", "PreCompact", "x y"])
HOOKS = st.dictionaries(
    st.sampled_from(["Stop", "PostToolUse", "Notification", "PreCompact"]),
    st.lists(st.just({"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}), max_size=2),
    max_size=3,
)
OTHER = st.dictionaries(
    NAMES.filter(lambda n: n not in ("hooks", "mcpServers")),
    st.integers() | st.text(max_size=5) | st.just({"a": [1]}),
    max_size=4,
)


@st.composite
def settings_files(draw: st.DrawFn) -> str:
    value: dict[str, Any] = draw(OTHER)
    if draw(st.booleans()):
        value["hooks"] = draw(HOOKS)
    text = json.dumps(value, indent=draw(st.sampled_from([None, 2, 4, "\t"])), ensure_ascii=draw(st.booleans()))
    return (
        draw(st.sampled_from(["", "// mine\n"]))
        + text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
        + draw(st.sampled_from(["", "\n"]))
    )


@given(settings_files(), st.booleans(), st.booleans())
def test_whatever_settings_there_are_they_are_kept(
    tmp_path_factory: pytest.TempPathFactory, text: str, receipt: bool, touched: bool
) -> None:
    folder = tmp_path_factory.mktemp("any")
    place = place_of("claude-code", env={"CLAUDE_CONFIG_DIR": str(folder / "claude")})
    place.hooks.parent.mkdir()
    place.hooks.write_bytes(text.encode())
    before = Document(text).value
    install(place, Reach(), folder / "home")
    now = Document(place.hooks.read_bytes().decode()).value
    for event, groups in before.get("hooks", {}).items():
        assert now["hooks"][event][: len(groups)] == groups
    assert {k: v for k, v in now.items() if k != "hooks"} == {k: v for k, v in before.items() if k != "hooks"}
    assert standing(place).missing == ()
    if touched:
        place.hooks.write_bytes(place.hooks.read_bytes() + b"\n\n")
    uninstall(place, folder / ("home" if receipt else "elsewhere"))
    after = place.hooks.read_bytes().decode()
    if receipt and not touched:
        assert after == text
    assert without_empty(Document(after).value) == without_empty(before)
    assert not place.mcp.exists() or not receipt


def without_empty(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without hooks that say nothing."""
    hooks = {event: groups for event, groups in settings.get("hooks", {}).items() if groups}
    rest = {k: v for k, v in settings.items() if k != "hooks"}
    return {**rest, "hooks": hooks} if hooks else rest


def test_the_command_line_installs_shows_and_takes_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    run = lambda *words: CliRunner().invoke(app, ["--home", str(tmp_path / "home"), *words])  # noqa: E731
    told = run("hosts", "install", "claude-code", "--dry-run")
    assert "would be put into" in told.output and not (tmp_path / "claude").exists()
    for host in ("claude-code", "codex"):
        assert run("hosts", "install", host).exit_code == 0
        assert "nothing to change" in run("hosts", "install", host).output
    shown = run("hosts", "list").output.splitlines()
    assert all("not installed" not in line for line in shown if line.startswith(("claude-code", "codex")))
    status = run("hosts", "status").output
    assert "claude-code (user): 8 hooks, MCP server" in status and "codex (user): 7 hooks, MCP server" in status
    for host in ("claude-code", "codex"):
        assert "taken out" in run("hosts", "uninstall", host).output
    assert "not installed" in run("hosts", "list").output and not (tmp_path / "claude").exists()
    assert run("hosts", "install", "emacs").exit_code == 2


def test_hooks_find_the_home_that_a_variable_named_at_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("MEMOS_HOME", str(tmp_path / "there"))
    assert CliRunner().invoke(app, ["hosts", "install", "claude-code"]).exit_code == 0
    assert f"--home {tmp_path / 'there'}" in (tmp_path / "claude" / "settings.json").read_text()


def test_the_command_line_says_what_there_is_and_what_is_wanting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    run, home = CliRunner(), ["--home", str(tmp_path / "home"), "hosts"]
    refused = run.invoke(app, [*home, "install", "cloude"])
    assert refused.exit_code and "claude-code, codex" in refused.output and "hermes" in refused.output
    nowhere = run.invoke(app, [*home, "install", "claude-code", "--project", str(tmp_path / "nowhere")])
    assert nowhere.exit_code and "there is no folder" in nowhere.output and not (tmp_path / "nowhere").exists()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "extra 'mcp'" in run.invoke(app, [*home, "install", "claude-code"]).output
    assert "MemOS is already in claude-code" in run.invoke(app, [*home, "install", "claude-code"]).output
