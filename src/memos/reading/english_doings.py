"""What an English clause says somebody does: what keeps her busy at the time, what she usually does, what she used to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memos.memory.model import Kind
from memos.reading.english_clause import Clause
from memos.reading.english_events import POINTS, VAGUE
from memos.reading.english_life import NO_DOING, NO_HABIT, PRACTISED, REGULAR, STILL_DOING, USUALLY
from memos.reading.finding import Finding
from memos.reading.patterns import PERFECT, PRESENT, PROGRESSIVE
from memos.reading.value import FULL_STOP, Place, trimmed, upto
from memos.reading.wording import conjugated, in_third_person, sentence

_BUSY = re.compile(
    r"(?:(?:real|really|so|super|very|pretty|just|quite|also|still) )*"
    r"(?:(?:busy|into) (?=[a-z]+ing )|on the (?:hunt|lookout) for |in the process of (?=[a-z]+ing ))"
)
_ENDS = re.compile(
    rf"[;!?\n—–(]|:(?!\d)|{FULL_STOP}|\s-\s|,? (?:but|because|so|although|though|which|since|cuz)\b"
    r"|,? and (?:I|it|my|that|they|he|she)\b",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"(?:be|have|think|hate|feel|know|love|like|live|work)\b")


def doing(c: Clause) -> Iterator[Finding]:
    """What keeps the speaker busy at the time: "I'm learning to sail", "I've been painting portraits"."""
    phrase, text = c.phrase, c.text
    if phrase.negated or phrase.modal or phrase.adverbs & {"never", "always", "almost"}:
        return
    if not (phrase.verb == "be" or phrase.tense in (PROGRESSIVE, PERFECT)):
        return
    start, end = c.said
    busy = _BUSY.match(text, phrase.at, c.end) if phrase.verb == "be" and phrase.tense in (PRESENT, PERFECT) else None
    if busy is not None:
        start = busy.end()
        lead = text[busy.end() - len("on the hunt for ") : busy.end()] if "for " in busy[0] else ""
    elif phrase.tense not in (PROGRESSIVE, PERFECT) or not text[phrase.at : phrase.rest].strip().endswith("ing"):
        return
    else:
        lead = ""
    word = text[start:end].split(" ", 1)[0].lower()
    if not lead and word in NO_DOING and not STILL_DOING.match(text, start, end):
        return
    said = text[start:end]
    if not 2 <= len(said.split()) <= 25 or _points(said):
        return
    many = c.subject.form == "we"
    be = ("have been" if many else "has been") if phrase.tense == PERFECT else "are" if many else "is"
    yield c.scene.finding(
        Kind.FACT,
        sentence(c.who, f"{be} {lead}{in_third_person(said[:1].lower() + said[1:])}"),
        "doing",
        (start, end),
        (c.lead, end),
        confidence=0.65 * c.sure,
    )


def habit(c: Clause) -> Iterator[Finding]:
    """What the speaker usually does: "we often hike", "I swim twice a week"."""
    phrase, text = c.phrase, c.text
    verb = phrase.verb
    if phrase.tense != PRESENT or phrase.negated or phrase.modal or verb in NO_HABIT or verb.startswith("can "):
        return
    start = phrase.at
    stop = _ENDS.search(text, start, c.end)
    start, end = trimmed(text, start, stop.start() if stop else c.end)
    said = text[start:end]
    often = sorted(phrase.adverbs & USUALLY)
    regular = REGULAR.search(text, c.start, end)
    practised = verb in PRACTISED
    if not (often or regular or practised) or _points(said) or not 2 <= len(said.split()) <= 20:
        return
    if not said.split()[0].isalpha() and verb not in PRACTISED:
        return
    lead = f"{often[0]} " if often else ""
    tail = f" {regular[0].lower()}" if regular and regular.start() < start else ""
    spoken = in_third_person(said) if c.subject.form == "we" else conjugated(in_third_person(said))
    yield c.scene.finding(
        Kind.FACT,
        sentence(c.who, f"{lead}{spoken}{tail}"),
        "habit",
        (start, end),
        (c.lead, end),
        confidence=0.7 * c.sure,
    )


def former(c: Clause) -> Iterator[Finding]:
    """What the speaker used to do: "I used to row with my brother"."""
    if not c.phrase.used or c.phrase.negated:
        return
    start, end = c.said
    said = c.text[start:end]
    if _USED_TO.match(said) or _points(said) or not 2 <= len(said.split()) <= 25:
        return
    yield c.scene.finding(
        Kind.FACT,
        sentence(c.who, f"used to {in_third_person(said)}"),
        "used to",
        (start, end),
        (c.lead, end),
        confidence=0.8 * c.sure,
        valid=(None, c.scene.now),
        ended=True,
    )


def not_yet(c: Clause) -> Iterator[Finding]:
    """What the speaker has never done: "I haven't tried sailing yet"."""
    phrase = c.phrase
    if phrase.tense != PERFECT or not (phrase.negated or "never" in phrase.adverbs):
        return
    start, end = upto(Place(c.text, phrase.rest, c.end))
    said = c.text[start:end]
    tail = said.rsplit(" ", 1)[-1].lower()
    if (
        tail not in ("yet", "before")
        or phrase.verb in ("be", "see", "hear", "think", "know", "feel")
        or _points("x " + said)
    ):
        return
    yield c.scene.finding(
        Kind.FACT,
        sentence(
            c.who, f"has {'never' if 'never' in phrase.adverbs else 'not'} {in_third_person(c.text[phrase.at : end])}"
        ),
        "not done",
        (phrase.at, end),
        (c.lead, end),
        confidence=0.65 * c.sure,
    )


def _points(said: str) -> bool:
    return (
        POINTS.search(said) is not None
        or VAGUE.search(said) is not None
        or re.search(r"\b(?:you|your|yours|this|that)\b", said, re.IGNORECASE) is not None
    )
