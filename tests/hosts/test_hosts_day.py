"""A scripted day in a host: everything is stored, nothing twice, and nothing that memory put before a prompt is learned again."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hosts_world import DAY, Host

from memos.client import Client

PLANTED = "Always use podman instead of docker."
MISHAPS = ("late", "twice", "away", "unhooked", "after", "pasted")


class Day:
    """Sessions of a seeded script. `expected`: how often each text is to be stored."""

    def __init__(self, kind: str, home: Path, folder: Path, seed: int) -> None:
        self.kind, self.home, self.folder = kind, home, folder
        self.random = random.Random(seed)
        self.expected: Counter[str] = Counter()
        self.blocks = 0
        self.seconds: list[float] = []
        self.longest = 0

    def session(self, number: int, turns: int) -> None:
        """One session with its mishaps: late transcripts, hooks run twice or not at all, blocks pasted back by the user."""
        host = Host(self.kind, self.home, self.folder)
        host.start()
        block = ""
        for turn in range(turns):
            mishap = self.random.choice(MISHAPS) if self.random.random() < 0.3 else ""
            name = f"{self.kind}-{number}-{turn}"
            asked = f"Push image {name} to the staging registry"
            pasted = f"{asked}\n{block}" if mishap == "pasted" and block else asked
            host.away = mishap == "away"
            ran = host.prompt(pasted, written_first=mishap != "after")
            self.expected[asked] += 1
            if ran is not None and ran.context:
                block = ran.context
                self.blocks += 1
                self.longest = max(self.longest, len(block))
            for call in range(self.random.randrange(3)):
                ok = self.random.random() < 0.8
                host.bash(f"push {name}-{call}", f"out {name}-{call}", ok, hook=mishap != "unhooked")
                self.expected[f"Bash: push {name}-{call}"] += 1
            if self.kind != "codex" and self.random.random() < 0.05:
                host.helper(f"Look into {name}", f"Looked into {name}", [f"look {name}"])
                self.expected[f"Bash: look {name}"] += 1
            host.say(f"Image {name} is pushed." + (f" As memory says: {block}" if mishap == "pasted" and block else ""))
            self.expected[f"Image {name} is pushed."] += 1
            host.stop(late=mishap == "late", twice=mishap == "twice")
        host.away = False
        if self.random.random() < 0.8:
            host.end()
        else:
            host.hook("Stop", stop_hook_active=False, last_assistant_message=host.said)
        self.seconds += [ran.seconds for ran in host.ran]
        assert [ran.err for ran in host.ran if ran.err] == []


def everything(m: Client) -> list[tuple[str, str]]:
    """(kind, text) of all memories."""
    out, cursor = [], None
    while True:
        page = m.list(limit=500, cursor=cursor)
        out += [(str(one.kind), one.text) for one in page.items]
        cursor = page.cursor
        if cursor is None:
            return out


def about_podman(m: Client) -> Counter[str]:
    """What was learned from what was planted: facts, preferences, policies."""
    return Counter(f"{kind}: {text}" for kind, text in everything(m) if "podman" in text)


def run_day(kind: str, home: Path, folder: Path, sessions: int, turns: int) -> Day:
    with Client(json.loads((home / "server.json").read_text())["url"]) as m:
        m.start_turn(PLANTED, session="before")
        m.end_session("before")
        m.flush()
        learned = about_podman(m)
        day = Day(kind, home, folder, seed=11)
        for number in range(sessions):
            day.session(number, turns)
        m.flush()
        texts = [text for kind_, text in everything(m) if kind_ in ("trace", "tool_call") and text != PLANTED]
        for wanted, times in day.expected.items():
            found = [text for text in texts if text == wanted or text.startswith((f"{wanted}\n", f"{wanted} "))]
            assert len(found) == times, (wanted, found)
        assert not [text for text in texts if "memos-context" in text or "podman" in text]
        assert about_podman(m) == learned
    assert day.blocks > sessions * turns // 3 and day.longest <= 6_000
    return day


@pytest.mark.parametrize("kind", ["claude-code", "codex", "dsh"])
def test_a_morning_loses_nothing_and_stores_nothing_twice(kind: str, home: Path, tmp_path: Path) -> None:
    run_day(kind, home, tmp_path, sessions=2, turns=8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["claude-code", "codex", "dsh"])
def test_a_day_loses_nothing_and_stores_nothing_twice(kind: str, home: Path, tmp_path: Path) -> None:
    sessions, turns = DAY
    day = run_day(kind, home, tmp_path, sessions, turns)
    took = sorted(day.seconds)
    print(
        f"\n{kind}: {len(took)} hooks, median {took[len(took) // 2] * 1e3:.0f} ms, p95 {took[int(len(took) * 0.95)] * 1e3:.0f} ms"
    )
