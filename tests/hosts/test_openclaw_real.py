"""Real OpenClaw from its npm package, with MemOS installed by `memos hosts install openclaw` and a scripted model.

It is found in MEMOS_TEST_OPENCLAW: a folder that `npm install openclaw@2026.9.6` was run in, with a Node that it runs on beside it
(`npm install node@24.16.0`), or in MEMOS_TEST_OPENCLAW_NODE. Nothing of the user's own OpenClaw is touched.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_model import REPLY, AgentModel
from test_hosts_real import memos, told, variables

from memos import MemOS
from memos.hosts.jsonc import Document

VERSION = "2026.9.6"
FOLDER, NODE = os.environ.get("MEMOS_TEST_OPENCLAW"), os.environ.get("MEMOS_TEST_OPENCLAW_NODE")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not FOLDER, reason="NOT TESTED: real OpenClaw needs MEMOS_TEST_OPENCLAW=<folder with its node_modules>"
    ),
]
Step = tuple[str, dict[str, Any]]
STEPS: list[Step] = [
    ("exec", {"command": "echo one"}),
    ("exec", {"command": "false harbour"}),
    ("exec", {"command": "false harbour"}),
    ("exec", {"command": "false harbour"}),
    ("tool_call", {"id": "memos_search", "args": {"query": "podman"}}),
]


FIRST = "Always use podman instead of docker. Then build the harbour"
AGAIN, TASK = "Build the harbour again", "Count the files of the quay"
PLAN: dict[str, list[Step]] = {
    FIRST: STEPS,
    AGAIN: [("tool_call", {"id": "sessions_spawn", "args": {"task": TASK, "label": "counter"}})],
    TASK: [("exec", {"command": "echo child"})],
}


class Model(AgentModel):
    """Takes the steps of what it was asked last, one after the other, then says that it is done."""

    over: set[str] = set()

    def anthropic(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        done, asked = 0, ""
        for message in reversed(body["messages"]):
            blocks = message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}]
            if message["role"] == "assistant" and not any(block.get("type") == "tool_use" for block in blocks):
                break
            done += sum(block.get("type") == "tool_result" for block in blocks)
            asked += "".join(str(block.get("text", "")) for block in blocks)
        which = next((text for text in (TASK, AGAIN, FIRST) if text in asked), "")
        steps = [] if which in self.over else PLAN.get(which, [])
        if which == TASK and done >= len(steps):
            self.over.add(TASK)  # what the sub-agent found comes back to its parent with these words
        self.commands = [] if done >= len(steps) else ["scripted"] * 1_000
        events = super().anthropic(body)
        if self.commands and body.get("tools"):
            name, args = steps[done]
            events[1]["content_block"]["name"] = name
            events[2]["delta"]["partial_json"] = json.dumps(args)
        return events


class OpenClaw:
    """A state folder of its own, and the commands of OpenClaw on it."""

    def __init__(self, folder: Path, model: str) -> None:
        assert FOLDER is not None
        modules = Path(FOLDER) / "node_modules"
        node = Path(NODE or modules / "node" / "bin" / "node")
        self.port = free_port()
        self.state = folder / "state"
        self.state.mkdir()
        self.config = self.state / "openclaw.json"
        self.config.write_text(SETTINGS.replace("MODEL", model).replace("PORT", str(self.port)))
        self.words = [str(node), str(modules / "openclaw" / "openclaw.mjs")]
        self.env = variables(folder, OPENCLAW_STATE_DIR=str(self.state), OPENCLAW_NO_AUTO_UPDATE="1", NO_COLOR="1")
        self.env["PATH"] = f"{node.parent}:{modules / '.bin'}:{self.env['PATH']}"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self.words, *words], env=self.env, capture_output=True, text=True, timeout=180, check=False, stdin=subprocess.DEVNULL
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done


SETTINGS = """// hand-made
{
  models: { mode: 'merge', providers: { stub: { baseUrl: 'MODEL', apiKey: 'k', api: 'anthropic-messages',
    models: [{ id: 'm', name: 'm', reasoning: false, input: ['text'], contextWindow: 128000, maxTokens: 4096,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, }], }, }, },
  agents: { defaults: { model: { primary: 'stub/m' }, skipBootstrap: true } },
  gateway: { mode: 'local', port: PORT, auth: { mode: 'token', token: 'scripted' } }, // on loopback
}
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def model() -> Iterator[Model]:
    Model.over = set()
    with Model([]) as running:
        yield running


def check(texts: Counter[str], model: Model) -> None:
    """What was said and done is stored once, and the hint came after three failures."""
    once = [FIRST, "Bash: echo one\nok\none", REPLY]
    failed = "Bash: false harbour\nerror: Exit code 1\n(no output)"
    assert texts == Counter(once) + Counter({failed: 3})
    assert any("do not repeat" in asked for asked in model.asked)
    assert any("refKind" in asked for asked in model.asked)  # what memos_search found


def test_it_loads_recalls_and_captures_without_a_gateway(home: Path, tmp_path: Path, model: Model) -> None:
    claw = OpenClaw(tmp_path, model.url)
    before = claw.config.read_bytes()
    memos(claw.env, home, "hosts", "install", "openclaw")
    assert (
        "well" in memos(claw.env, home, "hosts", "doctor", "openclaw").splitlines()[0]
    )  # it has OpenClaw load the plugin
    done = claw.run("agent", "--local", "--session-id", "s1", "--message", FIRST)
    assert REPLY in done.stdout, done.stdout + done.stderr
    check(told(home), model)
    memos(claw.env, home, "hosts", "uninstall", "openclaw")
    assert claw.config.read_bytes() == before


def test_a_gateway_starts_a_server_recalls_and_tells_of_sub_agents(tmp_path: Path, model: Model) -> None:
    home = tmp_path / "home"
    claw = OpenClaw(tmp_path, model.url)
    memos(claw.env, home, "hosts", "install", "openclaw")
    settings = Document(claw.config.read_text(), json5=True)
    settings.put(("plugins", "entries", "memos", "config", "scope"), "sender")  # its own sessions stay the owner's
    claw.config.write_text(settings.text)
    with (tmp_path / "gateway.log").open("w") as log:
        gateway = subprocess.Popen([*claw.words, "gateway", "run"], env=claw.env, stdout=log, stderr=log, text=True)
    try:
        wait_for(claw.port, gateway)
        assert REPLY in claw.run("agent", "--session-id", "g1", "--message", FIRST).stdout
        check(told(home), model)
        assert REPLY in claw.run("agent", "--session-id", "g2", "--message", AGAIN).stdout
        until = time.monotonic() + 60
        while time.monotonic() < until and not any(text.startswith("subagent:counter") for text in told(home)):
            time.sleep(0.5)
    finally:
        gateway.terminate()
        gateway.wait(60)
    until = time.monotonic() + 30
    while (home / "server.json").exists() and time.monotonic() < until:
        time.sleep(0.1)
    assert not (home / "server.json").exists()  # the server ended with the gateway
    texts = told(home)
    assert texts[AGAIN] == 1 and texts["Bash: echo child\nok\nchild"] == 1
    assert [text for text in texts if text.startswith(f"subagent:counter: {TASK}")]
    assert not any("sessions_spawn" in text or "memos-context" in text for text in texts)
    first = next(asked for asked in model.asked if AGAIN in asked)
    assert "use podman" in first
    assert not list((home / "hosts" / "openclaw" / "spool").glob("*"))
    with MemOS(home, embedder="none", background=False) as m:
        assert {e.agent for e in m.episodes().items} == {"openclaw", "counter"}


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Until the gateway answers."""
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    pytest.fail("the gateway does not answer")
