"""MemOS is put into the `openclaw.json` people have, and taken out as if it had never been there."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from memos.cli.main import app
from memos.errors import InvalidInput
from memos.hosts.jsonc import Document
from memos.hosts.openclaw.installing import PLUGIN, config_file, install, standing, uninstall
from memos.hosts.places import Reach

SETTINGS = """// mine
{
  gateway: { port: 0x4965, auth: { mode: 'token', token: 'not for anybody', }, },
  plugins: {
    allow: ['telegram', "voice-call"], // only these
    load: { paths: ['~/plugins/own'] },
    slots: { memory: 'memory-lancedb' },
    entries: { telegram: { enabled: true } },
  },
}
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENCLAW_HOME", "OPENCLAW_CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state" / "openclaw.json"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "memos"


def value(path: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = Document(path.read_text(), json5=True).value
    return found


@pytest.mark.parametrize(
    "before", [None, "", "{}", "{}\n", SETTINGS, SETTINGS.replace("\n", "\r\n"), "{ plugins: {} }"]
)
def test_it_goes_in_and_out_to_the_byte(before: str | None, config: Path, home: Path) -> None:
    if before is not None:
        config.parent.mkdir()
        config.write_bytes(before.encode())
    done = install(Reach(home=home), home)
    assert done.files == (config,) and standing().missing == () and standing().events
    plugins = value(config)["plugins"]
    assert plugins["slots"] == {"memory": "memos"}
    entry = plugins["entries"]["memos"]  # type: ignore[index]
    assert entry["enabled"] is True and entry["hooks"] == {"allowConversationAccess": True}
    assert entry["config"] == {"python": sys.executable, "home": str(home)}
    assert plugins["load"]["paths"][-1] == str(PLUGIN)  # type: ignore[index]
    assert install(Reach(home=home), home).files == ()
    uninstall(home)
    assert (config.read_bytes().decode() if config.exists() else None) == before
    assert standing().events == () and uninstall(home).files == ()
    assert not list((home / "hosts").rglob("openclaw*"))


def test_what_others_have_set_stays(config: Path, home: Path) -> None:
    config.parent.mkdir()
    config.write_text(SETTINGS)
    done = install(Reach(), home)
    assert any("memory-lancedb" in note for note in done.notes)
    text = config.read_text()
    assert "// only these" in text and "0x4965" in text and "'token'" in text
    assert value(config)["plugins"]["allow"] == ["telegram", "voice-call", "memos"]


def test_a_file_that_openclaw_wrote_anew_loses_only_what_is_ours(config: Path, home: Path) -> None:
    config.parent.mkdir()
    config.write_text(SETTINGS)
    before = value(config)
    install(Reach(), home)
    now = value(config)
    now["meta"] = {"lastTouchedVersion": "2026.9.6"}
    config.write_text(json.dumps(now, indent=2))
    uninstall(home)
    assert value(config) == {**before, "meta": now["meta"]}


def test_installed_anew_it_keeps_what_the_user_set_of_it(config: Path, home: Path) -> None:
    install(Reach(url="http://127.0.0.1:1", key_file=Path("/k"), user="ada", max_tokens=900), home)
    entry = value(config)["plugins"]["entries"]["memos"]  # type: ignore[index]
    assert entry["config"] == {"url": "http://127.0.0.1:1", "keyFile": "/k", "user": "ada", "maxTokens": 900}
    text = (
        config.read_text().replace('"user": "ada"', '"user": "ada", "environment": "farm"').replace("true", "false", 1)
    )
    config.write_text(text.replace(str(PLUGIN), "/gone/memos/hosts/openclaw/plugin"))
    assert standing().missing == ("plugin", "hooks")
    install(Reach(home=home), home)
    plugins = value(config)["plugins"]
    config_now = plugins["entries"]["memos"]["config"]  # type: ignore[index]
    assert "url" not in config_now and config_now["environment"] == "farm" and config_now["python"] == sys.executable
    assert plugins["load"] == {"paths": [str(PLUGIN)]} and standing().missing == ()
    uninstall(home)
    assert not config.exists()


@pytest.mark.parametrize(
    "text", ["{", "[]", "{a: 1, a: 2}", "{ plugins: { enabled: false } }", "{ plugins: { deny: ['memos'] } }", "\xff"]
)
def test_a_file_that_cannot_be_edited_is_left_alone(text: str, config: Path, home: Path) -> None:
    config.parent.mkdir()
    config.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"openclaw\.json"):
        install(Reach(), home)
    assert config.read_bytes() == text.encode("latin-1") and not home.exists()


def test_where_the_settings_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_file() == tmp_path / ".openclaw" / "openclaw.json"
    monkeypatch.setenv("OPENCLAW_HOME", "~/svc")
    assert config_file() == tmp_path / "svc" / ".openclaw" / "openclaw.json"
    monkeypatch.setenv("OPENCLAW_STATE_DIR", "undefined")
    assert config_file() == tmp_path / "svc" / ".openclaw" / "openclaw.json"
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", "~/a.json")
    assert config_file() == tmp_path / "svc" / "a.json"


def test_the_command_line(config: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    run = CliRunner()
    options = ["--home", str(home)]
    dry = run.invoke(app, [*options, "hosts", "install", "openclaw", "--dry-run"])
    assert dry.exit_code == 0 and "would be put into openclaw" in dry.output and not config.exists()
    assert run.invoke(app, [*options, "hosts", "install", "openclaw"]).exit_code == 0
    assert "openclaw (user): memory plugin" in run.invoke(app, [*options, "hosts", "status"]).output
    sick = run.invoke(app, [*options, "hosts", "doctor", "openclaw"])
    assert sick.exit_code == 1 and "no command `openclaw` is on the PATH" in sick.output
    assert run.invoke(app, [*options, "hosts", "install", "openclaw", "--project", str(home)]).exit_code != 0
    assert run.invoke(app, [*options, "hosts", "uninstall", "openclaw"]).exit_code == 0 and not config.exists()


def test_the_plugin_is_in_the_package() -> None:
    for name in (
        "openclaw.plugin.json",
        "package.json",
        "index.js",
        "capture.js",
        "reach.js",
        "spool.js",
        "tools.json",
    ):
        assert (PLUGIN / name).is_file()
    manifest = json.loads((PLUGIN / "openclaw.plugin.json").read_text())
    asked = {"python", "home", "url", "keyFile", "user", "cube", "maxTokens"}
    assert asked <= manifest["configSchema"]["properties"].keys()


def test_json5_is_read_as_it_is_meant() -> None:
    text = "{ a: 'it\\'s', \"b\\x41\": [+1, -.5, 1., 0xff, -Infinity,], $c_1: \"one \\\ntwo\\u0021\", 'd': null, /* x */ ключ: true }"
    assert Document(text, json5=True).value == {
        "a": "it's",
        "bA": [1, -0.5, 1.0, 255, float("-inf")],
        "$c_1": "one two!",
        "d": None,
        "ключ": True,
    }
    for plain in ("{a: 1}", "{'a': 1}", '{"a": .5}', '{"a": 0x1}'):
        with pytest.raises(InvalidInput):
            Document(plain)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=12))  # fmt: skip
def test_json_is_json5(given: object) -> None:
    text = json.dumps({"x": given})
    if "\\ud" in text:
        text = json.dumps({"x": given}, ensure_ascii=False)
    assert Document(text, json5=True).value == {"x": given}
