"""Tries MemOS in Hermes: finds the Python that Hermes runs in, and has its own code load the provider and begin a session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

from memos.hosts.hermes.installing import HOST, hermes_home, standing
from memos.hosts.hermes.options import load
from memos.hosts.hermes.outbox import waiting
from memos.hosts.install import Examined

_PATIENCE = 90.0  # seconds
_TRIED = """
import json, sys
sys.stdout, out = sys.stderr, sys.stdout
from plugins.memory import load_memory_provider
provider = load_memory_provider("memos")
told = {"found": provider is not None}
if provider is not None:
    told["reason"] = "" if provider.is_available() else provider.unavailable_reason()
    if not told["reason"]:
        provider.initialize_for_inspection("memos-doctor", hermes_home=sys.argv[1])
        answer = json.loads(provider.handle_tool_call("memos_search", {"query": "hello", "maxResults": 1}))
        told["reason"] = answer.get("error", "")
        provider.shutdown()
json.dump(told, out)
"""


def python_of_hermes() -> Path | None:
    """The Python that the command `hermes` runs in, or the one in its usual place; None where neither is."""
    command = shutil.which("hermes")
    if command is not None:
        with open(command, "rb") as file:
            first = file.readline(4_096)
        words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
        found = (
            Path(words[-1]) if words and "python" in words[-1] else Path(os.path.realpath(command)).parent / "python"
        )
        if found.is_file():
            return found
    venv = hermes_home() / "hermes-agent" / "venv"
    usual = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return usual if usual.is_file() else None


def examine(home: Path) -> Examined:
    """Look at the files of Hermes, and have it load the provider and look something up. Nothing is stored."""
    now = standing()
    problems = [now.problem] if now.problem else []
    if not now.events:
        return Examined(HOST, "user", None, (*problems, "MemOS is not in Hermes: memos hosts install hermes"))
    python = python_of_hermes()
    if python is None:
        return Examined(
            HOST, "user", None, (*problems, "no command `hermes` is on the PATH: what it would do was not tried")
        )
    seconds, problem = _tried(python)
    if problem:
        problems.append(problem)
    left = 0 if now.problem else waiting(load(hermes_home()).folder)
    if left:
        problems.append(f"{left} reports are not told yet; the next session of the same user and profile does it")
    return Examined(HOST, "user", seconds, tuple(problems), what="Hermes found the memory and asked it in")


def _tried(python: Path) -> tuple[float | None, str | None]:
    env = {**os.environ, "HERMES_HOME": str(hermes_home()), "PYTHONSAFEPATH": "1"}  # no folder `memos` of this place
    start = time.perf_counter()
    try:
        done = subprocess.run(  # noqa: S603
            [str(python), "-c", _TRIED, str(hermes_home())],
            env=env,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        told = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as e:
        return None, f"{python} cannot be run ({type(e).__name__})"
    except ValueError:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return None, f"Hermes in {python} failed: {last[0][:300]}"
    if not told["found"]:
        return None, f"Hermes in {python} does not find the provider; is HERMES_HOME {hermes_home()} its own?"
    return time.perf_counter() - start, told["reason"] or None
