"""How much of the evidence a search brings back: the recall benchmark.

A hit counts when it names the evidence message. Reported at ranks, and within a budget of tokens (a token = 4
characters of the hit as it is shown: date, speaker, text).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC

from memos.bench.locomo import Conversation, Item
from memos.memory.hit import Hit
from memos.recall.pack import line
from memos.recall.recipe import DEFAULT, Recipe
from memos.system import AsyncMemOS

RANKS = (5, 10, 20, 50)
BUDGETS = (500, 1_000, 2_000)


@dataclass(slots=True)
class Scores:
    """Sums over questions; `mean` gives the figures."""

    questions: int = 0
    sums: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, figures: dict[str, float]) -> None:
        """Take in one question."""
        self.questions += 1
        for name, value in figures.items():
            self.sums[name] += value

    def mean(self, name: str) -> float:
        """The mean of one figure."""
        return self.sums[name] / max(1, self.questions)


def score(hits: Sequence[Hit], item: Item, history_tokens: int) -> dict[str, float]:
    """The figures of one question."""
    first_rank: dict[str, int] = {}
    first_cost: dict[str, float] = {}
    used = 0.0
    cost_at: dict[int, float] = {}
    for rank, hit in enumerate(hits, 1):
        used += len(line(hit, UTC)) / 4
        cost_at[rank] = used
        names = {hit.memory.message_id} | {s.message_id for s in hit.memory.sources}
        for e in item.evidence:
            if e in names and e not in first_rank:
                first_rank[e], first_cost[e] = rank, used
    n = len(item.evidence)
    out = {f"@{k}": sum(first_rank.get(e, 10**9) <= k for e in item.evidence) / n for k in RANKS}
    out["all@20"] = float(all(first_rank.get(e, 10**9) <= 20 for e in item.evidence))
    out |= {f"<{b}t": sum(first_cost.get(e, 1e18) <= b for e in item.evidence) / n for b in BUDGETS}
    cost20 = cost_at.get(min(20, len(hits)), 0.0)
    out["tokens@20"] = cost20
    out["saved@20"] = 1 - cost20 / max(1, history_tokens)
    return out


async def run(
    conversations: Sequence[Conversation],
    *,
    embedder: str = "default",
    pooled: bool = False,
    recipe: Recipe = DEFAULT,
    progress: Callable[[str], None] = lambda _: None,
    misses: list[tuple[str, Item, list[Hit]]] | None = None,
) -> tuple[dict[str, Scores], list[float]]:
    """Add the conversations (each to its own cube, or all to one), ask every question of categories 1 to 4, and score.

    Returns scores per category and `all`, and the seconds each search took.
    """
    totals: dict[str, Scores] = defaultdict(Scores)
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        async with AsyncMemOS(home, embedder=embedder, background=False, durability="normal") as memos:
            for c in conversations:
                user = "all" if pooled else c.name
                for session, messages in c.sessions:
                    marked = [m | {"message_id": f"{c.name}/{m['message_id']}"} for m in messages]
                    await memos.add(marked, user=user, session=f"{c.name}/{session}")
                progress(f"added {c.name}")
                await memos.flush(user=user)
                progress(f"embedded {c.name}")
            for c in conversations:
                user = "all" if pooled else c.name
                for item in c.items:
                    if item.category == "adversarial":
                        continue
                    full = Item(item.question, tuple(f"{c.name}/{e}" for e in item.evidence), item.category)
                    start = time.perf_counter()
                    result = await memos.search(item.question, user=user, limit=100)
                    seconds.append(time.perf_counter() - start)
                    figures = score(result.hits, full, result.history_tokens)
                    for group in (item.category, "all"):
                        totals[group].add(figures)
                    if misses is not None and figures["@20"] < 1:
                        misses.append((c.name, full, list(result.hits)))
                progress(f"asked {c.name}")
    return totals, seconds


def table(totals: dict[str, Scores]) -> str:
    """A Markdown table of the figures per category."""
    names = [*(f"@{k}" for k in RANKS), "all@20", *(f"<{b}t" for b in BUDGETS), "tokens@20", "saved@20"]
    head = "| questions | n | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 2)
    rows = []
    for group in ("multi-hop", "temporal", "open-domain", "single-hop", "all"):
        if group in totals:
            s = totals[group]
            cells = [f"{s.mean(n):.0f}" if n == "tokens@20" else f"{s.mean(n):.3f}" for n in names]
            rows.append(f"| {group} | {s.questions} | " + " | ".join(cells) + " |")
    return "\n".join([head, *rows])


def latency(seconds: Sequence[float]) -> str:
    """p50 and p95 in milliseconds."""
    ordered = sorted(seconds)
    return f"p50 {statistics.median(ordered) * 1e3:.1f} ms, p95 {ordered[int(len(ordered) * 0.95)] * 1e3:.1f} ms"
