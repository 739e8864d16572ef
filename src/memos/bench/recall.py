"""How much of the evidence a search brings back: the recall benchmark.

A hit counts when it names the evidence message. Reported at ranks, and within a budget of tokens (a token = 4
characters of the hit as it is shown: date, speaker, text).
"""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
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


async def fill(
    memos: AsyncMemOS,
    conversations: Sequence[Conversation],
    *,
    pooled: bool,
    progress: Callable[[str], None] = lambda _: None,
    derive: bool = True,
) -> None:
    """Add the conversations, each to its own cube or all to one, and wait until they are digested and embedded."""
    for c in conversations:
        user = _cube_of(c, pooled)
        for session, messages in c.sessions:
            marked = [m | {"message_id": f"{c.name}/{m['message_id']}"} for m in messages]
            await memos.add(marked, user=user, session=f"{c.name}/{session}", derive=derive)
        await memos.flush(user=user)
        progress(f"added {c.name}")


async def ask_all(
    memos: AsyncMemOS,
    conversations: Sequence[Conversation],
    *,
    pooled: bool = False,
    recipe: Recipe = DEFAULT,
    seconds: list[float] | None = None,
) -> dict[str, Scores]:
    """Ask every question of categories 1 to 4 and score the first 100 hits; scores per category and for `all`."""
    totals: dict[str, Scores] = defaultdict(Scores)
    for c in conversations:
        for item in c.items:
            if item.category == "adversarial":
                continue
            start = time.perf_counter()
            result = await memos.search(item.question, user=_cube_of(c, pooled), limit=100, recipe=recipe)
            if seconds is not None:
                seconds.append(time.perf_counter() - start)
            evidence = tuple(f"{c.name}/{e}" for e in item.evidence)
            figures = score(result.hits, Item(item.question, evidence, item.category), result.history_tokens)
            for group in (item.category, "all"):
                totals[group].add(figures)
    return totals


def ablations() -> dict[str, Recipe]:
    """The recipe, and the recipe with each part taken out."""
    out = {"full": DEFAULT}
    for gone in (("lexical",), ("session",), ("dense", "dense_window"), ("speaker",), ("date",), ("question",), ("length",),
                 ("time_word",), ("name", "name_asked"), ("question", "length", "time_word", "name", "name_asked")):  # fmt: skip
        weights = {k: (0.0 if k in gone else w) for k, w in DEFAULT.weights.items()}
        out["without " + ", ".join(gone)] = replace(DEFAULT, weights=weights)
    return out


def _cube_of(c: Conversation, pooled: bool) -> str:
    return "all" if pooled else c.name


def ablation_table(results: dict[str, dict[str, Scores]]) -> str:
    """A Markdown table of each variant's recall over all questions."""
    names = ("@10", "@20", "@50", "all@20", "<1000t")
    rows = [f"| {name} | " + " | ".join(f"{t['all'].mean(n):.3f}" for n in names) + " |" for name, t in results.items()]
    return "\n".join([f"| recipe | {' | '.join(names)} |", "|" + "---|" * (len(names) + 1), *rows])


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
