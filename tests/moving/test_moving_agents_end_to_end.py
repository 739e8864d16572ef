"""What other agent systems kept, imported for real: it is found, learned from, and there once, also after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hermes_files import Hermes, say, session, wanted
from openclaw_files import Session, called
from plugin_files import BEGAN, DAY, FIRST, Plugin, gcc_work

from memos import MemOS
from memos.moving.bring import bring_now

GCC = (("pip install {}", "error: command 'gcc' not found"), ("apt-get install -y gcc", None), ("pip install {}", None))


def plugin_home(folder: Path) -> Path:
    """Three episodes with one lesson, a note of a person, a world model and a skill."""
    made = Plugin(folder / "memos.db")
    for number, package in enumerate(("numpy", "lxml", "pillow")):
        gcc_work(made, number, package, BEGAN + number * DAY)
    times = {"created_at": BEGAN, "updated_at": BEGAN}
    made.put("world_model", id="w", title="仓库", body="前端代码在 packages/web 目录。", **times)
    made.put(
        "skills",
        id="k",
        name="release_notes",
        invocation_guide="# Release notes\n\nRead the tags, then write.",
        **times,
    )
    made.db.close()
    return made.path


def hermes_home(folder: Path) -> Path:
    """The same lesson, in sessions of Hermes."""
    hermes = Hermes(folder / "hermes")
    hermes.note("USER.md", "用户喜欢在周五发布", "Prefers tabs")
    db = hermes.store()
    for number, package in enumerate(("numpy", "lxml")):
        id = f"s{number}"
        session(db, id, at=BEGAN / 1000 + number * 86_400)
        say(db, id, "user", f"Install {package} in the container", BEGAN / 1000 + number * 86_400)
        for step, (command, error) in enumerate(GCC):
            say(db, id, "assistant", "", tool_calls=[wanted(f"c{step}", "terminal", command=command.format(package))])
            told = {"output": error or "done", "exit_code": 1 if error else 0}
            say(db, id, "tool", json.dumps(told), tool_call_id=f"c{step}", tool_name="terminal")
        say(db, id, "assistant", f"{package} is installed; gcc was missing.")
    db.close()
    return hermes.home


def openclaw_home(folder: Path) -> Path:
    """The same lesson, in sessions of OpenClaw."""
    for number, package in enumerate(("numpy", "lxml")):
        made = Session(f"s{number}")
        made.user(f"Install {package} in the container")
        for step, (command, error) in enumerate(GCC):
            made.assistant(called(f"c{step}", "exec", command=command.format(package)))
            made.result(f"c{step}", error or "done", failed=error is not None)
        made.assistant(f"{package} is installed; gcc was missing.")
        made.write(folder / "openclaw" / "agents" / "main" / "sessions")
    notes = folder / "openclaw" / "workspace"
    notes.mkdir(parents=True)
    (notes / "MEMORY.md").write_text("- 用户喜欢在周五发布\n")
    return folder / "openclaw"


def claude_home(folder: Path) -> Path:
    """The same lesson, in transcripts of Claude Code."""
    for number, package in enumerate(("numpy", "lxml")):
        base = {"sessionId": f"s{number}", "cwd": "/work"}
        rows = [("user", f"Install {package} in the container")]
        for step, (command, error) in enumerate(GCC):
            use = {"type": "tool_use", "id": f"c{step}", "name": "Bash", "input": {"command": command.format(package)}}
            back = {
                "type": "tool_result",
                "tool_use_id": f"c{step}",
                "content": error or "done",
                "is_error": error is not None,
            }
            rows += [("assistant", [use]), ("user", [back])]  # type: ignore[list-item]
        rows.append(("assistant", f"{package} is installed; gcc was missing. 用户喜欢在周五发布"))
        lines = [
            {
                **base,
                "type": t,
                "uuid": f"{number}-{n}",
                "timestamp": f"2026-01-0{number + 1}T00:00:{n:02}Z",
                "message": {"content": c},
            }
            for n, (t, c) in enumerate(rows)
        ]
        path = folder / "projects" / "-work" / f"s{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n")
    return folder / "projects"


@pytest.fixture
def working(tmp_path: Path) -> Iterator[MemOS]:
    """A memory that learns in the background."""
    with MemOS(tmp_path / "home", embedder="none", reward_window=0) as system:
        yield system


def learned(memos: MemOS) -> list[str]:
    """The policies, once all episodes are learned from."""
    memos.flush()
    deadline = time.monotonic() + 30
    while not all(e.learned_at for e in memos.episodes().items):
        assert time.monotonic() < deadline, "it is not learned from"
        time.sleep(0.05)
    return sorted(map(str, memos.policies()))


@pytest.mark.parametrize("made", [plugin_home, hermes_home, openclaw_home, claude_home], ids=lambda f: f.__name__)
def test_imported_work_is_found_and_learned_from_and_there_once(
    working: MemOS, tmp_path: Path, made: Callable[[Path], Path]
) -> None:
    memos, path = working, made(tmp_path / "source")
    first = bring_now(memos, path)
    assert first.new > 0
    assert first.bad == 0
    policies = learned(memos)
    assert any("gcc" in policy for policy in policies)
    if made is not plugin_home:
        assert any("周五" in hit.text for hit in memos.search("用户喜欢哪天发布？"))
    else:
        assert any("packages/web" in hit.text for hit in memos.search("前端代码在哪个目录？"))
        assert "release-notes" in [s.name for s in memos.skills()]
    episodes = memos.episodes()
    again = bring_now(memos, path)
    assert (again.new, again.known) == (0, first.items)
    assert [e.id for e in memos.episodes().items] == [e.id for e in episodes.items]
    assert learned(memos) == policies


def test_messages_of_the_first_plugin_are_read_for_facts(memos: MemOS, tmp_path: Path) -> None:
    old = Plugin(tmp_path / "memos.db", schema=FIRST)
    row = {"session_key": "s", "turn_id": "1", "created_at": BEGAN, "updated_at": BEGAN, "seq": 0}
    old.put("chunks", id="a", role="user", content="我住在上海", **row)
    old.put("chunks", id="b", role="assistant", content="好的", **row)
    assert bring_now(memos, old.path).messages == 2
    memos.flush()
    assert any("上海" in hit.text for hit in memos.search("我住在哪里？"))


def test_an_import_that_was_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    made = Plugin(tmp_path / "memos.db")
    for number in range(60):
        gcc_work(made, number, f"package{number}", BEGAN + number * DAY)
    made.db.close()
    home = tmp_path / "home"
    program = (
        "import sys; from memos import MemOS; from memos.moving.bring import bring_now\n"
        "def told(p): print(p.phase, p.done, flush=True)\n"
        "with MemOS(sys.argv[1], embedder='none', background=False) as m: bring_now(m, sys.argv[2], progress=told)"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", program, str(home), str(made.path)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert running.stdout is not None
    deadline = time.monotonic() + 60
    for line in running.stdout:
        if line.startswith("storing") and int(line.split()[1]) >= 20:
            break
        assert time.monotonic() < deadline
    running.send_signal(signal.SIGKILL)
    running.wait()
    running.stdout.close()
    with MemOS(home, embedder="none", background=False) as memos:
        report = bring_now(memos, made.path)
        assert 0 < report.known < 60
        assert report.known + report.new >= 60
        found = memos.episodes(limit=100).items
        assert len(found) == 60
        assert all(len(memos.episode(e.id).steps) == 5 for e in found)


def test_what_hooks_reported_already_is_not_stored_again(tmp_path: Path) -> None:
    path = claude_home(tmp_path)
    with MemOS(tmp_path / "home", embedder="none") as memos:
        live = {"session": "s0", "agent": "claude-code"}
        memos.start_turn("Install numpy in the container", key="p0:mark", recall=False, **live)
        memos.report_step("Bash", "pip install numpy", error="error: command 'gcc' not found", call_id="c0", **live)
        memos.end_turn("numpy is installed; gcc was missing.", key="p0:reply", **live)
        before = memos.count(kinds=["trace", "tool_call"], filter={"session": "s0"})
        dry = bring_now(memos, path, dry_run=True)
        assert (dry.turns, dry.known, dry.new) == (2, 1, 1)
        done = bring_now(memos, path)
        assert (done.turns, done.known, done.new) == (2, 1, 1)
        assert memos.count(kinds=["trace", "tool_call"], filter={"session": "s0"}) == before
        assert memos.count(kinds=["trace"], filter={"session": "s1"}) == 2
        assert bring_now(memos, path).new == 0
