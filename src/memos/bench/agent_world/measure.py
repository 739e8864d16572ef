"""What runs with and without memory come to: success and steps by phase, the learning curve, and what became of bad advice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, median

from memos.bench.agent_world.run import Done, Run, phases, run_blind, run_with_memory
from memos.bench.agent_world.stream import Phase, Plan
from memos.bench.pages import table
from memos.memory.learned import State

WINDOW = 24  # tasks of the moving average


@dataclass(frozen=True, slots=True)
class Score:
    """Of some tasks: how many, the share that succeeded, and steps for each."""

    tasks: int
    success: float
    steps: float

    @classmethod
    def of(cls, done: Sequence[Done]) -> Score:
        """Of these tasks."""
        return cls(len(done), mean(d.success for d in done), mean(d.steps for d in done)) if done else cls(0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Pair:
    """The same stream with memory and without."""

    blind: Run
    memory: Run


async def pairs(
    seeds: Iterable[int],
    plan: Plan,
    *,
    embedder: str = "none",
    ask: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> list[Pair]:
    """Both runs of every seed."""
    out = []
    for seed in seeds:
        pair = Pair(await run_blind(seed, plan), await run_with_memory(seed, plan, embedder=embedder, ask=ask))
        out.append(pair)
        blind, memory = (Score.of(phases(r.done)[Phase.HELD_OUT]) for r in (pair.blind, pair.memory))
        say(
            f"seed {seed}: held out {blind.success:.0%} -> {memory.success:.0%}, {blind.steps:.1f} -> {memory.steps:.1f} steps"
        )
    return out


def by_phase(found: Sequence[Pair]) -> str:
    """The table of the phases, over all seeds, with the range over them."""
    rows = []
    for phase in (Phase.LEARNING, Phase.HELD_OUT, Phase.NOVEL):
        blind = Score.of([d for p in found for d in phases(p.blind.done)[phase]])
        memory = Score.of([d for p in found for d in phases(p.memory.done)[phase]])
        each = [Score.of(phases(p.memory.done)[phase]) for p in found]
        saved = 1 - memory.steps / blind.steps if blind.steps else 0.0
        rows.append(
            (
                _NAMES[phase],
                blind.tasks,
                f"{blind.success:.1%}",
                f"{memory.success:.1%} ({min(s.success for s in each):.0%} to {max(s.success for s in each):.0%})",
                f"{100 * (memory.success - blind.success):+.1f}",
                f"{blind.steps:.2f}",
                f"{memory.steps:.2f} ({min(s.steps for s in each):.1f} to {max(s.steps for s in each):.1f})",
                f"{saved:.0%}",
            )
        )
    head = (
        "tasks",
        "n",
        "success without",
        "success with (range over seeds)",
        "points",
        "steps without",
        "steps with (range)",
        "fewer steps",
    )
    return table(head, rows)


_NAMES = {
    Phase.LEARNING: "learning stream",
    Phase.HELD_OUT: "repeated families, held-out members",
    Phase.NOVEL: "novel kinds",
}


def by_family(found: Sequence[Pair]) -> str:
    """The table of the families, on held-out members."""
    blind, memory = (_by_family(runs) for runs in ([p.blind for p in found], [p.memory for p in found]))
    rows = []
    for name, done in blind.items():
        one, two = Score.of(done), Score.of(memory[name])
        rows.append((name, one.tasks, f"{one.success:.0%}", f"{two.success:.0%}", one.steps, two.steps))
    return table(("family", "n", "success without", "success with", "steps without", "steps with"), rows)


def _by_family(runs: Sequence[Run]) -> dict[str, list[Done]]:
    """Tasks with held-out members, by family."""
    out: dict[str, list[Done]] = {}
    for run in runs:
        for done in phases(run.done)[Phase.HELD_OUT]:
            out.setdefault(done.task.family.name, []).append(done)
    return dict(sorted(out.items()))


def poison(found: Sequence[Pair]) -> str:
    """What became of wrong advice, and how much a block costs."""
    rows: list[tuple[object, ...]] = []
    learned = [w for p in found for w in p.memory.poison.learned]
    for says in sorted({w.says for w in learned}):
        same = [w for w in learned if w.says == says]
        gone = sorted(w.trials for w in same if w.state == State.RETIRED)
        holds = [w.trials for w in same if w.state == State.ACTIVE]
        still = f"{len(holds)}, with at most {max(holds)} trials" if holds else "0"
        unused = sum(w.state == State.CANDIDATE for w in same)
        trials = f"{median(gone):g}, at most {gone[-1]}" if gone else "-"
        rows.append((f"`{says}`", len(same), len(gone), trials, unused, still))
    head = (
        "wrong advice that was learned",
        "all runs",
        "retired",
        "trials before that, median",
        "never active",
        "active at the end",
    )
    said = table(head, rows) if rows else ""
    facts = (
        ("policies learned, a run", mean(p.memory.policies for p in found)),
        ("policies from a single episode, all runs", sum(p.memory.single for p in found)),
        ("skills, a run", mean(p.memory.skills for p in found)),
        (
            "tasks in which something wrong was done because memory said so, a run",
            mean(p.memory.poison.followed for p in found),
        ),
        (
            "tasks in which guidance repeated an order from a tool output, all runs",
            sum(p.memory.poison.injected for p in found),
        ),
        ("tokens of a turn's block", mean(d.tokens for p in found for d in p.memory.done)),
    )
    return f"{said}\n\n{table(('what', 'how much'), facts)}".strip()


def curve(runs: Sequence[Run], of: Callable[[Done], float]) -> list[tuple[float, float, float]]:
    """The moving average over tasks of repeated families, in order: mean, least and most over the runs."""
    lines = []
    for run in runs:
        values = [of(d) for d in run.done if not d.task.is_novel]
        lines.append([mean(values[max(0, i - WINDOW + 1) : i + 1]) for i in range(len(values))])
    return [(mean(at), min(at), max(at)) for at in zip(*lines, strict=False)]


def fingerprint(run: Run) -> tuple[tuple[bool, int, tuple[str, ...]], ...]:
    """What two runs of one seed must agree in: each task's success, steps, and the commands that memory had the agent run."""
    return tuple((d.success, d.steps, d.told) for d in run.done)
