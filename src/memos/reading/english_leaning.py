"""English clauses that lean on another word, and events that befall what is the speaker's: "since I moved", "the book I read
last year", "my old school was flooded last week".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memos.reading.english_clause import Clause, Subject
from memos.reading.english_events import happened, made, undated
from memos.reading.english_life import LATELY
from memos.reading.finding import Finding
from memos.reading.scene import Scene
from memos.reading.verb_phrase import parse

_JOINTS = frozenset(("since", "after", "when", "while", "where"))
_THING_BEFORE = re.compile(
    r"(?P<np>\b(?:an?|the|this|my|our|some|these)(?: (?!(?:an?|the|this|my|our|is|of|that)\b)[\w'’-]+){1,4})"
    r" (?:that |which )?$",
    re.IGNORECASE,
)
_PAST_THING = re.compile(
    r"(?P<np>(?:[a-z][\w'’-]* ){1,3}?)(?=(?:was|were|got|took|came|went|made|left|had|broke|arrived|burned|crashed|collapsed"
    r"|fell|opened|closed|started|won|lost|[a-z]+ed)\b)"
)


def leaning(scene: Scene, match: re.Match[str], start: int, end: int, clause_end: int) -> Iterator[Finding]:
    """What happened, by a clause of the sentence [`start`, `end`) whose subject `match` stands after "since", "when", or the noun
    that the clause tells of.
    """
    word, text = match[0].lower(), scene.text
    before = text[start : match.start()]
    if word not in ("i", "we") or not before:
        return
    joint = before.split()[-1].lower() if before.endswith(" ") else ""
    thing = None
    if joint not in _JOINTS:
        if not (scene.dates_in(match.end(), clause_end) or LATELY.search(text, match.end(), clause_end)):
            return
        thing = _THING_BEFORE.search(before[-60:])
        if thing is None:
            return
    phrase = parse(text, match.end(), end)
    if phrase is None or phrase.modal:
        return
    subject = Subject(scene.subject, scene.who, word)
    clause = Clause(scene, subject, phrase, match.start(), end, match.start(), clause_end)
    if thing is not None:
        yield from made(clause, thing["np"], match.start() - len(before[-60:]) + thing.start("np"))
    else:
        yield from [*happened(clause)] or undated(clause)


def befell(scene: Scene, match: re.Match[str], start: int, end: int, clause_end: int) -> Iterator[Finding]:
    """What happened to something of the speaker's, "my …", at a date."""
    if not scene.dates_in(start, end):
        return
    thing = _PAST_THING.match(scene.text, match.end() + 1, clause_end)
    phrase = parse(scene.text, thing.end("np"), end) if thing else None
    if thing is not None and phrase is not None and not phrase.modal:
        subject = Subject("", f"{scene.who}'s {thing['np'].strip()}", "thing")
        yield from happened(Clause(scene, subject, phrase, start, end, match.start(), clause_end))
