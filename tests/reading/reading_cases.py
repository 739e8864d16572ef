"""How the tables of the reading tests are written: "attribute:value" with marks, for findings that are no entities.

Marks after the value: ``-`` disliked or denied, ``!`` ended, ``~`` negated. ``subject/`` before the attribute where the
finding is not about the speaker. Events are left out unless asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from memos.memory.message import Message
from memos.memory.model import Kind
from memos.reading.finding import Finding
from memos.reading.rules import read_message

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)  # a Wednesday


def say(text: str, role: str = "user", name: str | None = None) -> Message:
    return Message(role=role, text=text, time=NOW, name=name)


def facts(message: Message | str, previous: Sequence[Message] = (), user: str | None = None) -> list[Finding]:
    message = say(message) if isinstance(message, str) else message
    found = read_message(message, user=user, previous=previous)
    return [finding for finding in found if finding.kind not in (Kind.ENTITY, Kind.EVENT)]


def shown(findings: Sequence[Finding], subject: str = "user") -> list[str]:
    return [
        ("" if f.subject == subject else f"{f.subject}/")
        + f"{f.attribute}:{f.value}"
        + ("-" if f.polarity == "-" else "")
        + ("!" if f.ended else "")
        + ("~" if f.negated else "")
        for f in findings
    ]


def read(text: str) -> list[str]:
    return shown(facts(text))
