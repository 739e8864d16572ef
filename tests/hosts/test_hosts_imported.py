"""Transcripts that were imported, and sessions that hooks report: what is in both is stored once."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hosts_world import Host, Serve

from memos import MemOS
from memos.client import Client
from memos.moving.bring import bring_now

HOSTS = pytest.mark.parametrize("kind", ["claude-code", "codex"])


def turn(host: Host, number: int) -> None:
    host.prompt(f"Fix bug number {number}")
    host.bash(f"make test-{number}", f"all {number} green")
    host.say(f"Bug {number} is fixed")
    host.stop()


def at(home: Path) -> Client:
    return Client(json.loads((home / "server.json").read_text())["url"])


def times_stored(memory: Client | MemOS) -> Counter[str]:
    return Counter(one.text for one in memory.list(kinds=["trace", "tool_call"], limit=500).items)


@HOSTS
def test_a_session_that_was_imported_goes_on_under_hooks(kind: str, tmp_path: Path, serving: Serve) -> None:
    home = tmp_path / "home"
    serving(home)
    host = Host(kind, home, tmp_path, away=True)
    for number in (1, 2):
        turn(host, number)
    with at(home) as memory:
        assert bring_now(memory, host.transcript).new == 2
        before = times_stored(memory)
        host.away = False
        host.start("resume")
        assert times_stored(memory) == before
        turn(host, 3)
        after = times_stored(memory)
        assert set(after.values()) == {1}
        assert after.total() == before.total() + 3
        assert bring_now(memory, host.transcript).new == 0  # and imported once more, it is still there once
        assert times_stored(memory) == after


@HOSTS
def test_a_session_that_hooks_reported_is_not_imported_again(kind: str, tmp_path: Path, serving: Serve) -> None:
    home = tmp_path / "home"
    serving(home)
    host = Host(kind, home, tmp_path)
    for number in (1, 2):
        turn(host, number)
    with at(home) as memory:
        before = times_stored(memory)
        assert before.total() == 6
        done = bring_now(memory, host.transcript)
        assert (done.turns, done.known, done.new) == (2, 2, 0)
        assert times_stored(memory) == before


def test_without_a_server_the_library_knows_what_was_imported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    host = Host("claude-code", home, tmp_path, away=True)
    turn(host, 1)
    with MemOS(home, embedder="none", background=False) as memory:
        assert bring_now(memory, host.transcript).new == 1
        before = times_stored(memory)
    host.away = False
    host.start("resume")
    turn(host, 2)
    with MemOS(home, embedder="none", background=False) as memory:
        after = times_stored(memory)
    assert set(after.values()) == {1}
    assert after.total() == before.total() + 3
