"""How the value of a pattern is read: where a place, an employer, a liked thing … begins and ends in the text.

Each reader is conservative: what does not look like the thing asked for is no value at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memos.reading import english
from memos.reading.patterns import words
from memos.text.dates import DateMention
from memos.text.name_lists import COMPANIES, COUNTRIES, DEMONYMS, GIVEN, NOT_NAMES, ORGANISATION_TAILS, PLACES, REGIONS


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

_CAP = r"(?:(?:St|Mt|Ft)\. )?[A-ZÀ-ÖØ-Þ][\w'’&-]*(?:\.(?=[A-Z]))?"
_CAPS = re.compile(rf"{_CAP}(?: (?:{_CAP}|(?:of the|of|de|la|del|do|da|upon|van|von|der|the|and|&)(?= {_CAP})))*")
_AFTER_NOUN = re.compile(
    r"\s*(?:[.,;:!?)\n\"”]|$|-\s)|\s+(?:and|or|but|who|that|which|at|in|on|too|as|with|so|from|for|now"
    r"|together|already|here|there|by|since|because"
    r"|while|working|based|living|specializ\w+|of|named|called|when|to|anymore|any more|right now|today"
    r"|these days|yet|again|last|this|yesterday)\b",
    re.IGNORECASE,
)
_STOP = re.compile(
    r"[,;!?()\n—–\"“”]|:(?!\d)|\.(?!\w)|\s-\s|\s(?:but|because|cause|cuz|so|since|although|though|when"
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
_LONG_STOP = re.compile(
    r"[;!?\n—–]|:(?!\d)|\.(?!\w)|,? (?:but|because|so|although|though|which|cause|cuz|and (?:I|we|it|my|he"
    r"|she|they|you))\b|, (?!\d{4})|\s-\s",
    re.IGNORECASE,
)
_NO_LIKE = words(
    """
    it you that this them him her how when what your yourself those these everything everyone anything something nothing hearing seeing being having his their
    its one us me where why every each both any more most there here all such who whatever getting another so too very really and or but not
    never if because knowing thinking ya u y'all itself i we he she they is was are be much lots tons finding connecting cuz
    """
)
_THE_LIKED = re.compile(
    r"the (?:(?:sea|ocean|beach|mountains?|outdoors|rain|snow|cold|heat|winter|summer|spring|autumn|fall"
    r"|weekend|piano|guitar|violin|theat(?:re|er)|city"
    r"|countryside|desert|forest|gym|cinema|opera|ballet|dark)\b(?! \w)|smell of |sound of |taste of |[A-Z])"
)
_DEICTIC = re.compile(r"\b(?:this|that|these|those|them|it|him|her|you|your|yours|there|here|its)\b", re.IGNORECASE)
_NUMBER_WORDS = (
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    r"|seventeen|eighteen|nineteen|twenty"
    r"|thirty|forty|fifty|sixty|seventy|eighty|ninety"
)
_AGE = re.compile(
    rf"(?P<v>\d{{1,3}}|(?:{_NUMBER_WORDS})(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?)"
    r"(?:(?:[- ]years?[- ]old|[- ]y/?o| yrs old)\b|(?=\s*(?:[.,;!?\n]|$))|(?= (?:and|but|now|today|yesterday"
    r"|last|this|on|in (?:May|June|July|[A-Z]))\b))",
    re.IGNORECASE,
)
_KIN_COUNT = re.compile(
    r"(?:an?|one|two|three|four|five|six|seven|no|\d+) (?:(?:young|little|older|younger|big|small|adult"
    r"|grown|beautiful|wonderful|adopted|twin|rescue|cute|old|black"
    r"|white|lovely|amazing|great) ){0,2}?(?P<n>sons?|daughters?|kids?|children|child|brothers?|sisters?"
    r"|siblings?|twins|boys|girls|grandchildren|grandkids|dogs?|cats?"
    r"|puppy|puppies|kittens?|rabbits?|horses?|parrots?|hamsters?|turtles?|guinea pigs?|goldfish)\b",
    re.IGNORECASE,
)
_KIN_OF = (
    ("son|daughter|kid|child|twins|boys|girls", "child"),
    ("brother|sister|sibling", "sibling"),
    ("grand", "grandchild"),
)
_SUBJECTS = re.compile(
    r"(?:(?:computer|political|environmental|data|social|marine|materials|information|cognitive|food|sports)"
    r" (?:science|studies|engineering|biology)|"
    r"(?:mechanical|electrical|civil|chemical|software|industrial|aerospace) engineering|art history|graphic"
    r" design|interior design|creative writing|"
    r"international relations|business administration|biology|chemistry|physics|math(?:s|ematics)?|medicine"
    r"|law|economics|history|philosophy|psychology|"
    r"sociology|linguistics|literature|music|art|architecture|engineering|nursing|education|journalism"
    r"|geology|geography|astronomy|statistics|marketing|"
    r"business|accounting|finance|pharmacy|dentistry|anthropology|archaeology|theology|design|film|fashion"
    r"|counseling|agriculture|neuroscience|informatics)\b",
    re.IGNORECASE,
)
_SCHOOL_TAIL = re.compile(
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
_HELPED = re.compile(
    r"(?:[\w'’-]+ ){0,4}?(?:shelter|food bank|soup kitchen|kitchen|center|centre|hospital|library|school"
    r"|church|clinic|zoo|museum|hospice|organi[sz]ation"
    r"|sanctuary|orphanage|nursing home|care home|charity)\b",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(r"\+?\d[\d ()./-]{4,18}\d")
_WORD = re.compile(r"[A-Za-z][\w-]*")
_EVALUATIVE = words(
    """
    good great bad terrible horrible big huge total better best natural fast slow picky decent pretty really very true born avid keen hopeless lousy
    awful poor careful nervous wannabe aspiring failed bit former little complete passionate amazing fantastic wonderful mere such would-be worse happy heavy
    """
)


def read(kind: str, place: Place) -> list[Value]:
    """The values of `kind` that begin at `place`."""
    return READERS[kind](place)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space and loose punctuation at its end."""
    while end > start and text[end - 1] in " \t,.;:!?'’\"”":
        end -= 1
    return start, end


