"""Dates and intervals in text, English and Chinese, resolved against a reference time and zone by rules.

The patterns are data in `dates_english` and `dates_chinese`; the calendar is in `intervals`; what is said *about* a
date ("since", "between … and", "the week before") is put together here. Used on messages and on questions alike.

Conventions: weeks start on Monday. "Last Saturday" is the most recent one before today, "this Saturday" the one of this
week, "next Saturday" the one of next week. "Last summer" is the last one that is over. 05/08/2023 is the 8th of May
unless the first number is above 12. A month, day or weekday without a year follows the tense of its sentence, and the
nearest one is taken where there is none. Words that say nothing exact ("recently", "when I was 10") are not resolved.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from memos.errors import InvalidInput
from memos.memory.time import load_zone
from memos.text.date_meanings import shifted
from memos.text.date_rules import Found, Rule, Scene
from memos.text.dates_chinese import RULES as CHINESE
from memos.text.dates_english import GATES
from memos.text.dates_english import RULES as ENGLISH
from memos.text.intervals import Interval, Reference, clock_of
from memos.text.overlaps import without_overlaps


@dataclass(frozen=True, slots=True)
class DateMention:
    """A date in a text: `text[start:end]` means the half-open interval [`from_`, `to`) in UTC.

    `precision` is minute, hour, part (of a day), day, weekend, week, month, season, quarter, year, decade or range.
    `relative`: it depends on when it was said. `recurring`: it repeats, and the interval is the next time (or now).
    `confidence` is in (0, 1]: below 0.7 the reading was a choice between several.
    """

    start: int
    end: int
    from_: datetime
    to: datetime
    precision: str
    relative: bool
    recurring: bool = False
    confidence: float = 0.95


_WORD = re.compile(r"[a-z]+[1-4]?")
_DIGIT = re.compile(r"\d")
_SINCE = re.compile(r"\b(?:ever )?since (?:(?:back in|about|around|early|the) )?$")
_PAIR = re.compile(r"\s*(?:-|–|—|to|and|until|till|through|到|至|和|~|～)\s*")
_PAIR_HEAD = re.compile(r"(?:\b(?:between|from)|从|自)\s*$")


def find_dates(text: str, *, now: datetime, zone: str = "UTC") -> list[DateMention]:
    """The dates in `text`, in order and without overlaps, as said at `now` (aware) in `zone`.

    Raises InvalidInput for a naive `now` or an unknown zone; never for a text.
    """
    if now.tzinfo is None:
        raise InvalidInput("now has no time zone; give an aware datetime, such as message.time")
    rules = _rules_for(text)
    if not rules:
        return []
    place = load_zone(zone)
    ref = Reference(now.astimezone(UTC), now.astimezone(place).replace(tzinfo=None), place)
    scene = Scene(text, _lower(text), ref)
    found = _outermost([hit for rule in rules for hit in _matches(rule, scene)])
    if not found:
        return []
    found = _pairs(_with_clocks(_around(found, scene), scene), scene)
    return [mention for hit in found if (mention := _mention(hit, scene))]


def _rules_for(text: str) -> list[Rule]:
    """The rules whose trigger words occur in `text`: for most messages none."""
    lower = text.lower()
    present = GATES.intersection(_WORD.findall(lower))
    if _DIGIT.search(lower):
        present |= {"0"}
    rules = [rule for rule in ENGLISH if not rule.gates.isdisjoint(present)] if present else []
    if not text.isascii():
        rules += [rule for rule in CHINESE if any(gate in text for gate in rule.gates)]
    return rules


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _matches(rule: Rule, scene: Scene) -> list[Found]:
    hits: list[Found] = []
    for match in rule.pattern.finditer(scene.lower):
        try:
            value = rule.resolve(match, scene)
        except (ValueError, OverflowError):  # the 32nd of May, the year 12000: not a date
            continue
        if isinstance(value, Interval):
            start = match.start("at") if "at" in rule.pattern.groupindex else match.start()
            end = match.end("at") if "at" in rule.pattern.groupindex else match.end()
            hits.append(Found(start, end, value))
        elif value is not None:
            hits.append(value)
    return hits


def _outermost(hits: list[Found]) -> list[Found]:
    """The longest of overlapping hits, in order; the earlier rule wins a tie."""
    return without_overlaps(sorted(hits, key=lambda h: h.start - h.end))


def _around(found: list[Found], scene: Scene) -> list[Found]:
    """ "The week before X", "two days after X", "since X" taken together with X."""
    out: list[Found] = []
    for hit in found:
        head = scene.lower[max(0, hit.start - 60) : hit.start]
        try:
            moved = shifted(head, hit, scene)
        except (ValueError, OverflowError):
            moved = None
        if moved is not None:
            while out and out[-1].end > moved.start:
                out.pop()
            out.append(moved)
        elif hit.clock is None and (since := _SINCE.search(head)) and _utc(hit.interval, scene)[0] < scene.ref.now:
            start = hit.start - (len(head) - since.start())
            out.append(Found(start, hit.end, _until_now(hit.interval, scene)))
        else:
            out.append(hit)
    return out


def _utc(interval: Interval, scene: Scene) -> tuple[datetime, datetime]:
    return interval.utc(scene.ref.zone)


def _until_now(interval: Interval, scene: Scene) -> Interval:
    begin = _utc(interval, scene)[0]
    return Interval(begin, scene.ref.now, "range", relative=interval.relative, confidence=interval.confidence)


def _with_clocks(found: list[Found], scene: Scene) -> list[Found]:
    """A day and a time of day beside it, in either order, as one."""
    out: list[Found] = []
    for hit in found:
        before = out[-1] if out else None
        if before is not None and (hit.clock is None) != (before.clock is None):
            gap = scene.lower[before.end : hit.start].strip()
            day, time = (before, hit) if hit.clock else (hit, before)
            fits = day.interval.precision in ("day", "part") and gap in (
                "",
                "at",
                "around",
                "about",
                ",",
                "on",
                "的",
                "@",
            )
            if fits and time.clock is not None and day.interval.from_.tzinfo is None:
                hour, minute = time.clock
                if day.interval.precision == "part" and hour < 12 and day.interval.from_.hour >= 12:
                    hour += 12
                at = clock_of(day.interval.from_.date(), hour, minute)
                at = at.but(relative=day.interval.relative, recurring=day.interval.recurring)
                out[-1] = Found(before.start, hit.end, at.but(confidence=day.interval.confidence))
                continue
        out.append(hit)
    return out


def _pairs(found: list[Found], scene: Scene) -> list[Found]:
    """ "From X to Y" and "between X and Y" as one interval."""
    out: list[Found] = []
    for hit in found:
        before = out[-1] if out else None
        if before is not None and _PAIR.fullmatch(scene.lower, before.end, hit.start):
            head = _PAIR_HEAD.search(scene.lower, max(0, before.start - 9), before.start)
            dash = scene.lower[before.end : hit.start].strip() in ("-", "–", "—", "到", "至", "~", "～")
            begin, end = _utc(before.interval, scene)[0], _utc(hit.interval, scene)[1]
            if (head or dash) and begin < end and not before.interval.recurring:
                both = Interval(
                    begin,
                    end,
                    "range",
                    relative=before.interval.relative or hit.interval.relative,
                    confidence=min(before.interval.confidence, hit.interval.confidence),
                )
                out[-1] = Found(head.start() if head else before.start, hit.end, both)
                continue
        out.append(hit)
    return out


def _mention(hit: Found, scene: Scene) -> DateMention | None:
    value = hit.interval
    try:
        begin, end = _utc(value, scene)
    except (ValueError, OverflowError):
        return None
    if begin >= end:
        return None
    return DateMention(
        hit.start, hit.end, begin, end, value.precision, value.relative, value.recurring, value.confidence
    )
