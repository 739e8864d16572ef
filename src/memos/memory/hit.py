"""What a search answers with: hits, their reasons, the packed context and an honest status (laws 2 and 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from memos.memory.model import EMPTY, Memory


class SearchStatus(StrEnum):
    """How a search ended. A failure is never an empty success."""

    FOUND = "found"
    NOTHING = "nothing"
    BELOW_THRESHOLD = "below_threshold"
    PARTIAL = "partial"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Passage:
    """The part of a long memory that answers: characters `start` to `end` of its text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Another memory, `by`, that says otherwise than the memory `of`, and its `text`: which of them is right is not known."""

    of: str
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory found. `score` is in [0, 1] and comparable across cubes; `rank` starts at 1.

    `facts` are the derived memories that hold and that this one is the evidence of, `outdated` those that newer ones replaced;
    `stale`: all it told was replaced. `contradicts`: what says otherwise than the hit or one of its facts.
    `also` are ids of repetitions folded into this hit, `via` those of derived
    memories that led to it. `why` gives each feature's share of the score.
    """

    memory: Memory
    score: float
    rank: int
    cube: str
    text: str
    why: Mapping[str, float] = field(default_factory=lambda: EMPTY)
    facts: tuple[Memory, ...] = ()
    outdated: tuple[Memory, ...] = ()
    stale: bool = False
    also: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    passage: Passage | None = None
    contradicts: tuple[Contradiction, ...] = ()

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to one search.

    `context` is ready to be put in a prompt: never longer than the token budget (a token = 4 characters),
    chronological, current facts first. `served_by` names the channels that answered, `reasons` says why anything is
    missing. `contradicts`: every contradiction among what is shown, or with it. `history_tokens` is what sending everything would
    have cost.
    """

    query: str
    hits: tuple[Hit, ...]
    status: SearchStatus
    context: str = ""
    facts: tuple[Memory, ...] = ()
    served_by: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    tokens: int = 0
    history_tokens: int = 0
    best_score: float = 0.0
    threshold: float = 0.0
    weak: bool = False
    contradicts: tuple[Contradiction, ...] = ()

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __bool__(self) -> bool:
        return bool(self.hits)

    def __str__(self) -> str:
        return self.context or f"({self.status}: {'; '.join(self.reasons) or 'no memory matches'})"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a search as it saw one memory: its value there, its rank, and whether it went on."""

    name: str
    value: float | None
    rank: int | None
    passed: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a memory was, or was not, in the answer.

    `features`: its value for each feature; `shares`: what each adds to the score. `removed_by` names the stage that dropped it;
    `would_help` what would have brought it in.
    """

    memory_id: str
    query: str
    found: bool
    rank: int | None
    score: float | None
    stages: tuple[Stage, ...]
    features: Mapping[str, float]
    shares: Mapping[str, float]
    removed_by: str | None
    would_help: tuple[str, ...]
