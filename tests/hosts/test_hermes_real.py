"""The real Hermes Agent: its discovery, its MemoryManager over a day of turns, a process that is killed, and its agent in one shot
against a scripted model.

It is in the venv of the Python that MEMOS_TEST_HERMES names; without it, these tests are skipped and say so. Nothing of the user's own
Hermes is touched: each has a home of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_model import REPLY, AgentModel
from hosts_world import DAY, SRC

from memos import MemOS

PYTHON = os.environ.get("MEMOS_TEST_HERMES", "")
HERE = Path(__file__).parent
PLANTED = "Always use podman instead of docker."
pytestmark = pytest.mark.skipif(
    not PYTHON, reason="NOT TESTED: real Hermes needs MEMOS_TEST_HERMES=<python of a venv with hermes-agent>"
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The variables of a Hermes with a home of its own, MemOS installed in it, and its memory in another folder."""
    (tmp_path / "user").mkdir()
    variables = {
        "PATH": f"{Path(PYTHON).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "user"),
        "HERMES_HOME": str(tmp_path / "hermes"),
        "MEMOS_HOME": str(tmp_path / "memory"),
        "MEMOS_EMBEDDER": "none",
        "OMP_NUM_THREADS": "1",
        "NO_COLOR": "1",
    }
    memos(variables, "hosts", "install", "hermes")
    return variables


def memos(env: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "memos.cli", *words],
        env={**env, "PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def hermes(env: dict[str, str], *words: str, code: int = 0) -> str:
    """What a Python program that runs in Hermes' venv prints."""
    done = subprocess.run([PYTHON, *words], env=env, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def stored(env: dict[str, str]) -> list[str]:
    with MemOS(env["MEMOS_HOME"], embedder="none", background=False) as m:
        out, cursor = [], None
        while True:
            page = m.list(kinds=["trace", "tool_call"], limit=500, cursor=cursor)
            out += [one.text for one in page.items]
            cursor = page.cursor
            if cursor is None:
                return out


def once(texts: list[str], expected: dict[str, int]) -> None:
    """Everything that was told is stored as often as it was told, and nothing of what memory gave is."""
    for wanted, times in expected.items():
        found = [t for t in texts if t == wanted or t.startswith((f"{wanted}\n", f"{wanted} "))]
        assert len(found) == times, (wanted, times, found)
    assert len(texts) == sum(expected.values())
    assert not [t for t in texts if "memos-context" in t or "memory-context" in t or "authoritative reference" in t]


def day(env: dict[str, str], seed: int, sessions: int, turns: int) -> dict[str, Any]:
    with MemOS(env["MEMOS_HOME"], embedder="none", background=False) as m:
        m.start_turn(PLANTED, session="before")
        m.end_session("before")
        m.flush()
    told: dict[str, Any] = json.loads(hermes(env, str(HERE / "hermes_day.py"), str(seed), str(sessions), str(turns)))
    once(stored(env), {**told["expected"], PLANTED: 1})
    assert told["drain"] == "drained"
    assert told["blocks"] > sessions * turns // 3 and told["longest"] <= 6_000
    assert not [p for p in (Path(env["MEMOS_HOME"]) / "hosts" / "hermes").rglob("*") if p.is_file()]
    with MemOS(env["MEMOS_HOME"], embedder="none", background=False) as m:
        assert sum("podman" in one.text for one in m.list(kinds=["policy"], limit=500).items) == 1
    return told


def test_one_command_is_enough_for_hermes_to_find_and_use_it_and_one_takes_it_out(env: dict[str, str]) -> None:
    root = Path(env["HERMES_HOME"])
    said = json.loads(memos(env, "--json", "hosts", "doctor", "hermes"))
    assert said["problems"] == [] and said["seconds"] > 0
    listed = hermes(env, "-m", "hermes_cli.main", "memory", "status")
    assert "Provider:  memos" in listed and "available ✓" in listed
    memos(env, "hosts", "uninstall", "hermes")
    assert "memos" not in hermes(env, "-m", "hermes_cli.main", "memory", "status")
    assert not (root / "config.yaml").exists() and not (root / "plugins" / "memos").exists()


def test_a_morning_through_its_memory_manager_loses_nothing_and_stores_nothing_twice(env: dict[str, str]) -> None:
    day(env, seed=3, sessions=3, turns=12)


@pytest.mark.slow
def test_a_day_of_hermes_loses_nothing_and_stores_nothing_twice(env: dict[str, str]) -> None:
    sessions, turns = DAY
    told = day(env, seed=7, sessions=sessions, turns=turns)
    took = sorted(told["seconds"])
    print(
        f"\n{len(took)} prefetches, median {took[len(took) // 2] * 1e3:.0f} ms, p95 {took[int(len(took) * 0.95)] * 1e3:.0f} ms"
    )


def test_a_process_that_is_killed_leaves_nothing_untold_and_nothing_twice(env: dict[str, str]) -> None:
    expected: Counter[str] = Counter()
    for seed in (21, 22, 23):
        told = json.loads(hermes(env, str(HERE / "hermes_day.py"), str(seed), "1", "6", "kill", code=-9))
        expected.update(told["expected"])
    last = json.loads(hermes(env, str(HERE / "hermes_day.py"), "24", "1", "2"))
    once(stored(env), {**expected, **last["expected"]})


def test_two_processes_at_once_share_one_home(env: dict[str, str]) -> None:
    words = [[PYTHON, str(HERE / "hermes_day.py"), str(seed), "1", "8"] for seed in (31, 32)]
    running = [subprocess.Popen(w, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for w in words]
    expected: Counter[str] = Counter()
    for process in running:
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        expected.update(json.loads(out)["expected"])
    once(stored(env), expected)


@pytest.mark.slow
def test_its_agent_is_told_what_is_known_and_what_it_does_is_kept(env: dict[str, str], tmp_path: Path) -> None:
    with MemOS(env["MEMOS_HOME"], embedder="none", background=False) as m:
        m.start_turn(PLANTED, session="before")
        m.end_session("before")
        m.flush()
    work, config = tmp_path / "shop", Path(env["HERMES_HOME"]) / "config.yaml"
    work.mkdir()
    with AgentModel(["echo one", "make harbour"]) as model:
        own = f"model:\n  default: scripted\n  provider: custom\n  base_url: {model.url}/v1\n  api_key: none\n"
        config.write_text(own + config.read_text())
        done = subprocess.run(
            [PYTHON, "-m", "hermes_cli.main", "chat", "-Q", "--yolo", "-q", "Build the harbour with docker"],
            cwd=work, env=env, capture_output=True, text=True, timeout=300, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    assert REPLY in done.stdout, done.stdout + done.stderr
    asked = [json.loads(a) for a in model.asked]
    first = next(a for a in asked if a.get("tools"))
    assert "use podman" in str([m for m in first["messages"] if m["role"] == "user"])
    assert "# MemOS memory" in first["messages"][0]["content"]
    assert {f"memos_{n}" for n in ("search", "get", "timeline", "environment", "skill_list", "skill_get")} <= {
        t["function"]["name"] for t in first["tools"]
    }
    texts = stored(env)
    once(
        texts, {PLANTED: 1, "Build the harbour with docker": 1, "Bash: echo one": 1, "Bash: make harbour": 1, REPLY: 1}
    )
    assert "Bash: echo one\nok\none" in texts and any("make harbour\nerror: Exit code 2" in t for t in texts)
    memos(env, "hosts", "uninstall", "hermes")
    assert "provider: memos" not in config.read_text() and "base_url" in config.read_text()
