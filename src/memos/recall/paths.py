"""Questions about how things are connected, answered with the way: "who asked for this, and what did they agree to before?".

The best paths first, from what a question names (entities, its words, and for "this" the newest task), within bounds of hops,
work and time. What a path is worth: the share of the question that its memories answer.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from memos.memory.acting import WorldPath
from memos.memory.model import EdgeType, Kind, Layer, Memory
from memos.recall.path_graph import KNOWN_OF, SAID, SAID_BY, SAID_SO, Graph, Hop
from memos.recall.path_text import sentence, step_of
from memos.storage.ports import NOW, CubeStore, TextQuery, View
from memos.storage.sqlite import reads, walk
from memos.text.analysis import analyze
from memos.text.lazy import LazyPattern

if TYPE_CHECKING:
    import apsw

EXPANDED = 24  # memories whose ways on are looked at
SECONDS = 0.025  # of work of the processor, after which no further memory is
HITS = 8  # memories that hold the question's words, from which paths begin
RELEVANT = 100  # memories that hold the question's words, to which hops go first
SHORTER = 0.9  # what each hop after the first costs
BY_THE_WAY = 0.7  # what a hop costs that answers nothing itself
ALL = 0.999  # what one is worth that answers everything
LEAST = 0.05  # what a path is worth at least
_LATIN_NAME, _LONGEST_NAME, _CJK_NAME = 4, 60, 6  # words, characters, and Chinese characters of a name

_WHO = LazyPattern(r"\bwho(?:m|se)?\b|谁|哪位|什么人", re.IGNORECASE)
_ASKED = LazyPattern(
    r"\bask(?:ed|s)?\b|\brequest(?:ed|s)?\b|\bwant(?:ed|s)?\b|\border(?:ed|s)?\b|要求|请求|提出|让", re.IGNORECASE
)
_AGREED = LazyPattern(
    r"\bagree[ds]?\b|\bpromise[ds]?\b|\bcommit(?:ted|s|ments?)?\b|\baccept(?:ed|s)?\b|同意|答应|承诺|约定|保证|许诺",
    re.IGNORECASE,
)
_BEFORE = LazyPattern(
    r"\bbefore\b|\bearlier\b|\bpreviously\b|\balready\b|\bin the past\b|之前|以前|此前|先前|早先", re.IGNORECASE
)
_THIS = LazyPattern(r"\b(?:this|it|that|these)\b|这|此事|那(?:个|件)", re.IGNORECASE)
_WORD = LazyPattern(r"[^\W_\u3400-\u9fff][\w.'’@/+-]*")
_CJK = LazyPattern(r"[\u3400-\u9fff]{2,30}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a question asks for: its words and what each counts, and what it wants to know of people and times."""

    words: Mapping[str, float]
    who: bool = False
    asked: bool = False
    agreed: bool = False
    before: bool = False
    this: bool = False

    @property
    def total(self) -> float:
        """What a path that answers all of it would cover."""
        return sum(self.words.values()) + _ASKS * sum((self.who, self.asked, self.agreed, self.before))


_AGREEING = dict.fromkeys(
    analyze(
        "agree agreed agreeing promise promised commit committed accept accepted 同意 答应 承诺 约定 保证", query=True
    ).terms,
    1.0,
)
_ASKS = 2.0  # what an answered "who" or "before" counts beside a word of middling rarity, which is 1


def wanted_of(question: str, rare: Mapping[str, float] | None = None) -> Wanted:
    """A question, read by rules. `rare`: how much each term says."""
    plain = _BEFORE.sub(" ", _AGREED.sub(" ", _ASKED.sub(" ", _WHO.sub(" ", question))))
    terms = dict.fromkeys(analyze(plain, query=True).content_terms())
    weights = {t: (rare or {}).get(t, 1.0) for t in terms}
    return Wanted(
        {t: w for t, w in weights.items() if w > 0},
        who=bool(_WHO.search(question)),
        asked=bool(_ASKED.search(question)),
        agreed=bool(_AGREED.search(question)),
        before=bool(_BEFORE.search(question)),
        this=bool(_THIS.search(question)),
    )


