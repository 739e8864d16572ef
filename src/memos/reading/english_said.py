"""What an English clause says by its verb: facts, habits, plans and events, with the time they hold.

The tables are in `english_verbs`; which clauses are read at all is decided in `english_reader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo

from memos.memory.model import Kind
from memos.memory.time import load_zone
from memos.reading.endings import ends_of, over
from memos.reading.english_verbs import VERBS
from memos.reading.finding import End, Finding
from memos.reading.patterns import FUTURE, PAST, PERFECT, PRESENT, PROGRESSIVE, VerbRule, words
from memos.reading.scene import Scene
from memos.reading.topics import preferred_as
from memos.reading.value import Place, Value, long_phrase, trimmed
from memos.reading.values import read
from memos.reading.verb_phrase import VerbPhrase
from memos.reading.wording import conjugated, in_third_person, sentence
from memos.text.dates import DateMention

_ENDED = re.compile(r"\b(?:any ?more|any longer)\b", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|for)\b[^,.;]*$", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:an?|the|my|our|some) (?:[\w-]+ )*$", re.IGNORECASE)
_THE = re.compile(r"\bthe $", re.IGNORECASE)
_WITH_ARTICLE = ("device", "job", "product", "place_of_help")
_UNTIL = re.compile(r"\b(?:until|till|through)\s+(?:the )?(?:\w+ )?$", re.IGNORECASE)
_APPOINTMENT = re.compile(
    r"(?:an? |another |my |the |our )?(?:[\w'’-]+ ){0,3}?(?:appointment|meeting|interview|exam|flight"
    r"|deadline|reservation|date|call|class|party|wedding|surgery"
    r"|check-?up|performance|show|presentation|trip|race|concert|test|audition|session|workshop|conference"
    r"|dinner|lunch|recital|game|match)\b",
    re.IGNORECASE,
)
_NO_HABIT = words(
    """
    think thought know feel say said forget imagine remember wonder seem believe get find like love enjoy hate be
    mind make see hear look want wanted wish have need end come keep expect hope tell learn appreciate look try go
    give do
    """
)
_POINTS = re.compile(
    r"^\w+(?: \w+ing)?(?: to)? (?:it|them|that|him|her|one|those|these|so|well)\b|\b(?:there|here)\b|^\w+$",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(r"\b(?:after|before|when|while|since|that|who|which)\b", re.IGNORECASE)
_VAGUE = re.compile(r"^(?:\w+ )?(?:a few|a few more|some|some more|a bit|a lot|more)$", re.IGNORECASE)
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
_OPINION_PAST = words(
    """
    live lived work worked study studied like liked love loved enjoy enjoyed want wanted need needed think thought
    feel felt know knew hope hoped hear heard mean meant agree agreed see saw say said tell told talk talked mention
    mentioned ask asked wonder wondered guess guessed notice noticed realize realized remember remembered use used
    forget forgot wish wished believe believed miss missed be keep kept hate hated
    """
)


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a clause is about: how findings name it, and its form: "i" (the speaker), "we" or "kin" (a relative)."""

    key: str
    who: str
    form: str
    shared: bool = True


