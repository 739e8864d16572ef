"""Reads English sentences with the tables of `english`: who speaks of herself, in which clause, and what the verb says.

Conservative: only clauses that state something, whose subject is plainly the speaker or a relative of hers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from memos.reading import endings, english, possessions, relatives, statements
from memos.reading.clauses import REPORTED, Sentence, foreign_spans, inside, sentences, unreal_in
from memos.reading.english_asides import asides
from memos.reading.english_changes import changed
from memos.reading.english_clause import Subject
from memos.reading.english_elided import busy, elided
from memos.reading.english_leaning import befell, leaning
from memos.reading.english_said import Said
from memos.reading.english_verbs import VERBS
from memos.reading.finding import Finding
from memos.reading.patterns import FUTURE, PAST, PERFECT, PRESENT, ClauseRule
from memos.reading.scene import Scene
from memos.reading.value import FULL_STOP, Place, Value, trimmed
from memos.reading.values import read
from memos.reading.verb_phrase import VerbPhrase, parse
from memos.reading.wording import conjugated, in_third_person, sentence
from memos.text.name_lists import GIVEN

_SUBJECT = re.compile(
    r"(?<![\w'’-])(?:I(?!['’]?s\b)|i(?=['’]?m?(?:ve|ll|d)? )|[Ww]e|[Mm]y|[Oo]ur"
    # The things people call "the": the new address, the flight.
    r"|[Tt]he(?= new (?:home |email |phone |mobile |postal )?(?:address|number|phone|email|e-mail)\b)"
    rf"|[Tt]he(?= (?:{'|'.join(sorted(possessions.EVENTS))}) (?:leaves|departs|arrives|starts|begins|ends|takes off|lands|is"
    r"|moved to|was moved to|has moved to)\b))(?![\w-])"
)
_CONJUNCTION = re.compile(
    r".*\b(?:and|but|so|because(?! of)|though|although|plus|cuz|cause)\s+", re.DOTALL | re.IGNORECASE
)
_FILLER = re.compile(
    r"(?:(?:and|but|so|oh|ooh|well|yeah|yes|yep|yup|no|nope|ok|okay|hey|hi|hello|actually|honestly|btw|by"
    r" the way|also|plus|anyway|unfortunately"
    r"|luckily|sadly|because of (?:that|this|it)|as a result|therefore|wow|haha|i mean|you know|to be honest"
    r"|personally|currently|now|right now|these days"
    r"|nowadays|recently|lately|as you know|fyi"
    r"|for the record|guess what|thanks|thank you|cool|great|nice|sure|exactly|true|totally|right|ah|aw|aww"
    r"|hmm|um|uh|lol|sorry|please note"
    r"|note that|note|just so you know|remember that|remember|correction|update|good news|big news|first"
    r"|then|finally|in fact|fun fact|as for me"
    r"|me too|same here|same|since then|at the moment|hopefully|good morning|good evening|dear|there|i think"
    r"|i believe|i'm sure|i am sure"
    r"|to introduce myself|about me|my friend|thanks a lot|basically|usually|normally|sometimes|often|always"
    r"|definitely|absolutely|obviously"
    r"|[A-Z][a-z]+(?=[,!])|\d[.)]|[-*•]|for example)[\s,!.:–—-]*)*",
    re.IGNORECASE,
)
# Where a clause may begin, beside the marks: after a picture.
_PICTURE = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff\ufe0f…]")
_CLAUSE_END = re.compile(
    rf"[;!?\n—]|:\s|{FULL_STOP}(?=\s|$)|,? (?:but|because|so|though|although|and (?:I|we|my|our|it|he|she|they|you))\b"
    # Two clauses with no more than a comma between them.
    r"|, (?=(?:I|we|he|she|they|it|you)(?:['’](?:m|d|ve|re|ll|s))? )"
)
# What every sentence of english.INVERTED holds.
_MAY_TURN = re.compile(r" (?:what|where) i\b| is my\b", re.IGNORECASE)
# A second complement of "be": "I'm vegetarian and allergic to nuts".
_ALSO_IS = re.compile(
    r",?(?: and|,)(?: also)? (?=(?:\w+ly |very |highly )?allergic to |(?:\w+ly )?(?:lactose|gluten)[ -]intolerant\b)"
)
_SECOND = re.compile(r",?(?: and|,)(?: (?:also|now|then|currently))?(?= [a-z]+\b)")
# No sentence of a person is longer; a paste or a list without full stops is.
_LONGEST = 1_500
_NAMED = re.compile(r"[A-ZÀ-Þ][\w-]+(?= )")
_OF_OTHERS = frozenset(("allergy", "diet", "employer", "job", "likes", "dislikes", "eats", "drinks"))
_GATES = (
    "remind",
    "forget",
    "always",
    "never",
    "from now on",
    "call me",
    "future",
    "going forward",
    "again",
    "more",
    "at all times",
)


def read_english(scene: Scene) -> list[Finding]:
    """What the English sentences of a message say about its speaker and those around her."""
    foreign = foreign_spans(scene.text)
    found = [finding for piece in sentences(scene.text) for finding in _Reader(scene, foreign, piece).run()]
    return found + [f for f in relatives.named_next(scene) if not inside(f.start, foreign)]


def read_statements(scene: Scene) -> list[Finding]:
    """Only what is stated about things ("The boiler serial is HK-902"), whoever says it."""
    foreign = foreign_spans(scene.text)
    return [
        found
        for piece in sentences(scene.text)
        if not piece.asks and not inside(piece.start, foreign) and piece.end - piece.start <= _LONGEST
        for found in statements.statement(scene, piece.start, piece.end)
    ]


class _Reader:
    """Reads one sentence."""

    def __init__(self, scene: Scene, foreign: list[tuple[int, int]], piece: Sentence) -> None:
        self.scene, self.text, self.foreign = scene, scene.text, foreign
        self.start, self.end = piece.start, piece.stated if piece.asks else piece.end
        self.piece = piece
        self.lower = self.text[self.start : self.end].lower()
        self.verbs = Said(scene, self.start, self.end)

    def run(self) -> Iterator[Finding]:
        if inside(self.piece.start, self.foreign) or self.piece.end - self.piece.start > _LONGEST:
            return
        yield from self._requests()
        if self.end <= self.start:
            return
        yield from (f for f in endings.died(self.scene, self.start, self.end) if not inside(f.start, self.foreign))
        any_subject = False
        done = self.start
        told: list[Finding] = []
        yield from self._by_the_way()
        for match in _SUBJECT.finditer(self.text, self.start, self.end):
            any_subject = True
            if match.start() < done or inside(match.start(), self.foreign):
                if match.start() < done:
                    yield from relatives.named_relative(self.scene, match, self.end)
                continue
            lead = self._lead(match.start())
            clause_end = self._clause_end(match.end())
            unreal = self._unreal(match.start(), clause_end)
            if lead is None and not unreal:
                yield from leaning(self.scene, match, self.start, self.end, clause_end)
            if lead is None or unreal:
                yield from relatives.named_relative(self.scene, match, self.end)
                continue
            for finding in self._clause(match, lead, clause_end):
                done = max(done, finding.end)
                told.append(finding)
                yield finding
        yield from self._changes(told)
        if any_subject:
            yield from self._inverted()
        elif not self.unreal:
            yield from statements.statement(self.scene, self.start, self.end)
            yield from self._somebody()

    @cached_property
    def unreal(self) -> list[re.Match[str]]:
        """Where the sentence says that it is no plain statement: "if", "maybe", "would"."""
        return unreal_in(self.text, self.start, self.end, self.lower)

    def _somebody(self) -> Iterator[Finding]:
        """What is said of somebody by a name alone ("Jonas is allergic to shellfish"): it counts where the speaker has one so
        named.
        """
        filler = _FILLER.match(self.text, self.start, self.end)
        at = filler.end() if filler else self.start
        name = _NAMED.match(self.text, at, self.end)
        if name is None or name[0] not in GIVEN or inside(at, self.foreign):
            return
        phrase = parse(self.text, name.end(), self.end)
        if phrase is not None:
            person = Subject(f"{self.scene.subject}'s {name[0]}", f"{self.scene.who}'s {name[0]}", "kin")
            for found in self.verbs.by_rules(person, phrase, at, self._clause_end(name.end())):
                if found.attribute in _OF_OTHERS or found.attribute.startswith("home_"):
                    yield replace(found, person=name[0])

    def _changes(self, told: list[Finding]) -> Iterator[Finding]:
        """What is said of a plan that was told before, where it was not read already."""
        if not self.unreal and not any(f.of is not None for f in told):
            yield from (
                f for f in changed(self.scene, self.start, self.end, self.lower) if not inside(f.start, self.foreign)
            )

    def _by_the_way(self) -> Iterator[Finding]:
        """What needs no subject that is the speaker."""
        for found in (*asides(self.scene, self.start, self.end, self.lower), *self._without_subject()):
            if not self.unreal:
                yield found

    def _lead(self, at: int) -> int | None:
        """Where the clause of the subject at `at` begins, or None where it is no clause of its own."""
        before = self.text[self.start : at]
        cut = max(max(before.rfind(mark) for mark in ",;:—–(~") + 1, before.rfind("- ") + 2 if "- " in before else 0)
        if not before.isascii():
            cut = max(cut, *(mark.end() for mark in _PICTURE.finditer(before)), 0)
        joined = _CONJUNCTION.match(before)
        if joined is not None:
            cut = max(cut, joined.end())
        lead = before[cut:].lstrip()
        if lead and not _FILLER.fullmatch(lead) and not self._only_date(at - len(lead), at):
            return None
        if cut and REPORTED.search(self.text, self.start, self.start + cut):
            return None
        return at

    def _only_date(self, start: int, end: int) -> bool:
        """Whether the words before the subject are just a date: "Last week I moved"."""
        words_before = self.text[start:end]
        for mention in self.scene.dates_in(start, end):
            words_before = words_before.replace(self.text[mention.start : mention.end], "", 1)
        return (
            re.fullmatch(
                r"\s*(?:in|on|since|back in|around|and|so|yes|yeah|actually|then|just|only)?[\s,]*",
                words_before,
                re.IGNORECASE,
            )
            is not None
        )

    def _clause_end(self, at: int) -> int:
        match = _CLAUSE_END.search(self.text, at, self.end)
        return match.start() if match else self.end

    def _unreal(self, at: int, clause_end: int) -> bool:
        if not self.unreal or self.unreal[0].start() >= clause_end:
            return False
        if self.unreal[0].start() < at:
            return True
        found = self.unreal[0]
        rather = re.compile(r"I(?:['’]d| would) (?:rather|prefer)\b", re.IGNORECASE).match(self.text, at)
        return rather is None and not (
            found[0].lower() in ("almost", "nearly") and self.text[found.end() : found.end() + 2].strip().isdigit()
        )

    def _clause(self, match: re.Match[str], lead: int, clause_end: int) -> Iterator[Finding]:
        word = match[0].lower()
        if word == "the":
            yield from possessions.possessed(self.scene, match, self.end, clause_end)
            return
        if word in ("my", "our"):
            yield from self._possessed(match, clause_end)
            return
        subject = Subject(self.scene.subject, self.scene.who, word)
        phrase = parse(self.text, match.end(), self.end)
        if phrase is None:
            return
        yield from self.verbs.everything(subject, phrase, lead, clause_end)
        yield from self._second_verbs(subject, phrase, lead, clause_end)

    def _without_subject(self) -> Iterator[Finding]:
        """What a sentence says of the speaker that leaves her out: "Lost my keys yesterday"."""
        subject = Subject(self.scene.subject, self.scene.who, "i")
        for at, aided in elided(self.text, self.start, self.end, self.lower, _FILLER.fullmatch):
            phrase = parse(self.text, at, self.end, elided=aided)
            if phrase is not None and not inside(at, self.foreign) and not self.unreal:
                yield from self.verbs.everything(subject, phrase, at, self._clause_end(at))
        if (found := busy(self.scene, self.start, self.end)) and not self.unreal:
            yield found

    def _second_verbs(self, subject: Subject, first: VerbPhrase, lead: int, clause_end: int) -> Iterator[Finding]:
        """Further verbs of the same subject: "I live in Oslo and work at Acme"."""
        if first.modal or first.negated or first.tense == FUTURE:
            return
        if first.verb == "be" and (also := _ALSO_IS.search(self.text, first.rest, clause_end)):
            yield from self.verbs.by_rules(subject, replace(first, rest=also.end()), lead, clause_end)
        for joint in _SECOND.finditer(self.text, first.rest, clause_end):
            phrase = parse(self.text, joint.end(), clause_end)
            if (
                phrase is None
                or phrase.at - joint.end() > 12
                or phrase.verb not in VERBS
                or phrase.verb == "like"
                or (phrase.verb == "love" and first.verb in ("like", "love", "enjoy", "adore"))
                or (phrase.verb == "be" and self.text[joint.end() + 1 : joint.end() + 4] not in ("am ", "is "))
            ):
                continue
            if phrase.tense in (PRESENT, first.tense) or {phrase.tense, first.tense} <= {PAST, PERFECT}:
                yield from self.verbs.by_rules(subject, phrase, lead, clause_end)

    def _possessed(self, match: re.Match[str], clause_end: int) -> Iterator[Finding]:
        relative = relatives.relative(self.scene, match, self.end)
        if relative is None:
            found = [*possessions.possessed(self.scene, match, self.end, clause_end)]
            yield from found or befell(self.scene, match, self.start, self.end, clause_end)
            return
        yield from relative.findings
        if relative.at is not None:
            phrase = parse(self.text, relative.at, self.end)
            if phrase is not None:
                kin = Subject(relative.key, relative.who, "kin", shared=relative.single)
                yield from self.verbs.everything(kin, phrase, match.start(), clause_end)
                yield from self._second_verbs(kin, phrase, match.start(), clause_end)

    def _requests(self) -> Iterator[Finding]:
        if self.scene.message.role != "user":
            return
        lower = self.lower if self.end == self.piece.end else self.text[self.start : self.piece.end].lower()
        for gate in _GATES:
            if gate in lower:
                break
        else:
            return
        filler = _FILLER.match(self.text, self.start, self.piece.end)
        for at in {self.start, filler.end() if filler else self.start}:
            for rule in english.REQUESTS:
                match = rule.pattern.match(self.text, at, self.piece.end)
                if match is None or (self.piece.asks and "due" not in rule.flags):
                    continue
                finding = self._requested(rule, match)
                if finding is not None:
                    yield finding
                    return

    def _requested(self, rule: ClauseRule, match: re.Match[str]) -> Finding | None:
        start, end = trimmed(self.text, *match.span("v"))
        if rule.take and not read(rule.take, Place(self.text, start, end)):
            return None
        due = None
        if "due" in rule.flags:
            due = next(
                ((m.from_, m.to) for m in self.scene.dates_in(match.start(), match.end()) if m.to > self.scene.now),
                None,
            )
        said = in_third_person(self.text[start:end])
        return self.scene.finding(
            rule.kind,
            sentence("", rule.say.format(s=self.scene.who, v=said)),
            rule.attribute,
            (start, end),
            match.span(),
            single=rule.single,
            confidence=rule.confidence,
            polarity=rule.polarity,
            due=due,
        )

    def _inverted(self) -> Iterator[Finding]:
        if not _MAY_TURN.search(self.text, self.start, self.end):
            return
        if self.unreal or self.text[self.start : self.start + 2].lower() in (
            "i ",
            "my",
        ):
            return
        filler = _FILLER.match(self.text, self.start, self.end)
        begin = filler.end() if filler else self.start
        for rule in english.INVERTED:
            match = rule.pattern.match(self.text, begin, self.end) or rule.pattern.match(
                self.text, self.start, self.end
            )
            if match is None or inside(match.start("who"), self.foreign):
                continue
            yield from self._turned(rule, match)
            return

    def _turned(self, rule: ClauseRule, match: re.Match[str]) -> Iterator[Finding]:
        x = match.groupdict().get("x") or ""
        start, end = match.span("v")
        first = self.text[start:end].split()[0].lower()
        if first in (
            "that",
            "this",
            "it",
            "what",
            "which",
            "he",
            "she",
            "they",
            "there",
            "those",
            "these",
            "here",
            "who",
        ):
            return
        found = read(rule.take, Place(self.text, start, end)) if rule.take else [Value(start, end)]
        if not found:
            return
        value = found[0]
        attribute, polarity = rule.attribute.format(x=x.lower()), rule.polarity
        shown = self.text[value.start : value.end]
        if rule.attribute == "{x}":
            verb = x.lower()
            rules = VERBS.get(verb, ())
            attribute, polarity = (rules[0].attribute, rules[0].polarity) if rules else (verb, "+")
            x, shown = (
                conjugated(verb),
                shown[:1].lower() + shown[1:]
                if shown.split()[0].lower() not in ("i",) and not shown[1:2].isupper()
                else shown,
            )
        elif attribute == "home":
            attribute = f"home_{value.attribute}"
        elif attribute.startswith("kin:"):
            attribute = english.KIN.get(attribute[4:], "contact")
        yield self.scene.finding(
            rule.kind,
            sentence("", rule.say.format(s=self.scene.who, v=shown, x=x)),
            attribute,
            (value.start, value.end),
            match.span(),
            single=rule.single,
            confidence=rule.confidence * value.confidence,
            polarity=polarity,
        )
