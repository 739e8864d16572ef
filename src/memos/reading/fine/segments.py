"""Runs of traces that are read together: long enough to be understood, short enough for one call, cut where the talk turns.

Pure arithmetic on words. Short conversations of one owner share a segment (the prompt keeps them apart), because what is asked of
a model costs as much as a page of text each time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memos.memory.model import Kind, Memory
from memos.text.analysis import analyze, content_terms
from memos.text.document import QUESTION, traits

LIMIT_TOKENS = 2_000
GAP = timedelta(minutes=30)  # silence after which something else is talked of
_CONTEXT = 2  # traces before a segment
_FILLED = 0.7  # a segment is at least so full where more follows
_WINDOW = 3  # messages on either side of a cut whose words are compared
_APART = 2.0  # another session
_SILENCE = 1.0
_QUESTION = 0.5  # an answer belongs to its question
_READ = frozenset((Kind.TRACE, Kind.TOOL_CALL, Kind.IMAGE, Kind.CHUNK))
_START = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Segment:
    """Traces to be read together, in order, and the ones before them, which are to be understood and not read."""

    traces: tuple[Memory, ...]
    context: tuple[Memory, ...] = ()


def segments(
    traces: Sequence[Memory],
    *,
    limit_tokens: int = LIMIT_TOKENS,
    before: Mapping[str, Sequence[Memory]] | None = None,
) -> list[Segment]:
    """The segments of traces, which may be of several sessions and in any order.

    `limit_tokens`: of one segment's text; a single trace may be longer. `before`: traces stored before a trace, by its id (as
    `CubeStore.preceding` gives them), for those that have none here.
    """
    out: list[Segment] = []
    for group in _groups(traces):
        held = {trace.id: group[max(0, i - _CONTEXT) : i] for i, trace in enumerate(group)}
        for run in _cut(group, limit_tokens):
            first = run[0]
            earlier = [t for t in held[first.id] if t.session == first.session]
            if not earlier and before:
                earlier = list(before.get(first.id, ()))[-_CONTEXT:]
            out.append(Segment(tuple(run), tuple(earlier)))
    return out


def tokens(text: str) -> int:
    """About how many tokens a text has: one for 4 ASCII characters, two for 3 others."""
    ascii_count = len(text) if text.isascii() else sum(map(str.isascii, text))
    return -(-ascii_count // 4) + -(-(len(text) - ascii_count) * 2 // 3)


def _groups(traces: Sequence[Memory]) -> list[list[Memory]]:
    """The traces that may be read together: those of one owner, session after session; each document by itself."""
    sessions: dict[tuple[str, str], list[Memory]] = {}
    for trace in traces:
        if trace.kind in _READ:
            sessions.setdefault((trace.owner or "", trace.session or ""), []).append(trace)
    groups: dict[tuple[str, str], list[Memory]] = {}
    for (owner, session), held in sessions.items():
        chunks = [t for t in held if t.kind is Kind.CHUNK]
        talk = [t for t in held if t.kind is not Kind.CHUNK]
        if chunks:
            groups[owner, f"document {session}"] = sorted(chunks, key=_place)
        if talk:
            groups.setdefault((owner, ""), []).extend(sorted(talk, key=_order))
    return list(groups.values())


def _order(trace: Memory) -> tuple[datetime, str]:
    return trace.valid_from or _START, trace.id


def _place(chunk: Memory) -> tuple[int, str]:
    """Where a piece stands in its document: those of several editions were not stored in this order."""
    return int(chunk.body.get("part", 0)), chunk.id


def _cut(group: Sequence[Memory], limit: int) -> list[Sequence[Memory]]:
    """The group in runs of at most `limit` tokens, each cut where it holds together least."""
    sizes = [tokens(trace.text) for trace in group]
    left = sum(sizes)
    terms = [frozenset(content_terms(analyze(trace.text[:4_000]).terms)) for trace in group] if left > limit else []
    runs: list[Sequence[Memory]] = []
    start = 0
    while left > limit and start < len(group) - 1:
        size, best, cut = sizes[start], -1.0, start + 1
        for at in range(start + 1, len(group)):
            if size > limit:
                break
            apart = _apart(group, terms, at)
            if size >= _FILLED * limit and apart >= best:
                best, cut = apart, at
            elif best < 0:
                cut = at
            size += sizes[at]
        runs.append(group[start:cut])
        left -= sum(sizes[start:cut])
        start = cut
    if start < len(group):
        runs.append(group[start:])
    return runs


def _apart(group: Sequence[Memory], terms: Sequence[frozenset[str]], at: int) -> float:
    """How little the traces before `at` have to do with those from it on; 0 for what must stay together."""
    before, after = group[at - 1], group[at]
    if before.session != after.session:
        return _APART + _SILENCE
    if after.role == "tool" or after.body.get("part"):
        return 0.0
    earlier = frozenset[str]().union(*terms[max(0, at - _WINDOW) : at])
    later = frozenset[str]().union(*terms[at : at + _WINDOW])
    shared = len(earlier & later) / max(1, min(len(earlier), len(later)))
    silent = (after.valid_from or _START) - (before.valid_from or _START) > GAP
    asked = _QUESTION if traits(before.text) & QUESTION else 0.0
    return max(0.01, 1.0 - shared + (_SILENCE if silent else 0.0) - asked)
