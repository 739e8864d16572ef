"""What is said of somebody's possessions: "my desk is on floor 3", "my favourite colour is green"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memos.memory.model import Kind
from memos.memory.statement import Reference
from memos.reading import english
from memos.reading.endings import ends_of
from memos.reading.finding import End, Finding, normal
from memos.reading.patterns import words
from memos.reading.scene import Scene
from memos.reading.statements import FUNCTION, NO_SUBJECT, SECRET
from memos.reading.value import CAP, Place, clause, trimmed, upto
from memos.reading.values import read
from memos.reading.wording import in_third_person, sentence
from memos.text.lazy import LazyPattern
from memos.text.name_lists import NOT_NAMES

_IN_PARENTHESES = LazyPattern(r" ?\([^()\n]{1,30}\)")
_DAY_NAMED = LazyPattern(r"[a-z]{3}|\d[-/.]\d", re.IGNORECASE)
_WORK_AT = LazyPattern(r"(?:at|with) (?:the )?(?=[A-Z])")
_FAVOURITE = LazyPattern(
    r"(?:all[- ]time |absolute |current |new |personal )*favou?rite (?P<x>[a-z][\w'’ -]{1,40}?) (?:(?:is|are"
    r"|was|has to be|has always been|will always be|would be)(?: (?:definitely|probably|still|now|always))*) "
)
_BECOMES = LazyPattern(
    r"(?P<np>[A-Za-z][\w'’/-]*(?: [\w'’#/-]+){0,3}?) (?:has )?(?:just )?(?P<be>is now|are now|is|are"
    r"|isn['’]t|aren['’]t|(?:was |got |been )?(?:moved|changed|switched|pushed(?: back| out)?|postponed|rescheduled"
    r"|brought forward) to"
    r"|(?:was |got |been )?(?:postponed|rescheduled|put off) (?:until|till|for))"
    r"(?P<adv>(?: (?:not|now|currently|actually|still|no longer|always|usually|just))*) (?=\S)"
)
_CURRENT = LazyPattern(r"^(?:(?:new|current|present|latest|updated|new and only) )+(?=\w)")
_NOT_BUT = LazyPattern(r"(?P<old>[^,.;!?\n]{1,60}?),? but (?:rather |now )?(?P<new>[^,.;!?\n]{1,60})")
_RUNS = LazyPattern(
    r"(?P<np>[a-z][\w'’/-]*(?: [\w'’#/-]+){0,2}?) (?P<verb>leaves|departs|arrives|starts|begins|ends|expires"
    r"|closes|opens|runs out|takes off|lands|weighs|costs) "
)
_COLOUR = r"red|blue|green|yellow|black|white|grey|gray|silver|orange|purple|pink|brown|gold|beige|turquoise|navy"
_PLAIN_VALUE = LazyPattern(
    rf"(?:(?:on|in|at|under|behind|next to|near|inside|between|above|below|by|outside|off|across from)"
    rf" (?:the |my |a |an |our )?[\w#]|[+#]?\d|[A-Z]{{1,6}}-?\d|(?=[\w-]*\d)[\w-]+|"
    rf"[\"“'][^\"”']+[\"”']|(?:[Rr]oom|[Bb]uilding|[Gg]ate|[Ff]loor|[Dd]esk|[Ss]uite|[Uu]nit|[Aa]partment"
    rf"|[Nn]umber) #?\w*\d|(?:dark |light |bright )?(?:{_COLOUR})\b(?! with| and [a-z]+ed\b)|an? (?=[\w"
    rf" ]*[A-Z0-9])\w|(?:called|named|spelled|pronounced) [A-Z])"
)
_CAP_VALUE = LazyPattern(r"[A-Z][\w'’.&-]*(?: [A-Z0-9][\w'’.&-]*){0,4}(?=\s*(?:[.,;!\n]|$| and\b| in\b| at\b))")
_CAP_LIST = LazyPattern(rf"{CAP}(?: {CAP})*(?:, {CAP}(?: {CAP})*)*,? (?:and|&) {CAP}(?: {CAP})*(?=\s*(?:[.,;!\n]|$))")
_LIST_GOES_ON = LazyPattern(rf",? (?:and |& )?(?:{CAP}|(?:me|myself|my [a-z]+)\b)")
_WORD_LIST = LazyPattern(
    r"[\w'’-]+(?: [\w'’-]+){0,2}(?:, [\w'’-]+(?: [\w'’-]+){0,2}?)*,? (?:and|&) [\w'’-]+(?: [\w'’-]+){0,2}?(?=\s*(?:[.;!\n]|$))"
)
_DUE = LazyPattern(r"(?:due|scheduled|booked|set)(?: (?:on|by|in|at|for))? ", re.IGNORECASE)
# The day is another now: it is the one appointment of that kind which is spoken of.
_CHANGED = LazyPattern(
    r"\b(?:moved|changed|switched|pushed|postponed|rescheduled|brought forward|put off)\b", re.IGNORECASE
)
_BARE_DAY = LazyPattern(r"(?:the )?\d{1,2}(?:st|nd|rd|th)?\b(?!:)|[A-Z][a-z]+(?:day\b| \d)")
_AT_HOUR = LazyPattern(r",? (?:at|@) \d{1,2}(?::\d\d)?(?: ?[ap]\.?m\b\.?)?(?![\d:])")
EVENTS = words(
    """
    flight appointment exam interview wedding meeting deadline surgery trip train bus ferry race concert recital
    presentation party class test audition checkup conference shift move graduation anniversary game match course
    vacation holiday delivery
    """
)


def possessed(scene: Scene, match: re.Match[str], end: int, clause_end: int) -> Iterator[Finding]:
    """What "my <something> is <value>" says."""
    text, at, start = scene.text, match.end() + 1, match.start()
    favourite = _FAVOURITE.match(text, at, end)
    if favourite:
        yield from _favourite(scene, favourite, start, end)
        return
    runs = _RUNS.match(text, at, end)
    if runs and not set(runs["np"].lower().split()) & (FUNCTION | english.ABSTRACT):
        value = upto(Place(text, runs.end(), end))
        paren = _IN_PARENTHESES.match(text, value[1], end)
        if paren and scene.dates_in(*paren.span()):
            value = (value[0], paren.end())
        named = runs["np"].split()[-1].lower() in EVENTS
        # A time of day alone does not say which day.
        days = (m for m in scene.dates_in(*value) if m.to > scene.now and _DAY_NAMED.search(text, m.start, m.end))
        date = next(days, None) if named else None
        if re.search(r"\d", text[value[0] : value[1]]) or scene.dates_in(*value):
            said = f"{runs['np']} {runs['verb']} {text[value[0] : value[1]]}"
            timed = date is not None and not date.recurring
            yield scene.finding(
                Kind.COMMITMENT if timed else Kind.FACT,
                sentence(f"{scene.who}'s", said),
                f"{_CURRENT.sub('', normal(runs['np']))} {runs['verb']}",
                value,
                (start, value[1]),
                single=True,
                confidence=0.85,
                due=(date.from_, date.to) if date is not None and timed else None,
            )
        return
    becomes = _BECOMES.match(text, at, end)
    if becomes is None:
        return
    noun = normal(becomes["np"])
    plain = _CURRENT.sub("", noun)
    renewed, noun = plain != noun and noun.startswith("new"), plain
    parts = noun.split()
    if set(parts) & FUNCTION or noun.endswith(("'s", "’s")):
        return
    how = becomes["adv"].split()
    negated, ended = "not" in how or becomes["be"].endswith(("n't", "n’t")), "no" in how
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
        ends=(End(noun),) if renewed and not negated and not ended else (),
    )


def _general_value(place: Place, head: str, *, moved: bool) -> tuple[int, int] | None:
    start, end = upto(place)
    words_in = place.text[start:end].split()
    if not words_in or len(words_in) > 8 or place.text[start:end].lower() in ("in", "on", "off", "up", "over", "out"):
        return None
    if head in SECRET and len(words_in) == 1:
        return start, end
    if moved or _PLAIN_VALUE.match(place.text, start, end):
        return (
            None
            if re.match(
                r"off (?:to|the)\b"
                r"|(?:on|in|at|by) (?:fire|fact|general|love|trouble|pain|the way|the mend|hand|my side|all|least)\b",
                place.text[start:end],
            )
            else (start, end)
        )
    several = _CAP_LIST.match(place.text, start, place.end)
    if several:
        return trimmed(place.text, *several.span())
    capital = _CAP_VALUE.match(place.text, start, place.end)
    if capital and _LIST_GOES_ON.match(place.text, capital.end(), place.end):
        return None
    if capital and words_in[0] not in NOT_NAMES:
        return trimmed(place.text, *capital.span())
    return None


def _known(
    scene: Scene, known: tuple[str, Kind, bool, str], noun: str, place: Place, start: int, negated: bool, ended: bool
) -> Iterator[Finding]:
    attribute, kind, single, take = known
    if attribute == "job" and (work := _WORK_AT.match(place.text, place.at, place.end)):
        known = english.POSSESSED["employer"]
        yield from _known(scene, known, "employer", Place(place.text, work.end(), place.end), start, negated, ended)
        return
    lead = re.compile(r"(?:(?:on|in|at|a|an|the|as|to|from) )*").match(place.text, place.at, place.end)
    at = lead.end() if lead and take not in ("name", "liked", "rest", "address") else place.at
    for value in read(take, Place(place.text, at, place.end, place.dates)):
        if take == "name" and not _ends_well(place.text, value.end, place.end):
            return
        said = in_third_person(place.text[value.start : value.end])
        be = ("is no longer" if ended else "is not" if negated else "is") if not noun.endswith("ies") else "are"
        told, slot = sentence(f"{scene.who}'s {noun}", f"{be} {said}"), attribute
        if value.attribute == "city" and attribute == "home_address":
            if negated or ended:
                return
            told, slot = sentence(scene.who, f"lives in {said}"), "home_city"
        yield scene.finding(
            kind,
            told,
            slot,
            (value.start, value.end),
            (start, value.end),
            single=single and not negated,
            confidence=0.93,
            negated=negated,
            ended=ended,
            polarity="-" if negated else "+",
            ends=ends_of(slot, said, ended=ended, negated=negated),
        )


def _ends_well(text: str, at: int, end: int) -> bool:
    return (
        re.compile(r"\s*(?:[.,;!?)\n]|$|-|–|—)|\s+(?:and|but|by|though|from|so|not|I)\b").match(text, at, end)
        is not None
    )


def _due(scene: Scene, noun: str, place: Place, start: int, clause_end: int) -> Finding | None:
    """ "My report is due on Friday", "my flight is on 5 June"."""
    due = _DUE.match(place.text, place.at, place.end)
    if due is None and noun.split()[-1] not in EVENTS:
        return None
    mention = next(
        (m for m in scene.dates_in(place.at, max(clause_end, place.at)) if m.to > scene.now and not m.recurring), None
    )
    if mention is None or mention.start - place.at > 30:
        return None
    hour = _AT_HOUR.match(place.text, mention.end, place.end)
    stop = hour.end() if hour else mention.end
    said = place.text[place.at : stop]
    moved = _CHANGED.search(place.text, start, mention.start) is not None
    return scene.finding(
        Kind.COMMITMENT,
        sentence(f"{scene.who}'s {noun}", f"is {'on ' if _BARE_DAY.match(said) else ''}{said}"),
        noun,
        (place.at, stop),
        (start, stop),
        single=True,
        confidence=0.9,
        due=(mention.from_, mention.to),
        ends=() if moved else (End("plan", only=noun),),
        of=Reference(noun=noun) if moved else None,
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
    if " are " in match[0] and (
        several := _WORD_LIST.match(scene.text, span[0], clause(Place(scene.text, span[0], end)).end)
    ):
        span = several.span()
    said = scene.text[span[0] : span[1]]
    quoted = re.compile(r"[\"“]([^\"”\n]{1,80})[\"”]").match(scene.text, match.end(), end)
    if quoted:
        span = quoted.span(1)
        said = quoted[1]
    first = said.split()[0].lower() if said.split() else "it"
    if (
        first in NO_SUBJECT
        or first in ("when", "how", "to", "definitely", "probably", "hearing", "seeing", "being")
        or len(said.split()) > 8
    ):
        return
    yield scene.finding(
        Kind.PREFERENCE,
        sentence(
            f"{scene.who}'s favourite {in_third_person(x)}",
            f"{'are' if ' are ' in match[0] else 'is'} {in_third_person(said)}",
        ),
        f"favourite {normal(x)}",
        span,
        (start, span[1]),
        single=True,
        confidence=0.93,
    )
