"""What is no fact, since it was told for something else: a comment on how a task went, and what somebody wants, which guidance
says as long as it holds, and nobody after that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import apsw

from memos.memory.hit import Hit
from memos.memory.learned import PolicyBody, State
from memos.memory.model import LAYER_OF, Layer, Memory, Source, Status
from memos.storage.sqlite import lived_said
from memos.text.applies import LEAST_ALIKE, alike, words_of

MOSTLY = 0.5  # the share of the shorter of two spans that both must have for them to say the same


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Records that are comments, and the directives that were heard in records. `guided`: guidance is asked for, so that those
    that hold are shown there.
    """

    comments: frozenset[str] = frozenset()
    directives: Mapping[str, Sequence[Memory]] = field(default_factory=dict)
    guided: bool = True

    @classmethod
    def of(cls, db: apsw.Connection, hits: Iterable[Hit], *, guided: bool) -> Elsewhere:
        """Of what these hits could show as facts."""
        said = [m for hit in hits for m in (hit.memory, *hit.facts)]
        ids = {m.id for m in said} | {s.memory_id for m in said for s in m.sources if s.memory_id}
        return cls(lived_said.comments(db, ids), lived_said.directives_from(db, ids), guided)

    def says(self, memory: Memory) -> bool:
        """Whether a record, or a fact that was read from records, is said elsewhere, or by nobody any more."""
        if LAYER_OF[memory.kind] is not Layer.DERIVED:
            whole = Source(memory_id=memory.id, start=0, end=len(memory.text))
            return memory.id in self.comments or self._wants(memory, whole)
        sources = [s for s in memory.sources if s.memory_id]
        return bool(sources) and all(s.memory_id in self.comments or self._wants(memory, s) for s in sources)

    def _wants(self, memory: Memory, source: Source) -> bool:
        for directive in self.directives.get(source.memory_id or "", ()):
            holds = directive.status is Status.ACTIVE and PolicyBody.of(directive).state is not State.RETIRED
            if (self.guided or not holds) and any(
                _same(source, s, memory, directive) for s in directive.sources if s.memory_id == source.memory_id
            ):
                return True
        return False


def _same(one: Source, other: Source, memory: Memory, directive: Memory) -> bool:
    if one.start is None or one.end is None or other.start is None or other.end is None:
        return alike(words_of(memory.text), words_of(directive.text)) >= LEAST_ALIKE
    common = min(one.end, other.end) - max(one.start, other.start)
    own = (
        one.end - one.start
        if LAYER_OF[memory.kind] is not Layer.DERIVED
        else min(one.end - one.start, other.end - other.start)
    )
    return common > 0 and common >= MOSTLY * own