class Said:
    """Reads the clauses of one sentence, [`start`, `end`) of the text."""

    def __init__(self, scene: Scene, start: int, end: int) -> None:
        self.scene, self.text, self.start, self.end = scene, scene.text, start, end

    def everything(self, subject: Subject, phrase: VerbPhrase, lead: int, clause_end: int) -> Iterator[Finding]:
        """Everything a clause says: by its verb's rules, as a habit, as a plan, as an event."""
        if phrase.modal in ("would", "d") and phrase.verb in ("rather", "prefer"):
            yield from self._rather(subject, phrase, lead, clause_end)
            return
        if phrase.modal and not (phrase.modal == "must" and subject.form == "i"):
            return
        habit = self._habit(subject, phrase, lead, clause_end)
        if habit is not None:
            yield habit
            return
        yield from self.by_rules(subject, phrase, lead, clause_end)
        own = subject.form in ("i", "we")
        yield from over(self.scene, subject.key, subject.who, phrase, lead, self.end, clause_end, alone=own)
        if subject.form in ("i", "we"):
            yield from self._planned(subject, phrase, lead, clause_end)
            yield from self._happened(subject, phrase, lead, clause_end)

    def by_rules(self, subject: Subject, phrase: VerbPhrase, lead: int, clause_end: int) -> Iterator[Finding]:
        """What the rules of the verb say."""
        if phrase.modal or phrase.adverbs & {"almost", "nearly", "rarely"}:
            return
        seen: set[str] = set()
        for rule in VERBS.get(phrase.verb, ()):
            if not self._applies(rule, subject, phrase) or rule.attribute in seen or (seen and rule.attribute != "job"):
                continue
            begun = rule.lead.match(self.text, phrase.rest, self.end)
            if begun is None:
                continue
            place = Place(self.text, begun.end(), self.end, self.scene.dates if rule.take == "date" else ())
            found = read(rule.take, place)
            made = [f for value in found if (f := self._finding(rule, subject, phrase, value, lead, clause_end))]
            yield from made
            seen |= {rule.attribute for _ in made}
            if made and rule.attribute != "employer":
                return

    def _applies(self, rule: VerbRule, subject: Subject, phrase: VerbPhrase) -> bool:
        if subject.form == "kin" and not rule.kin:
            return False
        if subject.form == "we" and not rule.we:
            return False
        if phrase.used:
            return PRESENT in rule.tenses
        if (rule.historic or rule.ends) and (phrase.negated or phrase.ended):
            return False
        if phrase.verb == "can have" and not phrase.negated:
            return False
        if "never" in phrase.adverbs and rule.kind is not Kind.PREFERENCE:
            return False
        return phrase.tense in rule.tenses

    def _finding(
        self, rule: VerbRule, subject: Subject, phrase: VerbPhrase, value: Value, lead: int, clause_end: int
    ) -> Finding | None:
        start, end = trimmed(self.text, value.start, value.end)
        if end <= start:
            return None
        stop = max(clause_end, end)
        when = self._when(rule, phrase, lead, end, stop)
        if when is None:
            return None
        valid, date_end = when
        gone = bool(_ENDED.search(self.text, end, stop)) and phrase.negated
        past = phrase.tense == PAST and not rule.historic
        ended = rule.ends or phrase.ended or phrase.used or gone or past
        negated = (phrase.negated or "never" in phrase.adverbs) and not gone
        if ended and valid[1] is None:
            valid = (valid[0], self.scene.now)
        polarity, attribute = rule.polarity, self._attribute(rule, value)
        said_not = negated
        if negated and rule.polarity == "-":
            return None
        if negated and rule.opposite:
            attribute, polarity, negated = rule.opposite, "-", False
        elif negated or (ended and rule.kind is Kind.PREFERENCE):
            polarity = "-" if negated else polarity
        shown = self.text[start:end]
        article = (_ARTICLE if rule.take in _WITH_ARTICLE else _THE).search(self.text, phrase.rest, start)
        if article and rule.take not in ("liked", "list", "word", "word2", "name", "names", "age"):
            shown = article[0] + shown
        say = "live at {v}" if attribute == "home_address" else rule.say
        base = say.format(v=in_third_person(shown), p="their")
        if rule.ends:
            verb = conjugated(base, ended=True)
        else:
            history = rule.sure_past
            verb = conjugated(
                base,
                past=history or ((past or phrase.used) and not gone),
                negated=said_not and not history,
                ended=phrase.ended or gone,
            )
        confidence = (
            rule.confidence
            * value.confidence
            * (0.9 if subject.form == "we" else 1.0)
            * (0.95 if subject.form == "kin" else 1.0)
        )
        return self.scene.finding(
            rule.kind,
            sentence(subject.who, verb),
            attribute,
            (start, end),
            (lead, max(end, date_end)),
            subject=subject.key,
            single=(rule.single or attribute.startswith("preferred ")) and subject.shared and not negated,
            confidence=confidence,
            valid=valid,
            polarity=polarity,
            negated=negated,
            ended=ended,
            ends=()
            if (past and not rule.ends) or phrase.used
            else self._ends(rule, attribute, self.text[start:end], ended=ended, negated=negated, shared=subject.shared),
        )

    def _ends(
        self, rule: VerbRule, attribute: str, value: str, *, ended: bool, negated: bool, shared: bool
    ) -> tuple[End, ...]:
        """What is over with it: see `endings`."""
        if rule.ends and attribute in ("device", "vehicle", "bike"):
            noun = value.casefold()
            whole = (End("vehicle"),) if noun == "car" else ()
            kinds = tuple(End(kind, noun) for kind in ("device", "owns", "car", "bike", "laptop", "phone", "computer"))
            return (*kinds, End(noun), End(f"{noun} colour"), *whole)
        if attribute.startswith("home_") and not shared and rule.starts and rule.historic:
            return (End(attribute, unless=value),)  # "my sister moved": the one who lived elsewhere
        return ends_of(attribute, value, ended=ended, negated=negated, moved=rule.starts and rule.historic)

    def _attribute(self, rule: VerbRule, value: Value) -> str:
        if rule.attribute == "prefers":
            return preferred_as(self.text[value.start : value.end])[0]
        if rule.attribute in ("home", "hometown"):
            return f"home_{value.attribute}" if rule.attribute == "home" else "hometown"
        return rule.attribute or value.attribute

    def _when(
        self, rule: VerbRule, phrase: VerbPhrase, lead: int, end: int, stop: int
    ) -> tuple[tuple[datetime | None, datetime | None], int] | None:
        """When a finding is valid, and where the words that say so end; None where the tense needs a date in vain."""
        mention = self._mention(lead, end, stop)
        if phrase.tense == PERFECT and not rule.historic and not rule.ends:
            if mention is None or mention.precision != "range":
                return None
            return (mention.from_, None), mention.end
        if mention is None or rule.take == "date":
            return (None, None), end
        before = self.text[lead : mention.start]
        if _UNTIL.search(before):
            return (None, mention.to), mention.end
        if rule.ends:
            return (None, mention.from_), mention.end
        if phrase.tense == PAST and not rule.historic:
            return (mention.from_, min(mention.to, self.scene.now)), mention.end
        if mention.from_ > self.scene.now:
            return ((mention.from_, None), mention.end) if rule.starts else ((None, None), end)
        if rule.starts and (rule.historic or mention.precision == "range" or _SINCE.search(before)):
            return (mention.from_, None), mention.end
        return (None, None), end

    def _mention(self, lead: int, end: int, stop: int) -> DateMention | None:
        """The date of a clause: after the value, else before the subject."""
        after = self.scene.dates_in(end, stop)
        if after:
            return after[0]
        before = self.scene.dates_in(self.start, end)
        return before[-1] if before else None

    def _habit(self, subject: Subject, phrase: VerbPhrase, lead: int, clause_end: int) -> Finding | None:
        how = next((word for word in ("always", "never") if word in phrase.adverbs), None)
        verb = phrase.verb.removeprefix("can ")
        if how is None or phrase.tense != PRESENT or phrase.negated or verb in _NO_HABIT or subject.form != "i":
            return None
        if verb.endswith("ed") or phrase.verb.startswith("can "):
            return None
        start, end = long_phrase(Place(self.text, phrase.at, self.end))
        if end - start < 4 or len(self.text[start:end].split()) > 14 or " " not in self.text[start:end]:
            return None
        said = conjugated(in_third_person(self.text[start:end]))
        return self.scene.finding(
            Kind.PREFERENCE,
            sentence(subject.who, f"{how} {said}"),
            how,
            (start, end),
            (lead, end),
            confidence=0.85,
            polarity="-" if how == "never" else "+",
        )

    def _rather(self, subject: Subject, phrase: VerbPhrase, lead: int, clause_end: int) -> Iterator[Finding]:
        at = phrase.rest
        for value in read("preferred", Place(self.text, at, self.end)):
            said = in_third_person(self.text[value.start : value.end])
            yield self.scene.finding(
                Kind.PREFERENCE,
                sentence(subject.who, f"would rather {said}" if phrase.verb == "rather" else f"prefers {said}"),
                preferred_as(self.text[value.start : value.end])[0],
                (value.start, value.end),
                (lead, value.end),
                single=preferred_as(self.text[value.start : value.end])[1],
                confidence=0.75,
            )

    def _planned(self, subject: Subject, phrase: VerbPhrase, lead: int, clause_end: int) -> Iterator[Finding]:
        """A commitment: what is going to happen at a date that has not come, or is called a plan."""
        if phrase.negated or phrase.adverbs & {"never", "usually", "always", "often", "sometimes"}:
            return
        start, end = long_phrase(Place(self.text, phrase.at, self.end))
        mention = next(
            (m for m in self.scene.dates_in(lead, max(end, clause_end)) if m.to > self.scene.now and not m.recurring),
            None,
        )
        if mention is None:
            mention = next(
                (m for m in self.scene.dates_in(self.start, lead) if m.from_ > self.scene.now and not m.recurring), None
            )
        ahead = mention is not None and (mention.from_ > self.scene.now or phrase.tense == FUTURE)
        attribute, confidence = "plan", 0.85
        if phrase.verb in ("plan", "planning", "intend") and phrase.tense in (PRESENT, PROGRESSIVE):
            to = re.compile(r"(?:on |to |for )+|(?=(?:an?|our|my|the|another) )").match(self.text, phrase.rest)
            if to is None:
                return
            start, confidence = to.end(), 0.8
        elif (
            phrase.verb == "have"
            and phrase.tense == PRESENT
            and ahead
            and _APPOINTMENT.match(self.text, phrase.rest, end)
        ):
            start = phrase.rest
        elif (
            phrase.verb in ("have", "need") and self.text.startswith("to ", phrase.rest) and phrase.tense == PRESENT
        ) or phrase.modal == "must":
            if not ahead:
                return
            attribute = "todo"
            start = phrase.at if phrase.modal else phrase.rest + 3
        elif not (ahead and (phrase.tense == FUTURE or (phrase.tense == PROGRESSIVE and phrase.verb not in _STATES))):
            return
        if (
            end - start < 4
            or len(self.text[start:end].split()) > 25
            or phrase.verb == "be"
            or self._vague(start, end)
            or _VAGUE.search(self.text[start:end])
            or _POINTS.search(self.text[start:end])
        ):
            return
        said = in_third_person(self.text[start:end])
        yield self.scene.finding(
            Kind.COMMITMENT,
            sentence(subject.who, _plan_words(attribute, said, phrase)),
            attribute,
            (start, end),
            (min(lead, mention.start) if mention else lead, max(end, mention.end) if mention else end),
            confidence=confidence * (1.0 if subject.form == "i" else 0.9),
            due=(mention.from_, mention.to) if mention is not None else None,
        )

    def _vague(self, start: int, end: int) -> bool:
        return (
            re.match(
                r"(?:let|tell|talk|see(?! (?:Dr|Mrs?|Ms|my|the|an?|[A-Z]))|be"
                r"|keep you|check|get back|think|do (?:that|it)|try (?:that|it)|give"
                r" (?:it|that)|need|miss|love)\b",
                self.text[start:end],
            )
            is not None
        )

    def _happened(self, subject: Subject, phrase: VerbPhrase, lead: int, clause_end: int) -> Iterator[Finding]:
        """An event: what the speaker did at a date that is over."""
        if (
            phrase.tense != PAST
            or phrase.negated
            or phrase.used
            or phrase.verb in _OPINION_PAST
            or phrase.adverbs & {"never", "always", "almost"}
        ):
            return
        start, end = long_phrase(Place(self.text, phrase.at, self.end))
        mention = next((m for m in self.scene.dates_in(phrase.at, max(end, clause_end)) if self._over(m)), None)
        if mention is None:
            mention = next((m for m in self.scene.dates_in(self.start, lead) if self._over(m)), None)
        if (
            self.text[phrase.at : phrase.rest].strip().endswith("ing")
            or _POINTS.search(self.text[start:end])
            or _VAGUE.search(self.text[start:end])
        ):
            return
        if mention is not None and _SUBORDINATE.search(self.text, phrase.rest, max(phrase.rest, mention.start)):
            return  # the date is that of another clause
        if mention is None or len(self.text[start:end].split()) < 2 or len(self.text[start:end].split()) > 25:
            return
        who = subject.who if subject.form == "i" else f"{subject.who} and others"
        day = mention.from_.astimezone(self._zone()).strftime("%Y-%m-%d")
        shown = "" if not mention.relative else f" ({'around ' if mention.precision != 'day' else ''}{day})"
        yield self.scene.finding(
            Kind.EVENT,
            sentence(who, in_third_person(self.text[start:end]) + shown),
            "event",
            (start, end),
            (min(lead, mention.start), max(end, mention.end)),
            confidence=0.8 * (1.0 if subject.form == "i" else 0.9),
            valid=(mention.from_, mention.to),
        )

    def _over(self, mention: DateMention) -> bool:
        return (
            mention.from_ < self.scene.now
            and not mention.recurring
            and mention.precision not in ("range", "decade")
            and mention.confidence > 0.5
        )

    def _zone(self) -> tzinfo:
        return load_zone(self.scene.message.zone)


def _plan_words(attribute: str, said: str, phrase: VerbPhrase) -> str:
    if attribute == "todo":
        return f"needs to {said}"
    if phrase.verb == "have" and phrase.tense == PRESENT:
        return f"has {said}" if not said.startswith("have ") else f"plans to {said}"
    if phrase.verb in ("plan", "planning", "intend"):
        return (
            f"plans {said}"
            if said.split()[0].endswith("ing") or said.split()[0] in ("a", "an", "the", "their", "another")
            else f"plans to {said}"
            if not said.startswith("to ")
            else f"plans {said}"
        )
    return f"is {said}" if phrase.tense == PROGRESSIVE else f"will {said}"
