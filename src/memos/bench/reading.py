"""What fine reading costs: segments, calls and tokens sent for the tokens read, with a scripted model in the place of a real one.

Counted as the service counts where a provider does not: 4 characters a token, prompt and JSON schema as they are sent (the
schema in its strict form, the longest).
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from memos.bench.locomo import Conversation
from memos.memory.ids import new_id
from memos.memory.model import Memory
from memos.memory.time import utcnow
from memos.models.llm.port import ChatReply, ChatRequest, Piece, TokenUsage, text_of
from memos.models.llm.schema import strict
from memos.reading.fine import Segment, read_segment, segments
from memos.reading.messages import parse_messages
from memos.reading.read import read_trace
from memos.reading.traces import to_records

CHARACTERS = 4  # of one token
HEAD = "| conversation | messages | segments | tokens a segment | calls a segment | tokens sent ÷ read | with notes of rules |"


@dataclass(slots=True)
class Cost:
    """What reading some segments took. `sent` counts prompt and schema, `read` the text of the traces."""

    segments: int = 0
    messages: int = 0
    read: float = 0.0
    calls: int = 0
    sent: float = 0.0
    noted: float = 0.0

    def row(self, name: str) -> str:
        """A line of the table."""
        n = max(1, self.segments)
        return (
            f"| {name} | {self.messages:,} | {self.segments} | {self.read / n:,.0f} | {self.calls / n:.2f} "
            f"| {self.sent / self.read:.2f} | {self.noted / self.read:.2f} |"
        )


@dataclass(slots=True)
class Counting:
    """A chat model that finds nothing, and keeps what it was asked."""

    model_id: str = "scripted:nothing"
    requests: list[ChatRequest] = field(default_factory=list)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """See `ChatModel.complete`."""
        self.requests.append(request)
        return ChatReply('{"facts": [], "names": []}', usage=TokenUsage(1, 1))

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Piece, None]:
        """See `ChatModel.stream`."""
        yield Piece(reply=await self.complete(request))


async def costs(conversations: Sequence[Conversation], say: Callable[[str], None] = lambda _: None) -> str:
    """The table of what reading each conversation takes, without and with what rules derived from it."""
    rows, whole = [], Cost()
    for conversation in conversations:
        cost = Cost()
        for segment in segments(_traces(conversation)):
            await _read(segment, cost)
        rows.append(cost.row(conversation.name))
        for name in ("segments", "messages", "read", "calls", "sent", "noted"):
            setattr(whole, name, getattr(whole, name) + getattr(cost, name))
        say(f"read {conversation.name}")
    return "\n".join([HEAD, "|---" * 7 + "|", *rows, whole.row("all")])


async def _read(segment: Segment, cost: Cost) -> None:
    plain, beside = Counting(), Counting()
    await read_segment(plain, segment)
    await read_segment(beside, segment, _by_rules(segment))
    cost.segments += 1
    cost.messages += len(segment.traces)
    cost.read += sum(len(trace.text) for trace in segment.traces) / CHARACTERS
    cost.calls += len(plain.requests)
    cost.sent += sum(map(_tokens, plain.requests))
    cost.noted += sum(map(_tokens, beside.requests))


def _tokens(request: ChatRequest) -> float:
    held = strict(request.schema) if request.schema else None
    schema = json.dumps(held, ensure_ascii=False, separators=(",", ":")) if held else ""
    return (len(text_of(request.messages)) + len(schema)) / CHARACTERS


def _traces(conversation: Conversation) -> list[Memory]:
    out: list[Memory] = []
    for session, messages in conversation.sessions:
        records = to_records(parse_messages(list(messages), now=utcnow()).messages, session=session, owner="bench")
        out += [record.memory for record in records]
    return out


def _by_rules(segment: Segment) -> list[Memory]:
    """What rules derive from the traces, each thing once."""
    found = {s.key: s for trace in segment.traces for s in read_trace(trace).statements}
    return [
        Memory(id=new_id(), kind=s.kind, text=s.text, confidence=s.confidence, slot=s.slot, body=dict(s.body))
        for s in found.values()
    ]
