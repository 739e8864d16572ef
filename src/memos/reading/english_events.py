"""What an English clause says happened: at a date that is over, or lately, or once, where it is of some weight.

An event without a day is less sure (0.65 and less): what happened is told, not when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memos.memory.model import Kind
from memos.reading.english_clause import Clause
from memos.reading.english_life import LATELY, LIGHT, NO_NEWS, OPINION_PAST, WEIGHTY
from memos.reading.finding import Finding
from memos.reading.patterns import PAST, PERFECT
from memos.reading.wording import in_third_person, sentence
from memos.text.dates import DateMention

POINTS = re.compile(
    r"^\w+(?: \w+ing)?(?: to)? (?:it|them|that|him|her|one|those|these|so|well)\b|\b(?:there|here)\b|^\w+$",
    re.IGNORECASE,
)
VAGUE = re.compile(
    r"^(?:\w+ )?(?:a few|a few more|some|some more|a bit|a lot|a ton|nature|more|options|things)$", re.IGNORECASE
)
_SUBORDINATE = re.compile(r"\b(?:after|before|when|while|since|that|who|which)\b", re.IGNORECASE)
_NO_OBJECT = re.compile(r"\b(?:you|your|yours|this)\b|\b(?:that|it|them)$", re.IGNORECASE)
_AFTER_VERB = re.compile(r"(?:(?:to|at|for|on|in|from|with|of) )?")
_INVITED = re.compile(r"(?:invited|asked) (?:me|us) (?:to|over|out|along)\b")
# Beside "just" or "recently" these need something after them that is named.
_SOMETHING = re.compile(
    r"\w+ (?:\w+ )?(?:to |back from |for |at |in |from |with )?(?:a|an|another|the|my|our|some|two|three|[A-Z])\b ?\w*"
)


def happened(c: Clause) -> Iterator[Finding]:
    """What the speaker, those with her, or something of hers did or met at a date that is over."""
    if c.phrase.tense not in (PAST, PERFECT) or not c.scene.dates or not _may_happen(c, *c.said):
        return
    start, end = c.said
    mention = c.date(c.phrase.at, max(end, c.stop), lambda m: over(m, c.scene.now))
    if mention is None or _SUBORDINATE.search(c.text, c.phrase.rest, max(c.phrase.rest, mention.start)):
        return  # no date, or that of another clause
    yield c.scene.finding(
        Kind.EVENT,
        sentence(c.who, _spoken(c, start, end) + c.shown(mention)),
        "event",
        (start, end),
        (min(c.lead, mention.start), max(end, mention.end)),
        confidence=0.8 * c.sure,
        valid=(mention.from_, mention.to),
    )


def undated(c: Clause) -> Iterator[Finding]:
    """What the speaker did lately, or at a time not told, where it is of some weight."""
    if c.phrase.tense not in (PAST, PERFECT) or c.phrase.verb == "be" or not _may_happen(c, *c.said):
        return
    start, end = c.said
    light = LIGHT.match(c.text, start, end) is not None
    if not light and (c.phrase.verb == "have" or _NO_OBJECT.search(c.text, c.phrase.rest, end)):
        return
    weighty = light or c.phrase.verb in WEIGHTY
    lately = _is_late(c, end)
    if (
        not weighty
        and not (lately and c.phrase.verb not in NO_NEWS | {"go"})
        and not (lately and _SOMETHING.match(c.text, start, end))
    ):
        return
    yield c.scene.finding(
        Kind.EVENT,
        sentence(c.who, _spoken(c, start, end)),
        "event",
        (start, end),
        (c.lead, end),
        confidence=(0.65 if lately else 0.6) * c.sure,
    )


def made(c: Clause, thing: str, begin: int) -> Iterator[Finding]:
    """What was done to a thing that is told of: "a book I read last year". `thing` begins at `begin`."""
    phrase, text = c.phrase, c.text
    if phrase.tense != PAST or phrase.negated or phrase.used or phrase.verb == "be":
        return
    when = _AFTER_VERB.match(text, phrase.rest, c.end)
    if when is None:
        return
    mention = next((m for m in c.scene.dates_in(when.end(), c.stop) if over(m, c.scene.now)), None)
    if mention is not None and mention.start - when.end() > 4:
        return
    late = LATELY.match(text, when.end(), c.end)
    if mention is None and late is None:
        return
    stop = mention.end if mention else late.end() if late else c.end
    done = f"{text[phrase.at : phrase.rest].strip()} {when[0]}{thing[:1].lower()}{thing[1:]} {text[when.end() : stop]}"
    yield c.scene.finding(
        Kind.EVENT,
        sentence(c.who, in_third_person(done) + (c.shown(mention) if mention else "")),
        "event",
        (begin, stop),
        (begin, stop),
        confidence=(0.75 if mention else 0.6) * c.sure,
        valid=(mention.from_, mention.to) if mention else (None, None),
    )


def invited(c: Clause) -> Iterator[Finding]:
    """That somebody of the speaker's invited her: "my colleague invited me to a tasting"."""
    match = _INVITED.match(c.text, c.phrase.at, c.end)
    if match is None or c.phrase.negated:
        return
    start, end = c.said
    yield c.scene.finding(
        Kind.EVENT,
        sentence(c.who, in_third_person(c.text[start:end])),
        "event",
        (start, end),
        (c.lead, end),
        confidence=0.65,
    )


def over(mention: DateMention, now: datetime) -> bool:
    """Whether a date is that of something that happened: it has begun, and is no mere span of years."""
    return (
        mention.from_ < now
        and not mention.recurring
        and mention.precision not in ("range", "decade")
        and mention.confidence > 0.5
    )


def _may_happen(c: Clause, start: int, end: int) -> bool:
    phrase, text = c.phrase, c.text
    if (
        phrase.negated
        or phrase.used
        or phrase.adverbs & {"never", "always", "almost"}
        or text[phrase.at : phrase.rest].strip().endswith("ing")
    ):
        return False
    if phrase.tense == PERFECT:
        if phrase.verb == "be" or phrase.verb in OPINION_PAST:
            return False
    elif phrase.tense != PAST or (phrase.verb in OPINION_PAST and not _passive(c)):
        return False
    said = text[start:end]
    return not POINTS.search(said) and not VAGUE.search(said) and 2 <= len(said.split()) <= 25


_PASSIVE = re.compile(
    r"(?:[a-z]+ed|hit|struck|given|stolen|broken|born|taken|hurt|chosen|flown|sent|built)"
    r" (?:by|in|on|to|for|from|at|last|yesterday)\b"
)


def _passive(c: Clause) -> bool:
    """Whether something was done to the subject: "was hit by a flood"."""
    return c.phrase.verb == "be" and c.phrase.tense == PAST and _PASSIVE.match(c.text, c.phrase.rest, c.end) is not None


def _is_late(c: Clause, end: int) -> bool:
    if c.phrase.adverbs & {"just", "recently", "finally"} or LATELY.search(c.text, c.start, c.lead):
        return True
    return LATELY.search(c.text, c.phrase.rest, max(end, c.stop)) is not None


def _spoken(c: Clause, start: int, end: int) -> str:
    said = in_third_person(c.text[start].lower() + c.text[start + 1 : end])
    if c.phrase.tense == PERFECT:
        return f"has {said}" if c.subject.form != "we" else f"have {said}"
    return f"was {said}" if c.phrase.verb == "be" else said
