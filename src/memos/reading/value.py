"""What a value is, where it is read, and where phrases end: the ground the value readers stand on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from memos.text.dates import DateMention
from memos.text.lazy import LazyPattern


@dataclass(frozen=True, slots=True)
class Value:
    """A value `text[start:end]`; `attribute` names the slot where the reader can tell it better than the rule."""

    start: int
    end: int
    attribute: str = ""
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value is read: from `at`, never beyond `end`, with the dates of the text at hand."""

    text: str
    at: int
    end: int
    dates: tuple[DateMention, ...] = ()


Reader = Callable[[Place], list[Value]]
# "Bergen and I'm …": the subject of the next clause is no part of a name.
_NO_SUBJECT = r"(?!(?:I|We|He|She|They|You|My|Our|It|That|There)(?:['’](?:m|ve|ll|d|re|s))?(?![\w'’-]))"
CAP = rf"{_NO_SUBJECT}(?:(?:St|Mt|Ft)\. )?[A-ZÀ-ÖØ-Þ][\w'’&-]*(?:\.(?=[A-Z]))?"
FULL_STOP = r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bSt)(?<!\bMrs)(?<!\bProf)\.(?!\w)"
_FOLLOWED = (
    r"(?= (?:in|at|for|as|on|to|by|with|from|a|an|the|my|our|his|her|their|some|two|three|four|both|\d|(?-i:[A-Z])))"
)
_BEGINS = (
    r"(?:(?:then|also|now|currently|just|recently|really|still|always|never|sometimes|often|usually) )*"
    r"(?:(?:i|we|he|she|they|you|it|im|my|our|there|that)(?:['’](?:m|ve|ll|d|re|s))?(?![\w'’-])"
    r"|(?:am|was|were|is|are|have|has|had|cannot|can['’]?t|don['’]?t|doesn['’]?t|didn['’]?t|will|would|used to)\b"
    r"|(?:lived|worked|studied|moved|bought|sold|got|went|married|divorced|quit|drove|ate|spoke|joined"
    r"|started|stopped)(?= )"
    r"|(?:like|love|hate|enjoy|dislike|prefer|adore|can)(?= \w)"
    r"|(?:lives?|works?|stud(?:y|ies)|speaks?|goes?|has|moves?|volunteers?|joins?|starts?|attends?|gets?|owns?|drives?"
    rf"|uses?|eats?|drinks?|plays?){_FOLLOWED})"
)
# "a good cause" is no reason.
_CAUSE = r"['’]?cause(?= (?:i|we|it|he|she|they|you|my|our|the|there|of|that)(?![\w-]))"
# Where the next clause begins: "and I'm …", "and work at …", "but she …".
JOINT = LazyPattern(rf",? (?:and|but|so|or|&) {_BEGINS}", re.IGNORECASE)
AFTER_NOUN = LazyPattern(
    r"\s*(?:[.,;:!?)\n\"”]|$|-\s)|\s+(?:and|or|but|who|that|which|at|in|on|too|as|with|so|from|for|now"
    r"|together|already|here|there|by|since|because"
    r"|while|working|based|living|specializ\w+|of|named|called|when|to|anymore|any more|right now|today"
    r"|these days|yet|again|last|this|yesterday)\b",
    re.IGNORECASE,
)
STOP = LazyPattern(
    rf"[,;!?()\n—–\"“”]|:(?!\d)|{FULL_STOP}|\s-\s|(?<=[a-z])-\s|\s(?:(?:and|or|&) {_BEGINS}"
    rf"|but|because|{_CAUSE}|cuz|so|since|although|though|when"
    r"|whenever|while|which|who|as|if|unless|until"
    r"|after|before|even|except|especially|particularly|whether|thanks to|however|rather than|instead of"
    r"|and (?:I|we|it|it['’]s|my|he|she|they|that|then|so|the|you|really|am|was|have|had|would|will|can"
    r"|always|also|always|just|our|feel|love|hate)"
    r"|for (?:me|now|sure)|that (?:I|we|is|are|was|has|it|you|they)|(?:a lot|so much|very much|too|as well"
    r"|anymore|any more|again|more than anything|the"
    r" most|myself|lately|currently|nowadays|these days|at the moment|right now|now|btw|by the way|to be"
    r" honest|haha|lol|tbh|either|at all"
    r"|a ton|a bunch|to death|very well|well|though|today|everyday|every day|all the time"
    r"|usually)(?=\s*(?:[.,;:!?)\n]|$|and\b|but\b|or\b)))\b",
    re.IGNORECASE,
)
LONG_STOP = LazyPattern(
    rf"[;!?\n—–]|:(?!\d)|{FULL_STOP}|,? (?:but|because|so|although|though|which|{_CAUSE}|cuz|and (?:I|we|it|my|he"
    r"|she|they|you))\b|, (?!\d{4})|\s-\s|(?<=[a-z])-\s",
    re.IGNORECASE,
)
WORD = LazyPattern(r"[A-Za-z][\w-]*")


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space and loose punctuation at its end."""
    while end > start and text[end - 1] in " \t,.;:!?'’\"”":
        end -= 1
    return start, end


def upto(place: Place, stop: re.Pattern[str] | LazyPattern = STOP) -> tuple[int, int]:
    """The span from the place to where its phrase ends."""
    match = stop.search(place.text, place.at, place.end)
    return trimmed(place.text, place.at, match.start() if match else place.end)


def long_phrase(place: Place) -> tuple[int, int]:
    """The span to the end of the clause, with adverbials: what somebody plans or did."""
    return upto(place, LONG_STOP)


def clause(place: Place) -> Place:
    """The place up to where the next clause begins."""
    match = JOINT.search(place.text, place.at, place.end)
    return Place(place.text, place.at, match.start(), place.dates) if match else place


def whole(start: int, end: int, least: int = 2, most_words: int = 8, text: str = "") -> list[Value]:
    """The span as a value where it is long enough and has few enough words."""
    if end - start < least or len(text[start:end].split()) > most_words:
        return []
    return [Value(start, end)]


def by_pattern(pattern: re.Pattern[str]) -> Reader:
    """A reader that takes what `pattern` matches."""

    def reader(place: Place) -> list[Value]:
        match = pattern.match(place.text, place.at, place.end)
        return [Value(*match.span())] if match else []

    return reader
