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
from agent_model import REPLY, AgentModel, Call
from hosts_world import SRC

from memos import MemOS

VERSIONS = {"@anthropic-ai/claude-code": "2.1.197", "@openai/codex": "0.171.0"}
COMMANDS = ["echo one", "make harbour", "make harbour", "make harbour"]
QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
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


def provider(model: AgentModel) -> str:
    """The settings by which Codex asks the scripted model."""
    return f'model = "gpt-5"\nmodel_provider = "local"\n\n[model_providers.local]\nname = "local"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\nenv_key = "LOCAL_KEY"\n'


def run_codex(codex: str, text: str, work: Path, env: dict[str, str]) -> str:
    # the hooks are those of this test; a user trusts them in /hooks
    words = [
        codex,
        "exec",
        "--skip-git-repo-check",
        "--dangerously-bypass-approvals-and-sandbox",
        "--dangerously-bypass-hook-trust",
    ]
    done = subprocess.run(
        [*words, text], cwd=work, env={**env, "LOCAL_KEY": "scripted"}, capture_output=True, text=True, timeout=180,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert REPLY in done.stdout, done.stdout + done.stderr
    return done.stdout + done.stderr


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
        more = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-scripted", **QUIET}
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
        config = provider(model)
        (tmp_path / "config" / "config.toml").write_text(config)
        memos(env, home, "hosts", "install", "codex", "--no-mcp")
        for text in asked:
            run_codex(codex, text, work, env)
    check(home, asked, model)
    memos(env, home, "hosts", "uninstall", "codex")
    assert not (tmp_path / "config" / "hooks.json").exists()
    assert (tmp_path / "config" / "config.toml").read_text() == config


SEARCH: Call = ("mcp__memos__memos_search", {"query": "yellow crane"})
KNOWN = "The harbour is built with the yellow crane"


@pytest.fixture
def knowing(tmp_path: Path) -> Path:
    """A home that knows something, without a server."""
    with MemOS(tmp_path / "known", embedder="none") as m:
        m.add(KNOWN)
    return tmp_path / "known"


def test_claude_code_searches_memory_with_our_mcp_server(packages: Path, knowing: Path, tmp_path: Path) -> None:
    claude = binary(packages, "@anthropic-ai/claude-code-*/claude")
    env = variables(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    (tmp_path / "shop").mkdir()
    memos(env, knowing, "hosts", "install", "claude-code")
    with AgentModel([("WaitForMcpServers", {}), SEARCH]) as model:
        more = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-scripted", **QUIET}
        done = subprocess.run(
            [claude, "-p", "What is it built with?", "--allowedTools", "WaitForMcpServers", SEARCH[0], "--output-format", "json"],
            cwd=tmp_path / "shop", env={**env, **more}, capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert json.loads(done.stdout)["result"] == REPLY, done.stdout + done.stderr
    blocks = [
        b
        for a in model.asked
        for m in json.loads(a)["messages"]
        if isinstance(m["content"], list)
        for b in m["content"]
    ]
    results = [b for b in blocks if b.get("type") == "tool_result"]
    assert results and KNOWN in str(results), (results, done.stderr)
    assert not [text for text in told(knowing) if "memos_search" in text]


def test_codex_searches_memory_with_our_mcp_server(packages: Path, knowing: Path, tmp_path: Path) -> None:
    codex = binary(packages, "@openai/codex-*/vendor/*/bin/codex")
    env = variables(tmp_path, CODEX_HOME=str(tmp_path / "config"))
    (tmp_path / "shop").mkdir()
    (tmp_path / "config").mkdir()
    with AgentModel([SEARCH]) as model:
        (tmp_path / "config" / "config.toml").write_text(provider(model))
        memos(env, knowing, "hosts", "install", "codex")
        out = run_codex(codex, "What is it built with?", tmp_path / "shop", env)
    results = [i for a in model.asked for i in json.loads(a)["input"] if str(i.get("type")).endswith("call_output")]
    assert results and KNOWN in str(results), (results, out)
    assert not [text for text in told(knowing) if "memos_search" in text]


def test_a_sub_agent_of_codex_is_an_episode_of_its_own(packages: Path, home: Path, tmp_path: Path) -> None:
    codex = binary(packages, "@openai/codex-*/vendor/*/bin/codex")
    env = variables(tmp_path, CODEX_HOME=str(tmp_path / "config"))
    (tmp_path / "shop").mkdir()
    (tmp_path / "config").mkdir()
    task, reply = "Count the cranes of the harbour", "There are seven cranes."
    spawn: Call = ("multi_agent_v1__spawn_agent", {"message": task})
    with AgentModel([spawn, "sleep 3", "echo one"], helpers={task: reply}) as model:
        (tmp_path / "config" / "config.toml").write_text(provider(model))
        memos(env, home, "hosts", "install", "codex", "--no-mcp")
        run_codex(codex, "How many cranes has the harbour?", tmp_path / "shop", env)
    texts = told(home)
    assert texts["How many cranes has the harbour?"] == texts["Bash: echo one\nok\none"] == texts[REPLY] == 1, texts
    assert sum(n for text, n in texts.items() if reply in text) == 1, texts
    assert texts[task] == 0, texts  # what the sub-agent was asked is no message of the user


def test_claude_code_stores_before_it_forgets_and_recalls_after(packages: Path, home: Path, tmp_path: Path) -> None:
    claude = binary(packages, "@anthropic-ai/claude-code-*/claude")
    env = variables(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "config"))
    (tmp_path / "shop").mkdir()
    memos(env, home, "hosts", "install", "claude-code", "--no-mcp")
    asked = ["Always use podman instead of docker. Then build the harbour", "/compact", "Paint the harbour"]
    with AgentModel(["echo one"]) as model:
        more = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-scripted", **QUIET}
        for number, text in enumerate(asked):
            words = [
                claude,
                "-p",
                text,
                "--allowedTools",
                "Bash",
                "--output-format",
                "json",
                *(["--continue"] if number else []),
            ]
            done = subprocess.run(
                words, cwd=tmp_path / "shop", env={**env, **more}, capture_output=True, text=True, timeout=180, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert not json.loads(done.stdout)["is_error"], done.stdout + done.stderr
    records = [
        json.loads(line)
        for path in (tmp_path / "config" / "projects").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert any(r.get("subtype") == "compact_boundary" for r in records)  # it was
    assert any("SessionStart:compact" in json.dumps(r) and "use podman" in json.dumps(r) for r in records)
    texts = told(home)
    assert texts[asked[0]] == texts[asked[2]] == 1 and texts["Bash: echo one\nok\none"] >= 1, texts
    assert not [t for t in texts if "compact" in t or "summary" in t.lower() or "memos-context" in t], texts