def paths_in(
    db: apsw.Connection,
    question: str,
    *,
    hops: int = 3,
    limit: int = 20,
    view: View = NOW,
    environment: str | None = None,
    rare: Mapping[str, float] | None = None,
    seconds: float = SECONDS,
) -> list[WorldPath]:
    """The paths of at most `hops` hops that answer a question in one cube, best first. `environment`: whose newest task "this"
    is; `rare`: how much each of the question's terms says.
    """
    until = time.thread_time() + seconds
    wanted = wanted_of(question, rare)
    hits = _hits(db, wanted, view)
    graph = Graph(db, view, hits, _hits(db, Wanted(_AGREEING), view) if wanted.agreed else ())
    search = _Search(graph, wanted, hops, until)
    task = walk.last_asked(db, environment) if wanted.this else None
    first = [*(graph.memories([task]) if task is not None else []), *graph.named(_names(question))]
    return search.run(first, graph.memories([*hits][:HITS]), limit)


async def rarity(store: CubeStore, question: str) -> dict[str, float]:
    """How much each term of a question says in a cube: log(1 + texts / texts that hold it); 0 for one that none holds."""
    terms = analyze(question, query=True).content_terms()
    count, held = await store.frequencies(terms)
    return {t: math.log(1 + count / held[t]) if held.get(t) else 0.0 for t in terms}


def _hits(db: apsw.Connection, wanted: Wanted, view: View) -> dict[str, float]:
    if not wanted.words:
        return {}
    query = TextQuery(tuple(wanted.words), tuple(wanted.words.values()))
    return {hit.id: hit.score for hit in reads.search_text(db, query, RELEVANT, None, view)}


def _names(question: str) -> list[str]:
    """Everything in a question that may be a name: runs of words, and of Chinese characters."""
    out: dict[str, None] = {}
    words = [(m.start(), m.end()) for m in _WORD.finditer(question[:1_000])]
    for first, size in itertools.product(range(len(words)), range(1, _LATIN_NAME + 1)):
        if first + size <= len(words):
            name = question[words[first][0] : words[first + size - 1][1]]
            for form in (name, re.sub(r"['’]s$", "", name).rstrip(".'’")):
                if 1 < len(form) <= _LONGEST_NAME:
                    out[form] = None
    for run in _CJK.findall(question[:1_000]):
        for first, size in itertools.product(range(len(run)), range(2, _CJK_NAME + 1)):
            if first + size <= len(run):
                out[run[first : first + size]] = None
    return [*out][:400]


@dataclass(frozen=True, slots=True)
class _Path:
    memories: tuple[Memory, ...]
    hops: tuple[Hop, ...]
    covered: frozenset[str]
    score: float
    adds: bool  # whether its last memory answers something that the ones before did not


