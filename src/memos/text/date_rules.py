"""What the tables of date patterns are made of: a rule, what it finds, and what its resolver may look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memos.text.intervals import Interval, Reference
from memos.text.lazy import LazyPattern

_SENTENCE_ENDS = ".!?;\n。！？；"
_SURE_FUTURE = re.compile(
    r"\bwill\b|'ll\b|’ll\b|\bgoing to\b|\bgonna\b|\bupcoming\b|\bremind\b|将|提醒|打算|准备|要去|会去"
    # What was put off is to come: "was moved to March 26".
    r"|\b(?:(?:was|were|is|are|been|got) (?:moved|pushed|put off|brought forward)(?: back| out)?"
    r"|(?:postponed|rescheduled)(?: [\w'’]+){0,4}?"
    r"|(?:moved|pushed|shifted|bumped)(?: [\w'’]+){1,5}?) (?:to|until|till|for) (?:the )?"
    r"(?:\d|(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)[a-z]*\b|next\b|tomorrow\b)"
    r"|(?:改|推迟|延期|延后|提前|挪)到"
)
_PAST = re.compile(
    r"\b(?:was|were|did|didn't|had|went|got|came|saw|met|made|took|bought|told|said|gave|found|left|began|started|won|lost"
    r"|ran|ate|drove|flew|felt|heard|kept|knew|read|spent|spoke|taught|thought|wrote|became|built|born|(?!need)\w{3,}ed)\b"
    r"|了|过(?!年)|发生"
)
_FUTURE = re.compile(
    r"\b(?:plan|plans|planning|want|need|have to|must|should|can't wait|looking forward|hope|hoping|let's|shall|due"
    r"|deadline|scheduled|booked|appointment|flight|i'm \w+ing|we're \w+ing|by|until)\b|要|会|计划|预约|之前"
)


_SENTENCE = 300  # characters to each side in which the verbs of a date are looked for


@dataclass(frozen=True, slots=True)
class Found:
    """An interval at a place in a text, before it is combined with its surroundings."""

    start: int
    end: int
    interval: Interval
    clock: tuple[int, int | None] | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What a resolver may look at: the text, its lower-case form of the same length, and the reference."""

    text: str
    lower: str
    ref: Reference

    def tense(self, start: int, end: int, *, default: str = "") -> str:
        """ "past", "future" or `default`, from the verbs of the sentence around [start, end)."""
        first, last = max(0, start - _SENTENCE), end + _SENTENCE  # a page without a full stop is not one sentence
        left = max(max(self.lower.rfind(mark, first, start) for mark in _SENTENCE_ENDS) + 1, first)
        right = min((i for mark in _SENTENCE_ENDS if (i := self.lower.find(mark, end, last)) >= 0), default=last)
        sentence = self.lower[left:right]
        if _SURE_FUTURE.search(sentence):
            return "future"
        if _PAST.search(sentence):
            return "past"
        return "future" if _FUTURE.search(sentence) else default


Resolver = Callable[[re.Match[str], Scene], "Found | Interval | None"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern over lower-case text and what it means. It runs only where one of its `gates` occurs.

    Gates are whole words in English ("0" stands for any digit), substrings in Chinese.
    """

    gates: frozenset[str]
    pattern: LazyPattern
    resolve: Resolver


def rule(gates: str | Sequence[str], pattern: str, resolve: Resolver) -> Rule:
    """A `Rule` from its words; `gates` may be one string of words separated by spaces. English plurals are added."""
    words = gates.split() if isinstance(gates, str) else gates
    plurals = [word + "s" for word in words if word.isascii() and word != "0"]
    return Rule(frozenset([*words, *plurals]), LazyPattern(pattern), resolve)
