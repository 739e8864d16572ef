"""Relatives and pets: what they are called, that they died, and whose verb comes next ("my dog Rex …")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from memos.memory.model import Kind
from memos.reading import english
from memos.reading.clauses import UNREAL
from memos.reading.endings import KIN_ATTRIBUTES
from memos.reading.finding import End, Finding
from memos.reading.scene import Scene
from memos.reading.value import CAP, Place, Value
from memos.reading.values import read
from memos.reading.wording import sentence
from memos.text.lazy import LazyPattern
from memos.text.name_lists import GIVEN, NOT_NAMES

_KIN = LazyPattern(
    r"(?:(?:own|late|dear|dearest|beloved|older|younger|elder|little|big|baby|best|good|close|old|oldest"
    r"|youngest|eldest|only|new|lovely|sweet|twin|first|second"
    r"|late|future|middle|adopted|ex|former|current|childhood|furry) )*(?P<kin>"
    + "|".join(sorted(english.KIN, key=len, reverse=True))
    + r")(?![\w-])",
    re.IGNORECASE,
)
_EX = LazyPattern(r"\b(?:ex|former|late|future)\b", re.IGNORECASE)
_NEW = LazyPattern(r"\bnew\b", re.IGNORECASE)
_FORMER = LazyPattern(
    rf"(?:ex|former|late)[- ](?P<kin>{'|'.join(sorted(english.KIN, key=len, reverse=True))})(?![\w-])(?: (?P<n>{CAP}))?",
    re.IGNORECASE,
)
# "My dentist appointment" is no dentist.
_NO_KIN = LazyPattern(
    r" (?:appointment|meeting|visit|food|house|home|call|party|lesson|class|practice|toys?|bed|leash|number"
    r"|address|email|birthday|wedding|interview|check-?up|surgery)s?\b"
)
_NAME = r"[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*)?"
_IS_CALLED = LazyPattern(
    rf"(?:['’]s name(?: is|['’]s| was)| is (?:called|named)|,? (?:who is |who's )?(?:called|named)) (?={_NAME})"
)
_APPOSITION = LazyPattern(rf",? (?P<n>{_NAME})(?=,? [a-z]|,|\.|!|$|['’])")
_IS_NAME = LazyPattern(
    rf" (?:is|will be) (?P<title>(?:Dr|Mrs?|Ms|Prof)\.? )?(?P<n>{_NAME})"
    r"(?=\s*(?:[.,;!\n]|$| (?:and|from|starting|as of|since)\b))"
)
_DIED = LazyPattern(
    r",?(?: has| just| sadly| recently)* (?:died|passed away|passed(?= (?:on|last|this|yesterday|in|away)\b)"
    r"|was put down|has passed)\b"
)
_MANY = LazyPattern(
    r"(?:\w+ )?(?P<kin>kids|children|sons|daughters|dogs|cats|puppies|kittens|brothers|sisters|parents|friends)"
    rf"(?:,? (?:who are )?(?:are )?(?:called|named)|['’] names are| are)?,? (?={_NAME}(?:, | and | & ){_NAME})"
)
_FROM = 15  # characters between a name and the day from which it counts
_MANY_OF = {
    "kids": "child",
    "children": "child",
    "sons": "child",
    "daughters": "child",
    "brothers": "sibling",
    "sisters": "sibling",
    "parents": "parent",
    "friends": "friend",
}


# "We adopted a cat! She's a three-year-old tabby named Pixel."
_NAMED_NEXT = LazyPattern(
    r"(?<![\w'’])(?:I|[Ww]e)(?:['’]ve| have)?(?: just| finally| also)? (?:adopted|got|rescued|bought|have) an? (?:[\w-]+ ){0,2}?"
    rf"(?P<kin>{'|'.join(sorted(english.PETS))})\b[^.!?;:\n]{{0,60}}[.!…]+ "
    r"(?:(?:She|He|It)(?:['’]s| is) (?:an? [^.!?,;:\n]{2,50}? )?(?:called|named) |(?:Her|His|Its) name(?:['’]s| is) "
    rf"|(?:We|I) (?:call|called|named) (?:her|him|it) )(?P<n>{CAP})(?=\s*(?:[.,;!\n]|$| (?:and|but)\b))"
)


@dataclass(frozen=True, slots=True)
class Relative:
    """A relative or pet spoken of: how findings name it, what was learned on the way, and where its verb begins."""

    key: str
    who: str
    single: bool
    findings: tuple[Finding, ...]
    at: int | None


def relative(scene: Scene, match: re.Match[str], end: int) -> Relative | None:
    """The relative that "my …" speaks of, or None where it speaks of something else."""
    text, at = scene.text, match.end() + 1
    many = _MANY.match(text, at, end)
    if many:
        attribute = _MANY_OF.get(many["kin"].lower(), "pet")
        found = [
            _named(scene, attribute, many["kin"], v, match.start()) for v in read("names", Place(text, many.end(), end))
        ]
        return Relative("", "", False, tuple(found), None) if found else None
    former = _FORMER.match(text, at, end)
    if former:
        return Relative("", "", False, tuple(_former(scene, former, match.start())), None)
    kin = _KIN.match(text, at, end)
    if kin is None or _NO_KIN.match(text, kin.end(), end):
        return None
    noun, attribute = text[at : kin.end()], english.KIN[kin["kin"].lower()]
    if _EX.search(noun):
        return Relative("", "", False, (), None)
    after, named = _name_after(text, kin.end(), end)
    findings: list[Finding] = []
    name = ""
    if text.startswith(" will be ", kin.end()):
        return Relative("", "", False, tuple(_to_be(scene, attribute, noun, named, match.start(), end)), None)
    if named is not None:
        name = text[named.start : named.end]
        findings.append(_named(scene, attribute, noun, named, match.start()))
    gone = _DIED.match(text, after, end)
    if gone:
        findings = [_died(scene, attribute, noun, named or Value(at, kin.end()), match.start(), gone.end())]
        return Relative("", "", False, tuple(findings), None)
    known = " ".join(noun.lower().split())
    label = f"{known} {name}".strip() if name and attribute != "pet" else name or known
    key = f"{scene.subject}'s {label}"
    who = f"{scene.who}'s {known} {name}".strip()
    if text[after : after + 2] in ("'s", "’s") or text[after : after + 1] not in (" ", ","):
        return Relative(key, who, False, tuple(findings), None)
    if text[after : after + 1] == ",":
        after = after + 1 if name else end
    return Relative(
        key,
        who,
        kin["kin"].lower() in english.SINGLE_KIN or bool(name),
        tuple(findings),
        after if after < end else None,
    )


def named_relative(scene: Scene, match: re.Match[str], end: int) -> Iterator[Finding]:
    """The name of a relative mentioned anywhere in a statement: "a gift for my sister Eva"."""
    if match[0].lower() not in ("my", "our"):
        return
    kin = _KIN.match(scene.text, match.end() + 1, end)
    if kin is None or _EX.search(kin[0]):
        return
    named = re.compile(rf" (?P<n>{_NAME})(?=[\s,.!?;:'’)]|$)").match(scene.text, kin.end(), end)
    if named is None or named["n"].split()[0] not in GIVEN:
        return
    for value in read("name", Place(scene.text, named.start("n"), named.end("n"))):
        yield _named(scene, english.KIN[kin["kin"].lower()], kin[0], value, match.start())


def named_next(scene: Scene) -> Iterator[Finding]:
    """The name of a pet that one sentence tells of and the next one names."""
    for match in _NAMED_NEXT.finditer(scene.text):
        if not UNREAL.search(match[0]):
            for value in read("name", Place(scene.text, match.start("n"), match.end("n"))):
                yield _named(scene, "pet", match["kin"], value, match.start())


def _name_after(text: str, at: int, end: int) -> tuple[int, Value | None]:
    """The name that follows a relative, and where the sentence goes on."""
    called = _IS_CALLED.match(text, at, end)
    if called:
        found = read("name", Place(text, called.end(), end))
        return (found[0].end, found[0]) if found else (at, None)
    for pattern in (_APPOSITION, _IS_NAME):
        match = pattern.match(text, at, end)
        if match is None:
            continue
        word = match["n"].split()[0]
        if (
            word in NOT_NAMES
            or (pattern is _IS_NAME and word not in GIVEN and not match["title"])
            or (match[0][0] == "," and word not in GIVEN)
        ):
            continue
        found = read("name", Place(text, match.start("n"), match.end("n")))
        if found:
            return found[0].end, found[0]
    return at, None


def _named(scene: Scene, attribute: str, noun: str, value: Value, start: int) -> Finding:
    name = scene.text[value.start : value.end]
    many = noun.lower().endswith("s") and not noun.lower().endswith("boss")
    single = {"kids": "child", "children": "child", "puppies": "puppy"}.get(
        noun.lower(), noun.rstrip("s") if many else noun
    )
    return scene.finding(
        Kind.PROFILE,
        sentence(scene.who, f"has a {_article_free(single)} named {name}"),
        attribute,
        (value.start, value.end),
        (start, value.end),
        single=attribute in ("spouse", "boss"),
        confidence=0.9,
        ends=(End(attribute),) if attribute in english.REPLACED_KIN and _NEW.search(noun) else (),
    )


def _to_be(scene: Scene, attribute: str, noun: str, named: Value | None, start: int, end: int) -> Iterator[Finding]:
    """Who will be it from a day that is told: "my new boss will be Ingrid from May 1st"."""
    mention = next(iter(scene.dates_in(named.end, end)), None) if named else None
    if named is not None and mention is not None and mention.start - named.end <= _FROM:
        found = _named(scene, attribute, noun, named, start)
        yield replace(found, valid_from=mention.from_, end=max(found.end, mention.end))


def _former(scene: Scene, match: re.Match[str], start: int) -> Iterator[Finding]:
    """Who is a former (or late) husband, boss …: by name, or a spouse or partner whatever the name."""
    attribute = english.KIN[match["kin"].lower()]
    named = read("name", Place(scene.text, match.start("n"), match.end("n"))) if match["n"] else []
    if not named and attribute not in ("spouse", "partner"):
        return
    span = (named[0].start, named[0].end) if named else (match.start(), match.end("kin"))
    name = f" named {scene.text[slice(*span)]}" if named else ""
    noun = scene.text[match.start() : match.end("kin")].lower()
    yield scene.finding(
        Kind.PROFILE,
        sentence(scene.who, f"has {_a(noun)} {noun}{name}"),
        attribute,
        span,
        (start, span[1]),
        confidence=0.85,
        valid=(None, scene.now),
        ended=True,
        ends=() if named else (End(attribute),),
    )


def _a(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def _article_free(noun: str) -> str:
    return re.sub(r"^(?:own|dear|dearest|beloved|lovely|sweet|furry) ", "", noun.lower())


def _died(scene: Scene, attribute: str, noun: str, value: Value, start: int, end: int) -> Finding:
    mention = next(iter(scene.dates_in(end, min(len(scene.text), end + 40))), None)
    return scene.finding(
        Kind.PROFILE,
        sentence(
            f"{scene.who}'s {noun.lower()}",
            f"{scene.text[value.start : value.end] if value.start > start + len(noun) + 2 else ''} died".strip(),
        ),
        attribute,
        (value.start, value.end),
        (start, mention.end if mention else end),
        confidence=0.9,
        valid=(None, mention.from_ if mention else scene.now),
        ended=True,
        ends=tuple(_gone(attribute, scene.text[value.start : value.end], noun)),
    )


def _gone(attribute: str, name: str, noun: str) -> Iterator[End]:
    """Whom a death ends beside the one that is named: all of that noun where no name was said."""
    if name.lower() == noun.lower():
        only = "" if attribute == "spouse" else noun.lower().split()[-1]
        yield End(attribute, only=only, now=True)
    else:
        yield from (End(other, name, now=True) for other in KIN_ATTRIBUTES)
