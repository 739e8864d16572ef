"""Says whether MemOS works in a host: what is installed, which server hooks find, and how a hook does when it is run."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from memos.hosts.hook import HOSTS
from memos.hosts.install import Examined, Standing, standing
from memos.hosts.places import Place, place_of
from memos.hosts.reach import running
from memos.hosts.session import digest

_SESSION = "memos-doctor"
_PATIENCE = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Overview:
    """What is installed where. `server`: the address of the one that runs on the home. `behind`: sessions of which something
    could not be reported yet. `waiting`: files of reports in the queues of plugins (Hermes, OpenClaw).
    """

    home: Path
    server: str | None
    behind: int
    places: tuple[Standing, ...]
    waiting: int = 0

    def lines(self) -> list[str]:
        """For people."""
        at = (
            f"at {self.server}"
            if self.server
            else "does not run; hooks open the data folder themselves, which is slower (`memos serve` starts it)"
        )
        out = [f"server on {self.home}: {at}"]
        for one in self.places:
            mcp = "MCP server" if one.mcp else "no MCP server"
            hooks = one.what or f"{len(one.events)} hooks, {mcp}"
            what = hooks if one.events or one.mcp else "not installed"
            out.append(f"{one.host} ({one.scope}): {what}{f'; {one.problem}' if one.problem else ''}")
        if self.behind:
            out.append(f"{self.behind} sessions have something to report still; the next session of the host does it")
        if self.waiting:
            out.append(
                f"{self.waiting} files of reports wait in queues of plugins; memos hosts doctor says what they wait for"
            )
        return out


def overview(home: Path, project: Path) -> Overview:
    """What is installed for the user and in a project."""
    from memos.hosts.hermes import outbox
    from memos.hosts.openclaw import installing as openclaw
    from memos.hosts.plugged import standings

    places = [standing(place_of(host, where)) for host in HOSTS for where in (None, project)] + standings()
    shown = tuple(p for p in places if p.scope == "user" or p.events or p.problem)
    behind = len(list((home / "hosts" / "sessions").glob("*.behind")))
    return Overview(home, running(str(home)), behind, shown, outbox.waiting(home) + openclaw.waiting(home))


def examine(place: Place, home: Path) -> Examined:
    """Look at a host's files, and run its hook with the start of a session of nobody, which stores nothing."""
    now = standing(place)
    problems = [now.problem] if now.problem else []
    if not now.events:
        problems.append(f"no hook of MemOS is in {now.hooks_file}: memos hosts install {place.host}")
        return Examined(place.host, place.scope, None, tuple(problems))
    if now.missing:
        problems.append(f"no hook for {', '.join(now.missing)}: memos hosts install {place.host}")
    if now.mcp and find_spec("mcp") is None:
        problems.append("its MCP server needs the extra 'mcp': pip install '.[mcp]' in a checkout of MemOS")
    seconds, problem = try_hook(now.command or "", home, place.host)
    if problem:
        problems.append(problem)
    return Examined(place.host, place.scope, seconds, tuple(problems))


def try_hook(command: str, home: Path, host: str) -> tuple[float | None, str | None]:
    """The seconds a hook took at the start of a session of nobody, and what it complained of. It leaves nothing behind."""
    try:
        return _run(command)
    finally:
        for left in (home / "hosts" / "sessions").glob(f"{host}-{digest(_SESSION)}.json*"):
            left.unlink(missing_ok=True)


def _run(command: str) -> tuple[float | None, str | None]:
    words: str | list[str] = command if os.name == "nt" else shlex.split(command)
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": _SESSION, "source": "doctor"})
    start = time.perf_counter()
    try:
        done = subprocess.run(words, input=event, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as e:
        return None, f"the hook cannot be run ({type(e).__name__}): memos hosts install again writes it anew"
    told = done.stderr.strip().splitlines()
    problem = told[-1] if told else f"exit code {done.returncode}" if done.returncode else None
    return time.perf_counter() - start, problem
