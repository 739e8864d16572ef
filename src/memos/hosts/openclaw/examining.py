"""Tries MemOS in OpenClaw: has its own loader load the plugin, and sees whether the server that the plugin will use answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from memos.hosts.install import Examined
from memos.hosts.jsonc import Document
from memos.hosts.openclaw.installing import HOST, NAME, config_file, standing, waiting
from memos.hosts.reach import Away, Refused, Server, key_in, running

_PATIENCE = 90.0  # seconds


def examine(home: Path) -> Examined:
    """Look at the file of OpenClaw, have it load the plugin, and ask the server. Nothing is stored."""
    now = standing()
    problems = [now.problem] if now.problem else []
    if not now.events:
        return Examined(HOST, "user", None, (*problems, "MemOS is not in OpenClaw: memos hosts install openclaw"))
    value = Document(config_file().read_text("utf-8"), json5=True).value
    config = value.get("plugins", {}).get("entries", {}).get(NAME, {}).get("config", {})
    seconds, problem = _loaded()
    problems += [problem] if problem else []
    problem = _answers(config, home)
    problems += [problem] if problem else []
    if problem and waiting(_home(config, home)):
        problems.append("OpenClaw has something to report still; it does so when a server answers")
    return Examined(HOST, "user", seconds, tuple(problems), what="OpenClaw found the plugin and loaded it in")


def _loaded() -> tuple[float | None, str | None]:
    """How long OpenClaw took to load the plugin, and what it complained of."""
    command = shutil.which("openclaw")
    if command is None:
        return None, "no command `openclaw` is on the PATH: whether it loads the plugin was not tried"
    start = time.perf_counter()
    try:
        done = subprocess.run(  # noqa: S603
            [command, "plugins", "inspect", NAME, "--runtime", "--json"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as e:
        return None, f"{command} cannot be run ({type(e).__name__})"
    plugin = _plugin(done.stdout)
    if plugin is None:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return None, f"OpenClaw does not know the plugin: {last[0][:300]}"
    if plugin.get("status") != "loaded":
        return None, f"OpenClaw did not load the plugin: {plugin.get('status')} {plugin.get('error') or ''}".rstrip()
    return time.perf_counter() - start, None


def _plugin(told: str) -> dict[str, Any] | None:
    try:
        plugin = json.loads(told[told.index("{") :])["plugin"]
    except (ValueError, KeyError, TypeError):
        return None
    return plugin if isinstance(plugin, dict) else None


def _answers(config: dict[str, Any], home: Path) -> str | None:
    """What is wrong with the server that the plugin will use; a server that it starts itself is not started for this."""
    where = _home(config, home)
    url = config.get("url") or running(str(where))
    if not url:
        if config.get("serve") is not False and config.get("python"):
            python = Path(str(config["python"]))
            return None if python.exists() else f"{python} is gone: memos hosts install openclaw"
        return f"no server runs on {where}: memos serve"
    fields = {"query": "memos-doctor", "max_tokens": 50}
    fields |= {name: config[name] for name in ("user", "cube") if name in config}
    try:
        Server(str(url), key_in(config.get("keyFile")), time.monotonic() + 10).tell("recall", fields)
    except (Away, Refused) as e:
        return f"{url}: {e}"
    return None


def _home(config: dict[str, Any], home: Path) -> Path:
    return Path(str(config["home"])).expanduser() if "home" in config else home
