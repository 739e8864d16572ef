"""What the pattern tables of `english` and `chinese` are made of."""

from __future__ import annotations

from dataclasses import dataclass

from memos.memory.model import Kind
from memos.text.lazy import LazyPattern

PRESENT, PAST, PERFECT, PROGRESSIVE, FUTURE = "present", "past", "perfect", "progressive", "future"
NOW = frozenset({PRESENT, PROGRESSIVE})


@dataclass(frozen=True, slots=True)
class VerbRule:
    """One thing a verb can say about its subject.

    `lead` comes between the verb and the value; `take` names how the value is read (see `values`); `say` is the
    sentence's verb phrase in base form with ``{v}`` for the value. `tenses`: where it applies. `historic`: true
    for ever, so the past does not end it. `starts`: it begins at the date beside it. `kin`/`we`: it may be said of
    relatives, or with "we".
    """

    lead: LazyPattern
    take: str
    attribute: str
    say: str
    kind: Kind = Kind.FACT
    single: bool = False
    confidence: float = 0.9
    tenses: frozenset[str] = frozenset({PRESENT, PROGRESSIVE, PERFECT, PAST})
    polarity: str = "+"
    opposite: str = ""
    historic: bool = False
    starts: bool = False
    ends: bool = False
    kin: bool = True
    we: bool = False
    sure_past: bool = False


@dataclass(frozen=True, slots=True)
class ClauseRule:
    """A whole clause in one pattern, with the groups ``v`` (value) and, where given, ``x`` (who or what it is about).

    `say` is a template with ``{s}`` (the subject), ``{v}`` and ``{x}``. `attribute` may hold ``{x}``. `take` reads
    the value again, more strictly; `flags` are: ended, negated, starts, ends, due, about_x (the subject is x, not
    the speaker).
    """

    pattern: LazyPattern
    attribute: str
    say: str
    kind: Kind = Kind.FACT
    single: bool = False
    confidence: float = 0.9
    polarity: str = "+"
    take: str = ""
    flags: frozenset[str] = frozenset()


def flags(text: str) -> frozenset[str]:
    """A set of flags from words separated by spaces."""
    return frozenset(text.split())


def words(text: str) -> frozenset[str]:
    """A set of words from a text."""
    return frozenset(text.split())
