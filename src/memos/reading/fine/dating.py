"""When something was, as a model tells it: ISO dates, or words of the message, held against what the message says.

The rules of `text.dates` know what "last Saturday" means where it was said; a model's date stands only where the message
speaks of that time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memos.memory.time import load_zone
from memos.reading.fine.lines import DOCUMENT, Line
from memos.reading.fine.matching import place
from memos.text.dates import DateMention, find_dates
from memos.text.document import TIME_WORD, traits
from memos.text.intervals import clock_of, day_of, month_of, year_of

_ISO = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[T ](\d\d?):(\d\d)(?::\d\d.*)?)?)?)?")
_NEAR = timedelta(days=8)  # "last Saturday" is meant in one of two weeks
_LONGEST = 100  # characters of a time: more is none
_EARLIEST, _AHEAD = 1900, 30  # years that people speak of


@dataclass(frozen=True, slots=True)
class Told:
    """A time that was told: from when to when (UTC, half-open), how finely, and how sure that is, in (0, 1]."""

    from_: datetime
    to: datetime
    precision: str
    confidence: float = 1.0


def told(given: str, lines: Sequence[Line]) -> Told | None:
    """The time that a model gave, as far as the messages speak of it; the first one is where it was said. None: they do not."""
    first, given = lines[0], given.strip()
    if len(given) > _LONGEST:
        return None
    meant = _iso(given, first) or _words(given, lines)
    if meant is None or not _EARLIEST <= meant.from_.year <= first.time.year + _AHEAD:
        return None
    said = [m for line in lines for m in line.dates if not (m.relative and line.role == DOCUMENT)]
    within = [m for m in said if m.from_ < meant.to and meant.from_ < m.to]
    if within:
        return _as_said(min(within, key=lambda m: abs(m.from_ - meant.from_) + abs(m.to - meant.to)))
    near = [m for m in said if m.relative and max(m.from_ - meant.to, meant.from_ - m.to) <= _NEAR]
    if near:
        return _as_said(min(near, key=lambda m: abs(m.from_ - meant.from_)), 0.9)
    if first.role != DOCUMENT and meant.from_ <= first.time < meant.to:  # "just now": the day of the message
        return Told(meant.from_, meant.to, meant.precision, 0.95)
    if not said and traits(first.text) & TIME_WORD:  # "when I was ten": words that rules do not understand
        return Told(meant.from_, meant.to, meant.precision, 0.75)
    return None


def _as_said(mention: DateMention, share: float = 1.0) -> Told:
    return Told(mention.from_, mention.to, mention.precision, share * min(1.0, mention.confidence + 0.05))


def _iso(given: str, line: Line) -> Told | None:
    match = _ISO.fullmatch(given)
    if match is None:
        return None
    year, month, day, hour, minute = (int(part) if part else None for part in match.groups())
    assert year is not None
    try:
        if month is None:
            interval = year_of(year)
        elif day is None:
            interval = month_of(year, month)
        elif hour is None or hour + (minute or 0) == 0:
            interval = day_of(date(year, month, day))
        else:
            interval = clock_of(date(year, month, day), hour, minute)
        begin, end = interval.utc(load_zone(line.message.zone))
    except (ValueError, OverflowError):  # the 32nd of May
        return None
    return Told(begin, end, interval.precision)


def _words(given: str, lines: Sequence[Line]) -> Told | None:
    """A time in words: those of a message, as meant there."""
    for line in lines:
        if place(given, line.text, line.folded) is not None:
            found = find_dates(given, now=line.time, zone=line.message.zone)
            if found and not (found[0].relative and line.role == DOCUMENT):  # nobody knows when that was written
                return _as_said(found[0])
    found = find_dates(given, now=lines[0].time, zone=lines[0].message.zone)
    return _as_said(found[0]) if found and not found[0].relative else None
