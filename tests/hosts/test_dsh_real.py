"""The real DeepSeek Harness, from its npm packages, with MemOS installed by `memos hosts install dsh` and a scripted model.

Found in MEMOS_TEST_DSH (a folder with node_modules), else installed by npm from `dsh_package.json`; it needs a Node of 22.19 or newer,
from MEMOS_TEST_NODE, else the one that is here. Where either cannot be had, these tests are skipped and say so. Nothing of the
user's own harness is touched: each test has a home of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from agent_model import REPLY, AgentModel, Call
from hosts_world import SRC

from memos import MemOS

NODE = (22, 19)
COMMANDS = ["echo one", "make harbour", "make harbour", "make harbour"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def node() -> str:
    found = os.environ.get("MEMOS_TEST_NODE") or shutil.which("node")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout if found else ""
    if tuple(int(n) for n in said.strip().lstrip("v").split(".")[:2] if n.isdigit()) < NODE:
        pytest.skip(
            f"NOT TESTED: DeepSeek Harness needs Node 22.19 or newer (MEMOS_TEST_NODE), here is {said.strip() or 'none'}"
        )
    assert found is not None
    return found


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The entry of the harness."""
    given = os.environ.get("MEMOS_TEST_DSH")
    folder = Path(given) if given else tmp_path_factory.mktemp("npm")
    if not given:
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("NOT TESTED: DeepSeek Harness needs npm, or MEMOS_TEST_DSH=<folder with node_modules>")
        shutil.copy(Path(__file__).parent / "dsh_package.json", folder / "package.json")
        words = [
            npm,
            "install",
            "--ignore-scripts",
            "--legacy-peer-deps",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(folder),
        ]
        done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            pytest.skip(f"NOT TESTED: npm could not install DeepSeek Harness: {done.stderr[-300:]}")
    return folder / "node_modules" / "@deepseek-ai" / "dsh" / "lib" / "bin.js"


class Dsh:
    """A harness of a home of its own."""

    def __init__(self, node: str, entry: Path, folder: Path, home: Path) -> None:
        self.node, self.entry, self.home, self.work = node, entry, home, folder / "shop"
        self.config = folder / "dsh"
        self.work.mkdir()
        self.config.mkdir()
        (folder / "user").mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "user"),
            "DSH_HOME": str(self.config),
            "PYTHONPATH": str(SRC),
            "MEMOS_EMBEDDER": "none",
            "OMP_NUM_THREADS": "1",
        }

    def memos(self, *words: str) -> str:
        command = [sys.executable, "-m", "memos.cli", "--home", str(self.home), *words]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, text: str, model: AgentModel, **env: str) -> str:
        more = {"DEEPSEEK_BASE_URL": model.url, "DEEPSEEK_API_KEY": "sk-scripted", **env}
        done = subprocess.run(
            [self.node, str(self.entry), "--profile", "headless", text],
            cwd=self.work, env={**self.env, **more}, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def settled(self) -> bool:
        """Whether the hooks that outlive the harness are through: a journal that is reported is gone."""
        for _ in range(200):
            if not list((self.home / "hosts" / "dsh").glob("*.jsonl")):
                return True
            time.sleep(0.05)
        return False

    def told(self) -> Counter[str]:
        with MemOS(self.home, embedder="none", background=False) as m:
            return Counter(one.text for one in m.list(kinds=["trace", "tool_call"], limit=500).items)


@pytest.fixture
def dsh(node: str, harness: Path, tmp_path: Path, home: Path) -> Dsh:
    return Dsh(node, harness, tmp_path, home)


def test_two_sessions_are_stored_once_and_the_second_knows_what_the_first_taught(dsh: Dsh) -> None:
    mine = "# mine\n- id: session-title-llm\n  disabled: true\n"
    (dsh.config / "cordis.patch.yml").write_text(mine)
    dsh.memos("hosts", "install", "dsh")
    assert "well" in dsh.memos("hosts", "doctor", "dsh")
    asked = ["Always use podman instead of docker. Then build the harbour", "Build the harbour again"]
    with AgentModel(COMMANDS, shell="bash") as model:
        for text in asked:
            assert dsh.ask(text, model) == REPLY
            assert dsh.settled()
    texts = dsh.told()
    for text in asked:
        assert texts[text] == 1, texts
    assert texts["Bash: echo one\nok\none"] == 2 and texts[REPLY] == 2
    assert sum(n for text, n in texts.items() if text.startswith("Bash: make harbour\nerror: Exit code 2")) == 6
    assert "memos-context" not in "".join(texts)
    second = [a for a in model.asked if asked[1] in a]
    assert second and all("use podman" in a for a in second)
    assert any("do not repeat" in a for a in model.asked)  # the hint after three failures
    assert not any("Generate the session title" in a for a in model.asked)  # what was in the file is in force beside us
    with MemOS(dsh.home, embedder="none", background=False) as m:
        assert sum("podman" in one.text for one in m.list(kinds=["policy"], limit=500).items) == 1
    dsh.memos("hosts", "uninstall", "dsh")
    assert (dsh.config / "cordis.patch.yml").read_text() == mine
    assert not (dsh.config / "memos").exists()


def test_the_agent_searches_memory_with_our_mcp_server(dsh: Dsh) -> None:
    with MemOS(dsh.home / "other", embedder="none") as m:
        m.add("The harbour is built with the yellow crane")
    dsh.home = dsh.home / "other"
    dsh.memos("hosts", "install", "dsh")
    search: Call = ("mcp__memos__memos_search", {"query": "yellow crane"})
    with AgentModel([search], shell="bash") as model:
        assert dsh.ask("What is the harbour built with?", model) == REPLY
    results = [m for m in json.loads(model.asked[-1])["messages"] if m["role"] == "tool"]
    assert "built with the yellow crane" in str(results)
    assert not [text for text in dsh.told() if "memos_search" in text]


def test_what_a_sub_agent_did_is_an_episode_of_its_own(dsh: Dsh) -> None:
    dsh.memos("hosts", "install", "dsh", "--no-mcp")
    task, reply = "Count the cranes of the harbour", "There are seven cranes."
    call: Call = ("subagent", {"description": "Count cranes", "prompt": task, "run_in_background": False})
    with AgentModel([call, "echo one"], shell="bash", helpers={task: reply}) as model:
        assert dsh.ask("How many cranes has the harbour?", model) == REPLY
    assert dsh.settled()
    texts = dsh.told()
    assert texts["How many cranes has the harbour?"] == texts["Bash: echo one\nok\none"] == texts[REPLY] == 1, texts
    assert sum(n for text, n in texts.items() if reply in text) == 1, texts
    assert sum(n for text, n in texts.items() if task in text) == 1, texts


def test_hooks_that_are_off_or_cannot_run_do_not_touch_the_harness(dsh: Dsh) -> None:
    dsh.memos("hosts", "install", "dsh", "--no-mcp")
    patch = dsh.config / "cordis.patch.yml"
    with AgentModel(["echo one"], shell="bash") as model:
        assert dsh.ask("Build the harbour", model, MEMOS_HOOKS="off") == REPLY
        assert not dsh.told()
        patch.write_text(patch.read_text().replace(json.dumps(sys.executable), '"/no/such/python"'))
        assert dsh.ask("Build the harbour", model) == REPLY
        assert list((dsh.home / "hosts" / "dsh").glob("*.jsonl"))  # kept, to be told when the hook runs again
    assert not dsh.told()
