"""The messages of a segment as a model is shown them: numbered, dated, with who speaks, and what each may be evidence of.

Recalled memories and system prompts are not shown at all (`reading.hygiene`); what a tool answered is evidence of tool use only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from memos.memory.message import Message
from memos.memory.model import Kind, Memory
from memos.reading.clauses import sentences
from memos.reading.fine.matching import Folded
from memos.reading.hygiene import strip_injected
from memos.reading.parts import is_blank
from memos.reading.read import as_name
from memos.reading.traces import said_before, to_message
from memos.text.analysis import analyze, content_terms
from memos.text.dates import DateMention, find_dates

USER, ASSISTANT, TOOL, DOCUMENT = "user", "assistant", "tool", "document"


@dataclass(frozen=True, eq=False)
class Line:
    """A numbered message. `label`: who speaks, as shown; `subject`: what facts call her; `role`: `user` for whoever speaks for
    herself (also an assistant with a name), `assistant` (one without), `tool` or `document`.
    """

    number: int
    trace: Memory
    message: Message
    text: str
    label: str
    subject: str
    role: str
    calls: tuple[tuple[str, str], ...] = ()

    @property
    def time(self) -> datetime:
        """When it was said, in UTC."""
        return self.message.time

    @property
    def teaches(self) -> bool:
        """Whether facts may be learned from it."""
        return self.role != TOOL

    @cached_property
    def folded(self) -> Folded:
        """Its text without differences of width, quotes, case and white space."""
        return Folded(self.text)

    @cached_property
    def terms(self) -> frozenset[str]:
        """The content terms of its text."""
        return frozenset(content_terms(analyze(self.text).terms))

    @cached_property
    def dates(self) -> tuple[DateMention, ...]:
        """The dates in its text, as the speaker meant them."""
        return tuple(find_dates(self.text, now=self.message.time, zone=self.message.zone))

    def sentence(self, start: int, end: int) -> tuple[int, int]:
        """The span of the sentences that hold text[start:end]."""
        held = [s for s in sentences(self.text) if s.start < end and start < s.end]
        return (min(start, held[0].start), max(end, held[-1].end)) if held else (start, end)


def to_lines(traces: Sequence[Memory]) -> tuple[Line, ...]:
    """The traces that are shown, numbered from 1 in the order given."""
    shown = [line for trace in traces if (line := _line(trace)) is not None]
    return tuple(replace(line, number=n) for n, line in enumerate(shown, 1))


def lines_before(trace: Memory) -> tuple[Line, ...]:
    """What was said before a trace and given with it, without being stored itself."""
    stored = [replace(trace, text=m.text, role=m.role, speaker=m.speaker, body={}) for m in said_before(trace)]
    return to_lines(stored)


def _line(trace: Memory) -> Line | None:
    if trace.valid_from is None or trace.kind is Kind.DOCUMENT or trace.role in ("system", "developer"):
        return None
    message = to_message(trace)
    if trace.kind is Kind.TOOL_CALL:
        message = replace(message, role=TOOL)
    text, _ = strip_injected(message.text)
    calls = tuple(_calls(trace))
    if is_blank(text) and not calls:
        return None
    if trace.kind is Kind.CHUNK:
        return Line(0, trace, message, text, DOCUMENT, trace.title or DOCUMENT, DOCUMENT)
    if message.role == "tool":
        return Line(0, trace, message, text, message.name or TOOL, TOOL, TOOL)
    speaker = message.name or (as_name(trace.owner) if message.role == "user" else None)
    role = USER if speaker is not None or message.role == "user" else ASSISTANT
    return Line(0, trace, message, text, speaker or message.role, speaker or message.role, role, calls)


def _calls(trace: Memory) -> Iterator[tuple[str, str]]:
    """The tools that a message calls: name and arguments, as they came."""
    for call in trace.body.get("tool_calls", ()):
        if isinstance(call, dict) and isinstance(call.get("name"), str) and call["name"]:
            yield call["name"], str(call.get("arguments", ""))
