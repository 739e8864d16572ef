"""The passages of a record that are about something: a sentence, or the part of one where another subject begins."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable

from memos.memory.model import Memory
from memos.organize.exchange import found
from memos.text.analysis import analyze
from memos.text.spans import sentences

_HAN = re.compile("[\u3400-\u9fff]")
_ANOTHER = re.compile(
    r"[;；]|(?:,|，)?\s*\b(?:and|but|while|whereas|so)\b(?=\s+(?:i|i'm|we|the|my|our|your|it|there|he|she|they|you)\b)|[，,](?=我|你|他|她|它|而|但|这|那)",
    re.IGNORECASE,
)
_STILL = re.compile(
    r"\s*(?:he|she|they|it|his|her|their|its|that|this|him|them)\b|[^我你您]{0,3}[他她它]", re.IGNORECASE
)

Span = tuple[int, int]


def passages(record: Memory, facts: Iterable[Memory], is_about: Callable[[str], bool]) -> list[tuple[Span, bool]]:
    """Every passage of a record that has words, and whether it is what one of the facts was read from, or is about the same by
    its own words or by going on.
    """
    read = [
        (s.start, s.end)
        for m in facts
        for s in m.sources
        if s.memory_id == record.id and s.start is not None and s.end is not None
    ]
    out: list[tuple[Span, bool]] = []
    for a, b in sentences(record.text):
        text = record.text[a:b]
        if not analyze(text).content_terms() and not _HAN.search(text):
            continue
        for start, end in _pieces(text):
            words = text[start:end]
            told = any(since < a + end and until > a + start for since, until in read)
            goes_on = bool(out) and out[-1][1] and _STILL.match(words) is not None
            out.append(((a + start, a + end), told or is_about(words) or goes_on))
    return out


def forgotten(
    record: Memory, told: Iterable[tuple[Span, bool]], facts: Iterable[Memory], kept: Iterable[Memory]
) -> list[Span]:
    """What of a record is not to be read any more: its passages that are about it; where one tells something that is kept, only
    the values of the forgotten facts.
    """
    out: list[Span] = []
    values = [value for m in facts if (value := str(m.body.get("value", "")))]
    others = [value for m in kept if (value := str(m.body.get("value", "")))]
    for (start, end), is_it in told:
        words = record.text[start:end]
        if is_it and not any(found(words, value) for value in others):
            out.append((start, end))
        elif is_it:
            out += [(start + a, start + b) for value in values for a, b in found(words, value)]
    return out


def _pieces(sentence: str) -> list[Span]:
    """A sentence cut where another subject begins."""
    cuts = [0, *(m.end() for m in _ANOTHER.finditer(sentence) if m.start() > 0), len(sentence)]
    return [(a, b) for a, b in itertools.pairwise(cuts) if sentence[a:b].strip()]
