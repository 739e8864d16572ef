"""Values that are names: places, employers, schools, people, languages.

What does not look like the thing asked for is no value at all.
"""

from __future__ import annotations

import re

from memos.reading.value import CAP, WORD, Place, Value, trimmed, whole
from memos.text.lazy import LazyPattern
from memos.text.name_lists import COMPANIES, COUNTRIES, DEMONYMS, GIVEN, NOT_NAMES, ORGANISATION_TAILS, PLACES, REGIONS

_CAPS = LazyPattern(
    rf"{CAP}(?: (?:{CAP}|(?:of the|of|de|la|del|do|da|upon|van|von|der|am|an der|bei|sur|di|the|and|&)(?= {CAP})))*"
)
_STREET = (
    rf"\d[\w/-]* (?:(?:rue|via|calle|avenue) (?:[a-z]{{1,3}} )*)?{CAP}(?: (?:of the |of |the |de la |de |du )?{CAP}){{0,4}}"
    rf"|{CAP}(?: {CAP}){{0,3}} \d+[A-Za-z]?(?! (?:years?|months?|weeks?|days?|hours?|minutes?|times)\b)(?![\w:%])"
)
_TOWN = rf"{CAP}(?: (?![A-Z]{{1,2}}\d){CAP}){{0,3}}"
_ADDRESS = LazyPattern(
    rf"(?:(?:Flat|Apartment|Apt\.?|Unit|Suite|Room) \w+,? )?(?P<street>{_STREET})"
    rf"(?:, (?:Flat|Apartment|Apt\.?|Unit|Suite) \w+)?(?:(?:,| in) (?:\d{{4,6}} )?{_TOWN}"
    r"(?: \d{4,6}(?:-\d{4})?| [A-Z]{1,2}\d{1,2} \d[A-Z]{2})?){0,3}"
)
_PART = LazyPattern(rf"(?<= )(?![A-Z]{{1,2}}\d){_TOWN}(?=,|$| \d|[.!;\s])")
_AND = LazyPattern(r" (?:and|&) ")
_VERB_AFTER = LazyPattern(r" (?:is|are|was|were|has|lives|works|loves|likes|wants|will|can|says|said)\b")
_SCHOOL_TAIL = LazyPattern(
    r"\b(?:University|College|School|Institute|Academy|Polytechnic|Conservatory|Uni|High|Elementary)\b"
)
_SCHOOLS = frozenset(
    {
        "MIT",
        "Stanford",
        "Harvard",
        "Yale",
        "Princeton",
        "Oxford",
        "Cambridge",
        "NTNU",
        "UCLA",
        "ETH",
        "Caltech",
        "Berkeley",
    }
)
_HELPED = LazyPattern(
    r"(?:[\w'’-]+ ){0,4}?(?:shelter|food bank|soup kitchen|kitchen|center|centre|hospital|library|school"
    r"|church|clinic|zoo|museum|hospice|organi[sz]ation"
    r"|sanctuary|orphanage|nursing home|care home|charity)\b",
    re.IGNORECASE,
)


def caps(place: Place) -> tuple[int, int] | None:
    """The capitalised phrase at the place, unless it begins with a word that is no name."""
    match = _CAPS.match(place.text, place.at, place.end)
    if match is None:
        return None
    start, end = trimmed(place.text, *match.span())
    phrase = place.text[start:end]
    if phrase not in PLACES and phrase.split()[0] in NOT_NAMES and " ".join(phrase.split()[:2]) not in PLACES:
        return None
    if phrase.endswith(("'s", "’s")):
        return None
    return start, _without_next(place, start, end)


def _without_next(place: Place, start: int, end: int) -> int:
    """Where a name ends that runs into the next clause: "Google and Anna lives …", but "Marks and Spencer"."""
    joint = _AND.search(place.text, start, end)
    if joint is None or place.text[start:end] in PLACES:
        return end
    following = place.text[joint.end() : end].split()[0]
    another = following in GIVEN or following in PLACES or following in NOT_NAMES
    return joint.start() if another or _VERB_AFTER.match(place.text, end, place.end) else end


def place_name(place: Place) -> list[Value]:
    """A city, region or country, with what it lies in: "Oslo, Norway"."""
    span = caps(place) or _lower_place(place)
    if span is None:
        return []
    start, end = span
    joint = _AND.search(place.text, start, end)
    if joint is not None and place.text[start:end] not in PLACES:
        end = joint.start()
    phrase = place.text[start:end]
    tail = re.compile(rf", (?:{CAP})(?: {CAP})*").match(place.text, end, place.end)
    while tail is not None and (tail[0][2:] in PLACES or re.fullmatch(r"[A-Z]{2}", tail[0][2:])):
        end = tail.end()
        tail = re.compile(rf", (?:{CAP})(?: {CAP})*").match(place.text, end, place.end)
    name = phrase if phrase in PLACES else phrase.title()
    slot = "country" if end == start + len(phrase) and name in COUNTRIES else "region" if name in REGIONS else "city"
    known = name in PLACES or end > start + len(phrase)
    if not known and phrase.split()[0] in GIVEN:
        return []
    return [Value(start, end, slot, 1.0 if known else 0.85)]