def upto(place: Place, stop: re.Pattern[str] = _STOP) -> tuple[int, int]:
    """The span from the place to where its phrase ends."""
    match = stop.search(place.text, place.at, place.end)
    return trimmed(place.text, place.at, match.start() if match else place.end)


def long_phrase(place: Place) -> tuple[int, int]:
    """The span to the end of the clause, with adverbials: what somebody plans or did."""
    return upto(place, _LONG_STOP)


def _one(start: int, end: int, least: int = 2, most_words: int = 8, text: str = "") -> list[Value]:
    if end - start < least or len(text[start:end].split()) > most_words:
        return []
    return [Value(start, end)]


def _caps(place: Place) -> tuple[int, int] | None:
    match = _CAPS.match(place.text, place.at, place.end)
    if match is None:
        return None
    start, end = trimmed(place.text, *match.span())
    phrase = place.text[start:end]
    if phrase not in PLACES and phrase.split()[0] in NOT_NAMES and " ".join(phrase.split()[:2]) not in PLACES:
        return None
    if phrase.endswith(("'s", "’s")):
        return None
    return start, end


def _place(place: Place) -> list[Value]:
    span = _caps(place) or _lower_place(place)
    if span is None:
        return []
    start, end = span
    phrase = place.text[start:end]
    tail = re.compile(rf", (?:{_CAP})(?: {_CAP})*").match(place.text, end, place.end)
    while tail is not None and (tail[0][2:] in PLACES or re.fullmatch(r"[A-Z]{2}", tail[0][2:])):
        end = tail.end()
        tail = re.compile(rf", (?:{_CAP})(?: {_CAP})*").match(place.text, end, place.end)
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


def _known_place(place: Place) -> list[Value]:
    return [value for value in _place(place) if value.confidence == 1.0]


def _organisation(place: Place) -> list[Value]:
    span = _caps(place)
    if span is None:
        match = _WORD.match(place.text, place.at, place.end)
        known = match and match[0].capitalize() in COMPANIES and match[0] not in ("apple", "meta", "oracle", "intel")
        return [Value(*match.span())] if match and known else []
    phrase = place.text[span[0] : span[1]]
    first = phrase.split()[0]
    if (first in GIVEN and len(phrase.split()) == 1) or phrase in PLACES or first in DEMONYMS:
        return []
    return _one(*span, text=place.text, most_words=7)


