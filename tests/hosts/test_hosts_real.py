"""Real Claude Code and real Codex, from their npm packages, with MemOS installed by `memos hosts install` and a scripted model.

They are found in MEMOS_TEST_HOSTS (a folder with node_modules), else installed by npm; where neither can be, these tests are
skipped and say so. Nothing of the user's own hosts is touched: each has a home of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from agent_model import REPLY, AgentModel
from hosts_world import SRC

from memos import MemOS

VERSIONS = {"@anthropic-ai/claude-code": "2.1.197", "@openai/codex": "0.171.0"}
COMMANDS = ["echo one", "make harbour", "make harbour", "make harbour"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that has the hosts' packages."""
    given = os.environ.get("MEMOS_TEST_HOSTS")
    if given:
        return Path(given) / "node_modules"
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("NOT TESTED: real Claude Code and Codex need npm, or MEMOS_TEST_HOSTS=<folder with node_modules>")
    folder = tmp_path_factory.mktemp("npm")
    words = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run(
        [*words, *(f"{n}@{v}" for n, v in VERSIONS.items())], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode:
        pytest.skip(f"NOT TESTED: npm could not install {', '.join(VERSIONS)}: {done.stderr[-300:]}")
    return folder / "node_modules"


def binary(packages: Path, pattern: str) -> str:
    found = sorted(packages.glob(pattern))
    if not found:
        pytest.skip(f"NOT TESTED: no {pattern} for this platform in {packages}")
    return str(found[0])


def variables(folder: Path, **more: str) -> dict[str, str]:
    (folder / "user").mkdir(exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "user"),
        "PYTHONPATH": str(SRC),
        "MEMOS_EMBEDDER": "none",
        "OMP_NUM_THREADS": "1",
        **more,
    }


def memos(env: dict[str, str], home: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "memos.cli", "--home", str(home), *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def told(home: Path) -> Counter[str]:
    with MemOS(home, embedder="none", background=False) as m:
        return Counter(one.text for one in m.list(kinds=["trace", "tool_call"], limit=500).items)


def tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def check(home: Path, asked: list[str], model: AgentModel) -> None:
    """What both sessions said and did is stored once; what memory knows came before the prompt, and was not learned again."""
    texts = told(home)
    for text in (*asked, "Bash: echo one\nok\none"):
        assert texts[text] == (len(asked) if text.startswith("Bash") else 1), (text, texts)
    assert sum(n for text, n in texts.items() if text.startswith("Bash: make harbour\nerror: Exit code 2")) == 3 * len(
        asked
    )
    assert texts[REPLY] == len(asked)
    assert "memos-context" not in "".join(texts)
    second = [a for a in model.asked if asked[1] in a]
    assert second and all("use podman" in a for a in second)
    assert any("do not repeat" in a for a in model.asked)  # the hint after three failures
    with MemOS(home, embedder="none", background=False) as m:
        assert sum("podman" in one.text for one in m.list(kinds=["policy"], limit=500).items) == 1


def test_claude_code(packages: Path, home: Path, tmp_path: Path) -> None:
    claude = binary(packages, "@anthropic-ai/claude-code-*/claude")
    work = tmp_path / "shop"
    work.mkdir()
    env = variables(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "settings.json").write_text('{\n  "includeCoAuthoredBy": false\n}\n')
    before = tree(tmp_path / "config")
    memos(env, home, "hosts", "install", "claude-code")
    asked = ["Always use podman instead of docker. Then build the harbour", "Build the harbour again"]
    with AgentModel(COMMANDS) as model:
        more = {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-ant-scripted",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        for text in asked:
            done = subprocess.run(
                [claude, "-p", text, "--allowedTools", "Bash", "--output-format", "json", "--strict-mcp-config"],
                cwd=work, env={**env, **more}, capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert json.loads(done.stdout)["result"] == REPLY, done.stdout + done.stderr
    check(home, asked, model)
    memos(env, home, "hosts", "uninstall", "claude-code")
    after = tree(tmp_path / "config")
    assert after["settings.json"] == before["settings.json"]
    assert "memos" not in json.loads(after[".claude.json"]).get("mcpServers", {})


def test_codex(packages: Path, home: Path, tmp_path: Path) -> None:
    codex = binary(packages, "@openai/codex-*/vendor/*/bin/codex")
    work = tmp_path / "shop"
    work.mkdir()
    env = variables(tmp_path, CODEX_HOME=str(tmp_path / "config"))
    (tmp_path / "config").mkdir()
    asked = ["Always use podman instead of docker. Then build the harbour", "Build the harbour again"]
    with AgentModel(COMMANDS) as model:
        config = f'model = "gpt-5"\nmodel_provider = "local"\n\n[model_providers.local]\nname = "local"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "LOCAL_KEY"\n'
        (tmp_path / "config" / "config.toml").write_text(config)
        memos(env, home, "hosts", "install", "codex", "--no-mcp")
        for text in asked:
            # the hooks are those of this test; a user trusts them in /hooks
            done = subprocess.run(
                [codex, "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", text],
                cwd=work, env={**env, "LOCAL_KEY": "scripted"}, capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert REPLY in done.stdout, done.stdout + done.stderr
    check(home, asked, model)
    memos(env, home, "hosts", "uninstall", "codex")
    assert not (tmp_path / "config" / "hooks.json").exists()
    assert (tmp_path / "config" / "config.toml").read_text() == config
