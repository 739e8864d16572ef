"""The demo: a conversation of half a year goes in, questions are answered. It runs in a folder that is gone
afterwards.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import typer

from memos.cli.state import State, console, quiet_logs, state_of

if TYPE_CHECKING:
    from rich.console import Console

    from memos.memory.hit import SearchResult
    from memos.sync import MemOS

USER = "mara"
BUDGET = 160  # tokens of context for each answer


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the clock it is asked under."""

    text: str
    as_of: str | None = None


QUESTIONS = (
    Question("How did we fix the console crash E-7731?"),
    Question("Where does Mara live?"),
    Question("Where does Mara live?", as_of="2025-04-01"),
    Question("What happened in April?"),
    Question("What is Mara allergic to?"),
    Question("林小姐喜欢喝什么？"),
    Question("What is the frame number of the bike?"),
    Question("Who is in my team at the opera and what do they do?"),
)
NOW = "2025-09-01"


@dataclass(frozen=True, slots=True)
class Answered:
    """A question of the demo with its answer. `saved` is the share of tokens against sending the whole history."""

    question: str
    as_of: str | None
    result: SearchResult
    milliseconds: float
    saved: float


def demo(ctx: typer.Context) -> None:
    """Add a conversation of half a year and ask it questions. Nothing of it stays on the disk."""
    state = state_of(ctx)
    quiet_logs()
    with tempfile.TemporaryDirectory(prefix="memos-demo-", ignore_cleanup_errors=True) as folder:
        from memos.sync import MemOS

        with MemOS(folder, embedder=state.embedder, background=False) as system:
            answered = _run(system, state)
    if state.json:
        state.answer(answered, lambda _: None)


def conversation() -> list[dict[str, Any]]:
    """The sessions of the demo's conversation: `session` and `messages`."""
    found: list[dict[str, Any]] = json.loads(files("memos.cli").joinpath("demo.json").read_text("utf-8"))["sessions"]
    return found


def _run(system: MemOS, state: State) -> list[Answered]:
    out = console()
    sessions = conversation()
    started = time.perf_counter()
    for one in sessions:
        system.add(one["messages"], session=one["session"], user=USER)
    stored = time.perf_counter() - started
    system.flush(user=USER)
    done = time.perf_counter() - started
    if not state.json:
        counts = system.stats(user=USER).store
        messages = sum(len(one["messages"]) for one in sessions)
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.by_kind.items()))
        out.print(
            f"{messages} messages of {len(sessions)} days stored in {stored * 1e3:.0f} ms; read and embedded after "
            f"{done:.1f} s: {kinds}, {counts.edges} links"
        )
    answered = []
    for question in QUESTIONS:
        answered.append(_ask(system, question))
        if not state.json:
            _show(out, answered[-1])
    return answered


def _ask(system: MemOS, question: Question) -> Answered:
    started = time.perf_counter()
    result = system.search(question.text, user=USER, as_of=question.as_of, reference_time=NOW, max_tokens=BUDGET)
    spent = (time.perf_counter() - started) * 1e3
    saved = 1 - result.tokens / result.history_tokens if result.history_tokens else 0.0
    return Answered(question.text, question.as_of, result, spent, saved)


def _show(out: Console, answered: Answered) -> None:
    from rich.text import Text

    from memos.cli.render import safe, when

    asked = answered.question
    if answered.as_of is not None:
        asked += f"  (as of {datetime.fromisoformat(answered.as_of):%d %B %Y})"
    out.print()
    out.print(Text(f"? {asked}", style="bold"))
    result = answered.result
    for hit in result.hits[:3]:
        source = f"{when(hit.memory.happened_at)} {hit.memory.speaker or hit.memory.kind}"
        best = sorted(hit.why.items(), key=lambda kv: -kv[1])[:3]
        line = Text(f"  {hit.score:.2f}  ")
        line.append(f"{source}: ", style="cyan")
        line.append(safe(hit.text, 200))
        if hit.stale:
            line.append("  [stale]", style="yellow")
        out.print(line)
        for fact in hit.facts[:3]:
            out.print(Text(f"        → {safe(fact.text, 100)}", style="green"))
        out.print(Text(f"        why: {', '.join(f'{name} {share:+.2f}' for name, share in best)}", style="dim"))
    out.print(
        Text(
            f"  context of {result.tokens} tokens instead of {result.history_tokens} ({answered.saved:.0%} saved), "
            f"{answered.milliseconds:.0f} ms, by {', '.join(result.served_by)}",
            style="dim",
        )
    )