def _company(place: Place) -> list[Value]:
    return [
        value
        for value in _organisation(place)
        if (name := place.text[value.start : value.end]) in COMPANIES or name.split()[-1] in ORGANISATION_TAILS
    ]


def _school(place: Place) -> list[Value]:
    span = _caps(place)
    if span is None:
        return []
    phrase = place.text[span[0] : span[1]]
    if _SCHOOL_TAIL.search(phrase) or phrase in _SCHOOLS or re.fullmatch(r"[A-Z]{3,5}", phrase):
        return _one(*span, text=place.text)
    return []


def _helped(place: Place) -> list[Value]:
    match = _HELPED.match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else [v for v in _organisation(place) if v.end - v.start > 4]


def _name(place: Place) -> list[Value]:
    match = re.compile(rf"{_CAP}(?: {_CAP}){{0,2}}").match(place.text, place.at, place.end)
    if match is None:
        return []
    words = match[0].split()
    while words and words[-1].rstrip(".") in NOT_NAMES:
        words.pop()
    if not words or words[0] in NOT_NAMES or words[0].lower() in DEMONYMS:
        return []
    start, end = trimmed(place.text, place.at, place.at + len(" ".join(words)))
    return [Value(start, end - 2 if place.text[start:end].endswith(("'s", "’s")) else end)]


def _names(place: Place) -> list[Value]:
    """One or more names: "Rex", "Rex and Luna", "Anna, Bo and Cy"."""
    found, at = [], place.at
    while at < place.end and (value := _name(Place(place.text, at, place.end))):
        found += value
        link = re.compile(r"(?:,? and |, |,? & )(?=[A-Z])").match(place.text, value[0].end, place.end)
        if link is None:
            break
        at = link.end()
    return found


def _given_name(place: Place) -> list[Value]:
    """A name that is surely one, and all that is said: "I'm Alice", not "I'm Jordan's friend"."""
    match = re.compile(r"(?P<n>[A-Z][\w-]+)(?: [A-Z][\w-]+)?(?=\s*(?:[.,!)\n]|$| from | and | -))").match(
        place.text, place.at, place.end
    )
    if match is None or match["n"] not in GIVEN or match[0] in PLACES:
        return []
    return [Value(*match.span())]


def _list(place: Place) -> list[Value]:
    """Short things in a list: "peanuts, shellfish and cats"."""
    found, at = [], place.at
    item = re.compile(
        r"(?:all |most |some |raw |both |the |any )*(?P<v>[\w'’-]+(?:"
        r" [\w'’-]+){0,2}?)(?=\s*(?:[.,;:!?()\n—–]|$| (?:and|or|but|so|because|since|which|though|too|as)\b))",
        re.IGNORECASE,
    )
    while (match := item.match(place.text, at, place.end)) is not None:
        word = match["v"].lower()
        if word.split()[0] in _NO_LIKE or word.split()[0] in (
            "so",
            "please",
            "thanks",
            "he",
            "she",
            "my",
            "we",
            "can",
            "do",
            "just",
        ):
            break
        found.append(Value(match.start("v"), match.end("v")))
        link = re.compile(r"(?:, (?:and |or |as well as )?| and | or |,? & )(?!so\b|but\b|I\b|it\b|my\b)").match(
            place.text, match.end(), place.end
        )
        if link is None:
            break
        at = link.end()
    return found


def _languages(place: Place) -> list[Value]:
    found = []
    for match in re.compile(
        r"(?:(?:, |,? and |,? & |)(?:some |a little |a bit of |fluent |basic )?)([A-Za-z]+)"
    ).finditer(place.text, place.at, place.end):
        if match.start() != (found[-1].end if found else place.at) or match[1].lower() not in DEMONYMS:
            break
        found.append(Value(match.start(1), match.end(1)))
    return found


def _liked(place: Place) -> list[Value]:
    several = _SEVERAL.match(place.text, place.at, place.end)
    if several:
        items = _items(place.text, *several.span())
        found = [v for start, end in items for v in _liked_one(Place(place.text, start, end))]
        if len(found) == len(items):
            return found
    return _liked_one(place)


