"""`python -m memos.bench hooks`: what a coding agent waits for the hooks of MemOS, a process each, beside the interpreter alone.

A server runs on a cube with many memories. The events of Claude Code are run in turn with `python -P -c pass`, so that what else
the machine does weighs on all of them alike. `cpu` is processor time of the hook's process, not of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memos.bench import corpus
from memos.bench.pages import COMMAND, block, table, write_into
from memos.bench.process import server
from memos.bench.speed import USER, Latency, fill
from memos.bench.work import say
from memos.errors import MemosError

BARE = "`python -P -c pass`"
EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")
_TURNS = 5  # of one session


class Hooks:
    """Runs hooks, and keeps what they took: (wall, processor) seconds by event."""

    def __init__(self, home: Path, folder: Path) -> None:
        self._home, self._folder, self._session = home, folder, ""
        self.took: dict[str, list[tuple[float, float]]] = {name: [] for name in (BARE, *EVENTS)}
        self.answered = 0

    def session(self, number: int, questions: Sequence[str]) -> None:
        """One session of some turns, each with one call of a tool."""
        self._session = f"bench-{os.getpid()}-{number}"
        self._event("SessionStart", source="startup")
        for turn, question in enumerate(questions):
            id, reply = f"{number}-{turn}", f"That was answer {number}-{turn}."
            self._bare()
            self._write("user", id, question)
            self.answered += bool(self._event("UserPromptSubmit", prompt=question, prompt_id=id))
            call: dict[str, Any] = {"tool_use_id": f"toolu-{id}", "tool_name": "Bash"}
            given = {"command": f"make {id}"}
            self._write("assistant", id, [{"type": "tool_use", "id": f"toolu-{id}", "name": "Bash", "input": given}])
            self._event("PostToolUse", **call, tool_input=given, tool_response={"stdout": "made", "stderr": ""})
            self._write("user", id, [{"type": "tool_result", "tool_use_id": f"toolu-{id}", "content": "made"}])
            self._write("assistant", id, [{"type": "text", "text": reply}])
            self._event("Stop", last_assistant_message=reply)
        self._event("SessionEnd", reason="other")

    def _write(self, role: str, id: str, content: object) -> None:
        line = {"type": role, "promptId": id, "uuid": f"{role}-{id}", "message": {"role": role, "content": content}}
        with self._transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    @property
    def _transcript(self) -> Path:
        return self._folder / f"{self._session}.jsonl"

    def _event(self, name: str, **fields: Any) -> str:
        event = {"session_id": self._session, "transcript_path": str(self._transcript), "hook_event_name": name}
        words = ["-m", "memos.hosts.hook", "claude-code", "--home", str(self._home), "--user", USER]
        return self._run(name, words, json.dumps({**event, "cwd": str(self._folder), **fields}))

    def _bare(self) -> None:
        self._run(BARE, ["-c", "pass"], "")

    def _run(self, name: str, words: list[str], given: str) -> str:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([sys.executable, "-P", *words], input=given, capture_output=True, text=True, check=False)  # noqa: S603
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode or done.stderr:
            raise MemosError(f"the hook of {name} failed: {done.stderr.strip()[-200:]}")
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        self.took[name].append((wall, cpu))
        return done.stdout


def main(argv: Sequence[str]) -> int:
    """Parse the arguments, measure and print."""
    p = argparse.ArgumentParser(prog=f"{COMMAND} hooks", description=__doc__)
    p.add_argument("--size", type=int, default=10_000, help="memories in the cube (default 10000)")
    p.add_argument("--turns", type=int, default=200, help="turns measured (default 200)")
    p.add_argument("--work", type=Path, default=Path(".bench"), help="where generated cubes are kept between runs")
    p.add_argument(
        "--docs", type=Path, action="append", help="Markdown page whose <!-- bench:hooks --> block is filled"
    )
    args = p.parse_args(argv)
    try:
        text = _measured(args.size, args.turns, args.work)
    except MemosError as e:
        say(f"bench: {e}")
        return 2
    print(f"\n## hooks\n\n{text}")
    for page in args.docs or ():
        write_into(page, {"hooks": text})
    return 0


def _measured(size: int, turns: int, work: Path) -> str:
    made = work / f"speed-{size}"
    asyncio.run(fill(made, size, say))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home")
        shutil.copytree(made, home)
        with server(home):
            questions = corpus.questions(turns + _TURNS)
            Hooks(home, Path(folder)).session(-1, questions[:_TURNS])  # opens the cube
            hooks = Hooks(home, Path(folder))
            for first in range(_TURNS, turns + _TURNS, _TURNS):
                hooks.session(first, questions[first : first + _TURNS])
    if hooks.answered < turns * 0.9:
        raise MemosError(f"only {hooks.answered} of {turns} prompts were answered with a block")
    return block(table(_HEAD, _rows(hooks.took)), f"hooks --size {size} --turns {turns}")


_HEAD = ("event", "p50 ms", "p95 ms", "times bare", "cpu p50 ms", "cpu p95 ms", "times bare (cpu)")


def _rows(took: dict[str, list[tuple[float, float]]]) -> list[tuple[object, ...]]:
    wall = {name: Latency.of([one[0] for one in took[name]]) for name in took}
    cpu = {name: Latency.of([one[1] for one in took[name]]) for name in took}
    return [
        (name, wall[name].p50, wall[name].p95, wall[name].p50 / wall[BARE].p50,
         cpu[name].p50, cpu[name].p95, cpu[name].p50 / cpu[BARE].p50)
        for name in took
    ]  # fmt: skip
