"""What is said of somebody's possessions and relatives, and of things as such: "my desk is on floor 3", "my dog Rex died"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memos.memory.model import Kind
from memos.reading import english
from memos.reading.patterns import words
from memos.reading.finding import Finding, normal
from memos.reading.scene import Scene
from memos.reading.values import Place, Value, read, trimmed, upto
from memos.reading.wording import in_third_person, sentence
from memos.text.name_lists import GIVEN, NOT_NAMES

_KIN = re.compile(
    r"(?:(?:own|late|dear|dearest|beloved|older|younger|elder|little|big|baby|best|good|close|old|oldest"
    r"|youngest|eldest|only|new|lovely|sweet|twin|first|second"
    r"|late|future|middle|adopted|ex|former|current|childhood|furry) )*(?P<kin>"
    + "|".join(sorted(english.KIN, key=len, reverse=True))
    + r")(?![\w-])",
    re.IGNORECASE,
)
_EX = re.compile(r"\b(?:ex|former|late|future)\b", re.IGNORECASE)
_NAME = r"[A-ZÀ-Þ][\w'’-]*(?: [A-ZÀ-Þ][\w'’-]*)?"
_IS_CALLED = re.compile(
    rf"(?:['’]s name(?: is|['’]s| was)| is (?:called|named)|,? (?:who is |who's )?(?:called|named)) (?={_NAME})"
)
_APPOSITION = re.compile(rf",? (?P<n>{_NAME})(?=,? [a-z]|,|\.|!|$|['’])")
_IS_NAME = re.compile(rf" is (?P<n>{_NAME})(?=\s*(?:[.,;!\n]|$| and\b))")
_DIED = re.compile(
    r",?(?: has| just| sadly| recently)* (?:died|passed away|passed(?= (?:on|last|this|yesterday|in|away)\b)"
    r"|was put down|has passed)\b"
)
_MANY = re.compile(
    r"(?:\w+ )?(?P<kin>kids|children|sons|daughters|dogs|cats|puppies|kittens|brothers|sisters|parents|friends)"
    rf"(?:,? (?:who are )?(?:are )?(?:called|named)|['’] names are| are)?,? (?={_NAME}(?:, | and | & ){_NAME})"
)
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
_FAVOURITE = re.compile(
    r"(?:all[- ]time |absolute |current |new |personal )*favou?rite (?P<x>[a-z][\w'’ -]{1,40}?) (?:(?:is|are"
    r"|was|has to be|has always been|will always be|would be)(?: (?:definitely|probably|still|now|always))*) "
)
_BECOMES = re.compile(
    r"(?P<np>[A-Za-z][\w'’/-]*(?: [\w'’#/-]+){0,3}?) (?:has )?(?:just )?(?P<be>is now|are now|is|are"
    r"|isn['’]t|aren['’]t|moved to|changed to|was moved to|was changed to|switched to)"
    r"(?P<adv>(?: (?:not|now|currently|actually|still|no longer|always|usually|just))*) (?=\S)"
)
_NOT_BUT = re.compile(r"(?P<old>[^,.;!?\n]{1,60}?),? but (?:rather |now )?(?P<new>[^,.;!?\n]{1,60})")
_RUNS = re.compile(
    r"(?P<np>[a-z][\w'’/-]*(?: [\w'’#/-]+){0,2}?) (?P<verb>leaves|departs|arrives|starts|begins|ends|expires"
    r"|closes|opens|runs out|takes off|lands|weighs|costs) "
)
_COLOUR = r"red|blue|green|yellow|black|white|grey|gray|silver|orange|purple|pink|brown|gold|beige|turquoise|navy"
_PLAIN_VALUE = re.compile(
    rf"(?:(?:on|in|at|under|behind|next to|near|inside|between|above|below|by|outside|off|across from)"
    rf" (?:the |my |a |an |our )?[\w#]|[+#]?\d|[A-Z]{{1,6}}-?\d|(?=[\w-]*\d)[\w-]+|"
    rf"[\"“'][^\"”']+[\"”']|(?:[Rr]oom|[Bb]uilding|[Gg]ate|[Ff]loor|[Dd]esk|[Ss]uite|[Uu]nit|[Aa]partment"
    rf"|[Nn]umber) #?\w*\d|(?:dark |light |bright )?(?:{_COLOUR})\b(?! with| and [a-z]+ed\b)|an? (?=[\w"
    rf" ]*[A-Z0-9])\w|(?:called|named|spelled|pronounced) [A-Z])"
)
_CAP_VALUE = re.compile(r"[A-Z][\w'’.&-]*(?: [A-Z0-9][\w'’.&-]*){0,4}(?=\s*(?:[.,;!\n]|$| and\b| in\b| at\b))")
_FUNCTION = words(
    "that which who whom and or to when where if while because but so than as is are was were i you we he"
    " she they it for with from only own"
)
_DUE = re.compile(r"(?:due|scheduled|booked|set)(?: (?:on|by|in|at|for))? ", re.IGNORECASE)
_EVENTS = words(
    "flight appointment exam interview wedding meeting deadline surgery trip train bus ferry race concert"
    " recital presentation party class test audition checkup "
    "conference shift move graduation anniversary game match course vacation holiday delivery"
)
_STATED = re.compile(
    r"(?:(?:so|and|note|remember|fyi|btw|ok|also|please note|note that|by the way|remember that|actually"
    r"|update|correction)[:,]? )*(?:the |our |this is the )?"
    r"(?P<s>[A-Za-z0-9][\w'’#/-]*(?: [\w'’#/-]+){0,5}?)(?: is(?: now)?| are(?: now)?|:| =) (?P<v>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(r"(?=[\w./+-]*\d)[\w#+][\w./+#-]*|[A-Z]{2,}(?:-[A-Z0-9]+)+|[\w.+-]+@[\w-]+\.[\w.]+|https?://\S+")
_STATED_VALUE = re.compile(
    rf"(?P<v>(?:(?:number|no\.|room|code|floor|gate|on floor|in room|at gate|on the|in the|on|at|in)"
    rf" )?(?:{_CODE.pattern})(?: (?:{_CODE.pattern})){{0,3}})(?=\s*(?:[.,;!?\n]|$))"
)
_WORD_VALUE = re.compile(r"(?P<v>[\"“']?[\w!@#$%^&*-]{3,40}[\"”']?)(?=\s*(?:[.;!?\n]|$))")
_SECRET = words("password passcode code ssid username login pin combination token key")
_NO_SUBJECT = words(
    "it this that there he she they what who which where here these those you i we one everything nothing"
    " something all how why when so and but life today tomorrow my "
    "your his her their if time not also then yes no or yesterday tonight its both someone anyone thing"
    " things part best worst reason point question problem "
    "answer way example price more most some any each every another other such no-one nobody everyone people"
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
    kin = _KIN.match(text, at, end)
    if kin is None:
        return None
    noun, attribute = text[at : kin.end()], english.KIN[kin["kin"].lower()]
    if _EX.search(noun):
        return Relative("", "", False, (), None)
    after, named = _name_after(text, kin.end(), end)
    findings: list[Finding] = []
    name = ""
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
            or (pattern is _IS_NAME and word not in GIVEN)
            or (match[0][0] == "," and word not in GIVEN)
        ):
            continue
        found = read("name", Place(text, match.start("n"), match.end("n")))
        if found:
            return found[0].end, found[0]
    return at, None


def _named(scene: Scene, attribute: str, noun: str, value: Value, start: int) -> Finding:
    name = scene.text[value.start : value.end]
    single = {"kids": "child", "children": "child", "puppies": "puppy"}.get(
        noun.lower(), noun.rstrip("s") if noun.lower().endswith("s") and noun.lower() not in ("boss",) else noun
    )
    return scene.finding(
        Kind.PROFILE,
        sentence(scene.who, f"has a {_article_free(single)} named {name}"),
        attribute,
        (value.start, value.end),
        (start, value.end),
        single=attribute == "spouse",
        confidence=0.9,
    )


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
    )


def possessed(scene: Scene, match: re.Match[str], end: int, clause_end: int) -> Iterator[Finding]:
    """What "my <something> is <value>" says."""
    text, at, start = scene.text, match.end() + 1, match.start()
    favourite = _FAVOURITE.match(text, at, end)
    if favourite:
        yield from _favourite(scene, favourite, start, end)
        return
    runs = _RUNS.match(text, at, end)
    if runs and not set(runs["np"].lower().split()) & (_FUNCTION | english.ABSTRACT):
        value = upto(Place(text, runs.end(), end))
        if re.search(r"\d", text[value[0] : value[1]]) or scene.dates_in(*value):
            said = f"{runs['np']} {runs['verb']} {text[value[0] : value[1]]}"
            yield scene.finding(
                Kind.FACT,
                sentence(f"{scene.who}'s", said),
                f"{normal(runs['np'])} {runs['verb']}",
                value,
                (start, value[1]),
                single=True,
                confidence=0.85,
            )
        return
    becomes = _BECOMES.match(text, at, end)
    if becomes is None:
        return
    noun = normal(becomes["np"])
    parts = noun.split()
    if set(parts) & _FUNCTION or parts[-1].endswith(("'s", "’s")) and len(parts) == 1:
        return
    how = becomes["adv"].split()
    negated, ended = "not" in how or becomes["be"].endswith("t") and becomes["be"][-2] in "'’", "no" in how
    begin = becomes.end()
    if negated and (turned := _NOT_BUT.match(text, begin, end)):
        begin, negated = turned.start("new"), False
    place = Place(text, begin, end, scene.dates)
    known = english.POSSESSED.get(noun)
    if known:
        yield from _known(scene, known, noun, place, start, negated, ended)
        return
    due = _due(scene, noun, place, start, clause_end)
    if due is not None:
        if not negated:
            yield due
        return
    if parts[-1] in english.ABSTRACT or parts[0] in english.ABSTRACT or any(part in english.KIN for part in parts):
        return
    value_span = _general_value(place, parts[-1], moved=becomes["be"].endswith(" to"))
    if value_span is None:
        return
    said = in_third_person(text[value_span[0] : value_span[1]])
    be = "are" if becomes["be"].startswith(("are", "aren")) else "is"
    shown = f"{becomes['np']} {be}{' no longer' if ended else ' not' if negated else ''} {said}"
    if becomes["be"].endswith(" to"):
        shown = f"{becomes['np']} {becomes['be']} {said}"
    # A thing has one place but also a colour and a make: they must not supersede each other.
    colour = re.fullmatch(rf"(?:dark |light |bright )?(?:{_COLOUR})", said, re.IGNORECASE)
    yield scene.finding(
        Kind.FACT,
        sentence(f"{scene.who}'s", shown),
        f"{noun} colour" if colour else noun,
        value_span,
        (start, value_span[1]),
        single=re.match(r"an? ", said) is None,
        confidence=0.85,
        negated=negated,
        ended=ended,
        polarity="-" if negated else "+",
        valid=(None, scene.now if ended else None),
    )


def _general_value(place: Place, head: str, *, moved: bool) -> tuple[int, int] | None:
    start, end = upto(place)
    words_in = place.text[start:end].split()
    if not words_in or len(words_in) > 8 or place.text[start:end].lower() in ("in", "on", "off", "up", "over", "out"):
        return None
    if head in _SECRET and len(words_in) == 1:
        return start, end
    if moved or _PLAIN_VALUE.match(place.text, start, end):
        return (
            None
            if re.match(
                r"(?:on|in|at|by) (?:fire|fact|general|love|trouble|pain|the way|the mend|hand|my side|all|least)\b",
                place.text[start:end],
            )
            else (start, end)
        )
    capital = _CAP_VALUE.match(place.text, start, place.end)
    if capital and words_in[0] not in NOT_NAMES:
        return trimmed(place.text, *capital.span())
    return None


def _known(
    scene: Scene, known: tuple[str, Kind, bool, str], noun: str, place: Place, start: int, negated: bool, ended: bool
) -> Iterator[Finding]:
    attribute, kind, single, take = known
    lead = re.compile(r"(?:(?:on|in|at|a|an|the|as|to|from) )*").match(place.text, place.at, place.end)
    at = lead.end() if lead and take not in ("name", "liked", "rest", "address") else place.at
    for value in read(take, Place(place.text, at, place.end, place.dates)):
        if take == "name" and not _ends_well(place.text, value.end, place.end):
            return
        said = in_third_person(place.text[value.start : value.end])
        be = ("is no longer" if ended else "is not" if negated else "is") if not noun.endswith("ies") else "are"
        yield scene.finding(
            kind,
            sentence(f"{scene.who}'s {noun}", f"{be} {said}"),
            attribute,
            (value.start, value.end),
            (start, value.end),
            single=single,
            confidence=0.93,
            negated=negated,
            ended=ended,
            polarity="-" if negated else "+",
        )


def _ends_well(text: str, at: int, end: int) -> bool:
    return (
        re.compile(r"\s*(?:[.,;!?)\n]|$|-|–|—)|\s+(?:and|but|by|though|from|so|not|I)\b").match(text, at, end)
        is not None
    )


def _due(scene: Scene, noun: str, place: Place, start: int, clause_end: int) -> Finding | None:
    """ "My report is due on Friday", "my flight is on 5 June"."""
    due = _DUE.match(place.text, place.at, place.end)
    if due is None and noun.split()[-1] not in _EVENTS:
        return None
    mention = next(
        (m for m in scene.dates_in(place.at, max(clause_end, place.at)) if m.to > scene.now and not m.recurring), None
    )
    if mention is None or mention.start - place.at > 30:
        return None
    said = place.text[place.at : mention.end]
    return scene.finding(
        Kind.COMMITMENT,
        sentence(f"{scene.who}'s {noun}", f"is {said}"),
        noun,
        (place.at, mention.end),
        (start, mention.end),
        single=True,
        confidence=0.9,
        due=(mention.from_, mention.to),
    )


def _favourite(scene: Scene, match: re.Match[str], start: int, end: int) -> Iterator[Finding]:
    x = match["x"]
    if (
        set(x.split()) & {"part", "thing", "is", "one", "memory", "moment", "things", "was", "that", "parts"}
        or " was " in match[0]
        or x.endswith(("'s", "’s"))
    ):
        return
    span = upto(Place(scene.text, match.end(), end))
    said = scene.text[span[0] : span[1]]
    quoted = re.compile(r"[\"“]([^\"”\n]{1,80})[\"”]").match(scene.text, match.end(), end)
    if quoted:
        span = quoted.span(1)
        said = quoted[1]
    first = said.split()[0].lower() if said.split() else "it"
    if (
        first in _NO_SUBJECT
        or first in ("when", "how", "to", "definitely", "probably", "hearing", "seeing", "being")
        or len(said.split()) > 8
    ):
        return
    yield scene.finding(
        Kind.PREFERENCE,
        sentence(f"{scene.who}'s favourite {in_third_person(x)}", f"is {in_third_person(said)}"),
        f"favourite {normal(x)}",
        span,
        (start, span[1]),
        single=True,
        confidence=0.93,
    )


def statement(scene: Scene, start: int, end: int) -> Iterator[Finding]:
    """What a sentence states of a thing by its code, number, place or date: "Locker 14 code is 2207"."""
    match = _STATED.match(scene.text, start, end)
    if match is None:
        return
    subject = match["s"]
    parts = subject.lower().split()
    if (
        parts[0] in _NO_SUBJECT
        or set(parts) & (_FUNCTION - {"for", "with", "from"})
        or subject.isdigit()
        or any("'" in p or "’" in p for p in parts[:1])
    ):
        return
    value = _STATED_VALUE.match(scene.text, match.start("v"), end)
    head_known = parts[-1] in english.VALUE_NOUNS or bool(re.search(r"\d", subject))
    if value is None and parts[-1] in _SECRET and ":" not in match[0][:1]:
        value = _WORD_VALUE.match(scene.text, match.start("v"), end)
        if value is not None and value["v"].lower() in (
            "wrong",
            "correct",
            "right",
            "invalid",
            "missing",
            "weak",
            "strong",
            "broken",
            "good",
            "ready",
            "working",
            "here",
            "below",
            "attached",
            "secret",
            "expired",
            "required",
            "clean",
            "messy",
        ):
            return
    if value is None:
        return
    said = value["v"]
    identifier = re.search(r"[A-Z]+-?\d|\d-?[A-Z]|-\w+-|@|://", said) is not None
    if not (head_known or identifier or re.match(r"(?:number|room|floor|gate|on floor|in room) ", said)):
        return
    yield scene.finding(
        Kind.FACT,
        sentence("", f"{match[0][: match.start('v') - match.start()].strip()} {said}"),
        "is",
        trimmed(scene.text, *value.span("v")),
        (match.start("s"), value.end("v")),
        subject=subject,
        single=True,
        confidence=0.85,
    )
