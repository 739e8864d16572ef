"""What answers with many memories show of long lists of sources: the first and the last. A fact that was said a thousand times
rests on a thousand records; one memory, read by its id, names them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memos.memory.hit import Hit, SearchResult
from memos.memory.model import Memory, Version

MOST = 20  # sources of a memory that are shown


def memory(full: Memory) -> Memory:
    """A memory with the first and the last half of `MOST` sources, where it has more."""
    if len(full.sources) <= MOST:
        return full
    return replace(full, sources=full.sources[: MOST // 2] + full.sources[-MOST // 2 :])


def hit(full: Hit) -> Hit:
    """A hit, and the memories in it."""
    facts, outdated = tuple(map(memory, full.facts)), tuple(map(memory, full.outdated))
    return replace(full, memory=memory(full.memory), facts=facts, outdated=outdated)


def found(full: SearchResult) -> SearchResult:
    """What a search found."""
    return replace(full, hits=tuple(map(hit, full.hits)), facts=tuple(map(memory, full.facts)))


def versions(full: Sequence[Version]) -> tuple[Version, ...]:
    """A history."""
    return tuple(replace(version, memory=memory(version.memory)) for version in full)
