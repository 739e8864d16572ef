"""What an English clause says of the time ahead: what is planned, due or looked forward to."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memos.memory.model import Kind
from memos.reading.english_clause import Clause
from memos.reading.english_events import POINTS, VAGUE
from memos.reading.finding import Finding
from memos.reading.patterns import FUTURE, PAST, PRESENT, PROGRESSIVE
from memos.reading.value import Place, upto
from memos.reading.verb_phrase import VerbPhrase
from memos.reading.wording import in_third_person, sentence
from memos.text.dates import DateMention

_APPOINTMENT = re.compile(
    r"(?:an? |another |my |the |our )?(?:[\w'’-]+ ){0,3}?(?:appointment|meeting|interview|exam|flight"
    r"|deadline|reservation|date|call|class|party|wedding|surgery"
    r"|check-?up|performance|show|presentation|trip|race|concert|test|audition|session|workshop|conference"
    r"|dinner|lunch|recital|game|match)\b",
    re.IGNORECASE,
)
_STATES = (
    "thinking",
    "wondering",
    "hoping",
    "talking",
    "looking",
    "feeling",
    "being",
    "getting",
    "wishing",
    "trying",
    "excited",
    "loving",
    "enjoying",
)
_PLANNING = ("plan", "planning", "intend")
_NO_PLAN = re.compile(
    r"(?:let|tell|talk|see(?! (?:Dr|Mrs?|Ms|my|the|an?|[A-Z]))|be"
    r"|keep you|check|get back|think|do (?:that|it)|try (?:that|it)|give"
    r" (?:it|that)|need|miss|love)\b"
)
_ON_TO = re.compile(r"(?:on |to |for )+|(?=(?:an?|our|my|the|another) )")
# Plans without a day: how they are introduced, and what is no plan at all.
_MEANT = re.compile(
    r"(?:thinking|dreaming) (?:of|about) (?=[a-z]+ing\b)|considering (?=[a-z]+ing\b)|off to (?=[a-z]+ [a-z])"
    r"|(?:so |really |super |very |also |too )*(?:excited|thrilled|determined|eager|set) to (?=[a-z]+ [a-z])"
    r"|(?:decided|agreed|offered|promised|volunteered) to (?=[a-z]+ [a-z])|saving (?:up )?(?:for|to) (?=\w)"
)
_GOING = re.compile(r"\b(?:going to|gonna) $")
_NOTHING_MEANT = re.compile(
    r"(?:be|being|see|seeing|hear|hearing|know|knowing|think|say|keep|keeping|make|making (?!an? )|love|miss|need|let|tell"
    r"|telling|talk|stop|stay|share|continue|feel|remember|forget|want|wait|support|work hard|learn more|believe|push|never"
    r"|always|regret|cry|rock|help|lift|reach|figure|crush|nail|prove|show|thank|pass|spread)\b"
    r"|(?:have|having|try|trying|look|give|giving|get|getting|do|doing|find|come|go|going)\b"
    r"(?! (?:a|an|my|our|some|another|more|two|three|four|to (?:a|an|the|my|our|[A-Z])|into|[a-z]+ing\b) )"
)
_AHEAD = re.compile(
    r"(?:forward to|wait (?:for|until|till)|(?:excited|pumped|ready|nervous|psyched|stoked) (?:for|about)) "
)
_OWN_DAY = re.compile(r"(?:the |my |our |an? |this |next |tomorrow['’]s |tonight['’]s )")


def planned(c: Clause) -> Iterator[Finding]:
    """A commitment: what is going to happen at a date that has not come, or is called a plan."""
    phrase = c.phrase
    if phrase.negated or phrase.adverbs & {"never", "usually", "always", "often", "sometimes"}:
        return
    if not c.scene.dates and phrase.verb not in _PLANNING:
        return
    mention = _date_ahead(c)
    told = _told(c, mention)
    if told is None:
        return
    attribute, start, confidence = told
    end = c.said[1]
    words = len(c.text[start:end].split())
    if end - start < 4 or words > 25 or _NO_PLAN.match(c.text, start, end) or _says_little(c.text[start:end]):
        return
    said = in_third_person(c.text[start:end])
    yield c.scene.finding(
        Kind.COMMITMENT,
        sentence(c.subject.who, _plan_words(attribute, said, phrase)),
        attribute,
        (start, end),
        (min(c.lead, mention.start) if mention else c.lead, max(end, mention.end) if mention else end),
        confidence=confidence * c.sure,
        due=(mention.from_, mention.to) if mention is not None else None,
    )


def meant(c: Clause) -> Iterator[Finding]:
    """A plan without a day: "I'm thinking of moving to Bergen", "I'm going to open a second shop"."""
    phrase, text = c.phrase, c.text
    if phrase.negated or phrase.used or phrase.adverbs & {"never", "always", "almost"}:
        return
    if phrase.tense == FUTURE:
        if not _GOING.search(text, c.lead, phrase.at):
            return
        start, lead = phrase.at, "is going to "
    else:
        match = _MEANT.match(text, phrase.at, c.end)
        if match is None or (phrase.tense == PAST) != (match[0][:7] in _PAST_LEADS):
            return
        start, lead = match.end(), ("" if match[0][:7] in _PAST_LEADS else "is ") + match[0]
    end = c.said[1]
    said = text[start:end]
    if not 2 <= len(said.split()) <= 25 or _NOTHING_MEANT.match(said) or _says_little(said) or _POINTED.search(said):
        return
    yield c.scene.finding(
        Kind.COMMITMENT,
        sentence(c.subject.who, f"{lead}{in_third_person(said)}"),
        "plan",
        (start, end),
        (c.lead, end),
        confidence=0.65 * c.sure,
    )


_POINTED = re.compile(r"\b(?:you|your|yours|it|them)\b|\b(?:this|that)\b(?! [a-z])", re.IGNORECASE)
_PAST_LEADS = frozenset(("decided", "agreed ", "offered", "promise", "volunte"))


def awaited(c: Clause) -> Iterator[Finding]:
    """Something with a day that is looked forward to: "I can't wait for the concert on Friday"."""
    if not c.scene.dates:
        return
    match = _AHEAD.search(c.text, c.phrase.at, c.end)
    if match is None:
        return
    start, end = upto(Place(c.text, match.end(), c.end))
    own = _OWN_DAY.match(c.text, start, end)
    mention = next((m for m in c.scene.dates_in(start, c.end) if m.to > c.scene.now and not m.recurring), None)
    if mention is None or own is None or mention.start - end > 2 or _says_little(c.text[start:end]):
        return
    said = in_third_person(c.text[start:end])
    yield c.scene.finding(
        Kind.COMMITMENT,
        sentence(c.subject.who, f"is looking forward to {said}"),
        "plan",
        (start, end),
        (c.lead, max(end, mention.end)),
        confidence=0.7,
        due=(mention.from_, mention.to),
    )


def _date_ahead(c: Clause) -> DateMention | None:
    """The date of a plan: within the clause not over yet, before it one that has not begun."""
    now = c.scene.now
    inside = c.scene.dates_in(c.lead, max(c.said[1], c.stop))
    mention = next((m for m in inside if m.to > now and not m.recurring), None)
    if mention is None:
        before = c.scene.dates_in(c.start, c.lead)
        mention = next((m for m in before if m.from_ > now and not m.recurring), None)
    return mention


def _told(c: Clause, mention: DateMention | None) -> tuple[str, int, float] | None:
    """What kind of plan it is, where its words begin, and how sure it is; None where it is no plan."""
    phrase, text = c.phrase, c.text
    ahead = mention is not None and (mention.from_ > c.scene.now or phrase.tense == FUTURE)
    if phrase.verb in _PLANNING and phrase.tense in (PRESENT, PROGRESSIVE):
        to = _ON_TO.match(text, phrase.rest)
        return None if to is None else ("plan", to.end(), 0.8)
    if not ahead or phrase.verb == "be":
        return None
    if phrase.verb == "have" and phrase.tense == PRESENT and _APPOINTMENT.match(text, phrase.rest, c.said[1]):
        return "plan", phrase.rest, 0.85
    if (
        phrase.verb in ("have", "need") and text.startswith("to ", phrase.rest) and phrase.tense == PRESENT
    ) or phrase.modal == "must":
        return "todo", phrase.at if phrase.modal else phrase.rest + 3, 0.85
    if phrase.tense == FUTURE or (phrase.tense == PROGRESSIVE and phrase.verb not in _STATES):
        return "plan", phrase.at, 0.85
    return None


def _says_little(said: str) -> bool:
    return POINTS.search(said) is not None or VAGUE.search(said) is not None


def _plan_words(attribute: str, said: str, phrase: VerbPhrase) -> str:
    if attribute == "todo":
        return f"needs to {said}"
    if phrase.verb == "have" and phrase.tense == PRESENT:
        return f"has {said}" if not said.startswith("have ") else f"plans to {said}"
    if phrase.verb in _PLANNING:
        return (
            f"plans {said}"
            if said.split()[0].endswith("ing") or said.split()[0] in ("a", "an", "the", "their", "another")
            else f"plans to {said}"
            if not said.startswith("to ")
            else f"plans {said}"
        )
    return f"is {said}" if phrase.tense == PROGRESSIVE else f"will {said}"
