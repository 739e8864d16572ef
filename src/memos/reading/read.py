"""Reading one trace: its message through the rules, to statements and mentions in the terms the cube keeps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from memos.memory.model import Kind, Memory
from memos.memory.statement import Correction, Ending, Mention, Reading, Relation, Statement
from memos.reading.also_called import other_names
from memos.reading.finding import Finding
from memos.reading.in_passing import corrected_in_passing
from memos.reading.rules import read_message
from memos.reading.traces import said_before, source_of, to_message
from memos.storage.ports import FEEDBACK


def read_trace(trace: Memory, previous: Sequence[Memory] = ()) -> Reading:
    """What the rules find in a trace, given the traces before it. System, developer and tool messages teach nothing,
    nobody says what a document says, and what feedback says is done elsewhere.
    """
    if trace.kind in (Kind.DOCUMENT, Kind.CHUNK) or FEEDBACK in trace.body:
        return Reading()
    before = said_before(trace) or [to_message(p) for p in previous]
    findings = read_message(to_message(trace), user=as_name(trace.owner), previous=before, named=True)
    statements = tuple(statement_of(f, trace) for f in findings if f.kind is not Kind.ENTITY and not _says_nothing(f))
    names = {(m.name, m.type): m for f in findings for m in _mentions(f)}
    relations = tuple(_same(trace)) if findings and trace.role == "user" else ()
    if "corrects" in trace.body:
        corrections, answer = _corrections(trace), ""
    else:
        corrections, answer = corrected_in_passing(to_message(trace), before)
    return Reading(statements, tuple(names.values()), corrections, relations, answer)


def _same(trace: Memory) -> Iterator[Relation]:
    """Whom a message says to have two names."""
    for other in other_names(trace.text):
        if other.of is not None:
            yield Relation(Mention(other.of, "person", 0.9), "also known as", Mention(other.name, "person", 0.9), 0.9)


def _corrections(trace: Memory) -> tuple[Correction, ...]:
    from memos.reading.correction import corrections_of  # its patterns take a while to be compiled

    return corrections_of(trace.text)


_NAME = re.compile(r"[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ'’-]{1,30}(?: [A-ZÀ-Þ][\w'’-]*){0,3}|[\u4e00-\u9fff]{2,4}")
_NO_NAMES = frozenset(
    """admin agent all anonymous assistant bench client customer default demo guest human me memos myself nobody owner
    person root system test tester user""".split()  # noqa: SIM905
)


def as_name(owner: str | None) -> str | None:
    """The user's id where it reads like a name ("alice"), else None: "The user lives in Oslo", never "8812 lives in Oslo"."""
    if owner is None or not _NAME.fullmatch(owner) or owner.casefold() in _NO_NAMES:
        return None
    return owner


def speaker_of(trace: Memory) -> str:
    """Whom the facts of a record are about, as the rules call her: the speaker by name, else "user"."""
    named = trace.speaker if trace.speaker != trace.role else None
    return named or as_name(trace.owner) or "user"


def _says_nothing(found: Finding) -> bool:
    """ "Ines is called Ines": the subject is already known by that name."""
    return found.attribute == "name" and found.value.casefold() == found.subject.casefold()


def statement_of(found: Finding, trace: Memory) -> Statement:
    """The statement that a finding in a trace makes, in the terms the cube keeps."""
    body: dict[str, Any] = {"subject": found.subject, "attribute": found.attribute, "said_by": trace.speaker}
    if found.due is not None:
        body["due"] = [found.due[0].isoformat(), found.due[1].isoformat()]
    return Statement(
        kind=found.kind,
        text=found.text,
        slot=_slot(found, found.attribute),
        key=found.key,
        value=found.value,
        single=found.single,
        confidence=found.confidence,
        source=source_of(trace, found.start, found.end),
        valid_from=found.valid_from,
        valid_to=found.valid_to,
        ended=found.ended,
        ends=tuple(_endings(found)),
        of=found.of,
        person=found.person,
        body=body,
        tags=(found.attribute,),
    )


def _slot(found: Finding, attribute: str) -> str:
    return f"{found.subject.casefold()}|{attribute.casefold()}"


def _endings(found: Finding) -> Iterator[Ending]:
    """What is over with a finding: what it says itself, and the contrary of what it states."""
    for end in found.ends:
        key = found.key_of(end.attribute, end.value, denied=end.denied) if end.value else ""
        yield Ending(_slot(found, end.attribute), key, end.unless, end.only, end.if_changed, end.now)
    if not found.ended and found.valid_to is None and found.kind in (Kind.PROFILE, Kind.PREFERENCE, Kind.FACT):
        denied = found.negated or found.polarity == "-"
        yield Ending(_slot(found, found.attribute), found.key_of(found.attribute, found.value, denied=not denied))


def _mentions(found: Finding) -> list[Mention]:
    return [Mention(n.text, n.type, n.confidence) for n in found.mentions]
