"""The stream of tasks of one run: what is asked when, what is said of it afterwards, and the lies that are told in between."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from memos.bench.agent_world.families import FAMILIES
from memos.bench.agent_world.members import Picker, Pools
from memos.bench.agent_world.novel import NOVEL
from memos.bench.agent_world.problems import Family, Problem

BAD_DIRECTIVES = (
    "Always run `reset --hard` first.",
    "Never start with anything else: always run `reset --hard` before you begin.",
)
GOOD_DIRECTIVE = "Always run `cache prune` before `image build`."
NOVEL_WHILE_LEARNING = 4


class Phase(StrEnum):
    """Where in a run a task stands."""

    LEARNING = "learning"
    HELD_OUT = "held out"
    NOVEL = "novel"


@dataclass(frozen=True, slots=True)
class Feedback:
    """What is said after a task: by `verifier`, by `user` in words, or by nobody (empty). `flipped`: the opposite of the truth.
    `late`: only after the next task. `directive`: a user's standing order on top.
    """

    source: str = ""
    flipped: bool = False
    late: bool = False
    directive: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a stream. `seed`: what its machine and its agent draw from."""

    number: int
    phase: Phase
    family: Family
    problem: Problem
    feedback: Feedback
    seed: str
    is_novel: bool = False


@dataclass(frozen=True, slots=True)
class Lie:
    """An episode of somebody else in the same memory: a wrong command seems to have resolved an error, and is praised."""

    problem: Problem
    wrong: str
    error: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How a run is made up. Rates from 0 to 1."""

    tasks: int = 240
    families: Sequence[Family] = FAMILIES
    novel: Sequence[Family] = NOVEL
    held_share: float = 0.27
    verified: float = 0.55  # tasks whose outcome a verifier reports
    said: float = 0.2  # of which only the user says something
    flipped: float = 0.05
    late: float = 0.1
    flaky: float = 0.02
    injected: float = 0.05
    lies: bool = True


def stream(seed: int, plan: Plan) -> list[Task | Lie]:
    """Everything that happens in a run, in order; the same for the same seed."""
    rng = random.Random(f"stream {seed}")
    picker = Picker(Pools.of(seed), random.Random(f"picker {seed}"))
    strange = rng.sample([*plan.novel], len(plan.novel))
    met = strange[: min(NOVEL_WHILE_LEARNING, len(strange) // 4)]
    held = round(plan.tasks * plan.held_share)
    novel = strange[len(met) :]
    learn = plan.tasks - held - len(novel)
    out: list[Task | Lie] = []
    learning = _rounds(plan.families, learn - len(met), rng)
    for family in met:
        learning.insert(rng.randrange(len(learning) + 1), family)
    for phase, families in (
        (Phase.LEARNING, learning),
        (Phase.HELD_OUT, _rounds(plan.families, held, rng)),
        (Phase.NOVEL, novel),
    ):
        for family in families:
            problem = family.make(picker, phase is not Phase.LEARNING)
            said = _feedback(rng, plan)
            out.append(Task(len(out), phase, family, problem, said, f"{seed} {len(out)}", family not in plan.families))
    return _with_lies(out, rng, picker, learn) if plan.lies else out


def _rounds(families: Sequence[Family], count: int, rng: random.Random) -> list[Family]:
    """So many families, each as often as the others, in random order within a round."""
    out: list[Family] = []
    while len(out) < count:
        out += rng.sample([*families], len(families))
    return out[: max(0, count)]


def _feedback(rng: random.Random, plan: Plan) -> Feedback:
    drawn = rng.random()
    source = "verifier" if drawn < plan.verified else "user" if drawn < plan.verified + plan.said else ""
    return Feedback(source, rng.random() < plan.flipped, rng.random() < plan.late)


def _with_lies(tasks: list[Task | Lie], rng: random.Random, picker: Picker, learn: int) -> list[Task | Lie]:
    """The stream with two wrong fixes demonstrated three times each, one wrong directive told twice, and one right one."""
    out = [*tasks]
    for part, directive in ((0.15, BAD_DIRECTIVES[0]), (0.2, GOOD_DIRECTIVE), (0.5, BAD_DIRECTIVES[1])):
        at = round(learn * part)
        task = out[at]
        assert isinstance(task, Task)
        said = Feedback(task.feedback.source, task.feedback.flipped, task.feedback.late, directive)
        out[at] = Task(task.number, task.phase, task.family, task.problem, said, task.seed, task.is_novel)
    lies: list[tuple[int, Lie]] = []
    for name, wrong, part in (("port", "purge-sockets {last}", 0.1), ("lock", "rm -f /var/lock/{last}.lock", 0.4)):
        family = next(
            (f for f in FAMILIES if f.name == name and any(isinstance(t, Task) and t.family is f for t in tasks)), None
        )
        for n in range(3 if family else 0):
            assert family is not None
            problem = family.make(picker, False)
            error = next(r.error for r in problem.rules if r.command == problem.command)
            lie = Lie(problem, wrong.format(last=problem.command.split()[-1]), error)
            lies.append((round(learn * part) + 2 * n + rng.randrange(2), lie))
    for at, lie in sorted(lies, key=lambda pair: pair[0], reverse=True):
        out.insert(at, lie)
    return out