_SEVERAL = re.compile(
    r"(?:[\w'’-]+(?: [\w'’-]+){0,2}?, )*[\w'’-]+(?: [\w'’-]+){0,2}?,? and (?:[\w'’-]+"
    r" ){0,2}?[\w'’-]+(?=\s*(?:[.;:!?)\n]|$|, (?:but|so|and|because|too)))"
)
_LINK = re.compile(r",? and |, ")


def _items(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans between the commas and "and" of a list."""
    spans, at = [], start
    for link in _LINK.finditer(text, start, end):
        spans.append((at, link.start()))
        at = link.end()
    return [*spans, (at, end)]


def _liked_one(place: Place) -> list[Value]:
    start, end = upto(place)
    words = place.text[start:end].split()
    if not words or len(words) > 9 or end - start < 3:
        return []
    first = words[0].lower().replace("’", "'")
    if first in _NO_LIKE or first.endswith(("'s", "'re", "'ll", "'ve")):
        return []
    if (
        _DEICTIC.search(place.text, start, end)
        or re.search(r"\b(?:a|an|the) \w+$", place.text[start:end])
        and place.text[end : end + 1] == ","
    ):
        return []
    if first == "the" and not _THE_LIKED.match(place.text, start):
        return []
    if first in ("a", "an") and not (len(words) > 2 and words[1] == "good"):
        return []
    if first == "to" and (
        len(words) < 2
        or words[1]
        in ("be", "hear", "see", "know", "think", "say", "have", "get", "thank", "imagine", "believe", "point", "add")
    ):
        return []
    return [Value(start, end)]


def _preferred(place: Place) -> list[Value]:
    over = re.compile(r" (?:over|rather than|instead of|more than|to(?= \w+(?:\s*[.,;!?]|$))|than) ").search(
        place.text, place.at, place.end
    )
    if over and place.text[place.at : over.start()].strip().lower() not in ("to", ""):
        found = _liked(Place(place.text, place.at, over.start()))
        if found:
            return found
    return _liked(place)


def _food(place: Place) -> list[Value]:
    start, end = upto(place)
    words = place.text[start:end].lower().split()
    bad = {
        "out",
        "at",
        "in",
        "with",
        "like",
        "for",
        "on",
        "to",
        "lunch",
        "dinner",
        "breakfast",
        "well",
        "healthy",
        "less",
        "from",
        "a",
        "an",
        "my",
        "the",
        "up",
        "alone",
        "again",
        "now",
        "properly",
        "together",
        "about",
        "enough",
        "right",
        "only",
        "of",
        "by",
    }
    if (
        not words
        or len(words) > 4
        or words[0] in _NO_LIKE
        or words[0] in bad
        or any(w in ("for", "with", "at") for w in words)
    ):
        return []
    return [Value(start, end)]


def _job(place: Place) -> list[Value]:
    at, seen = place.at, 0
    for match in re.compile(r"[A-Za-z][\w/'’-]*").finditer(place.text, place.at, place.end):
        gap = place.text[at : match.start()]
        word = match[0].lower()
        if (
            seen > 5
            or gap.strip(" ")
            or word in _EVALUATIVE
            or word in ("and", "or", "who", "in", "at", "for", "with", "of", "to", "that", "but", "as")
        ):
            return []
        if word in english.JOBS:
            if _AFTER_NOUN.match(place.text, match.end(), place.end) is None:
                at, seen = match.end(), seen + 1
                continue
            return [Value(place.at, match.end())]
        at, seen = match.end(), seen + 1
    return []


def _counted_kin(place: Place) -> list[Value]:
    match = _KIN_COUNT.match(place.text, place.at, place.end)
    if match is None or _AFTER_NOUN.match(place.text, match.end(), place.end) is None:
        return []
    slot = next((slot for pattern, slot in _KIN_OF if re.match(pattern, match["n"].lower())), "pet")
    return [Value(*match.span(), slot)]


def _device(place: Place) -> list[Value]:
    match = re.compile(r"[\w-]+(?: [\w-]+){0,4}").match(place.text, place.at, place.end)
    if match is None:
        return []
    end = place.at
    for word in re.finditer(r"[\w-]+", match[0]):
        low, stop = word[0].lower(), place.at + word.end()
        slot = "device" if low in english.DEVICES else "vehicle" if low in english.VEHICLES else ""
        if slot:
            more = re.compile(r"(?: (?:[A-Z][\w-]*|\d[\w-]*|Pro|Max|Plus|Mini))+").match(place.text, stop, place.end)
            end = more.end() if more else stop
            return [Value(place.at, end, slot)] if _AFTER_NOUN.match(place.text, end, place.end) else []
        if low in ("for", "to", "in", "on", "with", "and", "of", "at", "from", "that", "who"):
            return []
    return []


def _product(place: Place) -> list[Value]:
    span = _caps(place)
    if span is None:
        match = re.compile(
            r"(?:i[A-Z]\w+|[a-z]+[A-Z_]\w+|vim|emacs|tmux|git|zsh|docker|python|linux|windows)(?: \d+)?\b"
        ).match(place.text, place.at, place.end)
        return [Value(*match.span())] if match and _AFTER_NOUN.match(place.text, match.end(), place.end) else []
    return _one(*span, text=place.text, most_words=4)


def _thing(place: Place) -> list[Value]:
    return _one(*upto(place), text=place.text, most_words=6)


def _word(place: Place) -> list[Value]:
    match = _WORD.match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else []


def _word2(place: Place) -> list[Value]:
    match = re.compile(
        rf"between jobs|table tennis|ping[- ]pong|(?:video|board) games|[\w-]+(?! (?:role|part|trick|game)s?\b)\b",
        re.IGNORECASE,
    ).match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else []


def _age(place: Place) -> list[Value]:
    match = _AGE.match(place.text, place.at, place.end)
    if match is None or (match["v"].isdigit() and not 0 < int(match["v"]) < 121):
        return []
    return [Value(match.start("v"), match.end("v"))]


def _date(place: Place) -> list[Value]:
    for mention in place.dates:
        lead = place.text[place.at : mention.start].strip().lower() if mention.start >= place.at else "no"
        if lead in ("", "on", "in", "the", "on the"):
            return [Value(mention.start, mention.end)]
    return []


def _condition(place: Place) -> list[Value]:
    match = _WORD.match(place.text, place.at, place.end)
    known = match and match[0].lower() in english.CONDITIONS and _AFTER_NOUN.match(place.text, match.end(), place.end)
    return [Value(*match.span())] if match and known else []


def _before_allergy(place: Place) -> list[Value]:
    match = re.compile(r"(?P<v>[\w-]+(?: [\w-]+)?) allerg(?:y|ies)\b", re.IGNORECASE).match(
        place.text, place.at, place.end
    )
    if match is None or match["v"].lower() in (
        "no",
        "any",
        "food",
        "some",
        "an",
        "a",
        "many",
        "other",
        "my",
        "these",
        "known",
        "no known",
        "no food",
    ):
        return []
    return [Value(match.start("v"), match.end("v"))]


def _diet(place: Place) -> list[Value]:
    match = re.compile(english.DIETS, re.IGNORECASE).match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else []


def _pattern(pattern: re.Pattern[str]) -> Reader:
    def reader(place: Place) -> list[Value]:
        match = pattern.match(place.text, place.at, place.end)
        return [Value(*match.span())] if match else []

    return reader


READERS: Mapping[str, Reader] = {
    "place": _place,
    "known_place": _known_place,
    "organisation": _organisation,
    "company": _company,
    "school": _school,
    "place_of_help": _helped,
    "name": _name,
    "given_name": _given_name,
    "names": _names,
    "list": _list,
    "languages": _languages,
    "liked": _liked,
    "preferred": _preferred,
    "food": _food,
    "job": _job,
    "counted_kin": _counted_kin,
    "device": _device,
    "product": _product,
    "thing": _thing,
    "rest": _thing,
    "word": _word,
    "word2": _word2,
    "age": _age,
    "date": _date,
    "condition": _condition,
    "before_allergy": _before_allergy,
    "diet": _diet,
    "subject": _pattern(_SUBJECTS),
    "email": _pattern(_EMAIL),
    "phone": _pattern(_PHONE),
    "address": _pattern(
        re.compile(
            r"\d[\w/-]* [A-Z][\w.'’-]*(?: [\w.'’-]+){0,4}|[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){0,3} \d+\w?(?:, [A-Z]\w+)?"
        )
    ),
}
