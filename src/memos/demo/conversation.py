"""The demo's conversation and its questions, read from the data file beside this module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation: its name, and chat messages as `add` takes them."""

    name: str
    messages: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the clock it is asked under, and the `message_id`s that answer it (none: nothing does)."""

    text: str
    evidence: tuple[str, ...]
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The whole demo. `asked_on` is the day the questions are asked, which "this year" is relative to."""

    user: str
    asked_on: str
    sessions: tuple[Session, ...]
    questions: tuple[Question, ...]

    @property
    def messages(self) -> tuple[dict[str, Any], ...]:
        """All messages, in order."""
        return tuple(m for s in self.sessions for m in s.messages)


def conversation() -> Conversation:
    """The conversation that ships with MemOS."""
    data = json.loads(files("memos.demo").joinpath("conversation.json").read_text("utf-8"))
    return Conversation(
        user=data["user"],
        asked_on=data["asked_on"],
        sessions=tuple(Session(s["session"], tuple(s["messages"])) for s in data["sessions"]),
        questions=tuple(Question(q["text"], tuple(q["evidence"]), q.get("as_of")) for q in data["questions"]),
    )
