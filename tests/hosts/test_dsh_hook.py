"""The events that our plugin in DeepSeek Harness hands to the hook: failures in their order, journals that go, sessions cut off."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from hosts_world import Host

from memos import MemOS
from memos.client import Client


def listed(home: Path) -> list[str]:
    """What is stored, in the order in which it happened."""
    with Client(json.loads((home / "server.json").read_text())["url"]) as m:
        return [one.text for one in reversed(m.list(kinds=["trace", "tool_call"], limit=500).items)]


def session(home: Path, folder: Path, id: str = "session-1") -> Host:
    (home / "hosts" / "dsh").mkdir(parents=True, exist_ok=True)
    host = Host("dsh", home, folder, session=id)
    host.transcript = home / "hosts" / "dsh" / f"{id}.jsonl"
    return host


def test_a_failure_is_told_behind_the_calls_before_it(home: Path, tmp_path: Path) -> None:
    host = session(home, tmp_path)
    host.start()
    host.prompt("Build the harbour")
    host.bash("look", "fine")
    assert host.bash("make", "no rule", ok=False) is not None
    assert listed(home) == ["Build the harbour", "Bash: look\nok\nfine", "Bash: make\nerror: Exit code 1\nno rule"]
    host.bash("make all", "built")
    host.say("It is built.")
    host.stop()
    assert listed(home)[3:] == ["Bash: make all\nok\nbuilt", "It is built."]


def test_three_failures_in_a_row_give_the_hint_and_one_success_between_does_not(home: Path, tmp_path: Path) -> None:
    host = session(home, tmp_path)
    host.prompt("Build the harbour")
    told = [host.bash("make harbour", "no rule", ok=False) for _ in range(2)]
    host.bash("make harbour", "built")
    told.append(host.bash("make harbour", "no rule", ok=False))
    assert not any(ran.context for ran in told if ran is not None)
    host.bash("make harbour", "no rule", ok=False)
    last = host.bash("make harbour", "no rule", ok=False)
    assert last is not None and "do not repeat" in last.context


def test_the_journal_goes_with_the_session_and_a_resumed_one_begins_another(home: Path, tmp_path: Path) -> None:
    host = session(home, tmp_path)
    for text in ("Build the harbour", "Build the harbour wall and then paint all of it, as long as the weather stays"):
        host.start()
        host.prompt(text)
        host.say(f"Done: {text}")
        host.stop()
        host.end()
        assert not host.transcript.exists()
    asked = [text for text in listed(home) if not text.startswith("Done")]
    assert len(asked) == 2 and len(listed(home)) == 4


def test_what_was_not_told_keeps_the_journal_until_it_is(home: Path, tmp_path: Path) -> None:
    host = session(home, tmp_path, "session-1")
    host.args = ("--no-embedded",)
    found = (home / "server.json").rename(home / "hidden.json")
    host.prompt("Build the harbour")
    host.say("Built.")
    host.stop()
    host.end()
    found.rename(home / "server.json")
    assert host.transcript.exists() and not listed(home)
    session(home, tmp_path, "session-2").start()
    assert listed(home) == ["Build the harbour", "Built."]


def test_a_session_that_was_cut_off_is_taken_over_and_its_journal_goes_after_a_day(home: Path, tmp_path: Path) -> None:
    cut = session(home, tmp_path, "session-1")
    cut.prompt("Build the harbour")
    cut.bash("look", "fine")
    cut._call("call-9", "Bash", {"command": "make"})
    session(home, tmp_path, "session-2").start()
    assert listed(home) == ["Build the harbour"]  # it may go on still
    aged(cut.transcript, 120)
    session(home, tmp_path, "session-3").start()
    assert listed(home) == ["Build the harbour", "Bash: look\nok\nfine"] and cut.transcript.exists()
    aged(cut.transcript, 90_000)
    session(home, tmp_path, "session-4").start()
    assert not cut.transcript.exists()
    assert listed(home)[2:] == ["Bash: make"]


def test_without_a_server_the_library_is_opened_and_the_same_is_stored(tmp_path: Path) -> None:
    home = tmp_path / "home"
    host = session(home, tmp_path)
    host.start()
    host.prompt("Always use podman instead of docker")
    host.bash("look", "fine")
    host.bash("make", "no rule", ok=False)
    host.say("It is built.")
    host.stop()
    host.end()
    with MemOS(home, embedder="none", background=False) as m:
        texts = sorted(one.text for one in m.list(kinds=["trace", "tool_call"], limit=50).items)
    assert texts == sorted(
        [
            "Always use podman instead of docker",
            "Bash: look\nok\nfine",
            "Bash: make\nerror: Exit code 1\nno rule",
            "It is built.",
        ]
    )
    assert not host.transcript.exists()


def aged(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))
