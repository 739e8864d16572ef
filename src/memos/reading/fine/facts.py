"""A fact as a model told it -> a statement as the cube keeps it, or nothing where the messages do not bear it out.

The same finding as the rules would make (`reading.finding`), so that slot, key and what else is over with it are the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memos.memory.model import Kind, Source
from memos.memory.statement import Statement
from memos.memory.time import load_zone
from memos.reading import english
from memos.reading.clauses import sentences
from memos.reading.endings import ends_of
from memos.reading.finding import Finding
from memos.reading.fine.answer import Fact
from memos.reading.fine.dating import Told, told
from memos.reading.fine.grounding import LONGEST_TEXT, Ground, Grounded, is_cjk
from memos.reading.fine.lines import ASSISTANT, DOCUMENT, USER, Line
from memos.reading.fine.matching import Folded, place, support
from memos.reading.fine.prompt import ReadingOptions
from memos.reading.fine.subjects import Subject, subject_of
from memos.reading.fine.vocabulary import Attribute, attribute_of, is_detail
from memos.reading.read import statement_of
from memos.reading.traces import source_of
from memos.reading.wording import sentence
from memos.storage.ports import LEANS
from memos.text.analysis import analyze, content_terms

LEAST = 0.25  # what is less sure than this is not kept
SURE = 0.55  # and what is less sure than this takes nothing's place and ends nothing: it stands beside what is known
_MOST = 0.95
_LONGEST_WHAT = 120  # characters of the name of an attribute
_IMPLIED = 0.6  # at most, where nobody stated it
_HEARSAY = 0.85  # the share of what one speaker says of another
_ADVISED = 0.8  # the share of what an assistant says of things
_ASKED = 0.6  # the share of what stands in a question
_OF_PERSONS = frozenset((Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT))
_STRENGTH = {"love": 1.0, "hate": 1.0, "always": 1.0, "never": 1.0, "like": 0.6, "dislike": 0.6}
_IN_CHINESE = {"user": "用户", "assistant": "助手"}
_TASTES = frozenset(("love", "like", "dislike", "hate"))
_NOT = re.compile(
    r"\b(?:not|never|cannot|nor)\b|n['’]t\b|[并]?不(?:是|在|会|能|吃|喝|住|想|去|对)|没有?|从未", re.IGNORECASE
)
_OVER = re.compile(
    r"\b(?:no longer|used to|former(?:ly)?)\b|(?:not|n['’]t)\b.*\bany ?more\b|不再|曾经|曾(?=[在是住任])|以前|已经不",
    re.IGNORECASE,
)
_UNTIL = re.compile(r"\b(?:until|till|up to)\b|直到|为止|到\d", re.IGNORECASE)
_AGREES = re.compile(
    r"\W*(?:yes|yeah|yep|yup|right|exactly|correct|true|indeed|sure|absolutely|definitely|of course"
    r"|that['’]?s (?:right|it|me|true|correct)|you['’]?re right|i (?:do|am|did|have|was)\b|对|是的?|没错|嗯|好的|确实|当然|可不)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class _Held:
    """When a fact holds: from, until, what falls due, a later end that was told, and how sure the times are."""

    valid: tuple[datetime | None, datetime | None] = (None, None)
    due: tuple[datetime, datetime] | None = None
    until: datetime | None = None
    planned: bool = False
    confidence: float = 1.0


def statement(fact: Fact, ground: Ground, options: ReadingOptions) -> Statement | None:
    """The statement of a fact, with its evidence; None where it does not stand on the messages it names."""
    cited = _cited(fact.by, ground)
    if not cited:
        return None
    subject = subject_of(fact.who, cited, ground.lines, ground.all)
    if subject is None:
        return None
    cited = _own_first(cited, subject)
    text = " ".join(fact.text.split())
    fact = fact.model_copy(
        update={"text": text if len(text) <= LONGEST_TEXT else "", "what": fact.what[:_LONGEST_WHAT]}
    )
    start, end = (told(words, cited) if words else None for words in (fact.start, fact.end))
    wordy = fact.kind in ("event", "plan") and not fact.value
    others = [line for line in ground.lines if line.teaches and line not in cited and line.role == cited[0].role]
    found = ground.value(fact.text if wordy else fact.value, cited, others, start or end)
    if found is None or ground.new_names(fact.text):
        return None
    evidence = _evidence(found, cited, subject)
    if evidence is None or (fact.implied and not _repeated(fact, evidence, subject)):
        return None
    attribute = attribute_of(fact.kind, fact.what, found.value)
    if not subject.speaker and is_detail(attribute):  # "the boiler serial is ..." is how the rules say it
        subject = replace(subject, name=f"{subject.name} {attribute.name}")
        attribute = replace(attribute, name="is")
    if evidence[0].role == DOCUMENT and (attribute.kind in _OF_PERSONS or subject.speaker):
        attribute = replace(attribute, kind=Kind.FACT)
    return _made(fact, ground, options, subject, found, evidence, attribute, start, end)


def _cited(numbers: Sequence[int], ground: Ground) -> list[Line]:
    """The messages of these numbers that there are and that teach anything, in their order."""
    return [line for line in ground.lines if line.teaches and line.number in numbers]


def _own_first(cited: Sequence[Line], subject: Subject) -> list[Line]:
    """What the subject says herself goes before what others say of her, and an assistant's words come last."""
    return sorted(
        cited, key=lambda line: (line.role == ASSISTANT, bool(subject.speaker) and line.label != subject.speaker)
    )


