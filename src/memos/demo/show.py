"""How the demo looks: styled on a terminal, plain text in a pipe. What is stored is shown without control characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from memos.demo.run import Answer, Deleted, Edited, Stored
    from memos.memory.hit import Explanation, Hit
    from memos.memory.model import Memory

SHOWN = 3  # hits of each answer; a message that answers is shown wherever it ranks
_FEATURES = 4


def stored(out: Console, s: Stored) -> None:
    """What went in, and how long it took."""
    counts = s.stats.store
    kinds = {k: n for k, n in counts.by_kind.items() if k not in ("trace", "entity")}
    out.print(Text("The MemOS demo", style="bold"))
    out.print(
        f"{s.messages} messages of {s.sessions} sessions went in, each on disk after {_ms(s.stored / s.sessions)}."
    )
    out.print(
        f"Read and embedded {s.digested:.1f} s later, by rules and without a model server: "
        + ", ".join(f"{n} {k}" for k, n in sorted(kinds.items()))
        + f", {counts.by_kind.get('entity', 0)} names; {counts.edges} links, {counts.disk_bytes / 1000:.0f} kB."
    )


def answer(out: Console, number: int, a: Answer) -> None:
    """A question and the hits that answer it."""
    out.print()
    title = Text(f"{number}. {a.question.text}", style="bold")
    if a.question.as_of is not None:
        title.append(f"  (as of {a.question.as_of})", style="bold yellow")
    out.print(title)
    expected = {r for r in a.expected_at if r is not None}
    rows = Table(box=None, show_header=False, padding=(0, 1), pad_edge=False)
    rows.add_column(width=2)
    rows.add_column(width=4)
    rows.add_column(width=10, no_wrap=True)
    rows.add_column(width=9, no_wrap=True)
    rows.add_column(overflow="fold", ratio=1)
    for hit in a.result.hits:
        if hit.rank <= SHOWN or hit.rank in expected:
            mark = Text("✓", style="green") if hit.rank in expected else Text(" ")
            rows.add_row(mark, f"{hit.score:.2f}", _day(hit.memory), _who(hit), _told(hit))
    out.print(rows)
    verdict = f"{len(a.result.hits)} hits, {a.result.status}"
    if not a.question.evidence:
        verdict += "; nothing in the conversation answers this, and a best score below 0.60 says so"
        verdict += f" (it is {a.result.best_score:.2f})"
    elif None in a.expected_at:
        verdict += "; not every message that answers is among them"
    context = f"{a.result.tokens} tokens of context for {a.result.history_tokens} of history ({a.saved:.0%} saved)"
    by = ", ".join(a.result.served_by)
    out.print(_indented(f"{verdict}. {context}; {_ms(a.milliseconds / 1e3)}, by {by}", style="dim"))


def summary(out: Console, answers: Sequence[Answer]) -> None:
    """All answers together."""
    expected = [rank for a in answers for rank in a.expected_at]
    found = [rank for rank in expected if rank is not None]
    spent = sorted(a.milliseconds for a in answers)
    saved = sum(a.saved for a in answers) / len(answers)
    out.print()
    out.print(
        Text(
            f"{len(found)} of {len(expected)} messages that answer are among the first hits; "
            f"{saved:.0%} of the tokens saved; half of the answers within {spent[len(spent) // 2]:.0f} ms.",
            style="bold",
        )
    )


def missed(out: Console, e: Explanation, memory: Memory) -> None:
    """Why a memory is not among the hits."""
    _head(out, "Why is this not among the hits?")
    out.print(_indented(f"{e.query}", style="italic"))
    out.print(_indented(f"{_day(memory)} {_safe(memory.text, 110)}"))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2))
    for name in ("   stage", "value", "rank", "passed", "note"):
        table.add_column(name)
    for s in e.stages:
        value = "" if s.value is None else f"{s.value:.2f}"
        table.add_row(f"   {s.name}", value, str(s.rank or ""), "yes" if s.passed else "no", _safe(s.note, 60))
    out.print(table)
    out.print(_indented(f"removed by: {e.removed_by or 'nothing'}; would help: {'; '.join(e.would_help) or 'nothing'}"))


def edited(out: Console, e: Edited) -> None:
    """A change, its history, and its undoing."""
    _head(out, "A memory is changed, and the change is undone")
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2))
    for name in ("   version", "how", "who", "why", "text"):
        table.add_column(name, overflow="fold")
    for v in e.versions:
        table.add_row(f"   {v.memory.version}", v.op, v.actor, _safe(v.cause or "", 24), _safe(v.memory.text, 90))
    out.print(table)


def deleted(out: Console, d: Deleted) -> None:
    """A delete, with its report."""
    _head(out, "A message is deleted for good")
    out.print(_indented(f"{_day(d.memory)} {_safe(d.memory.text, 110)}"))
    done = d.done
    gone = (
        f"gone: {done.memories} message, {done.cascaded} memories that rested on it alone, {done.versions} versions, "
        f"{done.edges} links, {done.vectors} vectors, {done.terms} words of the index"
    )
    out.print(_indented(gone))
    for memory in d.restored:
        out.print(_indented(f"true again: {_safe(memory.text, 90)}", style="green"))
    pages = "no page of the file holds it" if done.erased_from_disk else "free pages of the file may still hold it"
    out.print(_indented(f"{pages}; a search {'still finds it' if d.still_found else 'does not find it'}"))


def _indented(text: str, style: str = "") -> Padding:
    return Padding(Text(text, style=style), (0, 0, 0, 3))


def _head(out: Console, text: str) -> None:
    out.print()
    out.print(Text(text, style="bold"))


def _told(hit: Hit) -> Text:
    text = Text(_safe(hit.text, 240))
    if hit.stale:
        text.append("  [stale]", style="yellow")
    for fact in hit.facts:
        since = f" (since {fact.valid_from:%Y-%m-%d})" if fact.valid_from else ""
        text.append(f"\n→ {_safe(fact.text, 100)}{since}", style="green")
    best = sorted(hit.why.items(), key=lambda share: -abs(share[1]))[:_FEATURES]
    text.append("\nwhy: " + ", ".join(f"{name} {share:+.2f}" for name, share in best), style="dim")
    return text


def _day(memory: Memory) -> str:
    return f"{memory.happened_at:%Y-%m-%d}" if memory.happened_at else ""


def _who(hit: Hit) -> str:
    return _safe(hit.memory.speaker or hit.memory.kind, 9)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"


def _safe(text: str, limit: int) -> str:
    """One line without control characters, cut to `limit` characters."""
    line = " ".join(text.split())
    line = line if len(line) <= limit else line[: limit - 1] + "…"
    return "".join(c if unicodedata.category(c) not in ("Cc", "Cf", "Cs") else "�" for c in line)
