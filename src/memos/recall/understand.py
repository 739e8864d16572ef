"""A question, understood by rules: its content terms, whose words it asks for, which time, and what kind of answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memos.storage.ports import Wanted
from memos.text.analysis import analyze, sentences
from memos.text.dates import DateMention, find_dates
from memos.text.lazy import LazyPattern

ROLES = frozenset({"user", "assistant", "system", "developer", "tool", "function"})

_ASKS_NAME = LazyPattern(
    r"^(?:who|where|which)\b|\b(?:city|cities|country|countries|state|states|places?|called|named?)\b"
    r"|^what (?:are|were|(?:\w+ ){0,3}?(?!does|is|was|has\b)\w{3,}s)\b|how many|what (?:kind|type|sort)s? of|in what ways|\ball\b"
    r"|谁|哪|什么(?:名字|地方)|有些",
    re.IGNORECASE,
)
_ASKS_WHEN = LazyPattern(
    r"\b(?:when|what (?:date|day|time|year|month)|how long|since when)\b|什么时候|何时|哪天|几号|多久", re.IGNORECASE
)
_ASKS_NOW = LazyPattern(
    r"\b(?:now|nowadays|current(?:ly)?|latest|at the moment|these days|up to date|status of"
    r"|(?:order|ticket|delivery|shipping|build|project) status)\b|现在|目前|如今|最新|现状",
    re.IGNORECASE,
)
_FIRST_PERSON = LazyPattern(r"\b(?:i|my|me|mine|i'm|i've|i'd|i'll)\b|我", re.IGNORECASE)
_TO_ASSISTANT = LazyPattern(
    r"\b(?:you|your)\b (?:say|said|tell|told|suggest|recommend|mention|advise|answer|reply)|\bdid you\b|你(?:说|推荐|建议|告诉)",
    re.IGNORECASE,
)
_JOINED = frozenset({"and", "or", "&", ",", "和", "与", "跟", "、"})
_CJK_FUNCTION = LazyPattern(  # cut before pairs are made: 我的 and 的小 say nothing, and would match everything
    "为什么|什么|怎么|怎样|时候|哪里|哪儿|哪个|哪些|哪种|多少|几个|我们|你们|他们|她们|这个|那个|是不是|有没有"
    "|[的了吗呢吧啊我你他她它是在有和与跟谁这那都也就还很]"
)
_HAS_YEAR = LazyPattern(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Question:
    """What recall knows of a question. `meaning` is what is embedded: the question less the names of speakers, which
    are matched exactly. `terms` map to how much each counts; `speakers` to how much their words are wanted.
    """

    text: str
    meaning: str
    terms: Mapping[str, float]
    speakers: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[Wanted, ...] = ()
    asks_name: bool = False
    asks_when: bool = False
    asks_now: bool = False


def understand(
    text: str,
    speakers: Mapping[str, int],
    *,
    now: datetime,
    zone: str = "UTC",
    years: range | None = None,
    aliases: Sequence[tuple[str, ...]] = (),
) -> Question:
    """Read a question. `speakers`: everybody who speaks in the cubes searched; `now`: what "last week" is relative to;
    `years`: the years the cubes cover, tried for dates that name none; `aliases`: names of one and the same, a tuple for each."""
    meant = _meant_too(text, aliases) if aliases else ()
    named = _people_named(text, speakers, meant)
    dates = find_dates(text[:DATED_CHARS], now=now, zone=zone)[:MOST_DATES]
    meaning = _without(text, [(a, b) for a, b, _ in named])
    absolute = [(d.start, d.end) for d in dates if not d.relative]
    rest = _without(text, [(a, b) for a, b, _ in named] + absolute)
    content = (
        analyze(_CJK_FUNCTION.sub(" ", rest), query=True).content_terms() or analyze(rest, query=True).content_terms()
    )
    terms = dict.fromkeys(content or analyze(text, query=True).terms, 1.0)
    for start, end in absolute:  # a date is mostly when something was said, seldom what was said
        terms |= {t: DATE_WORDS for t in analyze(text[start:end], query=True).content_terms() if t not in terms}
    for _, others in meant:
        for other in others:
            terms |= {t: OTHER_NAME for t in analyze(other, query=True).content_terms() if t not in terms}
    return Question(
        text=text,
        meaning=_core(meaning or text),
        terms=terms,
        speakers=_wanted(text, named) or _first_person(text, speakers),
        spans=_spans(text, dates, years),
        asks_name=bool(_ASKS_NAME.search(text)),
        asks_when=bool(_ASKS_WHEN.search(text)),
        asks_now=bool(_ASKS_NOW.search(text)),
    )


DATE_WORDS = 0.3  # weight of the words of a date beside the other words
OTHER_NAME = 0.8  # weight of another name of somebody who is named in the question
DATED_CHARS, MOST_DATES = 1_000, 8  # where dates are looked for in a question, and how many count
MEANING_CHARS = 400  # of a question that are embedded; the words of all of it are searched


def _core(text: str) -> str:
    """What a long question asks: its sentences with a question mark, and before them as many of its last ones as fit."""
    if len(text) <= MEANING_CHARS:
        return text
    spans = sentences(text)
    asked = [s for s in spans if "?" in text[s[0] : s[1]] or "？" in text[s[0] : s[1]]]
    kept: list[tuple[int, int]] = []
    room = MEANING_CHARS
    for span in [*reversed(asked), *(s for s in reversed(spans) if s not in asked)]:
        if span[1] - span[0] <= room:
            kept.append(span)
            room -= span[1] - span[0]
    return "".join(text[a:b] for a, b in sorted(kept)) or text[-MEANING_CHARS:]


_WORD = LazyPattern(r"[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_CJK = LazyPattern(r"[\u3040-\u30ff\u3400-\u9fff]+")
_POSSESSIVE = LazyPattern(r"['’]s\b")


Meant = tuple[str, tuple[str, ...]]


def _meant_too(text: str, aliases: Sequence[tuple[str, ...]]) -> tuple[Meant, ...]:
    """For each name in the text that somebody has beside others: the name, and the others."""
    low, out = text.casefold(), list[Meant]()
    for names in aliases:
        for name in sorted((n for n in names if n.casefold() not in ROLES), key=len, reverse=True):
            edge = r"(?<![^\W_])" if name.isascii() else ""
            end = r"(?![^\W_])" if name.isascii() else ""
            if name.casefold() in low and re.search(f"{edge}{re.escape(name.casefold())}{end}", low):
                out.append((name, tuple(n for n in names if n != name)))
                break
    return tuple(out)


def _people_named(
    text: str, speakers: Mapping[str, int], meant: Sequence[Meant] = ()
) -> list[tuple[int, int, tuple[str, ...]]]:
    """(start, end, speakers) of the speakers' names in the text, in order; looked up, so any number of people will
    do. `meant`: names by which one of the speakers is known too.
    """
    people: dict[str, list[str]] = {}
    for name in speakers:
        if name not in ROLES:
            low = name.casefold()
            for form in {low, low.split()[0]}:
                if len(form) > 1:
                    people.setdefault(form, []).append(name)
    for name, others in meant:
        known = [s for o in others for s in (*people.get(o.casefold(), ()), *((o,) if o in speakers else ()))]
        if known and len(name) > 1:
            people.setdefault(name.casefold(), []).extend(dict.fromkeys(known))
    if not people:
        return []
    words = [(m.start(), m.end()) for m in _WORD.finditer(text)]
    spans = [
        (words[i][0], words[j][1]) for i in range(len(words)) for j in range(min(i + 2, len(words) - 1), i - 1, -1)
    ]
    for run in _CJK.finditer(text):
        spans += [(i, j) for i in range(run.start(), run.end()) for j in range(min(i + 4, run.end()), i + 1, -1)]
    out: list[tuple[int, int, tuple[str, ...]]] = []
    for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        found = people.get(text[start:end].casefold())
        if found and (not out or start >= out[-1][1]):
            out.append((start, end, tuple(found)))
    return out


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text less these spans (and a possessive after them)."""
    for start, end in sorted(spans, reverse=True):
        rest = text[end:]
        text = f"{text[:start]} {_POSSESSIVE.sub('', rest, count=1) if rest[:1] in ('’', chr(39)) else rest}"
    return " ".join(text.split())


def _wanted(text: str, named: list[tuple[int, int, tuple[str, ...]]]) -> dict[str, float]:
    """Whose words are wanted: the person named first; either of two when joined ("A and B")."""
    if not named:
        return {}
    first = named[0]
    other = next((n for n in named[1:] if n[2] != first[2]), None)
    if other is not None:
        between = text[first[1] : other[0]].strip().casefold()
        if between in _JOINED or "both" in text.casefold():
            return dict.fromkeys((*first[2], *other[2]), 0.5)
    return dict.fromkeys(first[2], 1.0)


def _first_person(text: str, speakers: Mapping[str, int]) -> dict[str, float]:
    if "assistant" in speakers and _TO_ASSISTANT.search(text):
        return {"assistant": 0.5}
    if "user" in speakers and _FIRST_PERSON.search(text):
        return {"user": 0.5}
    return {}


def _spans(text: str, dates: list[DateMention], years: range | None) -> tuple[Wanted, ...]:
    out: list[Wanted] = []
    for found in dates:
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
