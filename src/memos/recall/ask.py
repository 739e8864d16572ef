"""What a search is asked for, and what it leaves behind for `explain`. Plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from memos.memory.filter import Filter
from memos.memory.hit import SearchResult
from memos.recall.rank import Ranking
from memos.recall.recipe import DEFAULT, Recipe
from memos.recall.understand import Question
from memos.storage.ports import NOW, Pool, View


@dataclass(frozen=True, slots=True)
class Ask:
    """One search, with every choice spelled out. `user`: whom the tokens of a reranker count for that is a language model."""

    query: str
    limit: int = 10
    max_tokens: int | None = None
    where: Filter | None = None
    view: View = NOW
    threshold: float = 0.0
    now: datetime | None = None
    zone: str = "UTC"
    collapse: bool = True
    merge_facts: bool = True
    rerank: bool = True
    force: Sequence[str] = ()
    recipe: Recipe = DEFAULT
    user: str = "system"


@dataclass(slots=True)
class Trace:
    """What happened on the way, for `explain`: the question, pools and ranking, before anything was cut."""

    question: Question | None = None
    names: tuple[str, ...] = ()
    pools: tuple[Pool, ...] = ()
    ranking: Ranking | None = None
    folded: dict[str, str] = field(default_factory=dict)
    result: SearchResult | None = None
