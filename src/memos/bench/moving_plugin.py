"""How fast the local plugin's database is read, and in how much memory: one of so many traces, made here."""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from memos.bench.pages import COMMAND, block, table, write_into
from memos.moving.items import Worked
from memos.moving.local_plugin import SOURCE

_TABLES = """
CREATE TABLE sessions (id TEXT PRIMARY KEY);
CREATE TABLE episodes (id TEXT PRIMARY KEY, session_id TEXT, started_at INTEGER, r_task REAL, status TEXT);
CREATE TABLE traces (id TEXT PRIMARY KEY, episode_id TEXT, session_id TEXT, ts INTEGER, turn_id INTEGER, user_text TEXT,
  agent_text TEXT, tool_calls_json TEXT, vec_summary BLOB);
CREATE INDEX idx_traces_episode_turn ON traces(episode_id, turn_id, ts);
"""
_STEPS = 5  # traces of a turn
_BEGAN = 1_767_225_600_000


def main(argv: Sequence[str]) -> int:
    """Measure, print, and put the table into pages when asked."""
    parser = argparse.ArgumentParser(prog=f"{COMMAND} moving-plugin", description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument(
        "--docs", type=Path, action="append", help="page whose <!-- bench:moving-plugin --> block is filled"
    )
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.read is not None:
        print(json.dumps(_read(args.read)))
        return 0
    rows = [_measured(count) for count in (args.traces // 10, args.traces)]
    head = ("traces", "MB", "turns", "seconds", "traces/s", "memory before, MB", "and at most, MB")
    text = block(table(head, rows), f"moving-plugin --traces {args.traces}")
    print(text)
    for page in args.docs or ():
        write_into(page, {"moving-plugin": text})
    return 0


def _measured(count: int) -> tuple[float, ...]:
    """One size, read in a process of its own, so that its memory is seen."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memos.db"
        _write(path, count)
        command = [sys.executable, "-m", "memos.bench", "moving-plugin", "--read", str(path)]
        told = subprocess.run(command, capture_output=True, check=True, text=True).stdout  # noqa: S603 - our own command
        turns, seconds, before, peak = json.loads(told)
        return count, path.stat().st_size / 1e6, turns, seconds, count / seconds, before, peak


def _read(path: Path) -> tuple[int, float, float, float]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    turns = sum(isinstance(item, Worked) for item in SOURCE.read(path))
    seconds = time.perf_counter() - start
    return turns, seconds, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _write(path: Path, count: int) -> None:
    db = sqlite3.connect(path)
    db.executescript(_TABLES)
    for turn in range(count // _STEPS):
        episode, session, at = f"ep_{turn}", f"s{turn // 20}", _BEGAN + turn * 60_000
        db.execute("INSERT INTO episodes VALUES (?, ?, ?, .5, 'closed')", (episode, session, at))
        for step in range(_STEPS):
            call = {"name": "shell", "input": {"command": f"make step {step}"}, "output": "what it printed " * 25}
            last = step == _STEPS - 1
            said = f"Build thing number {turn}. " + "It has to be right. " * 10 if step == 0 else ""
            row = (f"tr_{turn}_{step}", episode, session, at + step, at, said, "It is built. " * 40 if last else "")
            calls = json.dumps([] if last else [call])
            db.execute("INSERT INTO traces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, calls, b"\0" * 1_536))
    db.commit()
    db.close()
