"""Traces and scripted answers for the tests of fine reading: `said("I live in Oslo.")`, `await read(traces, fact(...))`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from llm_models import Scripted, ScriptedModel
from memos.memory.message import Message, ToolCall
from memos.memory.model import Kind, Memory
from memos.memory.statement import Mention, Relation, SegmentReading, Statement
from memos.reading.fine import ReadingOptions, Segment, read_segment
from memos.reading.traces import to_records

NOW = datetime(2024, 5, 8, 12, tzinfo=UTC)  # a Wednesday


def said(
    text: str,
    role: str = "user",
    name: str | None = None,
    *,
    at: datetime = NOW,
    session: str = "s",
    owner: str = "user",
    zone: str = "UTC",
    calls: Sequence[tuple[str, str]] = (),
) -> Memory:
    """A stored trace of a message."""
    tool_calls = tuple(ToolCall(f"c{i}", tool, arguments) for i, (tool, arguments) in enumerate(calls))
    message = Message(role=role, text=text, time=at, zone=zone, time_given=True, name=name, tool_calls=tool_calls)
    (record, *_) = to_records([message], session=session, owner=owner)
    return record.memory


def talk(*texts: str | tuple[str, str], gap: timedelta = timedelta(minutes=1)) -> list[Memory]:
    """A conversation: texts of an unnamed user, or (speaker, text); "assistant" is one without a name."""
    out = []
    for i, one in enumerate(texts):
        speaker, text = ("user", one) if isinstance(one, str) else one
        role = speaker if speaker in ("user", "assistant", "tool", "system") else "user"
        out.append(said(text, role, None if speaker == role else speaker, at=NOW + i * gap))
    return out


def chunk(text: str, title: str = "guide.md") -> Memory:
    """A part of a document."""
    return Memory(
        id=f"chunk-{abs(hash(text))}",
        kind=Kind.CHUNK,
        text=text,
        title=title,
        valid_from=NOW,
        session="document:d",
        owner="user",
    )


def fact(who: str, what: str, value: str, text: str, *by: int, kind: str = "profile", **more: Any) -> dict[str, Any]:
    """A fact as a model answers it."""
    return {
        "kind": kind,
        "who": who,
        "what": what,
        "value": value,
        "text": text,
        "by": list(by or (1,)),
        "sure": 0.9,
        **more,
    }


async def read(
    traces: Sequence[Memory],
    *facts: dict[str, Any],
    context: Sequence[Memory] = (),
    noted: Sequence[Memory] = (),
    options: ReadingOptions = ReadingOptions(),
    **lists: Any,
) -> SegmentReading:
    """What is kept of an answer with these facts and other lists."""
    model = ScriptedModel({"facts": list(facts), "names": [], **lists})
    return await read_segment(model, Segment(tuple(traces), tuple(context)), noted, options)


async def answered(traces: Sequence[Memory], *answers: Scripted) -> SegmentReading:
    """What is kept of raw answers of a model."""
    return await read_segment(ScriptedModel(*answers), Segment(tuple(traces)))


def statements(reading: SegmentReading) -> list[Statement]:
    return [s for one in reading.readings.values() for s in one.statements]


def mentions(reading: SegmentReading) -> list[Mention]:
    return [m for one in reading.readings.values() for m in one.mentions]


def relations(reading: SegmentReading) -> list[Relation]:
    return [r for one in reading.readings.values() for r in one.relations]


async def kept(traces: Sequence[Memory], *facts: dict[str, Any], **more: Any) -> list[Statement]:
    """The statements that are kept of these facts."""
    return statements(await read(traces, *facts, **more))
