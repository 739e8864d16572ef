"""What a text of feedback asks for, by rules: sentence by sentence, to intents whose statements carry their evidence.

Whether anything remembered is meant is not decided here. Questions, what-ifs, quotations and what others said ask for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memos.memory.feedback import FeedbackIntent, FeedbackReading, Operation, Topic
from memos.memory.model import Kind, Memory
from memos.memory.statement import Correction, Statement
from memos.reading import feedback_chinese, feedback_english
from memos.reading.correction import corrections_of
from memos.reading.feedback_heard import Heard, Manner, bare
from memos.reading.feedback_taken_back import WHY, taken_back
from memos.reading.feedback_wrong import wrong_and_right
from memos.reading.read import read_trace, speaker_of
from memos.reading.traces import source_of
from memos.storage.ports import FEEDBACK
from memos.text.analysis import analyze
from memos.text.document import without_injected
from memos.text.spans import Span, sentences

MAX_CHARS, MAX_SENTENCE = 4_000, 400  # what is longer is something else than feedback
_HAN = re.compile("[\u4e00-\u9fff]")
_QUOTE = re.compile(
    r"“[^”]*(?:”|$)|「[^」]*(?:」|$)|«[^»]*(?:»|$)|(?<![\w])\"[^\"]*(?:\"|$)|^\s*>.*$|```.*?(?:```|$)",
    re.MULTILINE | re.DOTALL,
)
_QUOTED_WORDS = 3  # a quotation of fewer is a name or a word
_ZH_ALSO = re.compile(r"(?<=我)(?:还|也)(?=[会有是在喜能对爱讨住])")
_NOTED = 0.9  # confidence of what was asked for outright
_SPOKEN = (Kind.FACT, Kind.PROFILE, Kind.PREFERENCE, Kind.COMMITMENT)


@dataclass(slots=True)
class _Text:
    """A text of feedback while it is read: what is found, what was left over, and whether something was refused."""

    trace: Memory
    found: list[FeedbackIntent] = field(default_factory=list)
    left: list[tuple[int, int, str, bool]] = field(
        default_factory=list
    )  # sentence, where it begins, its words, refused
    refused: bool = False
    refusals: list[Span] = field(default_factory=list)
    unclear: str = ""


def read_feedback(trace: Memory) -> FeedbackReading:
    """What the rules find in a record of feedback. Never raises for a text."""
    text = without_injected(trace.text, trace.body.get("injected", ()))
    if len(text) > MAX_CHARS or "parts" in trace.body:
        return FeedbackReading(unclear="the feedback is too long to be understood; the words are kept")
    if len(text) != len(trace.text):  # recalled memories came back in: nobody said them
        return FeedbackReading()
    said = _Text(trace)
    quotes = [m.span() for m in _QUOTE.finditer(text)]
    for number, (start, end) in enumerate(sentences(text)):
        sentence = text[start:end].rstrip()
        if sentence.strip() and len(sentence) <= MAX_SENTENCE and not _is_quotation(sentence, start, quotes, text):
            heard = feedback_chinese.hear(sentence) if _HAN.search(sentence) else feedback_english.hear(sentence)
            _take(said, heard, number, start, start + len(sentence))
    _take_pairs(said)
    return FeedbackReading(_with_refusal(said), said.unclear, read_trace(_plain(trace)).mentions if said.found else ())


def _is_quotation(sentence: str, start: int, quotes: Sequence[Span], text: str) -> bool:
    """Whether a sentence stands within a quotation, or has a long one in it."""
    for a, b in quotes:
        if a < start < b or (a == start < b and start + len(sentence) < b):
            return True
        if start <= a < start + len(sentence) and _size(text[a:b]) >= _QUOTED_WORDS and not corrections_of(sentence):
            return True
    return False


def _size(words: str) -> int:
    return len(_HAN.findall(words)) // 2 if _HAN.search(words) else len(words.split())


def _take(said: _Text, heard: Heard, number: int, start: int, end: int) -> None:
    """Note what one sentence asks for."""
    match heard.manner:
        case Manner.NOTHING:
            said.refused = False
        case Manner.FORGET:
            said.unclear = said.unclear or heard.unclear or (WHY if taken_back(said.trace.text[start:]) else "")
            if heard.topic is not None:
                topic = _with_keys(said.trace, heard.topic, heard.clause)
                said.found.append(FeedbackIntent(Operation.FORGET, start, end, topic=topic))
        case Manner.REPLACE:
            said.found.append(FeedbackIntent(Operation.REPLACE, start, end, old=heard.old, new=heard.new))
        case Manner.PREFER:
            asked = wish(said.trace, heard, start, end)
            said.found.append(FeedbackIntent(Operation.PREFER, start, end, statements=(asked,)))
        case Manner.AGREE if not heard.rest:
            said.found.append(FeedbackIntent(Operation.CONFIRM, start, end))
        case _:
            _take_content(said, heard, number, start, end)


def _take_content(said: _Text, heard: Heard, number: int, start: int, end: int) -> None:
    """A sentence that says something: what is right instead, what is new, or what is known."""
    refused = said.refused or heard.manner is Manner.REFUSE
    if heard.manner is Manner.REFUSE:
        said.refusals.append((start, end))
        if not bare(heard.rest):
            said.refused = True
            return
    at = start + heard.at
    statements = read_plain(said.trace, heard.rest, at)
    for correction in wrong_and_right(heard.rest):
        said.found.append(FeedbackIntent(Operation.CORRECT, start, end, corrections=(correction,), refused=refused))
        break
    else:
        if statements:
            said.found.append(
                FeedbackIntent(_kind_of(heard, refused), start, end, statements=statements, refused=refused)
            )
        elif heard.firm:
            noted = as_said(said.trace, heard.rest, at)
            if noted is not None:
                said.found.append(FeedbackIntent(Operation.SUPPLEMENT, start, end, statements=(noted,)))
        else:
            said.left.append((number, start, heard.rest, refused))


def _take_pairs(said: _Text) -> None:
    """What only two sentences together say ("It's not Rex. It's Roxy."), and the right word alone after a refusal."""
    done: set[int] = set()
    for (number, start, words, refused), (after, then, more, _) in zip(said.left, said.left[1:], strict=False):
        if after == number + 1 and number not in done:
            for correction in wrong_and_right(f"{words} {more}"):
                said.found.append(
                    FeedbackIntent(
                        Operation.CORRECT, start, then + len(more), corrections=(correction,), refused=refused
                    )
                )
                done |= {number, after}
                break
    for number, start, words, refused in said.left:
        if number not in done and refused and (only := _only_new(words)) is not None:
            said.found.append(
                FeedbackIntent(Operation.CORRECT, start, start + len(words), corrections=(only,), refused=True)
            )


def _with_refusal(said: _Text) -> tuple[FeedbackIntent, ...]:
    """The intents in order. A refusal that names nothing right stays one, so that nothing is done and it can be said."""
    found = sorted(said.found, key=lambda i: i.start)
    if said.refusals and not any(i.operation is Operation.CORRECT or i.refused for i in found):
        found = [i for i in found if i.operation is not Operation.CONFIRM]  # "no … right": of what is not known
        start, end = said.refusals[0]
        found.insert(0, FeedbackIntent(Operation.CORRECT, start, end, refused=True))
    return tuple(found)


def _only_new(words: str) -> Correction | None:
    lead = "不对，" if _HAN.search(words) else "No, "
    return next((c for c in corrections_of(lead + words) if c.old is None), None)


def _kind_of(heard: Heard, refused: bool) -> Operation:
    """What a statement is meant as, as far as the sentence tells: whether it is known already, the memories tell."""
    if refused:
        return Operation.CORRECT
    return Operation.CONFIRM if heard.manner is Manner.AGREE else Operation.SUPPLEMENT


def read_plain(trace: Memory, words: str, at: int) -> tuple[Statement, ...]:
    """The statements of some words of a record, with evidence in it; none of things that merely happened."""
    reading = read_trace(replace(_plain(trace), text=words))
    found = tuple(_moved(s, trace, at) for s in reading.statements if s.kind in _SPOKEN and not s.depends)
    if not found and (shorter := _ZH_ALSO.sub("", words)) != words:
        end = at + len(words.rstrip("。.!！ "))
        return tuple(replace(s, source=replace(s.source, start=at, end=end)) for s in read_plain(trace, shorter, at))
    return found


def _plain(trace: Memory) -> Memory:
    """The record as an ordinary message."""
    return replace(trace, body={k: v for k, v in trace.body.items() if k not in ("corrects", FEEDBACK, "injected")})


def _moved(statement: Statement, trace: Memory, at: int) -> Statement:
    source = statement.source
    start = (source.start or 0) + at
    end = at + source.end if source.end is not None else len(trace.text)
    return replace(statement, source=replace(source, start=max(0, start), end=min(len(trace.text), max(0, end))))


def _with_keys(trace: Memory, topic: Topic, clause: str) -> Topic:
    """The topic with the facts that its clause states."""
    return replace(topic, keys=tuple(s.key for s in read_plain(trace, _opened(clause), 0))) if clause else topic


def _opened(clause: str) -> str:
    return clause[:1].upper() + clause[1:]


def as_said(trace: Memory, words: str, at: int) -> Statement | None:
    """A fact in the words it was told in, where the rules read none. None where they hardly say anything."""
    text = words.strip().rstrip("?？")
    if len(set(analyze(text).content_terms())) < 2 or text.casefold() in ("my birthday", "it"):
        return None
    start = at + len(words) - len(words.lstrip())
    slot = f"said|{trace.id}|{start}"
    return Statement(
        kind=Kind.FACT,
        text=_opened(text),
        slot=slot,
        key=f"{slot}|{text.casefold()}",
        value=text,
        single=False,
        confidence=_NOTED,
        source=source_of(trace, start, start + len(text)),
        body={"subject": speaker_of(trace), "attribute": "said", "said_by": trace.speaker},
        tags=("said",),
    )


def wish(trace: Memory, heard: Heard, start: int, end: int) -> Statement:
    """How somebody wants to be called or answered, as a preference of hers."""
    who = speaker_of(trace)
    chinese = _HAN.search(trace.text) is not None
    shown = who if who != "user" else "用户" if chinese else "The user"
    nickname = heard.about == "nickname"
    if nickname:
        kind, slot, value = Kind.PROFILE, f"{who.casefold()}|nickname", heard.new
        text = f"{shown}叫{value}。" if _HAN.search(value) and chinese else f"{shown} is called {value}."
    else:
        kind, value = Kind.PREFERENCE, heard.wish
        slot = f"{who.casefold()}|{heard.about or 'always'}"
        text = f"{shown}希望助手以后{value}。" if chinese else f"{shown} wants the assistant to {value}."
    key = f"{slot}|{(heard.new or value).casefold()}"
    return Statement(
        kind=kind,
        text=text,
        slot=slot,
        key=key,
        value=value,
        single=bool(heard.about),
        confidence=_NOTED,
        source=source_of(trace, start, end),
        body={"subject": who, "attribute": slot.rpartition("|")[2], "said_by": trace.speaker},
        tags=(slot.rpartition("|")[2],),
    )
