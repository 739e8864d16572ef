"""Every event that learning tells of has a row in the table of docs/learning.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAME = re.compile(r'"((?:episode|policy|world|skill|hint|trial)\.[a-z_]+)"')
_TABLE = re.compile(r"^\| (`[^|]+`) \|", re.M)


def test_every_event_is_explained() -> None:
    told: set[str] = set()
    for room in ("evolution", "evolving"):
        for file in (ROOT / "src" / "memos" / room).rglob("*.py"):
            text = file.read_text("utf-8")
            if "tell(" in text:
                told |= set(_NAME.findall(text))
    told |= {f"policy.{state}" for state in ("candidate", "active", "retired")}
    told |= {f"skill.{state}" for state in ("probation", "active", "retired")} | {"policy.trial", "skill.trial"}
    page = (ROOT / "docs" / "learning.md").read_text("utf-8").partition("### Events")[2]
    explained = {name for cell in _TABLE.findall(page) for name in re.findall(r"`([^`]+)`", cell)}
    assert len(told) > 25
    assert told <= explained, sorted(told - explained)
