"""What an English clause says by its verb: facts, habits, plans and events, with the time they hold.

The tables are in `english_verbs`; which clauses are read at all is decided in `english_reader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memos.memory.model import Kind
from memos.reading.endings import ends_of, over
from memos.reading.english_changes import called_off
from memos.reading.english_clause import Clause, Subject
from memos.reading.english_doings import doing, former, habit, not_yet
from memos.reading.english_events import happened, invited, undated
from memos.reading.english_plans import awaited, meant, planned
from memos.reading.english_verbs import VERBS
from memos.reading.finding import End, Finding
from memos.reading.patterns import PAST, PERFECT, PRESENT, PROGRESSIVE, VerbRule, words
from memos.reading.scene import Scene
from memos.reading.topics import preferred_as
from memos.reading.value import Place, Value, long_phrase, trimmed
from memos.reading.values import read
from memos.reading.verb_phrase import VerbPhrase
from memos.reading.wording import conjugated, in_third_person, sentence
from memos.text.dates import DateMention

_ENDED = re.compile(r"\b(?:any ?more|any longer)\b", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|for)\b[^,.;]*$", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:an?|the|my|our|some) (?:(?!as )[\w-]+ )*$", re.IGNORECASE)
_THE = re.compile(r"\bthe $", re.IGNORECASE)
_WITH_ARTICLE = ("device", "job", "product", "place_of_help")
_BEFORE_THEN = re.compile(r"\bhad\b|['’]d\b", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|through)\s+(?:the )?(?:\w+ )?$", re.IGNORECASE)
_NO_HABIT = words(
    """
    think thought know feel say said forget imagine remember wonder seem believe get find like love enjoy hate be
    mind make see hear look want wanted wish have need end come keep expect hope tell learn appreciate look try go
    give do
    """
)


class Said:
    """Reads the clauses of one sentence, [`start`, `end`) of the text."""

    def __init__(self, scene: Scene, start: int, end: int) -> None:
        self.scene, self.text, self.start, self.end = scene, scene.text, start, end

    def everything(self, subject: Subject, phrase: VerbPhrase, lead: int, clause_end: int) -> Iterator[Finding]:
        """Everything a clause says: by its verb's rules, as a habit, as a plan, as an event."""
        if phrase.modal in ("would", "d") and phrase.verb in ("rather", "prefer"):
            yield from self._rather(subject, phrase, lead)
            return
        if phrase.modal and not (phrase.modal == "must" and subject.form == "i"):
            return
        always = self._habit(subject, phrase, lead)
        if always is not None:
            yield always
            return
        own = subject.form in ("i", "we")
        clause = Clause(self.scene, subject, phrase, self.start, self.end, lead, clause_end)
        found = [
            *self.by_rules(subject, phrase, lead, clause_end),
            *over(self.scene, subject.key, subject.who, phrase, lead, self.end, clause_end, alone=own),
        ]
        if not own:
            yield from (*found, *happened(clause), *invited(clause))
            return
        found += [*planned(clause), *happened(clause)]
        off = [*called_off(clause)]
        yield from (*found, *off)
        if not found and not (off and phrase.tense == PROGRESSIVE):
            yield from _weaker(clause)

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
        mention = self._mention(end, stop)
        if phrase.tense == PERFECT and not rule.historic and not rule.ends:
            if mention is None or mention.precision != "range" or _BEFORE_THEN.search(self.text, lead, phrase.rest):
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

    def _mention(self, end: int, stop: int) -> DateMention | None:
        """The date of a clause: after the value, else before the subject."""
        after = self.scene.dates_in(end, stop)
        if after:
            return after[0]
        before = self.scene.dates_in(self.start, end)
        return before[-1] if before else None

    def _habit(self, subject: Subject, phrase: VerbPhrase, lead: int) -> Finding | None:
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

    def _rather(self, subject: Subject, phrase: VerbPhrase, lead: int) -> Iterator[Finding]:
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


def _weaker(clause: Clause) -> Iterator[Finding]:
    """What a clause says that tells nothing surer: the first of several readings that finds something."""
    for reading in (awaited, meant, undated, doing, former, habit, not_yet):
        found = [*reading(clause)]
        if found:
            yield from found
            return
