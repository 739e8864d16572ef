"""The MCP Inspector's command line, an implementation of the protocol that is not the SDK of Python, speaks to `memos mcp`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp.server", reason="the extra 'mcp' is not installed")

SRC = Path(__file__).parents[2] / "src"
LEAST_NODE = (22, 19)
# Where it is: the file `mcp-inspector` of npm's package @modelcontextprotocol/inspector, and the Node it needs before it.
INSPECTOR = os.environ.get("MEMOS_TEST_INSPECTOR") or shutil.which("mcp-inspector")
NODE = os.environ.get("MEMOS_TEST_NODE") or shutil.which("node")


def _node_version() -> tuple[int, ...]:
    if NODE is None:
        return ()
    said = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=False, timeout=30).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".") if part.isdigit())


def test_the_inspector_lists_and_calls_tools(tmp_path: Path) -> None:
    if INSPECTOR is None:
        pytest.skip("NOT TESTED: the MCP Inspector is not installed (MEMOS_TEST_INSPECTOR names its `mcp-inspector`)")
    if _node_version()[:2] < LEAST_NODE:
        pytest.skip(
            f"NOT TESTED: the MCP Inspector needs Node 22.19, found {_node_version()} (MEMOS_TEST_NODE names another)"
        )
    assert NODE is not None

    def ask(*arguments: str) -> Any:
        server = ["--home", str(tmp_path / "home"), "--embedder", "none", "mcp", "--user", "ada"]
        command = [
            NODE,
            INSPECTOR,
            "--cli",
            "-e",
            f"PYTHONPATH={SRC}",
            sys.executable,
            "-m",
            "memos.cli",
            *server,
            *arguments,
        ]
        env = {**os.environ, "PATH": os.pathsep.join((str(Path(NODE).parent), os.environ.get("PATH", "")))}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    tools = ask("--method", "tools/list")["tools"]
    assert {"memos_add", "memos_search", "memos_get"} <= {tool["name"] for tool in tools}
    added = ask(
        "--method", "tools/call", "--tool-name", "memos_add", "--tool-arg", "content=I moved to Oslo last week."
    )
    assert added["structuredContent"]["status"] == "stored"
    found = ask("--method", "tools/call", "--tool-name", "memos_search", "--tool-arg", "query=where do I live?")
    assert found["structuredContent"]["hits"][0]["snippet"] == "I moved to Oslo last week."
    assert [one["uri"] for one in ask("--method", "resources/list")["resources"]] == ["profile://ada", "cube://ada"]
    assert len(ask("--method", "prompts/list")["prompts"]) == 2
