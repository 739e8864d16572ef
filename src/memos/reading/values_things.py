"""Values that are things: what is liked, eaten, owned, counted; jobs, ages, conditions.

What does not look like the thing asked for is no value at all.
"""

from __future__ import annotations

import re

from memos.reading import english
from memos.reading.patterns import words
from memos.reading.topics import topic_of
from memos.reading.value import AFTER_NOUN, WORD, Place, Value, clause, upto, whole
from memos.reading.values_named import caps

_NO_LIKE = words(
    """
    it you that this them him her how when what your yourself those these everything everyone anything something
    nothing hearing seeing being having his their its one us me where why every each both any more most there here
    all such who whatever getting another so too very really and or but not never if because knowing thinking ya u
    y'all itself i we he she they is was are be much lots tons finding connecting cuz
    """
)
_THE_LIKED = re.compile(
    r"the (?:(?:sea|ocean|beach|mountains?|outdoors|rain|snow|cold|heat|winter|summer|spring|autumn|fall"
    r"|weekend|piano|guitar|violin|theat(?:re|er)|city"
    r"|countryside|desert|forest|gym|cinema|opera|ballet|dark)\b(?! \w)|smell of |sound of |taste of |[A-Z])"
)
# What somebody is, and not what she is allergic to.
_STATES = words("intolerant allergic vegan vegetarian pescatarian diabetic asthmatic celiac coeliac pregnant")
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
_EVALUATIVE = words(
    """
    good great bad terrible horrible big huge total better best natural fast slow picky decent pretty really very
    true born avid keen hopeless lousy awful poor careful nervous wannabe aspiring failed bit former little complete
    passionate amazing fantastic wonderful mere such would-be worse happy heavy
    """
)


def a_list(place: Place) -> list[Value]:
    """Short things in a list: "peanuts, shellfish and cats"."""
    found, at = [], place.at
    place = clause(place)
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
        if word.split()[-1] in _STATES:
            break  # "nuts and lactose intolerant"
        found.append(Value(match.start("v"), match.end("v")))
        link = re.compile(r"(?:, (?:and |or |as well as )?| and | or |,? & )(?!so\b|but\b|I\b|it\b|my\b)").match(
            place.text, match.end(), place.end
        )
        if link is None:
            break
        at = link.end()
    return found


