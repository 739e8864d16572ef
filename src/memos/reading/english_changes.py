"""What an English clause says of a plan that was told before: it is called off ("we're not going to Sardinia after all"), or its
day is another ("they moved my appointment to March 26"). Which plan is meant is decided where the plans are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from memos.memory.model import Kind
from memos.memory.statement import Reference
from memos.reading.clauses import REPORTED
from memos.reading.english_clause import Clause
from memos.reading.finding import Finding
from memos.reading.patterns import FUTURE, PAST, PERFECT, PROGRESSIVE, words
from memos.reading.possessions import EVENTS
from memos.reading.scene import Scene
from memos.reading.value import CAP
from memos.reading.wording import sentence
from memos.text.dates import DateMention
from memos.text.lazy import LazyPattern
from memos.text.name_lists import NOT_NAMES

_NOUN = "|".join(
    sorted(
        EVENTS
        | words(
            """
            visit dinner lunch breakfast brunch date call workshop session reservation booking show performance honeymoon cruise
            hike picnic barbecue check-up getaway journey
            """
        ),
        key=len,
        reverse=True,
    )
)
_NAME = rf"(?-i:{CAP}(?: {CAP}){{0,2}})"
# "the dentist appointment", "our trip to Lisbon", "Anna's party", or just "Sardinia".
_THING = (
    rf"(?:(?:(?:the|my|our|this) |(?P<whose>{_NAME}['’]s ))(?P<noun>(?:[\w-]+ ){{0,2}}?(?:{_NOUN}))\b"
    rf"(?: (?:to|in|with|at|for) (?:the |Dr\.? )?(?P<name>{_NAME}))?|(?P<place>{_NAME})(?!['’]s))"
)
_GOING = LazyPattern(
    rf"(?:be )?(?:(?:going|go|flying|fly|travell?ing|travel|driving|drive|heading|head) (?:back )?to|visit(?:ing)?|attend(?:ing)?"
    rf"|make it to|(?:planning|plan) (?:to (?:go|fly|travel|drive) to|on going to)) (?:the (?=(?-i:[A-Z])))?{_THING}",
    re.IGNORECASE,
)
_CANCELS = LazyPattern(
    rf"(?:(?:had to |decided to |have decided to )?(?:cancel(?:l?ing|l?ed)?|call(?:ing|ed)? off|scrap(?:ping|ped)?"
    rf"|g(?:ave|iving|ive) up on|skip(?:ping|ped)?)"
    rf"|decided (?:not to (?:go|fly|travel|drive) to|against (?:going|flying|travell?ing|driving) to)) {_THING}"
    rf"|(?:had to )?call(?:ing|ed)? (?=.{{1,50}} off\b){_THING.replace('?P<', '?P<o')} off\b",
    re.IGNORECASE,
)
_IS = (
    r"(?: is| are| was| were| has been| have been| got| had to be| has to be| is being|['’]s)"
    r"(?: (?:now|just|all|unfortunately|sadly|been|being|already|also))*"
)
_IS_OFF = LazyPattern(
    rf"{_THING}{_IS} (?:(?P<off>off)|cancell?ed|called off|scrapped|(?:not|no longer) (?:happening|going ahead|taking place)"
    r"|(?P<later>postponed|put off|on hold))",
    re.IGNORECASE,
)
_MOVED = r"moved|rescheduled|postponed|pushed|shifted|delayed|changed|put off|bumped|brought forward|put back"
_TO = r"(?: (?:back|forward|out|up))? (?:from [\w ,:.]{2,30} )?(?:to|until|till|for) (?:the )?"
_IS_MOVED = LazyPattern(rf"{_THING}{_IS} (?:{_MOVED}){_TO}", re.IGNORECASE)
_MOVES = LazyPattern(
    rf"\b(?:{_MOVED}|moving|rescheduling|postponing|pushing|shifting) (?:back )?{_THING}{_TO}", re.IGNORECASE
)
# What may stand before a thing that is spoken of, and what makes of it no plain statement.
_OPENS = LazyPattern(
    r"(?:^|.*[,;:.!—–]|.*\b(?:and|but|so|because|that))\s*(?:(?:unfortunately|sadly|and|but|so|also|well|oh|sorry|actually|ok|okay"
    r"|update|by the way|btw|good news|bad news)[\s,:—–-]*)*$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_PLAIN = LazyPattern(
    r"\b(?:not|never|nobody|no one|nothing|wants?|wanted|try|tries|tried|trying|hopes?|hoping|plan|planning|asks?|asked"
    r"|suggest\w*|offer\w*|should|can|to|let['’]?s|please|about|instead of|without|like|hate|love|like to)\b|n['’]t\b",
    re.IGNORECASE,
)
_BACK_ON = LazyPattern(
    r"\bback on\b|\brebook|\breinstat|\bnot really\b|\bbut because\b|\bnot? longer cancel", re.IGNORECASE
)
_TAIL = LazyPattern(
    r"\s*(?:[.,;:!)…\n]|$)|,? (?:after all|now|any ?more|any longer|because|since|due to|for good|and|but|so|unfortunately|sadly"
    r"|completely|entirely|altogether|either|until further notice|indefinitely|instead|then)\b",
    re.IGNORECASE,
)
_BEFORE_DATE = LazyPattern(r"\s*,?\s*(?:(?:in|on|for|at|of) )?(?:the )?", re.IGNORECASE)
_HOUR = LazyPattern(r",? (?:at|@) \d{1,2}(?::\d\d)?(?: ?[ap]\.?m\b\.?)?(?![\d:])", re.IGNORECASE)
_OTHERS = frozenset(
    ("last", "previous", "other", "first", "second", "third", "old", "former", "earlier", "past", "of", "and", "or")
)
_NO_KIND = frozenset(("next", "whole", "entire", "planned", "upcoming", "big", "little", "summer", "family", "annual"))
_SURELY = frozenset(("now", "actually", "definitely", "even", "currently", "already", "officially"))
# What every sentence that `changed` reads holds, in lower case: these are looked for first, as that is quick.
_MAY_CHANGE = (
    "cancel", " off", "scrap", "happening", "going ahead", "taking place", "on hold", "postpon", "mov", "resched", "push",
    "shift", "delay", "changed", "bumped", "brought forward", "put back",
)  # fmt: skip
_LATELY = timedelta(days=31)


def called_off(c: Clause) -> Iterator[Finding]:
    """That the speaker does not do what she may have planned: "I'm not going to Tokyo", "we cancelled the trip"."""
    phrase = c.phrase
    if phrase.used or phrase.modal or not phrase.adverbs <= _SURELY:
        return
    no = phrase.negated or phrase.ended
    going = phrase.tense in (PROGRESSIVE, FUTURE) or (
        phrase.verb in ("can make", "can go", "can attend") and not phrase.ended
    )
    at = phrase.at
    if no and going:
        match = _GOING.match(c.text, at, c.end)
        if (
            match
            and phrase.verb.startswith("plan")
            and not (phrase.ended or re.search("any ?more|after all", c.text[at : c.end]))
        ):
            return
    elif not no and phrase.tense in (PROGRESSIVE, PAST, PERFECT):
        match = _CANCELS.match(c.text, at, c.end)
    else:
        return
    if match is None or _BACK_ON.search(c.text, c.start, c.end):
        return
    if (of := _meant(c.scene, match)) is not None:
        yield from _off(c.scene, of, match, (c.lead, c.end))


def changed(scene: Scene, start: int, end: int, lower: str) -> Iterator[Finding]:
    """That something is off, or on another day: "the trip to Lisbon is off", "the dentist moved my appointment to Friday".

    `lower`: the sentence [`start`, `end`) in lower case.
    """
    if not any(word in lower for word in _MAY_CHANGE) or _BACK_ON.search(scene.text, start, end):
        return
    for match in _IS_OFF.finditer(scene.text, start, end):
        if not _plainly(scene.text, start, match.start()) or (of := _meant(scene, match)) is None:
            continue
        if not (match["off"] and match["place"]):  # "Sardinia is off" may be said of anybody
            yield from _off(scene, of, match, (match.start(), end))
    for pattern in (_IS_MOVED, _MOVES):
        for match in pattern.finditer(scene.text, start, end):
            plain = (
                _plainly(scene.text, start, match.start())
                if pattern is _IS_MOVED
                else _done(scene.text, start, match.start())
            )
            if plain and (of := _meant(scene, match)) is not None:
                yield from _moved(scene, of, match, end)


def _off(scene: Scene, of: Reference, match: re.Match[str], clause: tuple[int, int]) -> Iterator[Finding]:
    """The end of a plan, where nothing follows that makes it less: "not going to Tokyo until May"."""
    at, within = match.end(), None
    mention = _date_after(scene, at, clause[1])
    if mention is not None:
        if mention.to > scene.now:
            within = (mention.from_, mention.to)
        elif scene.now - mention.from_ > _LATELY:
            return
        at = mention.end
    if not _TAIL.match(scene.text, at, clause[1]):
        return
    thing = f"the {of.noun}{f' ({of.name})' if of.name else ''}" if of.noun else of.name
    span = match.span("place") if match.groupdict().get("place") else (match.start(), match.end())
    yield scene.finding(
        Kind.COMMITMENT,
        sentence(scene.who, f"has called off {thing}"),
        "called off",
        span,
        (clause[0], at),
        confidence=0.8,
        valid=(None, scene.now),
        ended=True,
        of=Reference(of.name, of.noun, within, known=True),
    )


def _moved(scene: Scene, of: Reference, match: re.Match[str], end: int) -> Iterator[Finding]:
    mention = _date_after(scene, match.end(), end)
    if mention is None or mention.to <= scene.now or mention.recurring:
        return
    hour = _HOUR.match(scene.text, mention.end, end)
    stop = hour.end() if hour else mention.end
    thing = of.noun or "trip"
    led = match.groupdict().get("place") or re.search(rf"\bto (?:the )?{re.escape(of.name)}\b", match[0])
    named = f"{thing} to {of.name}" if of.name and led else thing
    yield scene.finding(
        Kind.COMMITMENT,
        sentence(f"{scene.who}'s {named}", f"is moved to {scene.text[mention.start : stop]}"),
        named,
        (mention.start, stop),
        (match.start(), stop),
        single=True,
        confidence=0.85,
        due=(mention.from_, mention.to),
        of=Reference(of.name, of.noun, known=True),
    )


def _meant(scene: Scene, match: re.Match[str]) -> Reference | None:
    """What is spoken of, by its noun or its name; None where it is not one that is known by them alone."""
    said = {k.removeprefix("o"): v for k, v in match.groupdict().items() if v and k not in ("off", "later")}
    if place := said.get("place"):
        return None if place.split()[0] in NOT_NAMES else Reference(name=place)
    words = [w for w in said["noun"].split() if w.casefold() not in _NO_KIND]
    name = said.get("name", "")
    if not words or _OTHERS & {w.casefold() for w in words}:
        return None
    if not name and len(words) > 1 and words[0][0].isupper():  # "the Lisbon trip"
        name, words = words[0], words[1:]
    if whose := said.get("whose"):  # a party of hers may be in the speaker's plans, a journey of hers is not
        if name or words[-1] in ("trip", "holiday", "vacation", "journey", "flight", "visit"):
            return None
        name = whose[:-3]
    return Reference(name=name, noun=" ".join(words))


def _plainly(text: str, start: int, at: int) -> bool:
    """Whether a clause begins at `at`, and nobody else says it."""
    return _OPENS.match(text[start:at]) is not None and REPORTED.search(text, start, at) is None


def _done(text: str, start: int, at: int) -> bool:
    """Whether what is said to be done at `at` was done, not wished or denied."""
    clause = re.split(r"[,;:!?]|\b(?:and|but|so)\b", text[start:at])[-1]
    return not _NOT_PLAIN.search(clause) and REPORTED.search(text, start, at) is None


def _date_after(scene: Scene, at: int, end: int) -> DateMention | None:
    """The date that follows right after `at`."""
    first = next(iter(scene.dates_in(at, end)), None)
    if first is None or _BEFORE_DATE.fullmatch(scene.text[at : first.start]) is None:
        return None
    return first
