"""What a sentence tells by the way, whatever its subject: what matters to the speaker, what she has and belongs to.

Patterns as data, and the small interpreter that reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memos.memory.model import Kind
from memos.reading.finding import Finding
from memos.reading.patterns import ClauseRule, words
from memos.reading.scene import Scene
from memos.reading.value import CAP, Place, trimmed, upto
from memos.reading.values import read
from memos.reading.wording import in_third_person, sentence
from memos.text.lazy import LazyPattern


@dataclass(frozen=True, slots=True)
class _Tail:
    """What is said of the words before it: "… is important to me". `needs`: what a sentence holds in any case, in lower case."""

    needs: tuple[str, ...]
    pattern: LazyPattern
    say: str
    attribute: str
    confidence: float


@dataclass(frozen=True, slots=True)
class _Aside:
    """A rule, and what a sentence holds in any case, in lower case: looked for first, as that is quick."""

    needs: tuple[str, ...]
    rule: ClauseRule


def _words(pattern: str) -> LazyPattern:
    return LazyPattern(pattern, re.IGNORECASE)


_BE = (
    r"(?:['’]s| is| are| has (?:always |long )?been)"
    r"(?: (?:\w+ly|still|always|also|just|so|super|very|such|definitely|pretty))*"
)
_LOVE = (
    r"(?:passion|hobby|happy place|go-to|jam|escape|therapy|outlet|stress[- ](?:fix|relief|reliever|buster)|guilty pleasure|thing"
    r"|comfort food|favou?rite)"
)
_TAILS = (
    _Tail(
        (" my ",),
        _words(
            rf"{_BE} my (?:\w+ )?{_LOVE}\b"
            r"(?=\s*(?:[.,;!:)\n—–-]|$| (?:too|as well|and|but|because|when|right|these)\b))"
        ),
        "likes {v}",
        "likes",
        0.75,
    ),
    _Tail(
        (" to me",),
        _words(rf"{_BE} important to me\b| matters? (?:a lot |the most |most |so much )?to me\b"),
        "finds {v} important",
        "important",
        0.8,
    ),
    _Tail(
        (" to me",),
        _words(r" means? (?:the world|everything|a lot|so much) to me\b"),
        "finds {v} important",
        "important",
        0.7,
    ),
    _Tail(
        (" me ",),
        _words(
            r" (?:brings?|gives?) me (?:\w+ ){0,3}?(?:joy|happiness|peace|comfort)\b"
            r"| makes? me (?:so |really |very |truly |feel )*(?:happy|alive|free|calm|relaxed|at peace)\b"
            r"| (?:really |always )?helps? me (?:to )?(?:relax|unwind|de-?stress|clear my (?:head|mind)"
            r"|stay (?:calm|sane|grounded|balanced))\b"
            r"| keeps? me (?:sane|grounded|happy|balanced|fit)\b"
        ),
        "likes {v}",
        "likes",
        0.7,
    ),
)
_GROUP = (
    r"(?:organi[sz]ation|club|team|band|choir|group|association|church|society|league|orchestra|crew|committee|council|charity"
    r"|union|gang|network)"
)
_SHOP = (
    r"(?:store|shop|studio|business|biz|company|salon|bakery|restaurant|caf[eé]|farm|start-?up|clothing line|podcast|blog"
    r"|youtube channel|gallery|agency|firm|food truck|practice)"
)
_KEPT = r"(?:running|run|own|owning|managing|manage|expand|expanding|grow|growing|promote|promoting|for|in|at)"
_NEW = r"(?:job|role|position|career|house|apartment|flat|home|car|bike|camera|laptop|phone|puppy|kitten|guitar|piano|hobby)"
_RULES = (
    _Aside(
        ("my home", "my native"),
        ClauseRule(
            _words(
                rf"\bmy (?:home country|hometown|home town|homeland|native country),? (?P<v>(?-i:{CAP}(?: {CAP})?))"
            ),
            "hometown",
            "{s} is from {v}",
            Kind.PROFILE,
            confidence=0.85,
            take="place",
        ),
    ),
    _Aside(
        ("part of", "member of"),
        ClauseRule(
            _words(
                r"\b(?:I(?:['’]m| am|['’]ve been)|to be|being) (?:still |also |now )?(?:an? )?(?:active |proud )?(?:part|member)"
                rf" of (?P<v>(?:an?|the|my|this|our) (?:[\w'’-]+ ){{0,3}}?{_GROUP})\b"
            ),
            "member of",
            "{s} is part of {v}",
            confidence=0.75,
        ),
    ),
    _Aside(
        ("part of", "member of"),
        ClauseRule(
            _words(
                rf"(?P<v>the (?:[\w'’-]+ ){{0,3}}?{_GROUP}) (?:that |which )?(?:I|we)(?:['’]m| am|['’]re| are)"
                r" (?:an? )?(?:active )?(?:part|member) of\b"
            ),
            "member of",
            "{s} is part of {v}",
            confidence=0.75,
        ),
    ),
    _Aside(
        ("my fam",),
        ClauseRule(
            _words(
                r"\bmy (?P<x>fam(?:ily)?)(?:['’]s| is) (?:(?:pretty|very|really|quite|so|super) )?"
                r"(?P<v>small|big|large|tiny|huge)\b"
            ),
            "family",
            "{s}'s {x} is {v}",
            Kind.PROFILE,
            confidence=0.8,
        ),
    ),
    _Aside(
        (" my ",),
        ClauseRule(
            _words(
                rf"\b{_KEPT} my (?:own |new |small |little )*"
                rf"(?P<v>(?<=own ){_SHOP}|(?:(?!own|new)[\w'-]+ ){{1,2}}?{_SHOP})\b(?!['’]s? )"
            ),
            "business",
            "{s} has a {v}",
            Kind.PROFILE,
            confidence=0.7,
        ),
    ),
    _Aside(
        ("my new ",),
        ClauseRule(
            _words(rf"\bmy new (?P<v>(?:(?!and\b)[\w'-]+ )?{_NEW})\b(?! (?:is|was)\b)"),
            "new",
            "{s} has a new {v}",
            confidence=0.75,
        ),
    ),
)
_FAVOURITE = re.compile(
    r"\bmy (?:(?:all-time|absolute|personal|new) )?favou?rites?(?: one)? (?:is|are|has to be|would be)"
    r" (?:definitely |probably )*(?P<a>(?:the |an? )?)",
    re.IGNORECASE,
)
# A shop that is only planned or looked for is not one that somebody has.
_NOT_YET = re.compile(
    r"\b(?:start|open|launch|find|hunt|search|look|dream|plan|hop|want|need|quit|clos|sold|sell|lost|los|wish)\w*\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    r".*(?:[,;:!?(…—–]|\s-\s|\b(?:and|but|so|because|since|that|though|plus)\s)\s*", re.DOTALL | re.IGNORECASE
)
_FIRST = re.compile(
    r"(?:yeah|yes|well|oh|wow|also|honestly|for me|i think|i believe|i guess|in fact|especially|like|as|just|now|same|hey)\s+",
    re.IGNORECASE,
)
_NO_MATTER = words(
    """
    it that this they he she which who there what you your we i these those everything nothing something all one them its his her
    their how when where why life such things thing someone people here not so the a an knowing hearing seeing having
    """
)


def asides(scene: Scene, start: int, end: int, lower: str) -> Iterator[Finding]:
    """What the sentence [`start`, `end`), `lower` in lower case, tells by the way of whoever speaks."""
    if not ("my " in lower or " me" in lower or "part of" in lower or "member of" in lower):
        return
    for tail in _TAILS:
        if any(word in lower for word in tail.needs) and (match := tail.pattern.search(scene.text, start, end)):
            span = _before(scene, start, match.start())
            if span is not None:
                yield _preferred(scene, tail.say, tail.attribute, span, (start, match.end()), tail.confidence)
    favourite = _FAVOURITE.search(scene.text, start, end) if "my " in lower and "favo" in lower else None
    if favourite is not None and (span := _named(scene, favourite.end(), end)):
        say = f"'s favourite is {favourite['a'].lower()}{{v}}"
        yield _preferred(scene, say, "favourite", span, favourite.span(), 0.75)
    for aside in _RULES:
        if any(word in lower for word in aside.needs) and (match := aside.rule.pattern.search(scene.text, start, end)):
            found = _told(scene, aside.rule, match, start, end)
            if found is not None:
                yield found


def _told(scene: Scene, rule: ClauseRule, match: re.Match[str], start: int, end: int) -> Finding | None:
    span = match.span("v")
    attribute, said = rule.attribute, scene.text[slice(*span)]
    if rule.take and not read(rule.take, Place(scene.text, span[0], end)):
        return None
    if attribute in ("business", "new") and _NOT_YET.search(scene.text, start, span[0]):
        return None
    if attribute == "new":
        attribute = f"new {said.lower()}"
    told = rule.say.format(s=scene.who, v=in_third_person(said), x=match.groupdict().get("x"))
    return scene.finding(rule.kind, sentence("", told), attribute, span, match.span(), confidence=rule.confidence)


def _preferred(
    scene: Scene, say: str, attribute: str, span: tuple[int, int], evidence: tuple[int, int], sure: float
) -> Finding:
    said = in_third_person(scene.text[slice(*span)])
    shown = said if said[1:2].isupper() or len(said) < 2 else said[:1].lower() + said[1:]
    told = sentence(f"{scene.who}{'' if say[0] == chr(39) else ' '}{say.format(v=shown)}", "")
    return scene.finding(Kind.PREFERENCE, told, attribute, span, evidence, confidence=sure)


def _before(scene: Scene, start: int, at: int) -> tuple[int, int] | None:
    """What the words before `at` speak of: a noun or a doing, not something only pointed at."""
    text = scene.text
    cut = _BEGINS.match(text, start, at)
    begin = cut.end() if cut else start
    while (first := _FIRST.match(text, begin, at)) is not None:
        begin = first.end()
    begin, stop = trimmed(text, begin, at)
    return (begin, stop) if _is_named(text[begin:stop], 9) else None


def _named(scene: Scene, at: int, end: int) -> tuple[int, int] | None:
    begin, stop = upto(Place(scene.text, at, end))
    return (begin, stop) if _is_named(scene.text[begin:stop], 7) else None


_POINTED = re.compile(
    r"\b(?:it|that|this|those|these|you|your|yours|he|she|they|them|is|are|was|were|who|which|what)\b", re.IGNORECASE
)


def _is_named(said: str, most: int) -> bool:
    parts = said.split()
    return 0 < len(parts) <= most and len(said) > 2 and parts[0].lower() not in _NO_MATTER and not _POINTED.search(said)
