"""What is over with a finding: a move ends the old address, a divorce the marriage, a new liking the old dislike.

Also the clauses that only tell of an end and need not say of what: "I quit my job", "we moved", "Rex died".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from memos.memory.model import Kind
from memos.reading.clauses import REPORTED, UNREAL
from memos.reading.english import KIN
from memos.reading.english_life import PRACTISED
from memos.reading.finding import End, Finding
from memos.reading.patterns import PAST, PERFECT, PRESENT
from memos.reading.scene import Scene
from memos.reading.value import CAP, Place, trimmed
from memos.reading.values import read
from memos.reading.verb_phrase import VerbPhrase
from memos.reading.wording import in_third_person, sentence
from memos.text.lazy import LazyPattern
from memos.text.name_lists import NOT_NAMES

JOB = (End("employer"), End("job"))
KIN_ATTRIBUTES = (*sorted(set(KIN.values())), "grandchild")
_UNWED = frozenset({"divorced", "single", "widowed", "widow", "widower", "separated", "离婚", "离异", "单身", "分居"})
_DIETS = ("vegan", "vegetarian", "pescatarian", "flexitarian")
_MEAT = LazyPattern(r"\b(?:meat|chicken|beef|pork|steak|lamb|bacon)$", re.IGNORECASE)
_JOBLESS = frozenset({"retired", "unemployed", "between jobs"})
_CONSUMED = frozenset({"drinks", "eats", "smokes"})

_LATER = (
    r"(?=\s*(?:[.,;:!)\n]|$)|,? (?:and|but|so|because|after|when|since|yesterday|today|recently|earlier|already|again)\b"
    r"| (?:(?:last|this|a) (?:week|weekend|month|year|spring|summer|autumn|fall|winter|night|(?-i:[A-Z]))"
    r"|(?:two|three|\d+|in|on) ))"
)
_JOB_GONE = LazyPattern(
    r"(?:(?:quit|left|lost|gave up|resigned from) (?:my|the|our|his|her|their) (?:[a-z]+ )?(?:job|position|role|post)\b"
    r"(?! (?:at|with|in|for) (?:the )?(?-i:[A-Z]))"
    rf"|(?:got |been )*(?:laid off|fired|let go|made redundant|sacked){_LATER}"
    rf"|resigned{_LATER}|(?:stopped|quit) working(?: there)?(?=\s*(?:[.,;!\n]|$)))",
    re.IGNORECASE,
)
_WORK_THERE = LazyPattern(
    r"work(?:ing)?(?: there)?(?=\s*(?:[.,;!\n]|$)| (?:any ?more|any longer|and|but|since|as of)\b)"
)
_SCHOOL_GONE = LazyPattern(r"dropped out(?: of (?:school|college|university|uni))?(?=\s*(?:[.,;!\n]|$))")
_HOME_GONE = LazyPattern(
    rf"moved(?: (?:house|home|flats?|apartments?|places|again|out))?{_LATER}"
    r"|moved (?:in)?to (?:a|an|our|my|the) (?:[a-z]+ ){0,2}(?:place|flat|apartment|house|home|condo|studio)\b",
    re.IGNORECASE,
)
_PARTED = LazyPattern(rf"(?:got )?(?P<v>divorced|separated){_LATER}|(?P<p>broke up|broken up|split up){_LATER}")
_GIVEN_UP = LazyPattern(
    r"(?:(?:stopped|quit)(?= \w+ing\b)"
    r"|quit(?= (?:coffee|tea|alcohol|sugar|caffeine|dairy|meat|soda|beer|wine)\b)"
    r"|(?:gave|given) up(?: on)?|(?:gone|went) off|cut out|done with)"
    r"(?: (?P<g>drinking|eating|having|playing|using|learning|studying|watching|smoking|taking"
    r"|volunteering(?: (?:at|for|with)(?: the| an?)?)?)"
    r"(?= (?!(?:and|but|so|in|at|last|because|when|since|for|a|after|now|too|on)\b)\w))? (?=\w)",
    re.IGNORECASE,
)
# "I quit piano lessons", "I stopped running": what somebody does is over, where nothing follows that makes it less.
_DOING_GONE = LazyPattern(
    r"(?:stopped|quit|gave up|given up) (?P<v>(?!(?:my|the|our|his|her|their|your|on|in|at|to|by|for|it|that|this|there"
    r"|here|being|hope|everything|nothing|control|having|working|trying)\b)[\w'’-]{3,}"
    r"(?: (?!(?:to|for|in|on|at|because|when|while|and|but)\b)[\w'’-]+){0,3}?)"
    r"(?=\s*(?:[.,;:!)\n]|$)| (?:altogether|completely|entirely|for good|recently"
    r"|(?:last|this|a) (?:week|month|year|spring|summer|autumn|fall|winter)|in (?-i:[A-Z\d]))\b)",
    re.IGNORECASE,
)
_FINISHED = LazyPattern(
    rf"finished (?:(?P<g>reading|watching|playing) )?[\"“'‘]?"
    rf"(?P<v>(?-i:{CAP})(?: (?:of|the|and|in|a|to|(?-i:{CAP}))){{0,7}})[\"”'’]?"
    r"(?=\s*(?:[.,;:!)\n]|$)| (?:yesterday|today|tonight|last|this|on|and|but)\b)",
    re.IGNORECASE,
)
_QUOTES = ("", "'", '"', "“", "‘")
_GERUNDS = {
    "drinking": "drinks",
    "eating": "eats",
    "playing": "plays",
    "using": "uses",
    "learning": "learning",
    "studying": "field of study",
    "smoking": "smokes",
    "volunteering": "volunteers at",
}
HABITS = ("drinks", "eats", "likes", "prefers", "preferred hot drink")
_DIED = LazyPattern(
    rf"(?:^|(?<=[,;:] )|(?<=\band )|(?<=\bbut )|(?<=\bthat )|(?<=\bwhen ))(?P<n>{CAP})"
    r"(?: has| just| sadly| recently)* (?:died|passed away|was put (?:down|to sleep))\b"
)
_MAY_DIE = LazyPattern(r"died|passed away|was put")


def ends_of(
    attribute: str, value: str, *, ended: bool = False, negated: bool = False, moved: bool = False
) -> tuple[End, ...]:
    """What is over with a finding of `attribute`, beside its contrary. `moved`: it tells of a move."""
    if attribute.startswith("home_") and attribute != "home_address":
        return _ends_of_home(attribute, value, ended=ended, negated=negated, moved=moved)
    match attribute:
        case "employer" if ended:
            return (End("job", if_changed=True),)
        case "job" if not ended and value.casefold() in _JOBLESS:
            return (End("employer"),)
        case "marital status" if not ended and not negated and value.casefold() in _UNWED:
            return (End("spouse", now=True),)
        case "diet" if not ended and not negated and value.casefold() in _DIETS:
            return tuple(End("diet", diet) for diet in _DIETS if diet != value.casefold())
        case "eats" if not ended and not negated and _MEAT.search(value):
            return (End("diet", "vegetarian"), End("diet", "vegan"))
        case "graduated from" if not negated:
            return (End("school", value),)
        case "likes" if not ended and not negated:
            return (End("dislikes", value, denied=True),)
        case "dislikes" if not ended:
            return (End("likes", value),)
    if attribute in _CONSUMED and ended:
        return tuple(End(habit, value) for habit in HABITS if habit != attribute)
    return ()


def _ends_of_home(attribute: str, value: str, *, ended: bool, negated: bool, moved: bool) -> tuple[End, ...]:
    if negated:
        return ()
    if ended:
        return (End("home_address", if_changed=True),)
    place, _, larger = value.partition(", ")
    ends = [End("home_address", unless=place, if_changed=not moved)]
    if larger:
        ends.append(End("home_country", unless=larger))
    if moved:
        others = ("home_country", "home_region") if attribute == "home_city" else ("home_city",)
        ends += [End(other) for other in others if not (larger and other == "home_country")]
    return tuple(ends)


def over(
    scene: Scene, key: str, who: str, phrase: VerbPhrase, lead: int, end: int, clause_end: int, *, alone: bool
) -> Iterator[Finding]:
    """What a clause says is over without saying of what: a job, a home, a marriage; and what somebody gave up.

    `alone`: the subject is the speaker, alone or with others.
    """
    if phrase.modal or phrase.used or phrase.adverbs & {"never", "almost", "nearly"}:
        return
    told = _Told(scene, key, who, lead, clause_end)
    text = scene.text
    if phrase.verb == "work" and (phrase.ended or (phrase.negated and " any" in text[phrase.rest : clause_end])):
        if match := _WORK_THERE.match(text, phrase.at, end):
            yield told.over("employer", match.span(), "no longer works there", JOB)
        return
    past = phrase.tense in (PAST, PERFECT)
    if phrase.negated or not (past or (phrase.verb == "be" and phrase.tense == PRESENT)):
        return
    match = _GIVEN_UP.match(text, phrase.at, end)
    given = [*_given_up(told, match, end)] if match and (past or match[0].startswith("done")) else []
    done = [*_done_with(told, phrase.at, end)] if alone and past else []
    if given and done:
        given, done = [replace(given[0], ends=(*given[0].ends, *done[0].ends)), *given[1:]], []
    yield from (*given, *done)
    if not past:
        return
    if match := _JOB_GONE.match(text, phrase.at, end):
        said = match[0][:1].lower() + match[0][1:]
        yield told.over("employer", match.span(), f"was {said}" if phrase.verb == "be" else said, JOB)
    elif match := _SCHOOL_GONE.match(text, phrase.at, end):
        yield told.over("school", match.span(), match[0], (End("school"),))
    elif alone and phrase.verb == "move" and (match := _HOME_GONE.match(text, phrase.at, end)):
        yield told.over("home_address", match.span(), match[0], (End("home_address"),))
    elif alone and phrase.verb != "be" and (match := _PARTED.match(text, phrase.at, end)):
        if match["p"]:
            yield told.over("partner", match.span(), match[0], (End("partner"), End("spouse")))
        elif not match[0].startswith("got"):
            yield told.status(match.span("v"))


def died(scene: Scene, start: int, end: int) -> Iterator[Finding]:
    """ "Rex passed away": whoever bears the name among those known is no more."""
    if not _MAY_DIE.search(scene.text, start, end) or UNREAL.search(scene.text, start, end):
        return
    for match in _DIED.finditer(scene.text[:end], start):
        told = _Told(scene, scene.subject, "", match.start(), match.end())
        name = match["n"]
        if name in NOT_NAMES or REPORTED.search(scene.text, start, match.start()):
            continue
        ends = tuple(End(attribute, name, now=True) for attribute in KIN_ATTRIBUTES)
        yield told.over("pet", match.span("n"), match[0], ends)


def _given_up(told: _Told, match: re.Match[str], end: int) -> Iterator[Finding]:
    text = told.scene.text
    gerund = (match["g"] or "").lower().split(" ")[0]
    attribute = _GERUNDS.get(gerund, "likes")
    for value in read(
        "food" if gerund in ("drinking", "eating", "having", "") else "liked", Place(text, match.end(), end)
    ):
        said = text[value.start : value.end]
        if said.split()[0].lower() in ("my", "his", "her", "their", "our", "your", "on", "trying", "hope"):
            return
        lead = in_third_person(text[match.start() : match.end()]).strip()
        verb = (
            f"is {lead}" if lead.startswith("done") else f"has {lead}" if lead.startswith(("given", "gone")) else lead
        )
        ends = tuple(End(habit, said) for habit in (*HABITS, "plays", "uses") if habit != attribute)
        yield told.over(attribute, (value.start, value.end), f"{verb} {said}", ends, Kind.PREFERENCE)


def _done_with(told: _Told, at: int, end: int) -> Iterator[Finding]:
    """That the speaker stopped something she does, or finished what she was reading or watching."""
    text = told.scene.text
    if match := _DOING_GONE.match(text, at, end):
        ends = tuple(End(attribute, only=said) for said in _said_as(match["v"]) for attribute in ("habit", "doing"))
        yield told.over("habit", match.span("v"), match[0], ends, Kind.FACT)
    elif match := _FINISHED.match(text, at, end):
        doings = [match["g"].lower()] if match["g"] else ["reading", "watching", "playing"]
        ends = tuple(End("doing", only=f"{doing} {quote}{match['v']}") for doing in doings for quote in _QUOTES)
        yield told.over("doing", match.span("v"), match[0], ends, Kind.FACT)


def _said_as(doing: str) -> Iterator[str]:
    """How a habit may tell of a doing: "running" also as "runs"."""
    yield doing
    if doing.endswith("ing") and doing.isalpha():
        stem = doing[:-3]
        bases = {stem, f"{stem}e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem}
        yield from (f"{base}s" for base in sorted(bases) if base in PRACTISED)


class _Told:
    """Makes the findings of a clause that tells of an end."""

    def __init__(self, scene: Scene, key: str, who: str, lead: int, stop: int) -> None:
        self.scene, self.key, self.who, self.lead, self.stop = scene, key, who, lead, stop

    def over(
        self, attribute: str, span: tuple[int, int], said: str, ends: tuple[End, ...], kind: Kind = Kind.PROFILE
    ) -> Finding:
        start, end = trimmed(self.scene.text, *span)
        mention = next(iter(self.scene.dates_in(end, max(end, min(len(self.scene.text), self.stop)))), None)
        at = mention.from_ if mention is not None and mention.from_ <= self.scene.now else self.scene.now
        return self.scene.finding(
            kind,
            sentence(self.who, in_third_person(said)),
            attribute,
            (start, end),
            (self.lead, mention.end if mention is not None else end),
            subject=self.key,
            confidence=0.85,
            valid=(None, at),
            ended=True,
            ends=ends,
        )

    def status(self, span: tuple[int, int]) -> Finding:
        """Somebody is divorced or separated."""
        value = self.scene.text[slice(*span)]
        return self.scene.finding(
            Kind.PROFILE,
            sentence(self.who, f"is {value}"),
            "marital status",
            span,
            (self.lead, span[1]),
            subject=self.key,
            single=True,
            ends=ends_of("marital status", value),
        )
