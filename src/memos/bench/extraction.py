"""How much of what a conversation teaches the rules find, and how much of what they find is right.

Turns drawn at random from LoCoMo were labelled by hand (`extraction.tsv`: turn ids and what is to be learned, not their text). A
statement of a labelled turn that no label asks for counts as wrong, so precision is the lower bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.resources import files

from memos.bench.locomo import Conversation
from memos.bench.pages import table
from memos.memory.message import Message
from memos.memory.model import Kind
from memos.memory.time import utcnow
from memos.reading.finding import Finding
from memos.reading.messages import parse_messages
from memos.reading.rules import read_message

_GROUPS: Mapping[str, str] = {"profile": "profile", "fact": "profile", "preference": "preferences"}
TUNED_ON = ("26", "30", "41")


@dataclass(frozen=True, slots=True)
class Label:
    """Something to be learned from a turn: its kind, the words a statement of it must hold, and when it was."""

    kind: str
    words: tuple[str, ...]
    since: datetime | None = None
    until: datetime | None = None


@dataclass(slots=True)
class Score:
    """Counts over some turns. `asked` labels, `found` of them, `said` statements, `right` of them; `dated` labels, `on_time`."""

    asked: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    found: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    turns: int = 0
    said: int = 0
    right: int = 0
    dated: int = 0
    on_time: int = 0


def labels() -> dict[str, tuple[Label, ...]]:
    """The labels by turn, `conversation:dia_id`; a turn with none teaches nothing."""
    out: dict[str, tuple[Label, ...]] = {}
    for line in files("memos.bench").joinpath("extraction.tsv").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        turn, kind, words, days = (*line.split("\t"), "", "")[:4]
        first, _, last = days.partition("..")
        since = datetime.fromisoformat(first).replace(tzinfo=UTC) if first else None
        until = datetime.fromisoformat(last or first).replace(tzinfo=UTC) if first else None
        more = () if kind == "-" else (Label(kind, tuple(words.split()), since, until),)
        out[turn] = (*out.get(turn, ()), *more)
    return out


def score(conversations: Iterable[Conversation]) -> dict[str, Score]:
    """The scores of the conversations that rules were tuned on, of the others, and of all."""
    wanted = labels()
    out: dict[str, Score] = {name: Score() for name in ("tuned on", "held out", "all")}
    for conversation in conversations:
        part = "tuned on" if conversation.name in TUNED_ON else "held out"
        for turn, before in _turns(conversation):
            known = wanted.get(f"{conversation.name}:{turn.message_id}")
            if known is not None:
                findings = [f for f in read_message(turn, previous=before) if f.kind is not Kind.ENTITY]
                for name in (part, "all"):
                    _count(out[name], known, findings)
    return {name: found for name, found in out.items() if found.turns}


def _turns(conversation: Conversation) -> Iterator[tuple[Message, Sequence[Message]]]:
    for _, messages in conversation.sessions:
        before: tuple[Message, ...] = ()
        for message in messages:
            if parsed := parse_messages([message], now=utcnow(), zone="UTC").messages:
                yield parsed[0], before
                before = parsed


def _count(into: Score, known: Sequence[Label], findings: Sequence[Finding]) -> None:
    into.turns += 1
    into.said += len(findings)
    into.right += sum(any(_tells(f, label) for label in known) for f in findings)
    for label in known:
        group = _GROUPS.get(label.kind, "events and plans")
        into.asked[group] += 1
        telling = [f for f in findings if _tells(f, label)]
        into.found[group] += bool(telling)
        if label.since is not None and telling:
            into.dated += 1
            into.on_time += any(_on_time(f, label) for f in telling)


def _tells(finding: Finding, label: Label) -> bool:
    said = f"{finding.text} {finding.value}".casefold()
    return all(word in said for word in label.words)


def _on_time(finding: Finding, label: Label) -> bool:
    when = finding.valid_from or (finding.due[0] if finding.due else None)
    until = label.until
    return (
        when is not None
        and until is not None
        and label.since is not None
        and (label.since <= when < until + timedelta(days=1))
    )


def report(scores: Mapping[str, Score]) -> str:
    """The table."""
    groups = ("profile", "preferences", "events and plans")
    rows = []
    for name, s in scores.items():
        asked, found = sum(s.asked.values()), sum(s.found.values())
        each = [f"{s.found[g]} of {s.asked[g]}" for g in groups]
        right = f"{s.right} of {s.said} ({s.right / max(1, s.said):.2f})"
        dates = f"{s.on_time} of {s.dated}"
        rows.append([name, s.turns, right, f"{found} of {asked} ({found / max(1, asked):.2f})", *each, dates])
    return table(["conversations", "turns", "precision", "recall", *groups, "right day, of those found"], rows)