def _evidence(found: Grounded, cited: Sequence[Line], subject: Subject) -> list[Line] | None:
    """The messages that say it, the one that counts first; None for what only an assistant said of somebody."""
    lines = [found.line, *(line for line in cited if line is not found.line)]
    if found.line.role != ASSISTANT or not subject.speaker:
        return lines
    agreed = [line for line in lines if line.number > found.line.number and line.label == subject.speaker]
    agreed = [line for line in agreed if _AGREES.match(line.text)]
    if not agreed:
        return None
    return [agreed[0], *(line for line in lines if line is not agreed[0])]


def _repeated(fact: Fact, evidence: Sequence[Line], subject: Subject) -> bool:
    """Whether a taste that nobody stated shows in more than one message of that very speaker."""
    own = {line.number for line in evidence if line.role == USER and line.label == subject.speaker}
    return fact.kind in _TASTES and len(own) > 1


def _made(
    fact: Fact,
    ground: Ground,
    options: ReadingOptions,
    subject: Subject,
    found: Grounded,
    evidence: Sequence[Line],
    attribute: Attribute,
    start: Told | None,
    end: Told | None,
) -> Statement | None:
    line = evidence[0]
    held = _held(attribute, line, start, end, doubted=bool((fact.start and not start) or (fact.end and not end)))
    if held.planned:
        attribute = Attribute("plan", Kind.COMMITMENT)
    taste = attribute.kind is Kind.PREFERENCE
    bare = fact.text.replace(found.value, "")
    over = fact.over or (bool(_OVER.search(bare)) and attribute.kind not in (Kind.EVENT, Kind.COMMITMENT))
    negated = not over and not taste and attribute.kind in (Kind.PROFILE, Kind.FACT) and bool(_NOT.search(bare))
    valid = _ended(held, line, start, end) if over else held.valid
    told_as = _sentence(fact, ground, options, found, evidence, [t for t in (start, end) if t])
    if told_as is None:
        return None
    text, sure = told_as
    confidence = min(fact.sure, _MOST) * found.confidence * held.confidence * sure * _trust(line, subject)
    confidence *= _ASKED if line is found.line and _asks(found) else 1.0
    confidence = min(confidence, _IMPLIED) if fact.implied else confidence
    doubtful = confidence < SURE
    if confidence < LEAST or (over and doubtful):
        return None
    span = line.sentence(found.start, found.end) if line is found.line else (0, len(line.text))
    finding = Finding(
        kind=attribute.kind,
        text=_with_day(text, start, line) if attribute.kind is Kind.EVENT else text,
        subject=subject.name,
        attribute=attribute.name,
        value=found.value,
        start=span[0],
        end=span[1],
        single=attribute.single and not negated and not doubtful and _one(subject),
        confidence=round(confidence, 3),
        valid_from=valid[0],
        valid_to=valid[1],
        polarity="-" if negated else attribute.polarity,
        negated=negated,
        ended=over,
        ends=ends_of(attribute.name, found.value, ended=over, negated=negated),
        due=held.due,
        said_by=line.message.role,
    )
    made = statement_of(finding, line.trace)
    return replace(
        made,
        ends=() if doubtful else made.ends,
        also=tuple(_source(other, found) for other in evidence[1:]),
        body={**made.body, **_body(fact, attribute, held), **_leans(text, ground, evidence)},
        tags=(*made.tags, *_tags(fact, options)),
    )


def _leans(text: str, ground: Ground, evidence: Sequence[Line]) -> dict[str, Any]:
    """The records whose words a sentence has, and its evidence has not ("she" is Eva by the message before): where one of them is
    deleted, its words are not to stay in here.
    """
    own = (
        frozenset(content_terms(analyze(text).terms)).difference(*(line.terms for line in evidence))
        - ground.label_terms
    )
    told = {line.trace.id for line in evidence}
    ids = dict.fromkeys(line.trace.id for line in ground.all if own & line.terms and line.trace.id not in told)
    return {LEANS: list(ids)} if ids else {}


def _one(subject: Subject) -> bool:
    """Whether a subject is somebody in particular: "my brother" may be any of several."""
    return not subject.relative or subject.relative in english.SINGLE_KIN or subject.relative not in english.KIN


