"""LoCoMo conversations for the benchmark: read from a folder you have (the data is CC BY-NC and never ships with
MemOS).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memos.errors import InvalidInput

CATEGORIES: Mapping[int, str] = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_WHEN = re.compile(r"(\d+):(\d+) ([ap]m) on (\d+ \w+, \d{4})")


@dataclass(frozen=True, slots=True)
class Item:
    """A question, the message ids that hold its evidence, and its category."""

    question: str
    evidence: tuple[str, ...]
    category: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: sessions of chat messages as `add` takes them, and its questions."""

    name: str
    sessions: tuple[tuple[str, tuple[dict[str, Any], ...]], ...]
    items: tuple[Item, ...]


def load(folder: Path, only: tuple[str, ...] = ()) -> Iterator[Conversation]:
    """Every conversation of a folder, in order of name. Raises InvalidInput when there is none."""
    files = [f for f in sorted(folder.glob("*.json")) if not only or f.stem in only]
    if not files:
        raise InvalidInput(f"no conversation (*.json) in {folder}; name the folder of the LoCoMo files with --data")
    for file in files:
        yield _conversation(file)


def _conversation(file: Path) -> Conversation:
    raw = json.loads(file.read_text(encoding="utf-8"))
    sessions = []
    n = 1
    while f"session_{n}" in raw:
        when = _time(raw.get(f"session_{n}_date_time", ""))
        messages = []
        for turn in raw[f"session_{n}"]:
            text = turn.get("text") or turn.get("clean_text") or ""
            if turn.get("blip_caption"):
                text += f" [shares a photo: {turn['blip_caption']}]"
            role = "user" if turn["speaker"] == raw["speaker_a"] else "assistant"
            message = {"role": role, "name": turn["speaker"], "content": text, "message_id": turn["dia_id"]}
            messages.append(message | ({"chat_time": when.isoformat()} if when else {}))
        sessions.append((f"session_{n}", tuple(messages)))
        n += 1
    known = {m["message_id"] for _, ms in sessions for m in ms}
    items = []
    for q in raw["qa"]:
        named = dict.fromkeys(e for x in q.get("evidence", []) for e in re.findall(r"D\d+:\d+", x))
        evidence = tuple(e for e in named if e in known)
        if evidence:
            items.append(Item(q["question"], evidence, CATEGORIES[q["category"]]))
    return Conversation(file.stem, tuple(sessions), tuple(items))


def _time(text: str) -> datetime | None:
    found = _WHEN.match(text)
    if not found:
        return None
    hour, minute, half, day = found.groups()
    return datetime.strptime(f"{hour}:{minute} {half.upper()} {day}", "%I:%M %p %d %B, %Y").replace(tzinfo=UTC)