def liked(place: Place) -> list[Value]:
    """What can be liked: one thing or a list, never something only pointed at."""
    place = clause(place)
    several = _SEVERAL.match(place.text, place.at, place.end)
    if several and several[0].lower() in _PAIRS:
        return [Value(*several.span())]
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
_PAIRS = frozenset(
    {
        "rock and roll",
        "fish and chips",
        "mac and cheese",
        "arts and crafts",
        "dungeons and dragons",
        "peanut butter and jelly",
        "drum and bass",
        "rhythm and blues",
        "gin and tonic",
    }
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
    if first in _NO_LIKE or first.endswith(("'s", "'re", "'ll", "'ve", "'m", "'d")):
        return []
    if _DEICTIC.search(place.text, start, end) or (
        place.text[end : end + 1] == "," and re.search(r"\b(?:a|an|the) \w+$", place.text[start:end])
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


_FOR_THIS = re.compile(
    r" (?:for (?:work|this|that|meetings|contact|long flights|flights)|instead|only|on flights|please)$"
)


def preferred(place: Place) -> list[Value]:
    """What is preferred, before the "over" of what is not."""
    over = re.compile(r" (?:over|rather than|instead of|more than|to(?= \w+(?:\s*[.,;!?]|$))|than) ").search(
        place.text, place.at, place.end
    )
    if over and place.text[place.at : over.start()].strip().lower() not in ("to", ""):
        found = _preferred_one(Place(place.text, place.at, over.start()))
        if found:
            return found
    return _preferred_one(place)


def _preferred_one(place: Place) -> list[Value]:
    """A choice within a known topic ("an aisle seat"), or anything that can be liked."""
    start, end = upto(place)
    while end > start and (tail := _FOR_THIS.search(place.text, start, end)):
        end = tail.start()
    return [Value(start, end)] if topic_of(place.text[start:end]) else liked(place)


_WHEN = re.compile(r" (?:every|each|again|in the|at|on|before|after|during|all day|daily|once|twice)\b", re.IGNORECASE)


def food(place: Place) -> list[Value]:
    """Something eaten or drunk."""
    start, end = upto(place)
    when = _WHEN.search(place.text, start, end)
    end = when.start() if when else end
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


def job(place: Place) -> list[Value]:
    """An occupation, by its head noun."""
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
            if AFTER_NOUN.match(place.text, match.end(), place.end) is None:
                at, seen = match.end(), seen + 1
                continue
            return [Value(place.at, match.end())]
        at, seen = match.end(), seen + 1
    return []


def counted_kin(place: Place) -> list[Value]:
    """Relatives or pets with their number: "two kids", "a dog"."""
    match = _KIN_COUNT.match(place.text, place.at, place.end)
    if match is None or AFTER_NOUN.match(place.text, match.end(), place.end) is None:
        return []
    slot = next((slot for pattern, slot in _KIN_OF if re.match(pattern, match["n"].lower())), "pet")
    return [Value(*match.span(), slot)]


_BIKES = words("bike bicycle motorbike motorcycle scooter boat")


def device(place: Place) -> list[Value]:
    """A device or vehicle with what describes it."""
    match = re.compile(r"[\w-]+(?: [\w-]+){0,4}").match(place.text, place.at, place.end)
    if match is None:
        return []
    end = place.at
    for word in re.finditer(r"[\w-]+", match[0]):
        low, stop = word[0].lower(), place.at + word.end()
        slot = "device" if low in english.DEVICES else "vehicle" if low in english.VEHICLES else ""
        slot = "bike" if low in _BIKES else slot
        if slot:
            more = re.compile(r"(?: (?:[A-Z][\w-]*|\d[\w-]*|Pro|Max|Plus|Mini))+").match(place.text, stop, place.end)
            end = more.end() if more else stop
            return [Value(place.at, end, slot)] if AFTER_NOUN.match(place.text, end, place.end) else []
        if low in ("for", "to", "in", "on", "with", "and", "of", "at", "from", "that", "who"):
            return []
    return []


def product(place: Place) -> list[Value]:
    """A product by its name."""
    span = caps(place)
    if span is None:
        match = re.compile(
            r"(?:i[A-Z]\w+|[a-z]+[A-Z_]\w+|vim|emacs|tmux|git|zsh|docker|python|linux|windows)(?: \d+)?\b"
        ).match(place.text, place.at, place.end)
        return [Value(*match.span())] if match and AFTER_NOUN.match(place.text, match.end(), place.end) else []
    return whole(*span, text=place.text, most_words=4)


def thing(place: Place) -> list[Value]:
    """A short noun phrase."""
    return whole(*upto(place), text=place.text, most_words=6)


def one_word(place: Place) -> list[Value]:
    """The next word."""
    match = WORD.match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else []


def word_or_pair(place: Place) -> list[Value]:
    """The next word, or a pair that is one."""
    match = re.compile(
        r"between jobs|table tennis|ping[- ]pong|(?:video|board) games|[\w-]+(?! (?:role|part|trick|game)s?\b)\b",
        re.IGNORECASE,
    ).match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else []


def age(place: Place) -> list[Value]:
    """An age in years."""
    match = _AGE.match(place.text, place.at, place.end)
    if match is None or (match["v"].isdigit() and not 0 < int(match["v"]) < 121):
        return []
    return [Value(match.start("v"), match.end("v"))]


def a_date(place: Place) -> list[Value]:
    """A date mentioned right here."""
    for mention in place.dates:
        lead = place.text[place.at : mention.start].strip().lower() if mention.start >= place.at else "no"
        if lead in ("", "on", "in", "the", "on the"):
            return [Value(mention.start, mention.end)]
    return []


def condition(place: Place) -> list[Value]:
    """A medical condition of the list."""
    match = WORD.match(place.text, place.at, place.end)
    known = match and match[0].lower() in english.CONDITIONS and AFTER_NOUN.match(place.text, match.end(), place.end)
    return [Value(*match.span())] if match and known else []


def before_allergy(place: Place) -> list[Value]:
    """What stands before "allergy"."""
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


def diet(place: Place) -> list[Value]:
    """A way of eating."""
    match = re.compile(english.DIETS, re.IGNORECASE).match(place.text, place.at, place.end)
    return [Value(*match.span())] if match else []