@dataclass(slots=True)
class _Search:
    """Best first: the path that answers most goes on first."""

    graph: Graph
    wanted: Wanted
    most: int
    until: float
    _named: frozenset[str] = frozenset()
    _ways: dict[str, list[Hop]] = field(default_factory=dict)
    _words: dict[str, frozenset[str]] = field(default_factory=dict)

    def run(self, first: Sequence[Memory], hits: Sequence[Memory], limit: int) -> list[WorldPath]:
        """The best paths that begin with what a question names (`first`), or with what holds its words."""
        self._named = frozenset(m.id for m in first)
        order = itertools.count()
        queue: list[tuple[float, int, _Path]] = []
        found: list[_Path] = []
        for memory in {m.id: m for m in (*first, *hits)}.values():
            covered = self._answers(memory, None, memory)
            start = _Path((memory,), (), covered, self._worth(covered, 0), "?asked" in covered)
            found += [start] if start.adds else []  # who asked for it is an answer by itself
            before_any_end = 2.0 if memory.id in self._named else 1.0
            heapq.heappush(queue, (-start.score - before_any_end, next(order), start))
        expanded = full = 0
        while queue and full < limit and expanded < EXPANDED and (time.thread_time() < self.until or not expanded):
            _, _, path = heapq.heappop(queue)
            if len(path.hops) == self.most:
                continue
            expanded += 1
            for longer in self._longer(path):
                if longer.adds:
                    found.append(longer)
                    full += len(longer.hops) == 1 and longer.score >= ALL
                heapq.heappush(queue, (-longer.score * (1.0 if longer.adds else BY_THE_WAY), next(order), longer))
        return [self._told(path) for path in _distinct(found, limit)]

    def _longer(self, path: _Path) -> list[_Path]:
        last = path.memories[-1]
        if last.id not in self._ways:
            self._ways[last.id] = self.graph.hops(last)
        been = {m.id for m in path.memories}
        ways = [h for h in self._ways[last.id] if h.to not in been]
        ends = {m.id: m for m in self.graph.memories(h.to for h in ways)}
        out = []
        for hop in ways:
            end = ends[hop.to]
            if self._turns_around(path, hop):
                continue
            covered = path.covered | self._answers(end, hop, path.memories[0])
            score = self._worth(covered, len(path.hops) + 1)
            adds = covered > path.covered and score >= LEAST
            out.append(_Path((*path.memories, end), (*path.hops, hop), covered, score, adds))
        return out

    def _turns_around(self, path: _Path, hop: Hop) -> bool:
        """Two records that merely name the same thing are not connected by it, unless the question names it too."""
        pivot = path.memories[-1]
        if not path.hops or pivot.kind is not Kind.ENTITY or pivot.id in self._named:
            return False
        loose = (EdgeType.MENTIONS, EdgeType.RELATES_TO)
        return hop.edge.type is EdgeType.MENTIONS and path.hops[-1].edge.type in loose

    def _answers(self, memory: Memory, hop: Hop | None, first: Memory) -> frozenset[str]:
        """What of the question a memory answers that is reached by a hop."""
        wanted = self.wanted
        out = set(self._said(memory))
        if memory.id in self._named:
            out.add(f"@{memory.id}")
        is_person = memory.kind is Kind.ENTITY and memory.body.get("type") == "person"
        told_who = hop is not None and hop.implied and hop.edge.predicate in (SAID_BY, SAID, SAID_SO, KNOWN_OF)
        is_request = memory.kind is Kind.TRACE and walk.asks(self.graph.db, memory.id)
        if wanted.who and (is_person or told_who or is_request):
            out.add("?who")
        if wanted.asked and is_request:
            out.add("?asked")
        agrees = memory.kind is Kind.COMMITMENT or (memory.layer is Layer.TRACE and _AGREED.search(memory.text))
        if wanted.agreed and agrees:
            out.add("?agreed")
        if wanted.before and (agrees or not wanted.agreed) and _earlier(memory, first):
            out.add("?before")
        return frozenset(out)

    def _said(self, memory: Memory) -> frozenset[str]:
        if memory.id not in self._words:
            text = f"{memory.speaker or ''} {memory.text[:2_000]}"
            self._words[memory.id] = frozenset(analyze(text).terms) & self.wanted.words.keys()
        return self._words[memory.id]

    def _worth(self, covered: frozenset[str], hops: int) -> float:
        got = sum(self.wanted.words.get(c, 1.0 if c.startswith("@") else _ASKS) for c in covered)
        total = self.wanted.total + len(self._named)
        return got / total * SHORTER ** max(0, hops - 1) if total else 0.0

    def _told(self, path: _Path) -> WorldPath:
        first = path.memories[0]
        earlier = [_earlier(m, first) for m in path.memories[1:]]
        asked = first.kind is Kind.TRACE and walk.asks(self.graph.db, first.id)
        steps = tuple(
            step_of(hop, path.memories[i], path.memories[i + 1], earlier=earlier[i]) for i, hop in enumerate(path.hops)
        )
        text = sentence(path.memories, path.hops, earlier, asked=asked)
        return WorldPath(path.memories, steps, text, round(min(1.0, path.score), 4))


def _distinct(found: Sequence[_Path], limit: int) -> list[_Path]:
    """The best paths, without those that only go on from a better one, or the other way round."""
    out: list[_Path] = []
    seen: list[frozenset[str]] = []
    for path in sorted(found, key=_order):
        ids = frozenset(m.id for m in path.memories)
        within = [o for o, other in zip(out, seen, strict=True) if other <= ids]
        if within and all(path.covered <= o.covered for o in within):
            continue
        if any(ids <= other for other in seen):
            continue
        out.append(path)
        seen.append(ids)
        if len(out) == limit:
            break
    return out


def _order(path: _Path) -> tuple[float, int, bool, list[str]]:
    """Best first, then shorter ones, then those that end in what was read from records rather than in a record."""
    return -path.score, len(path.hops), path.memories[-1].layer is not Layer.DERIVED, [m.id for m in path.memories]


def _earlier(memory: Memory, first: Memory) -> bool:
    then, now = _when(memory), _when(first)
    return memory.id != first.id and then is not None and now is not None and then < now


def _when(memory: Memory) -> datetime | None:
    return None if memory.kind is Kind.ENTITY else memory.happened_at
