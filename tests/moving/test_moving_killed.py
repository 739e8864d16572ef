"""An import that is killed at any moment is run again, and then everything is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from exports import chats, written

from memos import MemOS
from memos.moving.bring import bring_now

CODE = """
import sys, time
from memos import MemOS
from memos.moving.bring import bring_now
with MemOS(sys.argv[1], embedder="none", background=False) as memos:
    bring_now(memos, sys.argv[2], progress=lambda at: print(at.phase, at.done, flush=True))
time.sleep(60)  # it does not end before it is killed, however late that is
"""


@pytest.mark.parametrize("after", ["reading 300", "storing 10", "storing 290"])
def test_killed_and_run_again_nothing_is_lost_and_nothing_is_there_twice(tmp_path: Path, after: str) -> None:
    home, path = tmp_path / "home", written(tmp_path / "conversations.json", chats(30, 10))
    command = [sys.executable, "-c", CODE, str(home), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if line.strip() == after:
                break
        else:
            pytest.fail("it ended before it could be killed")
        time.sleep(0.003)
        child.send_signal(signal.SIGKILL)
        child.stdout.read()
    assert child.returncode == -signal.SIGKILL
    with MemOS(home, embedder="none", background=False) as memos:
        there = memos.count(kinds=["trace"])
        report = bring_now(memos, path)
        assert (report.messages, report.known, report.new) == (300, there, 300 - there)
        texts = [memory.text for memory in memos.list(kinds=["trace"], limit=1_000).items]
        assert len(texts) == len(set(texts)) == 300


def test_nothing_of_what_was_read_is_left_behind(tmp_path: Path) -> None:
    path, scratch = written(tmp_path / "conversations.json", chats(100, 10)), tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-c", CODE, str(tmp_path / "home"), str(path)]
    where = {**os.environ, "TMPDIR": str(scratch), "SQLITE_TMPDIR": str(scratch)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=where) as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.kill()
        child.stdout.read()
    assert list(scratch.iterdir()) == []
