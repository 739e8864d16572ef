"""A question, understood by rules: its content terms, whose words it asks for, which time, and what kind of answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memos.storage.ports import Wanted
from memos.text.analysis import FRAME_WORDS, analyze
from memos.text.dates import DateMention, find_dates

ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function"})

_ASKS_NAME = re.compile(
    r"^(?:who|where|which)\b|\b(?:city|cities|country|countries|state|states|places?|called|named?)\b"
    r"|^what (?:are|were|(?:\w+ ){0,3}?(?!does|is|was|has\b)\w{3,}s)\b|how many|what (?:kind|type|sort)s? of|in what ways|\ball\b"
    r"|谁|哪|什么(?:名字|地方)|有些",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(r"\b(?:when|what (?:date|day|time|year|month)|how long|since when)\b|什么时候|何时|哪天|几号|多久", re.IGNORECASE)
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|i'm|i've|i'd|i'll)\b|我", re.IGNORECASE)
_TO_ASSISTANT = re.compile(r"\b(?:you|your)\b (?:say|said|tell|told|suggest|recommend|mention|advise|answer|reply)|\bdid you\b|你(?:说|推荐|建议|告诉)", re.IGNORECASE)
_JOINED = frozenset({"and", "or", "&", ",", "和", "与", "跟", "、"})
_HAS_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Question:
    """What recall knows of a question. `terms` map to how much each counts; `speakers` to how much their words are wanted."""

    text: str
    terms: Mapping[str, float]
    speakers: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[Wanted, ...] = ()
    asks_name: bool = False
    asks_when: bool = False
    wants_past: bool = False


def understand(text: str, speakers: Mapping[str, int], *, now: datetime, zone: str = "UTC", years: range | None = None) -> Question:
    """Read a question. `speakers`: everybody who speaks in the cubes searched; `now`: what "last week" is relative to;
    `years`: the years the cubes cover, tried for dates that name none."""
    people, name_terms = _asked_speakers(text, speakers)
    analysis = analyze(text, query=True)
    content = list(dict.fromkeys(analysis.content_terms() or analysis.terms))
    terms = [t for t in content if t not in FRAME_WORDS] or content
    terms = [t for t in terms if t not in name_terms] or terms
    if not people:
        people = _first_person(text, speakers)
    return Question(
        text=text,
        terms=dict.fromkeys(terms, 1.0),
        speakers=people,
        spans=_spans(text, now, zone, years),
        asks_name=bool(_ASKS_NAME.search(text)),
        asks_when=bool(_ASKS_WHEN.search(text)),
    )


def _asked_speakers(text: str, speakers: Mapping[str, int]) -> tuple[dict[str, float], set[str]]:
    """Whose words are wanted: the only person named, or the first of two unless they are joined ("A and B")."""
    low = text.casefold()
    found: list[tuple[int, int, str]] = []
    for name in speakers:
        if name in ROLES:
            continue
        for form in {name.casefold(), name.casefold().split()[0]}:
            if len(form) < 2 or form not in low:
                continue
            at = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", low) if form.isascii() else re.search(re.escape(form), low)
            if at:
                found.append((at.start(), at.end(), name))
                break
    if not found:
        return {}, set()
    found.sort()
    terms = {t for a, b, _ in found for t in analyze(text[a:b], query=True).terms}
    if len({a for a, _, _ in found}) > 1:
        first, second = found[0], next(f for f in found if f[0] != found[0][0])
        if low[first[1] : second[0]].strip() in _JOINED or "both" in low:
            return {name: 0.5 for a, _, name in found if a in (first[0], second[0])}, terms
    return {name: 1.0 for a, _, name in found if a == found[0][0]}, terms


def _first_person(text: str, speakers: Mapping[str, int]) -> dict[str, float]:
    if "assistant" in speakers and _TO_ASSISTANT.search(text):
        return {"assistant": 0.5}
    if "user" in speakers and _FIRST_PERSON.search(text):
        return {"user": 0.5}
    return {}


def _spans(text: str, now: datetime, zone: str, years: range | None) -> tuple[Wanted, ...]:
    out: list[Wanted] = []
    for found in find_dates(text, now=now, zone=zone):
        if found.recurring:
            continue
        weight = 0.3 if found.precision in ("year", "decade", "season", "range") else 1.0
        if found.relative or years is None or _HAS_YEAR.search(text[found.start : found.end]):
            out.append(Wanted(found.from_, found.to, weight))
        else:
            out += _every_year(found, years, weight)
    return tuple(out)


def _every_year(found: DateMention, years: range, weight: float) -> list[Wanted]:
    """A date without a year may mean any year the cube covers."""
    out = []
    for year in years:
        try:
            start = found.from_.replace(year=year)
            end = found.to.replace(year=year + found.to.year - found.from_.year)
        except ValueError:  # 29 February
            continue
        out.append(Wanted(start.astimezone(UTC), end.astimezone(UTC), weight))
    return out
