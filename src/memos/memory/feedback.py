"""What a user says of what is remembered, as values: what is meant (`FeedbackIntent`) and what came of it (`FeedbackResult`).

Pure data between rooms; nothing here reads a text or changes a memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from memos.memory.statement import Correction, Mention, Statement

Rating = Literal["up", "down", "succeeded", "failed"]
RATINGS: tuple[Rating, ...] = ("up", "down", "succeeded", "failed")


class Operation(StrEnum):
    """What feedback does: put right what was wrong, add, put one word for another wherever it is, take back, agree, or say how
    one wants to be answered. `RATE` is a thumb, or how a task ended: evidence on what was used.
    """

    CORRECT = "correct"
    SUPPLEMENT = "supplement"
    REPLACE = "replace"
    FORGET = "forget"
    CONFIRM = "confirm"
    PREFER = "prefer"
    RATE = "rate"


@dataclass(frozen=True, slots=True)
class Topic:
    """What is to be forgotten. `words` name it ("ex", "phone number"), `mine`: of the speaker herself ("my ex").

    `attributes`: what facts call it ("phone"); `keys`: the facts a clause states ("that I like coffee"). `broad`: everything that
    is about it ("everything about", "what I said about"), not one thing called so. `pointing`: no more than "that".
    """

    words: str = ""
    mine: bool = False
    attributes: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    broad: bool = False
    pointing: bool = False


@dataclass(frozen=True, slots=True)
class FeedbackIntent:
    """One thing that feedback asks for. `start` and `end`: the characters of the feedback that say so.

    Of a correction: the `corrections` of words, or `statements` of what is right instead. Of a supplement, a preference, or a
    fact told again: `statements`. Of a replacement: `old` and `new`. `refused`: what was said before is called wrong.
    `ids`: the memories that are meant, where whoever read the feedback was shown them.
    """

    operation: Operation
    start: int
    end: int
    corrections: tuple[Correction, ...] = ()
    statements: tuple[Statement, ...] = ()
    old: str = ""
    new: str = ""
    topic: Topic | None = None
    refused: bool = False
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeedbackReading:
    """What a text of feedback asks for. `unclear`: why it asks for nothing that could be done ("" where it asks for nothing)."""

    intents: tuple[FeedbackIntent, ...] = ()
    unclear: str = ""
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class Told:
    """A memory by id, and what it says (or said, where it was changed). The id is empty for what a dry run would make."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Made:
    """A memory that is new or says something new. `replaces`: the id of the one whose place it takes (its own, where it is a new
    version of that one).
    """

    id: str
    text: str
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class FeedbackDone:
    """One operation: to which memories, as they were, it was done, what was made, and the words that asked for it."""

    operation: Operation
    targets: tuple[Told, ...] = ()
    made: tuple[Made, ...] = ()
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """What came of feedback. `understood` False: nothing was changed, `message` says why, and `candidates` are memories that may
    have been meant; their ids can be given as `targets`.

    `record` is the raw record of the words themselves (None for a dry run); undoing it undoes everything that was done.
    `pending`: it is only stored so far, and `task` is the task that reads it. `answer`: the answer put right, where asked for.
    """

    cube: str
    operations: tuple[FeedbackDone, ...] = ()
    understood: bool = False
    message: str = ""
    candidates: tuple[Told, ...] = ()
    record: str | None = None
    dry_run: bool = False
    pending: bool = False
    task: str | None = None
    answer: str | None = None
