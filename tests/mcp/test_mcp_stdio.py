"""`memos mcp` in a process of its own: nothing but the protocol on stdout, a clean end, the user and cube it was told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")


from mcp import Client
from mcp_calls import Calls
from memos import MemOS

Stdio = Callable[..., Any]
HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(id: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


class Raw:
    """A process that is spoken to line by line."""

    def __init__(self, parameters: Any) -> None:
        env = {k: v for k, v in os.environ.items() if not k.startswith("MEMOS_")} | parameters.env
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen([parameters.command, *parameters.args], env=env, text=True, **pipes)

    def say(self, *messages: dict[str, Any] | str) -> None:
        for message in messages:
            self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def end(self) -> tuple[str, str]:
        out, err = self.process.communicate(timeout=60)
        return out, err


async def test_stdout_holds_the_protocol_alone_and_the_end_of_stdin_is_the_end(stdio: Stdio) -> None:
    def run() -> None:
        raw = Raw(stdio(PYTHONUNBUFFERED="1"))
        raw.say(HELLO)
        assert raw.hear()["result"]["serverInfo"]["name"] == "memos"
        raw.say(READY, "this is no JSON", call(1, "memos_add", content="a red kayak"))
        answers = [raw.hear() for _ in range(1)]
        while answers[-1].get("id") != 1:
            answers.append(raw.hear())
        assert not answers[-1]["result"]["isError"]
        out, err = raw.end()
        assert raw.process.returncode == 0, err
        for line in out.splitlines():
            assert json.loads(line)["jsonrpc"] == "2.0"
        assert "Traceback" not in err

    await asyncio.to_thread(run)


async def test_half_a_character_is_stored_as_its_replacement_and_answered(stdio: Stdio) -> None:
    def run() -> None:
        raw = Raw(stdio())
        raw.say(HELLO)
        raw.hear()
        half, pair, escaped = "\\ud83d", "\\ud83d\\ude00", "\\\\ud83d"
        said = json.dumps(call(1, "memos_add", content="a HERE kayak")).replace("HERE", f"{half} {pair} {escaped}")
        raw.say(READY, said)
        assert not raw.hear()["result"]["isError"]
        raw.say(call(2, "memos_list"))
        assert raw.hear()["result"]["structuredContent"]["items"][0]["text"] == "a \ufffd 😀 \\ud83d kayak"
        raw.end()

    await asyncio.to_thread(run)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_and_keeps_what_was_stored(stdio: Stdio, tmp_path: Path, number: int) -> None:
    def run() -> None:
        raw = Raw(stdio())
        raw.say(HELLO)
        raw.hear()
        raw.say(READY, call(1, "memos_add", content="a red kayak"))
        assert raw.hear()["id"] == 1
        raw.process.send_signal(number)  # stdin stays open
        assert raw.process.wait(30) == 0
        raw.end()
        with MemOS(tmp_path / "home", embedder="none", background=False) as memos:
            assert [m.text for m in memos.list(kinds=["trace"]).items] == ["a red kayak"]

    await asyncio.to_thread(run)


async def test_user_cube_and_session_are_those_it_was_started_with(stdio: Stdio, tmp_path: Path) -> None:
    with MemOS(tmp_path / "home", embedder="none", background=False) as memos:
        memos.create_cube("boats", user="ada")
    async with Client(stdio(MEMOS_USER="ada", MEMOS_CUBE="boats")) as client:
        calls = Calls(client)
        added = await calls("memos_add", content="a red kayak")
        assert added["cube"] == "boats"
        assert (await calls("memos_status"))["user"] == "ada"
    async with Client(stdio("--user", "bob", "--session", "s1")) as client:
        calls = Calls(client)
        assert (await calls("memos_add", content="a canoe"))["cube"] == "bob"
        assert (await calls("memos_list"))["items"][0]["session"] == "s1"
        assert (await calls.refused("memos_list", cube="boats")).code in ("not_found", "access_denied")


async def test_read_only_offers_nothing_that_changes_anything(stdio: Stdio) -> None:
    async with Client(stdio("--read-only", "--tools", "memos-server")) as client:
        tools = (await client.list_tools()).tools
        assert tools and all(tool.annotations.read_only_hint for tool in tools)
        with pytest.raises(Exception, match="there is no tool"):
            await client.call_tool("memos_add", {"content": "a kayak"})


@pytest.mark.parametrize(
    ("options", "said"),
    [(["--mode", "nonsense"], "mode"), (["--tools", "nonsense"], "tools are"), (["--max-chars", "10"], "--max-chars")],
)
def test_what_it_cannot_do_is_said_on_stderr(stdio: Stdio, options: list[str], said: str) -> None:
    raw = Raw(stdio(*options))
    out, err = raw.end()
    assert (raw.process.returncode, out) == (2, "") and said in err and "Traceback" not in err


def test_without_the_package_it_says_what_to_install(stdio: Stdio, tmp_path: Path) -> None:
    parameters = stdio()
    code = "import sys; sys.modules['mcp'] = None\nfrom memos.cli.main import run; run()"
    parameters.args = ["-c", code, *parameters.args[2:]]
    raw = Raw(parameters)
    out, err = raw.end()
    assert raw.process.returncode == 1 and not out and "install the extra 'mcp'" in err
