"""Whether a user message corrects what was done, goes on with it, or begins another task: rules in order, English and Chinese.

Tool calls count for nothing here, and there is no number of turns after which a task must end. What a rule is sure of (`SURE`)
stands; of the rest a model may be asked (`memos.evolution.episodes.boundary_model`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from memos.evolution.episodes import boundary_words as w
from memos.evolution.value import signals
from memos.memory.episode import Relation, RelationKind
from memos.text.analysis import analyze

TaskChoice = Literal["auto", "new", "same"]

SURE: Final = 0.85  # a rule that is so sure needs no model
REACH: Final = timedelta(days=3)  # how long after its last message a task may still be corrected
PAUSE: Final = timedelta(minutes=30)  # after which a message that fits nothing is rather another task
SHORT: Final = 60  # characters (20 in Chinese) of a message that may lean on the one before
QUOTED, QUOTED_CJK = 16, 8  # characters of the reply that a message must repeat to quote it
BEGINNING: Final = 40  # characters of a long message in which a word points back at what was before it
OVERLAP: Final = 0.34  # share of a message's content terms that the task has, from which on it is about the same
_LOOKED_AT = 4_000  # characters of each text

REVISION, FOLLOW_UP, NEW_TASK = RelationKind.REVISION, RelationKind.FOLLOW_UP, RelationKind.NEW_TASK


@dataclass(frozen=True, slots=True)
class Before:
    """What came before a message: the goal of the episode, the last things said in it, when, and whether it is still open."""

    goal: str
    user: str
    assistant: str
    last_at: datetime
    is_open: bool = True


_CJK = re.compile(r"[㐀-鿿]")
_WHITE = re.compile(r"\s+")


def relate(text: str, before: Before | None, at: datetime, gap: timedelta, choice: TaskChoice = "auto") -> Relation:
    """How a message stands to the episode before it. `choice`: what the caller says, which wins. `gap`: after which a message
    begins another task, unless it corrects something.
    """
    if before is None:
        told = "there is no task to go on with" if choice == "same" else "the first message of the session"
        return Relation(NEW_TASK, 1.0, told)
    if choice == "new":
        return Relation(NEW_TASK, 1.0, "the caller says that it is another task")
    if choice == "same":
        kind = REVISION if signals.corrects(text) else FOLLOW_UP
        return Relation(kind, 1.0, "the caller says that it is the same task")
    passed = at - before.last_at
    if passed > gap:
        if passed <= REACH and signals.corrects(text) and _speaks_of(text, before) and not w.NEW_TOPIC.search(text):
            return Relation(REVISION, 0.85, "it corrects what was done, although some time ago")
        return Relation(NEW_TASK, 0.9, f"nothing was said for {_spoken(passed)}")
    return _by_words(text[:_LOOKED_AT].strip(), before, passed)


def _by_words(text: str, before: Before, passed: timedelta) -> Relation:
    if w.NEW_TOPIC.search(text):
        return Relation(NEW_TASK, 0.9, "it says that it is about something else")
    if signals.is_only_about_before(text):
        return Relation(FOLLOW_UP, 0.9, "it only says what came of the task")
    if signals.gives_up(text):
        return Relation(NEW_TASK, 0.75, "it calls the task off and asks for something else")
    if signals.corrects(text):
        return Relation(REVISION, 0.9, "it says that what was done is wrong")
    if signals.said_again(text, before.user):
        return Relation(REVISION, 0.75, "it asks for the same again")
    short = len(text) <= (SHORT // 3 if _CJK.search(text) else SHORT)
    request, asked = w.REQUEST.search(text) is not None, w.ASKS_BACK.search(before.assistant[-200:]) is not None
    share = overlap(text, before)
    if short and (w.ANSWERS.search(text) or (asked and not (request and _stands_alone(text, share)))):
        return Relation(FOLLOW_UP, 0.85, "it answers the reply before it")
    if _quotes(text, before.assistant):
        return Relation(FOLLOW_UP, 0.85, "it quotes the reply before it")
    if short and w.POINTS.search(text):
        return Relation(FOLLOW_UP, 0.85, "it is short and points back")
    leans = _leans(text, short)
    if w.GOES_ON.search(text):
        sure = 0.85 if share > 0 or leans or short else 0.65
        return Relation(FOLLOW_UP, sure, "it goes on with the task in words")
    if share >= OVERLAP:
        return Relation(FOLLOW_UP, 0.75, "it is about the same things")
    if leans:
        return Relation(FOLLOW_UP, 0.7, "it points back at what was said or made")
    if w.GREETING.search(text):
        return Relation(NEW_TASK, 0.6, "it begins with a greeting")
    if passed > PAUSE:
        return Relation(NEW_TASK, 0.75, f"it is about other things, {_spoken(passed)} later")
    if short and w.SHOWS.search(text):
        return Relation(FOLLOW_UP, 0.6, "it asks to be shown what must be there")
    if short and w.WORKFLOW.search(text):
        return Relation(FOLLOW_UP, 0.65, "it is what usually follows")
    if not request and short:
        return Relation(FOLLOW_UP, 0.6, "it is short and asks for nothing by itself")
    if _stands_alone(text, share):
        return Relation(NEW_TASK, 0.7, "it is a request of its own, about other things")
    return Relation(FOLLOW_UP, 0.5, "nothing says that it is another task")


def overlap(text: str, before: Before) -> float:
    """The share of a message's content terms that the task before it has, 0 to 1; 0 for a message without any."""
    mine = set(analyze(text[:_LOOKED_AT], query=True).content_terms())
    if not mine:
        return 0.0
    theirs: set[str] = set()
    for said in (before.goal, before.user, before.assistant):
        theirs.update(analyze(said[:_LOOKED_AT], query=True).content_terms())
    return len(mine & theirs) / len(mine)


def _speaks_of(text: str, before: Before) -> bool:
    """Whether a correction that comes late can only be of this task: it has words of it, or none that could be of another."""
    return overlap(text, before) > 0 or len(analyze(text[:_LOOKED_AT]).content_terms()) <= 4


def _leans(text: str, short: bool) -> bool:
    """Whether a message points back: a long one only where it begins, for after that it speaks of what it names itself."""
    return w.LEANS.search(text if short else text[:BEGINNING]) is not None


def _stands_alone(text: str, share: float) -> bool:
    """Whether a message says enough to be a request by itself, and shares nothing with the task."""
    return share == 0 and len(set(analyze(text, query=True).content_terms())) >= 2


def _quotes(text: str, reply: str) -> bool:
    """Whether a message repeats a piece of the reply: a run of so many characters."""
    size = QUOTED_CJK if _CJK.search(text) else QUOTED
    mine, theirs = (_WHITE.sub(" ", t[:_LOOKED_AT]).lower() for t in (text, reply))
    if len(mine) < size or len(theirs) < size:
        return False
    runs = {theirs[i : i + size] for i in range(len(theirs) - size + 1)}
    return any(mine[i : i + size] in runs for i in range(len(mine) - size + 1))


def _spoken(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    if minutes < 120:
        return f"{minutes} minutes"
    return f"{minutes // 60} hours" if minutes < 2880 else f"{minutes // 1440} days"