def _asks(found: Grounded) -> bool:
    """Whether a value stands in what its speaker asks, not states."""
    held = next((s for s in sentences(found.line.text) if s.start <= found.start < s.end), None)
    return held is not None and held.asks and found.start >= held.stated


def _trust(line: Line, subject: Subject) -> float:
    if line.role == ASSISTANT:
        return _ADVISED
    return _HEARSAY if subject.speaker and line.label != subject.speaker else 1.0


def _held(attribute: Attribute, line: Line, start: Told | None, end: Told | None, *, doubted: bool) -> _Held:
    """When it holds, as far as that makes sense: no end before the beginning, nothing true before it is."""
    sure = min((t.confidence for t in (start, end) if t), default=1.0) * (0.9 if doubted else 1.0)
    if start and end and end.to <= start.from_:
        end, sure = None, sure * 0.9
    first, last = start or end, end or start
    if attribute.kind is Kind.EVENT or attribute.kind is Kind.COMMITMENT:
        if first is None or last is None:
            return _Held(confidence=sure)
        if attribute.kind is Kind.COMMITMENT or first.from_ > line.time:
            due = (first.from_, last.to) if last.to > line.time else None
            return _Held(due=due, planned=attribute.kind is Kind.EVENT, confidence=sure)
        return _Held((first.from_, last.to), confidence=sure)
    if start and start.from_ > line.time:
        return _Held(due=(start.from_, start.to), planned=True, confidence=sure)
    begin = start.from_ if start else None
    if end is None:
        return _Held((begin, None), confidence=sure)
    if end.from_ > line.time:
        return _Held((begin, None), until=end.to, confidence=sure)
    return _Held((begin, min(end.to, line.time)), confidence=sure)


def _ended(held: _Held, line: Line, start: Told | None, end: Told | None) -> tuple[datetime | None, datetime | None]:
    """What is over is so since the end that was told, else since it was said."""
    at = end or (start if held.valid[1] is None else None)
    over = at.from_ if at and at.from_ <= line.time else line.time
    if end and _UNTIL.search(line.text):
        over = min(end.to, line.time)
    begin = held.valid[0] if end else None
    return (begin if begin and begin < over else None), over


def _sentence(
    fact: Fact,
    ground: Ground,
    options: ReadingOptions,
    found: Grounded,
    evidence: Sequence[Line],
    times: Sequence[Told],
) -> tuple[str, float] | None:
    """The model's sentence where it is made of what was said, else that of the message, with who says it; None: invented."""
    verdict = ground.sentence(fact.text, evidence, times, options.language)
    if verdict == "invented":
        return None
    tells = _tells(fact.text, found.value)
    if verdict == "stands" and tells:
        return fact.text, 1.0
    begin, end = found.line.sentence(found.start, found.end)
    said = " ".join(found.line.text[begin:end].split())[:300]
    who = _IN_CHINESE.get(found.line.label, "") if is_cjk(said) else ""
    return f"{who or sentence('', found.line.label)[:-1]}: {said}", 0.8 if tells or verdict == "reworded" else 0.6


def _tells(text: str, value: str) -> bool:
    """Whether a sentence speaks of the value at all."""
    return place(value, text, Folded(text)) is not None or support(value, [frozenset(analyze(text).terms)]) > 0


def _with_day(text: str, start: Told | None, line: Line) -> str:
    """The sentence of an event with its day, where it does not tell the year."""
    if start is None or _YEAR.search(text):
        return text
    day = start.from_.astimezone(load_zone(line.message.zone)).strftime("%Y-%m-%d")
    around = "around " if start.precision not in ("day", "part", "hour", "minute") and text.isascii() else ""
    stop = text[-1:] if text[-1:] in ".。!！" else ""
    return f"{text[: len(text) - len(stop)]} ({around}{day}){stop}"


def _source(line: Line, found: Grounded) -> Source:
    if line is found.line:
        return source_of(line.trace, *line.sentence(found.start, found.end))
    return source_of(line.trace, 0, len(line.text))


def _body(fact: Fact, attribute: Attribute, held: _Held) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if attribute.kind is Kind.EVENT and fact.what:
        body["what"] = fact.what[:60]
    if attribute.kind is Kind.PREFERENCE:
        body["preference_type"] = "implicit_preference" if fact.implied else "explicit_preference"
        body["strength"] = _STRENGTH.get(fact.kind, 0.6)
        if fact.what and fact.what.casefold() != attribute.name:
            body["topic"] = fact.what[:80]
    if held.until is not None:
        body["until"] = held.until.isoformat()
    return body


def _tags(fact: Fact, options: ReadingOptions) -> list[str]:
    """The tags of the cube's vocabulary that the model gave, as the vocabulary spells them."""
    known = {tag.casefold(): tag for tag in options.tags}
    return list(dict.fromkeys(known[t.strip().casefold()] for t in fact.tags if t.strip().casefold() in known))
