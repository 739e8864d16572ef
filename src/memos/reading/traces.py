"""Messages to raw records (L1 traces): one memory per message, long ones in parts that cover every character.

The key of a record says what "the same message again" means, so that a repeated add stores it once (law 1).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memos.memory.ids import new_id, unique_key
from memos.memory.message import Message
from memos.memory.model import EMPTY, TRUST_OF, Kind, Memory, Origin, Source
from memos.reading.hygiene import strip_injected
from memos.text.analysis import passages
from memos.text.document import TermRow, is_block, term_row, without_injected

PART_CHARS = 1_200  # characters of one part of a long message
WHOLE_CHARS = 1_600  # messages up to this length stay in one piece
ORIGIN_OF: Mapping[str, Origin] = {
    "user": Origin.USER,
    "assistant": Origin.ASSISTANT,
    "tool": Origin.TOOL,
    "system": Origin.SYSTEM,
    "developer": Origin.SYSTEM,
}
CONTEXT_MESSAGES, CONTEXT_CHARS = 4, 1_000  # of what was said before, as much is kept with a record
_SHORT = 3  # a message of fewer content terms ("yes", "ok thanks") may be meant each time it is said


@dataclass(frozen=True, slots=True)
class Record:
    """A trace ready to be stored: the memory, its searchable form, and the key it is stored once under (None:
    always).
    """

    memory: Memory
    terms: TermRow
    key: bytes | None
    message: Message


def to_records(
    messages: Sequence[Message],
    *,
    session: str,
    owner: str,
    tags: Sequence[str] = (),
    info: Mapping[str, Any] = EMPTY,
    idempotency_key: str | None = None,
    retry_key: str | None = None,
    context: Sequence[Message] = (),
    corrects: Sequence[str] | None = None,
    derive: bool = True,
    whole: bool = False,
) -> list[Record]:
    """The records of messages, in order; a long message gives several, which name their place in it in `body`.

    `context`: what was said before the first of them and is not stored itself. `corrects`: the ids of what these messages
    are said to correct, None where they are not said to correct anything. `derive=False` is noted, so that no later edit has
    them read. `whole`: a long message stays in one piece.
    """
    seen: Counter[bytes] = Counter()
    out: list[Record] = []
    for position, message in enumerate(messages):
        injected = [
            (*span, *([1] if is_block(message.text, *span) else [])) for span in strip_injected(message.text)[1]
        ]
        parts = (
            [(0, len(message.text))]
            if whole or len(message.text) <= WHOLE_CHARS
            else passages(message.text, PART_CHARS)
        )
        first_id: str | None = None
        for number, (start, end) in enumerate(parts):
            about = _about(context if not out else (), corrects, derive)
            memory = _memory(message, start, end, number, len(parts), first_id, session, owner, tags, info, about)
            first_id = first_id or memory.id
            memory = with_injected(
                memory,
                [
                    (max(a, start) - start, min(b, end) - start, *(block if len(parts) > 1 else ()))
                    for a, b, *block in injected
                ],
            )
            terms = term_row(memory)
            key = _key(message, memory, number, len(terms.text), position, idempotency_key, retry_key)
            if key is not None:
                seen[key] += 1
                if seen[key] > 1 and message.message_id is None:  # said twice in one call: two records
                    key = hashlib.blake2b(key + bytes([seen[key] & 0xFF]), digest_size=16).digest()
            out.append(Record(memory, terms, key, message))
    return out


def _about(context: Sequence[Message], corrects: Sequence[str] | None, derive: bool) -> dict[str, Any]:
    """What a record keeps of how it was given: the last things said before it, what it corrects, that it is not to be read."""
    said = [{"role": m.role, "name": m.name, "text": m.text[:CONTEXT_CHARS]} for m in context[-CONTEXT_MESSAGES:]]
    about: dict[str, Any] = ({"context": said} if said else {}) | ({} if derive else {"derive": False})
    return about | ({} if corrects is None else {"corrects": list(corrects)})


def said_before(memory: Memory) -> list[Message]:
    """What was said before a record, where it was given with it."""
    assert memory.valid_from is not None
    return [
        Message(role=str(m["role"]), text=str(m["text"]), time=memory.valid_from, name=m.get("name"))
        for m in memory.body.get("context", ())
    ]


def _memory(
    message: Message,
    start: int,
    end: int,
    number: int,
    count: int,
    first_id: str | None,
    session: str,
    owner: str,
    tags: Sequence[str],
    info: Mapping[str, Any],
    about: Mapping[str, Any],
) -> Memory:
    origin = ORIGIN_OF.get(message.role, Origin.AGENT)
    body: dict[str, Any] = {}
    if message.zone != "UTC":
        body["zone"] = message.zone
    if not message.time_given:
        body["time_given"] = False
    if count > 1:
        body |= {"part": number, "parts": count, "start": start, "end": end, "whole": first_id}
    if message.tool_calls:
        body["tool_calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_calls]
    if message.tool_call_id:
        body["tool_call_id"] = message.tool_call_id
    media = [p for p in message.parts if p.uri]
    if media:
        body["media"] = [
            {"type": p.type.value, "uri": p.uri, "name": p.name, "media_type": p.media_type} for p in media
        ]
    body |= about
    return Memory(
        id=new_id(),
        kind=Kind.TRACE,
        text=message.text[start:end],
        tags=tuple(tags),
        valid_from=message.time,
        origin=origin,
        trust=TRUST_OF[origin],
        owner=owner,
        session=session,
        role=message.role,
        speaker=message.speaker,
        message_id=message.message_id,
        info={**message.info, **info},
        body=body or EMPTY,
    )


def _key(
    message: Message,
    memory: Memory,
    number: int,
    content_terms: int,
    position: int,
    idempotency_key: str | None,
    retry_key: str | None,
) -> bytes | None:
    """What makes two records the same message: its id, the caller's key, its time, (when it says enough) its words, or that
    it came by a repetition of one call.
    """
    about = [memory.session or "", message.role, message.speaker, memory.text, str(number)]
    if message.message_id is not None:
        parts = ["id", message.message_id, *about]
    elif idempotency_key is not None:
        parts = ["key", idempotency_key, str(position), *about]
    elif message.time_given:
        parts = ["time", message.time.isoformat(), *about]
    elif content_terms >= _SHORT:
        parts = ["text", *about]
    elif retry_key is not None:
        parts = ["retry", retry_key, str(position), *about]
    else:
        return None
    return unique_key(*parts)


def to_message(memory: Memory) -> Message:
    """The message a trace was made from (one part of it, where it was split), as the rules read it."""
    assert memory.valid_from is not None
    return Message(
        role=memory.role or "user",
        text=without_injected(memory.text, memory.body.get("injected", ())),
        time=memory.valid_from,
        zone=str(memory.body.get("zone", "UTC")),
        time_given=bool(memory.body.get("time_given", True)),
        name=memory.speaker if memory.speaker != memory.role else None,
        message_id=memory.message_id,
    )


def with_injected(memory: Memory, spans: Sequence[Sequence[int]]) -> Memory:
    """The memory with note of the parts of its text that are recalled memories which came back in: kept as they are, but
    neither searched nor learned from.
    """
    inside = [[*span] for span in spans if span[0] < span[1]]
    if not inside and "injected" not in memory.body:
        return memory
    rest = {key: value for key, value in memory.body.items() if key != "injected"}
    return replace(memory, body={**rest, "injected": inside} if inside else rest or EMPTY)


def source_of(memory: Memory, start: int | None = None, end: int | None = None) -> Source:
    """The evidence entry that points at a trace, or at some characters of it."""
    return Source(
        memory_id=memory.id,
        message_id=memory.message_id,
        role=memory.role,
        speaker=memory.speaker,
        time=memory.valid_from,
        start=start,
        end=end,
    )
