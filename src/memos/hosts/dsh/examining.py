"""Tries MemOS in DeepSeek Harness as it would run there: the files that mount it, and the hook that the plugin starts."""

from __future__ import annotations

from pathlib import Path

from memos.hosts.doctor import try_hook
from memos.hosts.dsh.installing import HOST, plugin_file, plugin_text, standing
from memos.hosts.install import Examined


def examine(home: Path) -> Examined:
    """Look at the files, and run the hook with the start of a session of nobody, which stores nothing."""
    now = standing()
    problems = [now.problem] if now.problem else []
    if now.command is None:
        if not problems:
            problems.append(f"no row of MemOS is in {now.hooks_file}: memos hosts install {HOST}")
        return Examined(HOST, now.scope, None, tuple(problems))
    if plugin_file().is_file() and plugin_file().read_bytes() != plugin_text():
        problems.append(f"the plugin is of another version of MemOS: memos hosts install {HOST} writes it anew")
    seconds, problem = try_hook(now.command, home, HOST)
    if problem:
        problems.append(problem)
    return Examined(HOST, now.scope, seconds, tuple(problems))
