"""Choosing among overlapping spans, in time n log n whatever the text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Protocol, TypeVar


class Spanned(Protocol):
    """Anything with a half-open span."""

    @property
    def start(self) -> int:
        """Where it begins."""
        ...

    @property
    def end(self) -> int:
        """Where it ends, exclusive."""
        ...


T = TypeVar("T", bound=Spanned)


def without_overlaps(preferred: Iterable[T]) -> list[T]:
    """The items of `preferred`, best first, that overlap no better one; in order of their start."""
    starts: list[int] = []
    kept: list[T] = []
    for item in preferred:
        i = bisect_left(starts, item.start)
        if (i and kept[i - 1].end > item.start) or (i < len(kept) and kept[i].start < item.end):
            continue
        starts.insert(i, item.start)
        kept.insert(i, item)
    return kept
