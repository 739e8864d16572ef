"""extract/memory and rerank: what the server's models make of texts, without storing anything."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memos.errors import InvalidInput
from memos.memory.model import Kind, Memory
from memos.memory.statement import Statement
from memos.memory.time import utcnow
from memos.reading.messages import parse_messages
from memos.reading.read import read_trace
from memos.reading.traces import to_records
from memos.server.openmem.bodies import ExtractBody, RerankBody
from memos.server.translate import memory_type
from memos.storage.threads import ThreadPool
from memos.system import AsyncMemOS

_BEFORE = 2  # messages read with each, as when they are stored
_NO_ONE = "user"
_readers = ThreadPool(1, "memos-extract")  # of its own: what takes long holds up others of its kind, and nothing else


@dataclass(frozen=True, slots=True)
class ExtractedMemory:
    """A fact that was read."""

    memory_key: str
    memory_value: str
    memory_type: str
    tags: Sequence[str]
    confidence: float


@dataclass(frozen=True, slots=True)
class ExtractedPreference:
    """A preference that was read."""

    preference: str
    preference_type: str
    reasoning: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Extracted:
    """The answer to extract/memory."""

    success: bool
    memory_detail_list: Sequence[ExtractedMemory]
    preference_detail_list: Sequence[ExtractedPreference]
    notices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """One text, by its place in the request."""

    index: int
    relevance_score: float
    document: Any


@dataclass(frozen=True, slots=True)
class Reranked:
    """The answer to rerank, best first."""

    results: Sequence[Ranked]
    model: str


async def extract(memos: AsyncMemOS, body: ExtractBody) -> Extracted:
    """What the rules read from messages: `extraction_types` are "memory" and "preference", both by default."""
    types = set(body.extraction_types or ("memory", "preference"))
    unknown = types - {"memory", "preference"}
    if unknown:
        raise InvalidInput(f"extraction_types are memory and preference, got {sorted(unknown)[0]!r:.60}")
    parsed = parse_messages(body.messages, now=utcnow(), zone=memos.settings.timezone)
    traces = [record.memory for record in to_records(parsed.messages, session="extract", owner=_NO_ONE)]
    statements = await asyncio.get_running_loop().run_in_executor(_readers, _read, traces)
    facts = [s for s in statements if s.kind is not Kind.PREFERENCE]
    preferences = [s for s in statements if s.kind is Kind.PREFERENCE]
    return Extracted(
        True,
        [_fact(s) for s in facts] if "memory" in types else [],
        [_preference(s) for s in preferences] if "preference" in types else [],
        parsed.notices,
    )


def _read(traces: Sequence[Memory]) -> list[Statement]:
    """The statements of messages, each told once."""
    found: dict[str, Statement] = {}
    for place, trace in enumerate(traces):
        for statement in read_trace(trace, traces[max(0, place - _BEFORE) : place]).statements:
            if not statement.depends:  # there is no cube
                found[statement.key] = statement
    return list(found.values())


def _fact(s: Statement) -> ExtractedMemory:
    key = f"{s.body.get('attribute', '')}: {s.value}".strip(": ")
    return ExtractedMemory(key, s.text, memory_type(s.kind), list(s.tags), s.confidence)


def _preference(s: Statement) -> ExtractedPreference:
    return ExtractedPreference(s.text, "explicit_preference", f"Said by {s.body.get('said_by', 'user')}.", s.confidence)


async def rerank(memos: AsyncMemOS, body: RerankBody) -> Reranked:
    """Texts (or objects with a `text`) best first: by the reranker where there is one, else by words and meaning."""
    scores = await memos.judge(body.query, [_text(item, place) for place, item in enumerate(body.documents)])
    order = sorted(range(len(scores)), key=lambda i: -scores[i])[: body.top_n]
    return Reranked([Ranked(i, round(scores[i], 4), body.documents[i]) for i in order], body.model or "memos")


def _text(item: object, place: int) -> str:
    text = item.get("text", item.get("content")) if isinstance(item, Mapping) else item
    if not isinstance(text, str):
        raise InvalidInput(f"documents[{place}] is neither a text nor an object with one; give a list of texts")
    return text