def _lower_place(place: Place) -> tuple[int, int] | None:
    """A known place written without capitals: "oslo"."""
    match = re.compile(r"[a-z]{3,}(?: [a-z]{3,}){0,2}").match(place.text, place.at, place.end)
    if match is None:
        return None
    words = match[0].split()
    for n in range(len(words), 0, -1):
        phrase = " ".join(words[:n])
        if phrase.title() in PLACES and phrase not in (
            "nice",
            "cork",
            "bath",
            "reading",
            "turkey",
            "china",
            "split",
            "cologne",
        ):
            return place.at, place.at + len(phrase)
    return None


def address(place: Place) -> list[Value]:
    """A postal address as a whole, and the city it names: "14 Harrow Lane, Leeds"."""
    match = _ADDRESS.match(place.text, place.at, place.end)
    if match is None:
        return []
    start, end = trimmed(place.text, *match.span())
    found = [Value(start, end, "address")]
    parts = [(m.start(), m.end()) for m in _PART.finditer(place.text, match.end("street"), end)]
    known = [(s, e) for s, e in parts if place.text[s:e] in PLACES and place.text[s:e] not in COUNTRIES | REGIONS]
    if not known and len(parts) == 1 and place.text[slice(*parts[0])] not in COUNTRIES | REGIONS:
        known = parts
    return found + [Value(s, e, "city") for s, e in known[:1]]


def known_place(place: Place) -> list[Value]:
    """A place of the lists."""
    return [value for value in place_name(place) if value.confidence == 1.0]


def organisation(place: Place) -> list[Value]:
    """An employer or institution, by its capitals."""
    span = caps(place)
    if span is None:
        match = WORD.match(place.text, place.at, place.end)
        known = match and match[0].capitalize() in COMPANIES and match[0] not in ("apple", "meta", "oracle", "intel")
        return [Value(*match.span())] if match and known else []
    phrase = place.text[span[0] : span[1]]
    first = phrase.split()[0]
    if (first in GIVEN and len(phrase.split()) == 1) or phrase in PLACES or first in DEMONYMS:
        return []
    return whole(*span, text=place.text, most_words=7)


def company(place: Place) -> list[Value]:
    """An organisation that surely is a company."""
    return [
        value
        for value in organisation(place)
        if (name := place.text[value.start : value.end]) in COMPANIES or name.split()[-1] in ORGANISATION_TAILS
    ]


def school(place: Place) -> list[Value]:
    """A university, college or school."""
    span = caps(place)
    if span is None:
        return []
    phrase = place.text[span[0] : span[1]]
    if _SCHOOL_TAIL.search(phrase) or phrase in _SCHOOLS or re.fullmatch(r"[A-Z]{3,5}", phrase):
        return whole(*span, text=place.text)
    return []


def place_of_help(place: Place) -> list[Value]:
    """A shelter, library, hospital … or an organisation."""
    match = _HELPED.match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else [v for v in organisation(place) if v.end - v.start > 4]


def name(place: Place) -> list[Value]:
    """The name of a person or pet."""
    match = re.compile(rf"{CAP}(?: {CAP}){{0,2}}").match(place.text, place.at, place.end)
    if match is None:
        return []
    words = match[0].split()
    while words and words[-1].rstrip(".") in NOT_NAMES:
        words.pop()
    if not words or words[0] in NOT_NAMES or words[0].lower() in DEMONYMS:
        return []
    start, end = trimmed(place.text, place.at, place.at + len(" ".join(words)))
    return [Value(start, end - 2 if place.text[start:end].endswith(("'s", "’s")) else end)]


def names(place: Place) -> list[Value]:
    """One or more names: "Rex", "Rex and Luna", "Anna, Bo and Cy"."""
    found, at = [], place.at
    while at < place.end and (value := name(Place(place.text, at, place.end))):
        found += value
        link = re.compile(r"(?:,? and |, |,? & )(?=[A-Z])").match(place.text, value[0].end, place.end)
        if link is None:
            break
        at = link.end()
    return found


def given_name(place: Place) -> list[Value]:
    """A name that is surely one, and all that is said: "I'm Alice", not "I'm Jordan's friend"."""
    match = re.compile(r"(?P<n>[A-Z][\w-]+)(?: [A-Z][\w-]+)?(?=\s*(?:[.,!)\n]|$| from | and | -))").match(
        place.text, place.at, place.end
    )
    if match is None or match["n"] not in GIVEN or match[0] in PLACES:
        return []
    return [Value(*match.span())]


def languages(place: Place) -> list[Value]:
    """Languages in a list."""
    found: list[Value] = []
    for match in re.compile(
        r"(?:(?:, |,? and |,? & |)(?:some |a little |a bit of |fluent |basic )?)([A-Za-z]+)"
    ).finditer(place.text, place.at, place.end):
        if match.start() != (found[-1].end if found else place.at) or match[1].lower() not in DEMONYMS:
            break
        found.append(Value(match.start(1), match.end(1)))
    return found
