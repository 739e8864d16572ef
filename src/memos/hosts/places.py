"""The hosts MemOS is installed in: which of their files hold hooks and MCP servers, and what is written there."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput
from memos.hosts.hook import HOSTS

MARK = "memos.hosts.hook"  # in every command of ours, and by it they are known
SERVER = "memos"  # the name under which hosts know our MCP server
HOOK_SECONDS = 15  # what a host waits at most; the hook ends well before
MCP_SECONDS = 60  # to the first answer of our MCP server: it opens the data folder
_HANDED = ("MEMOS_API_KEY", "MEMOS_LLM", "MEMOS_LLM_URL", "MEMOS_LLM_KEY", "MEMOS_EMBEDDER", "PYTHONPATH")
_FOREVER = "*"


@dataclass(frozen=True, slots=True)
class Reach:
    """How what a host starts reaches the memory. `url` None: the server that runs on the home, else the library. `tools`: whether
    the agent gets the tools of `memos mcp`, in a host that takes a plugin and an MCP server.
    """

    home: Path | None = None
    url: str | None = None
    key_file: Path | None = None
    user: str | None = None
    cube: str | None = None
    max_tokens: int = 1_500
    tools: bool = True

    def hook(self, host: str) -> list[str]:
        """The command of a hook, as words."""
        words = [sys.executable, "-P", "-m", MARK, host]
        values: dict[str, object | None] = {
            "--home": self.home,
            "--url": self.url,
            "--key-file": self.key_file,
            "--user": self.user,
            "--cube": self.cube,
            "--max-tokens": None if self.max_tokens == 1_500 else self.max_tokens,
        }
        return words + [str(word) for name, value in values.items() if value is not None for word in (name, value)]

    def mcp(self, host: str) -> list[str]:
        """The command of the MCP server, as words."""
        words = [sys.executable, "-P", "-m", "memos.cli"]
        for name, value in (("--home", self.home), ("--user", self.user), ("--cube", self.cube)):
            words += [] if value is None else [name, str(value)]
        words += ["mcp", "--agent", host]
        return words if self.url is None else [*words, "--url", self.url]


@dataclass(frozen=True, slots=True)
class Place:
    """A host's files at one scope. `hooks` holds {"hooks": {event: groups}} in JSON; `mcp` the servers, at `mcp_path` when it is
    JSON. `events`: event -> what of it (a matcher), None where it takes none.
    """

    host: str
    scope: str
    hooks: Path
    mcp: Path
    mcp_path: tuple[str, ...]
    events: Mapping[str, str | None]
    asks: str


def place_of(host: str, project: Path | None = None, env: Mapping[str, str] | None = None) -> Place:
    """Where a host keeps its settings: of the user, or of one project. Raises InvalidInput for an unknown host."""
    env = os.environ if env is None else env
    if host == "claude-code":
        return _claude_code(project, env)
    if host == "codex":
        return _codex(project, env)
    raise InvalidInput(f"unknown host {host!r}; known are {', '.join(HOSTS)}")


def _claude_code(project: Path | None, env: Mapping[str, str]) -> Place:
    given = env.get("CLAUDE_CONFIG_DIR")
    folder = Path(given).expanduser() if given else Path.home() / ".claude"
    state = folder / ".claude.json" if given else Path.home() / ".claude.json"
    events = dict.fromkeys(
        (
            "SessionStart",
            "UserPromptSubmit",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "SubagentStop",
            "PreCompact",
            "SessionEnd",
        )
    )
    events |= {"PostToolUse": _FOREVER, "PostToolUseFailure": _FOREVER}
    asks = "Sessions that run already take it up when they are started again; /hooks and /mcp in Claude Code show it."
    if project is None:
        return Place("claude-code", "user", folder / "settings.json", state, ("mcpServers", SERVER), events, asks)
    path = ("projects", str(project), "mcpServers", SERVER)
    hooks = project / ".claude" / "settings.local.json"
    return Place("claude-code", f"project {project}", hooks, state, path, events, asks)


def _codex(project: Path | None, env: Mapping[str, str]) -> Place:
    given = env.get("CODEX_HOME")
    folder = Path(given).expanduser() if given else Path.home() / ".codex"
    asks = "Codex runs new hooks only after you have looked at them and trusted them: it asks at its next start, or /hooks."
    if project is not None:
        folder = project / ".codex"
        asks += " It reads a project's folder .codex only where the project is trusted."
    events: dict[str, str | None] = dict.fromkeys(
        ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact", "SessionEnd")
    )
    scope = "user" if project is None else f"project {project}"
    return Place("codex", scope, folder / "hooks.json", folder / "config.toml", ("mcp_servers", SERVER), events, asks)


def group(place: Place, event: str, reach: Reach) -> dict[str, Any]:
    """What is written under an event."""
    words = reach.hook(place.host)
    command = subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
    entry = {"hooks": [{"type": "command", "command": command, "timeout": HOOK_SECONDS}]}
    matcher = place.events[event]
    return entry if matcher is None else {"matcher": matcher, **entry}


def mcp_entry(place: Place, reach: Reach) -> dict[str, Any]:
    """What is written as the MCP server, of a host that keeps JSON. The key is in no file of a host but as the name of ours."""
    command, *arguments = reach.mcp(place.host)
    return {"type": "stdio", "command": command, "args": arguments, "env": {}}


def mcp_lines(place: Place, reach: Reach) -> str:
    """The same as TOML. Codex hands a server no variable that is not named, and waits 10 s for it if not told otherwise."""
    command, *arguments = reach.mcp(place.host)
    said = ", ".join(json.dumps(a, ensure_ascii=False) for a in arguments)
    lines = [f"[mcp_servers.{SERVER}]", f"command = {json.dumps(command, ensure_ascii=False)}", f"args = [{said}]"]
    names = ", ".join(f'"{name}"' for name in _HANDED)
    return "\n".join([*lines, f"env_vars = [{names}]", f"startup_timeout_sec = {MCP_SECONDS}"]) + "\n"
