"""A scripted day of OpenClaw through the plugin's hooks, with gateways that are killed, a plugin that is off, a server that is away,
events that come twice, and blocks that are pasted back.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from hosts_world import DAY, Serve
from openclaw_world import Gateway, Session, node

from memos.client import Client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(node() is None, reason="NOT TESTED: the plugin for OpenClaw needs Node 20 or later"),
]
SESSIONS, TURNS = DAY
TOKENS = 300
RULE = "Always answer in British English."


def everything(home: Path) -> tuple[Counter[str], list[str]]:
    """What was stored, and the policies that were made of it."""
    with Client(json.loads((home / "server.json").read_text())["url"]) as m:
        out: Counter[str] = Counter()
        cursor = None
        while True:
            page = m.list(kinds=["trace", "tool_call"], limit=500, cursor=cursor)
            out.update(one.text for one in page.items)
            cursor = page.cursor
            if cursor is None:
                return out, [one.text for one in m.list(kinds=["policy"], limit=500).items]


def test_a_day_of_openclaw_loses_nothing_and_stores_nothing_twice(tmp_path: Path, serving: Serve) -> None:
    home, chance = tmp_path / "home", random.Random(6)
    server = serving(home)
    config = {"maxTokens": TOKENS}
    gateway = Gateway(home, config)
    sessions = [Session(gateway, id=f"day-{number}") for number in range(SESSIONS)]
    wanted: Counter[str] = Counter()
    blocks: list[str] = []
    turns = [number for number in range(SESSIONS) for _ in range(TURNS)]
    chance.shuffle(turns)
    begun: set[int] = set()
    for count, number in enumerate(turns):
        session = sessions[number]
        session.gateway = gateway
        session.away = number in begun and chance.random() < 0.06  # from its first turn on, the plugin knows a session
        begun.add(number)
        text = RULE if count == 0 else f"Request {count}: look at part {number} of the harbour"
        pasted = bool(blocks) and chance.random() < 0.1
        block = session.prompt(f"{blocks[-1]}\n{text}" if pasted else text)
        blocks += [block] if block else []
        wanted[text] += 1
        if chance.random() < 0.03 and not session.away:
            session.build("Go on.")  # a prompt that is built again
        for step in range(chance.randrange(3)):
            fails = chance.random() < 0.2
            session.bash(f"check {count}.{step}", f"out {count}.{step}", code=int(fails))
            said = f"error: Exit code 1\nout {count}.{step}" if fails else f"ok\nout {count}.{step}"
            wanted[f"Bash: check {count}.{step}\n{said}"] += 1
        reply = f"Reply {count}."
        session.say(f"{reply} {blocks[-1]}" if pasted else reply)
        wanted[reply] += 1
        if chance.random() < 0.04:
            gateway.kill()
            session.keep()
            gateway = Gateway(home, config)
        else:
            session.end(times=2 if chance.random() < 0.1 else 1)
        if count == len(turns) * 2 // 5:
            server.kill()
            server.wait()
        if count == len(turns) // 2:
            serving(home)
    for session in sessions:
        session.gateway, session.away = gateway, False
        session.prompt(f"Goodbye from {session.id}")
        wanted[f"Goodbye from {session.id}"] += 1
        session.end()
        session.close()
    found, policies = everything(home)
    assert found - wanted == Counter(), "stored twice, or not said"
    assert wanted - found == Counter(), "lost"
    assert blocks and max(map(len, blocks)) <= TOKENS * 4
    assert sum("British" in policy for policy in policies) == 1
    assert gateway.spool == []
    gateway.__exit__()
