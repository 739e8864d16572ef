"""What an English clause says somebody does: what keeps her busy at the time, what she usually does, what she used to do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memos.memory.model import Kind
from memos.reading.english_clause import Clause
from memos.reading.english_events import POINTS, VAGUE
from memos.reading.finding import Finding
from memos.reading.patterns import PAST, PERFECT, PRESENT, PROGRESSIVE, words
from memos.reading.value import FULL_STOP, Place, trimmed, upto
from memos.reading.wording import conjugated, in_third_person, sentence

_BUSY = re.compile(
    r"(?:(?:real|really|so|super|very|pretty|just|quite|also|still) )*(?:(?:busy|into) (?=[a-z]+ing )|on the (?:hunt|lookout) for |in the process of (?=[a-z]+ing ))"
)
# What is said while one speaks, felt or wished is nothing that one does.
_NO_DOING = words(
    """
    thinking hoping feeling wondering wishing talking telling saying asking kidding joking being having getting looking
    loving enjoying liking missing seeing hearing keeping coming leaving letting giving sending wishing dying counting
    hanging rooting cheering waiting sitting standing lying making taking sharing starting finding going doing becoming
    beginning dealing struggling suffering worrying freaking crying laughing smiling living staying holding putting
    thanking using knowing wanting needing meaning believing continuing facing experiencing figuring reminding
    supporting excited interesting amazing exciting pushing working trying improving bringing showing stepping guessing
    planning intending
    learn work go do be have get live like love enjoy hate plan use drive move volunteer leave attend play speak
    """
)
# Some of them are, with the right words after them.
_STILL_DOING = re.compile(
    r"(?:working (?:on|with|as|towards?) (?:a|an|the|my|our|some|two|new|improving|getting|making|building|[A-Z])"
    r"|looking (?:for|at|into) (?:a|an|new|different|some|my|our|places?|[a-z]+s\b)|taking (?:a|an|some|up|[\w]+ (?:classes|lessons|courses))\b|making (?:a|an|some|my own|our own)\b"
    r"|trying (?:out |to (?:get|start|learn|find|build|set up|improve|organi[sz]e|become|save|raise|lose|grow) )"
    r"|doing (?:a|an|some|my|[a-z]*ing\b|yoga|crafts|research|volunteer)|learning (?:to |how to |about |the |some |[a-z]{4,})|starting (?:a|an|my|our) |using (?:a|an|my) "
    r"|playing (?:in|with|the|a) |studying |volunteering |attending |going (?:to (?:a|an|the) [\w ]*?(?:class|group|gym|meetings?)))"
)
_USUALLY = words("usually often regularly frequently normally typically generally sometimes mostly mainly always")
_REGULAR = re.compile(
    r"\b(?:every (?:day|week|weekend|month|year|morning|evening|night|summer|winter|spring|fall|monday|tuesday|wednesday"
    r"|thursday|friday|saturday|sunday|other \w+)|(?:once|twice|(?:two|three|four|five|\d) times) (?:a|per|every) (?:day|week|month|year)"
    r"|on (?:weekends|mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays|weekdays)|in my (?:free|spare) time"
    r"|most (?:days|weekends|mornings|evenings|nights)|(?:daily|weekly|monthly))\b",
    re.IGNORECASE,
)
_NO_HABIT = words(
    """
    think know feel say forget imagine remember wonder seem believe find like love enjoy hate be mind see hear want wish
    need hope tell appreciate mean guess bet agree understand promise thank admire get have can do keep
    """
)
# Verbs of work and play: in the plain present they tell a habit by themselves.
_PRACTISED = words(
    """
    run jog swim hike bike cycle ski surf climb dance sing paint draw sketch knit sew crochet bake cook garden coach teach tutor
    mentor volunteer meditate journal blog code color-code colour-code commute compete perform freelance collect
    photograph train foster babysit surf skate sculpt
    """
)
_ENDS = re.compile(
    rf"[;!?\n—–(]|:(?!\d)|{FULL_STOP}|\s-\s|,? (?:but|because|so|although|though|which|since|cuz|and (?:I|it|it['’]s|my|that|they|he|she)\b)\b",
    re.IGNORECASE,
)
_USED_TO = re.compile(r"(?:be|have|think|hate|feel|know|love|like|live|work)\b")
_NEVER = re.compile(r"\b(?:yet|before)\b|^$", re.IGNORECASE)


def doing(c: Clause) -> Iterator[Finding]:
    """What keeps the speaker busy at the time: "I'm learning to sail", "I've been painting portraits"."""
    phrase, text = c.phrase, c.text
    if phrase.negated or phrase.modal or phrase.adverbs & {"never", "always", "almost"}:
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
    if not lead and word in _NO_DOING and not _STILL_DOING.match(text, start, end):
        return
    said = text[start:end]
    if not 2 <= len(said.split()) <= 25 or _points(said):
        return
    be = "has been" if phrase.tense == PERFECT else "is"
    yield c.scene.finding(
        Kind.FACT,
        sentence(c.who, f"{be} {lead}{in_third_person(said)}"),
        "doing",
        (start, end),
        (c.lead, end),
        confidence=0.65 * c.sure,
    )


def habit(c: Clause) -> Iterator[Finding]:
    """What the speaker usually does: "we often hike", "I swim twice a week"."""
    phrase, text = c.phrase, c.text
    verb = phrase.verb
    if phrase.tense != PRESENT or phrase.negated or phrase.modal or verb in _NO_HABIT or verb.startswith("can "):
        return
    start = phrase.at
    stop = _ENDS.search(text, start, c.end)
    start, end = trimmed(text, start, stop.start() if stop else c.end)
    said = text[start:end]
    often = sorted(phrase.adverbs & _USUALLY)
    regular = _REGULAR.search(text, c.start, end)
    practised = verb in _PRACTISED
    if not (often or regular or practised) or _points(said) or not 2 <= len(said.split()) <= 20:
        return
    if not said.split()[0].isalpha() and verb not in _PRACTISED:
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
