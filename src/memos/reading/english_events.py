"""What an English clause says happened: at a date that is over, or lately, or once, where it is of some weight.

An event without a day is less sure (0.65 and less): what happened is told, not when.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memos.memory.model import Kind
from memos.reading.english_clause import Clause
from memos.reading.finding import Finding
from memos.reading.patterns import PAST, PERFECT, words
from memos.reading.wording import in_third_person, sentence
from memos.text.dates import DateMention

POINTS = re.compile(
    r"^\w+(?: \w+ing)?(?: to)? (?:it|them|that|him|her|one|those|these|so|well)\b|\b(?:there|here)\b|^\w+$",
    re.IGNORECASE,
)
VAGUE = re.compile(r"^(?:\w+ )?(?:a few|a few more|some|some more|a bit|a lot|more)$", re.IGNORECASE)
_SUBORDINATE = re.compile(r"\b(?:after|before|when|while|since|that|who|which)\b", re.IGNORECASE)
_OPINION_PAST = words(
    """
    live lived work worked study studied like liked love loved enjoy enjoyed want wanted need needed think thought
    feel felt know knew hope hoped hear heard mean meant agree agreed see saw say said tell told talk talked mention
    mentioned ask asked wonder wondered guess guessed notice noticed realize realized remember remembered use used
    forget forgot wish wished believe believed miss missed be keep kept hate hated
    """
)
# What is worth keeping even where nobody says when.
_WEIGHTY = words(
    """
    flew traveled travelled visited toured hiked camped skied surfed climbed explored joined participated competed
    performed presented volunteered donated organized organised hosted celebrated married graduated enrolled
    applied accepted won passed failed launched opened closed founded published released rented adopted rescued built
    baked cooked roasted grilled painted sculpted sewed knitted planted repaired renovated restored moved move relocated
    broke injured sprained crashed recovered emailed contacted interviewed coached raised recorded composed designed
    delivered marry join graduate adopt buy bought sold sell adopt attended attend hired
    fundraised protested marched auditioned babysat fostered danced photographed registered campaigned resigned retired
    retire resign proposed gave-birth
    """
)
# Of these it depends on what follows.
_LIGHT = re.compile(
    r"(?:ran into (?:a|an|some|my|two|three|[A-Z])|run into (?:a|an|some|my|[A-Z])|signed up |took (?:up |part in |(?:a|an|my|our) [\w -]*?(?:class|course|trip|workshop"
    r"|test|exam|kids|son|daughter|dog|lessons?)\b)|got (?:into (?:a|an|the|my) [\w ]*?(?:accident|fight|argument|university|college|school|program|car)"
    r"|accepted|promoted|hired|fired|injured|hurt|stuck|robbed|lost (?:in|on)|invited|rejected|diagnosed|married|engaged|divorced)"
    r"|(?:made|created|wrote|drew|threw|held|started|finished|completed|lost|found) (?:a|an|my|our|this|some|two|three) (?:\w+[ -]){0,3}(?:book|"
    r"song|poem|painting|bowl|pot|cake|pie|dinner|party|club|class|blog|store|business|group|band|project|course|job|wallet|phone|keys"
    r"|film|movie|video|game|design|sculpture|drawing|journal|fundraiser|event|garden|company|team|charity|campaign|dog|cat|puppy|kitten"
    r"|screenplay|script|letter|article|story)s?\b"
    r"|had (?:(?:a|an|my|our|that|this|the) (?:[\w-]+ ){0,3}?(?:accident|surgery|interview|performance|show|audition|concert"
    r"|wedding|party|picnic|baby|meeting|exam|test|breakdown|appointment|operation|fight|trip|vacation|recital)|to (?:put down|cancel|quit|leave|move|sell))\b"
    r"|met (?:a|an|some|my|with|up with|[A-Z])|lost (?:my|our) |started (?=[a-z]+ing\b)|learned (?:how )?to )"
)
_LATELY = re.compile(r"\b(?:recently|lately|the other (?:day|night|week|evening)|not long ago)\b", re.IGNORECASE)
_NO_NEWS = _OPINION_PAST | words(
    """
    have had get got make made do did go come came try tried start started finish finished give gave take took put let show
    showed shared sent set help helped find found began begin decided woke happened looked needed learned read watched
    turned became took call called
    """
)
_NO_OBJECT = re.compile(r"\b(?:you|your|yours|this|that)\b", re.IGNORECASE)
_INVITED = re.compile(r"(?:invited|asked) (?:me|us) (?:to|over|out|along)\b")
# Beside "just" or "recently" these need something after them that is named.
_SOMETHING = re.compile(
    r"\w+ (?:\w+ )?(?:to |back from |for |at |in |from |with )?(?:a|an|the|my|our|some|two|three|[A-Z])\b ?\w*"
)


def happened(c: Clause) -> Iterator[Finding]:
    """What the speaker, those with her, or something of hers did or met at a date that is over."""
    start, end = c.said
    if not _may_happen(c, start, end):
        return
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
    start, end = c.said
    if c.phrase.tense not in (PAST, PERFECT) or not _may_happen(c, start, end):
        return
    if _NO_OBJECT.search(c.text, c.phrase.rest, end) and not c.text.startswith("that ", c.phrase.rest):
        return
    weighty = c.phrase.verb in _WEIGHTY or _LIGHT.match(c.text, start, end) is not None
    lately = _is_late(c, end)
    if (
        not weighty
        and not (lately and c.phrase.verb not in _NO_NEWS | {"go"})
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
        valid=(None, c.scene.now),
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
        valid=(None, c.scene.now),
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
        if phrase.verb == "be" or phrase.verb in _OPINION_PAST:
            return False
    elif phrase.tense != PAST or (phrase.verb in _OPINION_PAST and not _passive(c)):
        return False
    said = text[start:end]
    return not POINTS.search(said) and not VAGUE.search(said) and 2 <= len(said.split()) <= 25


_PASSIVE = re.compile(
    r"(?:[a-z]+ed|hit|struck|given|stolen|broken|born|taken|hurt|chosen|flown|sent|built) (?:by|in|on|to|for|from|at|last|yesterday)\b"
)


def _passive(c: Clause) -> bool:
    """Whether something was done to the subject: "was hit by a flood"."""
    return c.phrase.verb == "be" and c.phrase.tense == PAST and _PASSIVE.match(c.text, c.phrase.rest, c.end) is not None


def _is_late(c: Clause, end: int) -> bool:
    if c.phrase.adverbs & {"just", "recently", "finally"} or _LATELY.search(c.text, c.start, c.lead):
        return True
    return _LATELY.search(c.text, c.phrase.rest, max(end, c.stop)) is not None


def _spoken(c: Clause, start: int, end: int) -> str:
    said = in_third_person(c.text[start:end])
    if c.phrase.tense == PERFECT:
        return f"has {said}" if c.subject.form != "we" else f"have {said}"
    return f"was {said}" if c.phrase.verb == "be" else said
