"""A simple agent that works on one task: it tries what anybody would try, does what its memory tells it, and otherwise explores.

It knows the names of the commands of its shell, how to read a name out of an error, and nothing of the families. With and without
memory it is the same agent with the same random numbers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from memos.bench.agent_world.advice import Advice, read_advice
from memos.bench.agent_world.host import Host, Outcome

BUDGET = 14
AFTER_COMPLAINT = 5  # commands that are tried after the user says that it does not work
COMPLAINTS = 2  # how often the user comes back
MOVES = (
    "apt-get install lib{named}-dev",
    "dnf install {named}-devel",
    "systemctl restart {first}",
    "systemctl reload {first}",
    "systemctl stop {first}",
    "systemctl start {first}",
    "sudo {command}",
    "free-port {last}",
    "db migrate {first}",
    "unlock {first}",
    "cache prune",
    "module load {named}",
    "{head} /var/overlay/{leaf}",
    "{head} {named}-{last}",
    "dns flush",
    "clock sync",
    "fetch {first}",
    "quota raise {first}",
    "vacuum {first}",
    "reindex {first}",
    "key rotate {first}",
    "proxy off",
)
IDLE = ("ls", "df", "uptime", "whoami")
_NAMED = (r"([\w+-]+)\.h: No such", r"with '(\w+)-'", r"(\w+): command not found", r"'([\w-]+)'")


class Memory(Protocol):
    """What an agent has of its memory: what it is told when a turn begins, and when it reports a step."""

    async def start(self, text: str) -> list[str]:
        """A user message came in; what is recalled, as texts."""

    async def before(self, command: str) -> list[str]:
        """A command is about to be run; what is recalled, as texts."""

    async def step(self, command: str, outcome: Outcome) -> list[str]:
        """A command was run; advice, as texts."""

    async def end(self, text: str) -> None:
        """The reply."""


@dataclass(slots=True)
class Work:
    """How far the work on a task is. `told`: wrong or right, every command that memory had the agent run."""

    steps: int = 0
    done: bool = False  # as far as the agent knows
    tried: set[str] = field(default_factory=set)
    told: list[str] = field(default_factory=list)


class Agent:
    """Works on one task. `curious`: how often it begins with a look around (0 to 1)."""

    def __init__(self, host: Host, memory: Memory, rng: random.Random, *, curious: float = 0.15) -> None:
        self._host, self._memory, self._rng, self._curious = host, memory, rng, curious
        self._moves = rng.sample(MOVES, len(MOVES))
        self._advice: list[Advice] = []
        self.work = Work()

    async def begin(self, goal: str, command: str, check: str = "") -> None:
        """The first turn: until it works, as far as the agent can tell, or the budget is used up."""
        self._hear(await self._memory.start(goal))
        self._hear(await self._memory.before(command))
        if self._rng.random() < self._curious:
            await self._run(self._rng.choice(IDLE))
        for first in self._first(command):
            await self._run(first, told=True)
        outcome = await self._main(command)
        await self._until_works(command, outcome)
        if self.work.done and check:
            outcome = await self._run(check)
            self.work.done = outcome.ok
            await self._until_works(check, outcome, about=command)
        await self._memory.end("Done." if self.work.done else "I could not do it.")

    async def again(self, complaint: str, command: str) -> None:
        """The user says that it does not work: do what memory tells, or try a few more things; none can be seen to help."""
        self._hear(await self._memory.start(complaint))
        told = [c for a in self._advice for c in (*a.plan(command), *a.naming(_object(command)))]
        told = [c for c in dict.fromkeys(told) if c not in self.work.tried and c != command]
        for fix in told:
            await self._run(fix, told=True)
        if not told:
            before = self.work.steps
            for move in self._explore(command, ""):
                if self.work.steps - before >= AFTER_COMPLAINT:
                    break
                await self._run(move)
        await self._memory.end("I tried something else, please look again.")

    async def _main(self, command: str) -> Outcome:
        """The command itself, or what memory says is done for such a goal; the command again where that did not contain it."""
        for advice in self._advice:
            plan = advice.plan(command)
            if len(plan) > 1:
                outcome = Outcome()
                last = Outcome(error="not run")
                for step in plan:
                    outcome = await self._run(step, told=step != command)
                    last = outcome if step == command or not last.ok else last
                    if not outcome.ok:
                        return outcome if step == command else await self._run(command)
                return outcome
        return await self._run(command)

    async def _until_works(self, command: str, outcome: Outcome, about: str = "") -> None:
        """Do something about a failure until the command works: what memory says of the error, then whatever comes to mind."""
        moves = self._explore(about or command, outcome.error)
        while not outcome.ok and self.work.steps < BUDGET:
            fix = self._fix(about or command, outcome.error)
            if fix:
                for step in fix:
                    last = await self._run(step, told=step != command)
                    if last.ok and _same_work(step, command):
                        outcome = last
                        break
                else:
                    outcome = await self._run(command)
                continue
            move = next(moves, None)
            if move is None:
                break
            tried = await self._run(move)
            if tried.ok:
                outcome = tried if _same_work(move, command) else await self._run(command)
        self.work.done = outcome.ok

    def _fix(self, command: str, error: str) -> list[str]:
        """What memory says of an error and was not done yet."""
        for advice in self._advice:
            steps = advice.fix(command, error)
            fresh = [s for s in steps if s not in self.work.tried]
            if fresh:
                return [s for s in steps if s in fresh or s == command]
        return []

    def _first(self, command: str) -> list[str]:
        return [*dict.fromkeys(c for a in self._advice for c in a.before(command))]

    def _explore(self, command: str, error: str) -> Iterator[str]:
        words = command.split()
        first = _object(command)
        named = next((m[1] for pattern in _NAMED if (m := re.search(pattern, error))), first)
        head = " ".join(w for w in words[:-1] if w != first) or words[0]
        slots = {
            "command": command,
            "first": first,
            "last": words[-1],
            "leaf": words[-1].rsplit("/", 1)[-1],
            "named": named,
            "head": head,
        }
        for move in self._moves:
            filled = move.format(**slots)
            if filled not in self.work.tried:
                yield filled

    def _hear(self, texts: list[str], about: str = "") -> None:
        heard = [a for text in texts for a in read_advice(text, about)]
        self._advice = heard + [a for a in self._advice if a not in heard]

    async def _run(self, command: str, *, told: bool = False) -> Outcome:
        if self.work.steps >= BUDGET:
            return Outcome(error="out of budget")
        self.work.steps += 1
        self.work.tried.add(command)
        if told:
            self.work.told.append(command)
        outcome = self._host.run(command)
        self._hear(await self._memory.step(command, outcome), outcome.error)
        return outcome


_VERBS = frozenset(("install", "set", "show", "create", "run", "start", "build"))


def _object(command: str) -> str:
    """What a command is about: its first word that is neither a verb nor an option."""
    words = command.split()
    return next((w for w in words[1:] if not w.startswith("-") and w not in _VERBS), words[-1])


def _same_work(command: str, wanted: str) -> bool:
    """Whether a command is the wanted one with other arguments, or with `sudo`."""
    a, b = command.removeprefix("sudo ").split(), wanted.split()
    return a == b or (a[0] == b[0] and a[0] not in ("systemctl", "curl") and len(a) == len(b))
